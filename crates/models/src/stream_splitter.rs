//! Splits a stream of bytes into the parts of an answer, for all kinds of framing.

use crate::dialect::Framing;
use crate::lines::LineDecoder;
use crate::retry::AttemptError;
use crate::sse::SseDecoder;

/// Splits a stream into parts.
pub(crate) enum StreamSplitter {
    Events(SseDecoder),
    Lines(LineDecoder),
}

impl StreamSplitter {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Events => StreamSplitter::Events(SseDecoder::default()),
            Framing::Lines => StreamSplitter::Lines(LineDecoder::default()),
        }
    }

    /// Takes the next piece and passes on the data of each part that it completes.
    pub(crate) fn feed(
        &mut self,
        piece: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), AttemptError>,
    ) -> Result<(), AttemptError> {
        // Events without data only keep the connection open.
        let each = |data: &[u8]| if data.trim_ascii().is_empty() { Ok(()) } else { each(data) };
        match self {
            StreamSplitter::Events(events) => events.feed(piece, each),
            StreamSplitter::Lines(lines) => lines.feed(piece, each),
        }
    }

    /// Handles the end of the stream: the last part may lack its terminator.
    pub(crate) fn finish(
        &mut self,
        mut each: impl FnMut(&[u8]) -> Result<(), AttemptError>,
    ) -> Result<(), AttemptError> {
        let each = |data: &[u8]| if data.trim_ascii().is_empty() { Ok(()) } else { each(data) };
        match self {
            StreamSplitter::Events(events) => events.finish(each),
            StreamSplitter::Lines(lines) => lines.finish(each),
        }
    }
}
