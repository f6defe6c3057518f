//! A stream of bytes cut into the parts of an answer, whichever way they are set apart.

use crate::dialect::Framing;
use crate::lines::Lines;
use crate::retry::Trouble;
use crate::sse::Events;

/// Cuts a stream into parts.
pub(crate) enum Frames {
    Events(Events),
    Lines(Lines),
}

impl Frames {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Events => Frames::Events(Events::default()),
            Framing::Lines => Frames::Lines(Lines::default()),
        }
    }

    /// Takes the next piece and gives the data of each part that it completes.
    pub(crate) fn feed(
        &mut self,
        piece: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        // An event without data is sent to keep the connection open.
        let each = |data: &[u8]| if data.trim_ascii().is_empty() { Ok(()) } else { each(data) };
        match self {
            Frames::Events(events) => events.feed(piece, each),
            Frames::Lines(lines) => lines.feed(piece, each),
        }
    }

    /// The stream is over: the last part may lack its end.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(&[u8]) -> Result<(), Trouble>) -> Result<(), Trouble> {
        let each = |data: &[u8]| if data.trim_ascii().is_empty() { Ok(()) } else { each(data) };
        match self {
            Frames::Events(events) => events.finish(each),
            Frames::Lines(lines) => lines.finish(each),
        }
    }
}
