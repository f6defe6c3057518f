//! Picks lines from a text that comes in pieces, so that a file of any size can be read.

use std::fmt::Write as _;

/// Which lines are wanted, and how much of them is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowBounds {
    /// The first line, counted from 1.
    pub(super) first: u64,
    /// Most lines.
    pub(super) lines: u64,
    /// Most bytes.
    pub(super) bytes: usize,
    /// Most characters of a line; the rest of a longer one is counted and left out.
    pub(super) line_characters: Option<u64>,
}

/// Takes the pieces of a text and keeps the wanted lines.
pub(super) struct Window {
    bounds: WindowBounds,
    kept: Vec<u8>,
    is_full: bool,
    /// The line that the next byte belongs to.
    line: u64,
    /// Whether that line has bytes already.
    has_begun: bool,
    /// The characters of that line so far, if it is wanted.
    characters: u64,
}

/// The lines that a window kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WindowText {
    pub(super) text: String,
    pub(super) first_line: u64,
    /// The last line that `text` contains at least a part of; the line before the first if `text` is empty.
    pub(super) last_line: u64,
    /// `None` if the text was too long to count its lines.
    pub(super) lines_total: Option<u64>,
    /// The last line is cut because not even that one line fits.
    pub(super) is_cut_in_line: bool,
}

impl Window {
    pub(super) fn new(bounds: WindowBounds) -> Self {
        Self { bounds, kept: Vec::new(), is_full: false, line: 1, has_begun: false, characters: 0 }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (content, is_ended) = piece.strip_suffix(b"\n").map_or((piece, false), |content| (content, true));
            if self.is_wanted() && !self.is_full {
                self.keep(content, is_ended);
            }
            self.has_begun = !is_ended;
            if is_ended {
                self.line += 1;
                self.characters = 0;
            }
        }
    }

    fn is_wanted(&self) -> bool {
        self.line >= self.bounds.first && self.line - self.bounds.first < self.bounds.lines
    }

    fn keep(&mut self, content: &[u8], is_ended: bool) {
        match self.bounds.line_characters {
            None => self.take(content),
            Some(most) => {
                let before = self.characters;
                self.characters += content.iter().filter(|byte| is_start(**byte)).count() as u64;
                if self.characters <= most {
                    self.take(content);
                } else if before <= most {
                    let starts = content.iter().enumerate().filter(|(_, byte)| is_start(**byte));
                    let room = usize::try_from(most - before).unwrap_or(usize::MAX);
                    let end = starts.map(|(at, _)| at).nth(room).unwrap_or(content.len());
                    self.take(&content[..end]);
                }
            }
        }
        if is_ended {
            self.end_line();
            self.take(b"\n");
        }
    }

    /// Says of a line that is too long how long it is.
    fn end_line(&mut self) {
        if self.bounds.line_characters.is_some_and(|most| self.characters > most) {
            // A character has up to four bytes.
            let whole = self.characters * 4 <= self.bounds.bytes as u64;
            let how = if whole { "limit 1 shows it" } else { "search_files finds what is in it" };
            let note = format!("… [line of {} characters cut; {how}]", self.characters);
            self.take(note.as_bytes());
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.is_full {
            return;
        }
        let room = self.bounds.bytes - self.kept.len();
        self.is_full = bytes.len() > room;
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// The kept lines; `None` if they are not text. `whole` says whether the text was read to its end.
    pub(super) fn finish(mut self, whole: bool) -> Option<WindowText> {
        if self.has_begun && self.is_wanted() {
            self.end_line();
        }
        if self.is_full {
            self.trim();
        }
        let text = String::from_utf8(self.kept).ok().filter(|text| !text.contains('\0'))?;
        let ended = text.bytes().filter(|byte| *byte == b'\n').count() as u64;
        let is_open = !text.is_empty() && !text.ends_with('\n');
        Some(WindowText {
            first_line: self.bounds.first,
            last_line: self.bounds.first + ended + u64::from(is_open) - 1,
            lines_total: whole.then_some(self.line - 1 + u64::from(self.has_begun)),
            is_cut_in_line: self.is_full && is_open,
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

impl WindowText {
    /// The first line that comes after these, if there is one as far as that is known.
    pub(super) fn next_line(&self) -> Option<u64> {
        let next = self.last_line + 1;
        self.lines_total.is_none_or(|total| next <= total).then_some(next)
    }

    /// Whether it is the whole text.
    pub(super) fn is_whole(&self) -> bool {
        self.first_line == 1 && self.next_line().is_none() && !self.is_cut_in_line
    }

    /// The text with its number and a tab before each line.
    pub(super) fn numbered(&self) -> String {
        let mut numbered = String::with_capacity(self.text.len() + self.text.len() / 4);
        for (line, number) in self.text.split_inclusive('\n').zip(self.first_line..) {
            let _ = write!(numbered, "{number}\t{line}");
        }
        numbered
    }
}

/// Whether a byte of UTF-8 begins a character.
fn is_start(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: WindowBounds = WindowBounds { first: 1, lines: 100, bytes: 1_000, line_characters: Some(4) };

    fn seen(bounds: WindowBounds, text: &str, piece: usize) -> WindowText {
        let mut window = Window::new(bounds);
        text.as_bytes().chunks(piece).for_each(|piece| window.feed(piece));
        window.finish(true).unwrap()
    }

    #[test]
    fn a_long_line_is_cut_between_characters_however_the_text_comes() {
        let text = "éééé\néééééé\nx\nlast one";
        for piece in 1..text.len() {
            let seen = seen(BOUNDS, text, piece);
            let wanted = "éééé\néééé… [line of 6 characters cut; limit 1 shows it]\nx\nlast… [line of 8 characters cut; limit 1 shows it]";
            assert_eq!((seen.text.as_str(), seen.last_line), (wanted, 4), "{piece}");
            assert!(seen.is_whole());
        }
    }

    #[test]
    fn the_next_line_is_known_wherever_the_window_ends() {
        let text = "1\n2\n3\n4\n5\n";
        let of = |first, lines, bytes| {
            let seen = seen(WindowBounds { first, lines, bytes, ..BOUNDS }, text, 3);
            (seen.numbered(), seen.next_line(), seen.is_whole())
        };
        assert_eq!(of(2, 2, 100), ("2\t2\n3\t3\n".into(), Some(4), false));
        assert_eq!(of(4, 9, 100), ("4\t4\n5\t5\n".into(), None, false));
        assert_eq!(of(1, 9, 5), ("1\t1\n2\t2\n".into(), Some(3), false));
        assert!(of(1, 5, 100).2);
    }
}
