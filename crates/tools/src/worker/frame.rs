//! Frames: the encoding of all messages between us and a worker.

/// The kind of a frame, a letter. The table in the parent module says who sends which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    Hello = b'H' as isize,
    Ready = b'R' as isize,
    Call = b'C' as isize,
    Printed = b'O' as isize,
    Question = b'Q' as isize,
    Answer = b'A' as isize,
    Value = b'V' as isize,
    Done = b'D' as isize,
}

impl FrameKind {
    /// The kinds that a worker may send. The kinds that we send are not among them.
    fn of_worker(letter: u8) -> Option<Self> {
        [FrameKind::Ready, FrameKind::Printed, FrameKind::Question, FrameKind::Value, FrameKind::Done]
            .into_iter()
            .find(|kind| *kind as u8 == letter)
    }
}

/// Identifies the frames of one call. It cannot be guessed without having seen the call.
pub(super) type Nonce = [u8; 8];

const LENGTH: usize = 4;
const HEAD: usize = 1 + size_of::<Nonce>();

/// Encodes one frame.
pub(super) fn frame(kind: FrameKind, nonce: Nonce, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(LENGTH + HEAD + payload.len());
    bytes.extend_from_slice(&((HEAD + payload.len()) as u32).to_le_bytes());
    bytes.push(kind as u8);
    bytes.extend_from_slice(&nonce);
    bytes.extend_from_slice(payload);
    bytes
}

/// A frame that a worker sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WorkerFrame {
    pub(super) kind: FrameKind,
    pub(super) nonce: Nonce,
    pub(super) payload: Vec<u8>,
}

/// Takes the first frame out of the bytes received so far. Returns `None` if it is not complete yet.
pub(super) fn take(bytes: &mut Vec<u8>, largest: usize) -> Result<Option<WorkerFrame>, String> {
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize;
    if !(HEAD..=HEAD + largest).contains(&length) {
        return Err(format!("a frame of {length} bytes; from {HEAD} to {} were expected", HEAD + largest));
    }
    let Some(whole) = rest.get(..length) else { return Ok(None) };
    let (head, payload) = whole.split_at(HEAD);
    let kind = FrameKind::of_worker(head[0]).ok_or_else(|| format!("a frame of kind {:?}", char::from(head[0])))?;
    let mut nonce = Nonce::default();
    nonce.copy_from_slice(&head[1..]);
    let frame = WorkerFrame { kind, nonce, payload: payload.to_vec() };
    bytes.drain(..LENGTH + length);
    Ok(Some(frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_back_however_it_comes() {
        let sent = frame(FrameKind::Value, *b"12345678", b"[1]");
        let mut bytes = Vec::new();
        for byte in &sent[..sent.len() - 1] {
            bytes.push(*byte);
            assert_eq!(take(&mut bytes, 100), Ok(None));
        }
        bytes.push(sent[sent.len() - 1]);
        bytes.push(7);
        let wanted = WorkerFrame { kind: FrameKind::Value, nonce: *b"12345678", payload: b"[1]".to_vec() };
        assert_eq!(take(&mut bytes, 100), Ok(Some(wanted)));
        assert_eq!(bytes, [7]);
    }

    #[test]
    fn lengths_and_letters_that_cannot_be_are_faults() {
        let fault = |bytes: &[u8]| take(&mut bytes.to_vec(), 100).unwrap_err();
        assert_eq!(fault(b"hello world"), "a frame of 1819043176 bytes; from 9 to 109 were expected");
        assert_eq!(fault(&[0, 0, 0, 0]), "a frame of 0 bytes; from 9 to 109 were expected");
        assert_eq!(fault(&frame(FrameKind::Answer, *b"12345678", b"{}")), "a frame of kind 'A'");
    }
}
