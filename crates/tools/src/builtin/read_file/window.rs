//! Picks a range of lines from a file that is read in pieces, so that a file of any size can be read.

use std::ops::RangeInclusive;

/// Takes the pieces of a file and keeps the requested lines, up to a size limit.
pub(super) struct Window {
    lines: RangeInclusive<u64>,
    most: usize,
    kept: Vec<u8>,
    is_full: bool,
    /// The line that the next byte belongs to.
    line: u64,
    /// Whether that line has bytes already.
    has_begun: bool,
}

/// The lines that a window kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WindowText {
    pub(super) text: String,
    /// The last line that `text` contains at least a part of; the line before the first if `text` is empty.
    pub(super) end_line: u64,
    /// `None` if the file was too long to count its lines.
    pub(super) lines_total: Option<u64>,
    /// Whether some of the requested lines are missing from `text`.
    pub(super) truncated: bool,
}

impl Window {
    pub(super) fn new(lines: RangeInclusive<u64>, most: usize) -> Self {
        Self { lines, most, kept: Vec::new(), is_full: false, line: 1, has_begun: false }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.lines.contains(&self.line) {
                self.keep(piece);
            }
            self.has_begun = !piece.ends_with(b"\n");
            if !self.has_begun {
                self.line += 1;
            }
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.is_full {
            return;
        }
        let room = self.most - self.kept.len();
        self.is_full = piece.len() > room;
        self.kept.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// Returns the kept lines; `None` if they are not text. `whole` says whether the file was read to its end.
    pub(super) fn finish(mut self, whole: bool) -> Option<WindowText> {
        if self.is_full {
            self.trim();
        }
        let text = String::from_utf8(self.kept).ok().filter(|text| !text.contains('\0'))?;
        let lines = text.bytes().filter(|byte| *byte == b'\n').count() as u64;
        let is_open = !text.is_empty() && !text.ends_with('\n');
        Some(WindowText {
            end_line: self.lines.start() + lines + u64::from(is_open) - 1,
            lines_total: whole.then_some(self.line - 1 + u64::from(self.has_begun)),
            // If the file was not read to its end, requested lines are missing if the window was still open.
            truncated: self.is_full || (!whole && self.lines.contains(&self.line)),
            text,
        })
    }

    /// Cuts text that is too long after its last whole line, or a single line after its last whole character.
    fn trim(&mut self) {
        if let Some(end) = self.kept.iter().rposition(|byte| *byte == b'\n') {
            self.kept.truncate(end + 1);
        } else if let Err(error) = std::str::from_utf8(&self.kept)
            && error.error_len().is_none()
        {
            self.kept.truncate(error.valid_up_to());
        }
    }
}
