//! Splits a stream into server-sent events, from pieces of arbitrary size.

use memchr::memchr2;

use crate::json_repair::unmarked;

/// Maximum bytes of a single event: no model writes a larger one.
pub(crate) const LARGEST_EVENT: usize = 64 << 20;

/// An event exceeded the maximum size.
#[derive(Debug)]
pub(crate) struct EventTooLarge;

/// The part of the stream that is not a whole event yet. Whole events are parsed in place, in the piece that contains
/// them.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    rest: Vec<u8>,
    /// Up to here, `rest` contains no end of an event.
    searched: usize,
}

impl SseDecoder {
    /// Takes the next piece and passes on the data of each event that it completes.
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
        // An end has at most three bytes, two of which may be here already.
        self.searched = self.rest.len().saturating_sub(2);
        Ok(())
    }

    /// Handles the end of the stream: some servers leave out the empty line after the last event.
    pub(crate) fn finish<E>(&mut self, each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let rest = std::mem::take(&mut self.rest);
        self.searched = 0;
        give_data(&rest, each)
    }
}

/// Passes on all whole events, and returns their length in bytes. An event ends with an empty line; lines end with LF,
/// CRLF or CR.
fn take_events<E>(bytes: &[u8], searched: usize, each: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<usize, E> {
    let mut start = 0;
    let mut from = searched;
    while let Some(at) = memchr2(b'\n', b'\r', &bytes[from..]) {
        let line_end = if bytes[from + at..].starts_with(b"\r\n") { from + at + 1 } else { from + at };
        let end = match &bytes[line_end + 1..] {
            [b'\r', b'\n', ..] => line_end + 3,
            // If the LF of a CRLF comes with the next piece, it is an empty line before the next event.
            [b'\n' | b'\r', ..] => line_end + 2,
            _ => {
                from = line_end + 1;
                continue;
            }
        };
        let event = &bytes[start..line_end];
        match data_of(event) {
            // Nearly all events have one line, and are found without a second look at each byte.
            Some(data) if from == start => each(data)?,
            _ => give_data(event, &mut *each)?,
        }
        start = end;
        from = end;
    }
    Ok(start)
}

/// Passes on the data of one event; several `data` lines are joined with line breaks. Comments and other fields are
/// ignored.
fn give_data<E>(event: &[u8], mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let mut lines = event.split(|byte| matches!(byte, b'\n' | b'\r')).filter_map(data_of);
    let Some(first) = lines.next() else {
        // Some providers break off with an error that is plain JSON between the events.
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
