//! Breaks styled words into lines.

use unicode_width::UnicodeWidthChar as _;

use super::super::fit;
use crate::out::Paint;

/// The style of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) bold: bool,
    pub(super) italic: bool,
    pub(super) struck: bool,
    pub(super) underlined: bool,
    pub(super) code: bool,
}

/// A paragraph of styled words, before it is broken into lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    /// A word, or a part of one: a following word without a space belongs to it.
    Word(String, Style),
    Space,
    /// A place without a space where a line may be broken, as between wide characters.
    Seam,
    Break,
}

impl Flow {
    /// Adds text in which spaces may become line breaks.
    pub(super) fn push(&mut self, text: &str, style: Style) {
        let mut word = String::new();
        for c in text.chars() {
            let is_wide = c.width() == Some(2);
            if c.is_whitespace() || is_wide {
                self.word(&mut word, style);
            }
            if c.is_whitespace() {
                self.0.push(Piece::Space);
            } else if is_wide {
                self.0.extend([Piece::Seam, Piece::Word(c.to_string(), style), Piece::Seam]);
            } else {
                word.push(c);
            }
        }
        self.word(&mut word, style);
    }

    /// Adds text in which spaces are kept.
    pub(super) fn push_whole(&mut self, text: &str, style: Style) {
        self.0.push(Piece::Word(text.to_owned(), style));
    }

    pub(super) fn break_line(&mut self) {
        self.0.push(Piece::Break);
    }

    pub(super) fn ends_with(&self, text: &str) -> bool {
        matches!(self.0.last(), Some(Piece::Word(word, _)) if word == text)
    }

    fn word(&mut self, word: &mut String, style: Style) {
        if !word.is_empty() {
            self.0.push(Piece::Word(std::mem::take(word), style));
        }
    }

    /// The columns of the longest line, without wrapping.
    pub(super) fn width(&self) -> usize {
        self.lines(usize::MAX, Paint::off()).iter().map(|line| fit::width(line)).max().unwrap_or_default()
    }

    /// The columns of the longest word.
    pub(super) fn longest_word(&self) -> usize {
        self.lines(1, Paint::off()).iter().map(|line| fit::width(line)).max().unwrap_or_default()
    }

    /// The lines. A word longer than a line gets a line of its own, so that addresses stay whole.
    pub(super) fn lines(&self, room: usize, paint: Paint) -> Vec<String> {
        let mut lines = LineBuilder { paint, room, done: Vec::new(), line: String::new(), used: 0 };
        let (mut word, mut is_spaced): (Vec<(&str, Style)>, bool) = (Vec::new(), false);
        for piece in &self.0 {
            match piece {
                Piece::Word(text, style) => word.push((text, *style)),
                Piece::Seam | Piece::Space | Piece::Break => {
                    is_spaced &= !lines.add(&word, is_spaced);
                    word.clear();
                    is_spaced |= matches!(piece, Piece::Space);
                    if matches!(piece, Piece::Break) {
                        lines.end();
                        is_spaced = false;
                    }
                }
            }
        }
        lines.add(&word, is_spaced);
        if !lines.line.is_empty() {
            lines.end();
        }
        lines.done
    }
}

struct LineBuilder {
    paint: Paint,
    room: usize,
    done: Vec<String>,
    line: String,
    used: usize,
}

impl LineBuilder {
    /// Adds a word, on a new line if it does not fit. Returns whether that was so.
    fn add(&mut self, word: &[(&str, Style)], is_spaced: bool) -> bool {
        let width: usize = word.iter().map(|(text, _)| fit::width(text)).sum();
        if width == 0 {
            return false;
        }
        let space = usize::from(is_spaced && self.used > 0);
        if self.used > 0 && self.used + space + width > self.room {
            self.end();
        } else if space > 0 {
            self.line.push(' ');
            self.used += 1;
        }
        for (text, style) in word {
            self.line.push_str(&painted(text, *style, self.paint));
        }
        self.used += width;
        true
    }

    fn end(&mut self) {
        self.done.push(std::mem::take(&mut self.line));
        self.used = 0;
    }
}

fn painted(text: &str, style: Style, paint: Paint) -> String {
    let codes =
        [(style.bold, "1"), (style.italic, "3"), (style.underlined, "4"), (style.struck, "9"), (style.code, "36")];
    let codes: Vec<&str> = codes.into_iter().filter_map(|(is_on, code)| is_on.then_some(code)).collect();
    if codes.is_empty() { text.to_owned() } else { paint.with(&codes.join(";"), text) }
}
