//! Splits a stream into JSON objects, one per line, from pieces of arbitrary size.

use memchr::memchr;

use crate::sse::{EventTooLarge, LARGEST_EVENT};

/// The part of the stream that is not a whole line yet.
#[derive(Debug, Default)]
pub(crate) struct LineDecoder {
    rest: Vec<u8>,
    /// Up to here, `rest` contains no end of a line.
    searched: usize,
}

impl LineDecoder {
    /// Takes the next piece and passes on each line that it completes.
    pub(crate) fn feed<E: From<EventTooLarge>>(
        &mut self,
        piece: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.rest.extend_from_slice(piece);
        let mut start = 0;
        while let Some(at) = memchr(b'\n', &self.rest[self.searched..]) {
            let end = self.searched + at;
            give(&self.rest[start..end], &mut each)?;
            start = end + 1;
            self.searched = start;
        }
        self.rest.drain(..start);
        if self.rest.len() > LARGEST_EVENT {
            return Err(EventTooLarge.into());
        }
        self.searched = self.rest.len();
        Ok(())
    }

    /// Handles the end of the stream: the last line may lack its line break.
    pub(crate) fn finish<E>(&mut self, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.searched = 0;
        give(&std::mem::take(&mut self.rest), &mut each)
    }
}

fn give<E>(line: &[u8], each: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let line = line.trim_ascii();
    if line.is_empty() { Ok(()) } else { each(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fault;

    impl From<EventTooLarge> for Fault {
        fn from(_: EventTooLarge) -> Self {
            Fault
        }
    }

    #[test]
    fn lines_are_the_same_wherever_the_pieces_are_cut() {
        for newline in ["\n", "\r\n"] {
            let stream = ["{\"a\":\"ü\"}", "", "{\"b\":2}", "{\"c\":3}"].join(newline);
            for size in 1..=stream.len() {
                let mut lines = LineDecoder::default();
                let mut seen = Vec::new();
                let mut note = |line: &[u8]| {
                    seen.push(String::from_utf8_lossy(line).into_owned());
                    Ok::<(), Fault>(())
                };
                for piece in stream.as_bytes().chunks(size) {
                    assert!(lines.feed(piece, &mut note).is_ok());
                }
                assert!(lines.finish(&mut note).is_ok());
                assert_eq!(seen, ["{\"a\":\"ü\"}", "{\"b\":2}", "{\"c\":3}"], "{size}");
            }
        }
    }
}
