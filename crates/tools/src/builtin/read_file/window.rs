//! Some lines of a file that passes by piece by piece, so that a file of any size can be read.

use std::ops::RangeInclusive;

/// Takes in a file and keeps the lines that are wanted, up to a size.
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

/// What was seen through a window.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WindowText {
    pub(super) text: String,
    /// The last line of which there is something in `text`; the line before the first if there is nothing.
    pub(super) end_line: u64,
    /// Absent if the file was too long to count.
    pub(super) lines_total: Option<u64>,
    /// Whether there is more of the wanted lines than `text`.
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

    /// What was seen; `None` if it is not text. `whole` says whether the file was taken in to its end.
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
            // A file that was not taken in to its end has wanted lines left if the window was still open.
            truncated: self.is_full || (!whole && self.lines.contains(&self.line)),
            text,
        })
    }

    /// Cuts what is too long after its last whole line; a single line, after its last whole character.
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
