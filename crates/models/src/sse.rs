//! Server-sent events out of bytes that arrive in pieces cut anywhere.

use memchr::memchr2;

use crate::legible::unmarked;

/// A single event larger than this is not one that a model writes.
pub(crate) const LARGEST_EVENT: usize = 64 << 20;

/// An event grew beyond all measure.
#[derive(Debug)]
pub(crate) struct EventTooLarge;

/// What of the stream is not yet a whole event. Whole events are read where they lie in the piece that brought them.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    rest: Vec<u8>,
    /// Up to here `rest` is known to hold no end of an event.
    searched: usize,
}

impl SseDecoder {
    /// Takes the next piece and gives the data of each event that it completes.
    pub(crate) fn feed<E: From<EventTooLarge>>(
        &mut self,
        piece: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.rest.is_empty() {
            let used = take_events(piece, 0, &mut each)?;
            self.rest.extend_from_slice(&piece[used..]);
        } else {
            self.rest.extend_from_slice(piece);
            let used = take_events(&self.rest, self.searched, &mut each)?;
            self.rest.drain(..used);
        }
        if self.rest.len() > LARGEST_EVENT {
            return Err(EventTooLarge.into());
        }
        // An end is at most three bytes, two of which may be here already.
        self.searched = self.rest.len().saturating_sub(2);
        Ok(())
    }

    /// The stream is over: some servers leave out the empty line after the last event.
    pub(crate) fn finish<E>(&mut self, each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let rest = std::mem::take(&mut self.rest);
        self.searched = 0;
        give_data(&rest, each)
    }
}

/// Gives all whole events, and says how many bytes they were. An event ends with an empty line; lines end with LF, CRLF or
/// CR.
fn take_events<E>(bytes: &[u8], searched: usize, each: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<usize, E> {
    let mut start = 0;
    let mut from = searched;
    while let Some(at) = memchr2(b'\n', b'\r', &bytes[from..]) {
        let line_end = if bytes[from + at..].starts_with(b"\r\n") { from + at + 1 } else { from + at };
        let end = match &bytes[line_end + 1..] {
            [b'\r', b'\n', ..] => line_end + 3,
            // Should the LF of a CRLF come with the next piece, it is an empty line before the next event.
            [b'\n' | b'\r', ..] => line_end + 2,
            _ => {
                from = line_end + 1;
                continue;
            }
        };
        let event = &bytes[start..line_end];
        match data_of(event) {
            // Nearly all events are one line, found without looking at each byte again.
            Some(data) if from == start => each(data)?,
            _ => give_data(event, &mut *each)?,
        }
        start = end;
        from = end;
    }
    Ok(start)
}

/// Gives the data of one event; several `data` lines are one text with line breaks. Comments and other fields are passed over.
fn give_data<E>(event: &[u8], mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let mut lines = event.split(|byte| matches!(byte, b'\n' | b'\r')).filter_map(data_of);
    let Some(first) = lines.next() else {
        // Some providers break off with an error that is plain JSON in the midst of the events.
        let bare = unmarked(event).trim_ascii();
        return if bare.starts_with(b"{") || bare.starts_with(b"[") { each(bare) } else { Ok(()) };
    };
    let Some(second) = lines.next() else { return each(first) };
    let mut all = [first, b"\n", second].concat();
    for line in lines {
        all.push(b'\n');
        all.extend_from_slice(line);
    }
    each(&all)
}

fn data_of(line: &[u8]) -> Option<&[u8]> {
    let data = unmarked(line).strip_prefix(b"data:")?;
    let data = data.strip_prefix(b" ").unwrap_or(data);
    Some(data.strip_suffix(b"\r").unwrap_or(data))
}

#[cfg(test)]
mod tests {
    use super::*;

    impl From<EventTooLarge> for String {
        fn from(_: EventTooLarge) -> Self {
            "too large".to_owned()
        }
    }

    fn read(stream: &str, size: usize) -> Vec<String> {
        let mut events = SseDecoder::default();
        let mut seen = Vec::new();
        let mut note = |data: &[u8]| {
            seen.push(String::from_utf8_lossy(data).into_owned());
            Ok::<(), String>(())
        };
        for piece in stream.as_bytes().chunks(size) {
            events.feed(piece, &mut note).unwrap();
        }
        events.finish(&mut note).unwrap();
        seen
    }

    #[test]
    fn events_are_the_same_wherever_the_pieces_are_cut() {
        for newline in ["\n", "\r\n", "\r"] {
            let stream = [
                ": a comment",
                "",
                "data: {\"a\":1}",
                "",
                "event: x",
                "data:{\"b\":2}",
                "id: 7",
                "",
                "",
                "data: one",
                "data: two",
                "data: three",
                "",
                "data: ü",
                "",
                "data: [DONE]",
                "",
                "",
            ]
            .join(newline);
            for size in 1..=stream.len() {
                assert_eq!(read(&stream, size), ["{\"a\":1}", "{\"b\":2}", "one\ntwo\nthree", "ü", "[DONE]"], "{size}");
            }
        }
    }

    #[test]
    fn a_byte_order_mark_before_the_first_event_is_no_part_of_it() {
        for size in 1..20 {
            assert_eq!(read("\u{feff}data: a\n\ndata: b\n\n", size), ["a", "b"], "{size}");
        }
        assert_eq!(read("\u{feff}{\"error\":1}", 4), ["{\"error\":1}"]);
    }

    #[test]
    fn the_last_event_counts_without_its_empty_line() {
        assert_eq!(read("data: a\n\ndata: b", 3), ["a", "b"]);
        assert_eq!(read("data: a\n\ndata: b\n", 3), ["a", "b"]);
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut events = SseDecoder::default();
        let piece = vec![b'x'; LARGEST_EVENT + 1];

        assert_eq!(events.feed(&piece, |_| Ok::<(), String>(())), Err("too large".to_owned()));
    }
}
