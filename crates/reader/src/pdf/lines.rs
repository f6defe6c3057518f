//! Pieces of lines from glyphs: words on one base line without a gap that could be the white between two columns.

use super::bidi;
use super::content::PdfGlyph;
use super::paragraphs::LEADER;

/// A gap wider than this many times the size of the text ends a piece. Columns stand as close as 0.8; pieces of one line that
/// were only set wide are put together again when the columns are known.
const WIDE_GAP: f64 = 0.55;
/// Glyphs whose base lines differ by less than this stand on one line; raised and lowered ones do.
const SAME_LINE: f64 = 0.4;

/// Some words on one line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TextLine {
    pub(super) text: String,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) base: f64,
    pub(super) size: f64,
    pub(super) is_bold: bool,
    /// Stands for the font of its first letter.
    pub(super) face: usize,
    pub(super) turn: u8,
}

impl TextLine {
    pub(super) fn top(&self) -> f64 {
        self.base + self.size * 0.8
    }

    pub(super) fn bottom(&self) -> f64 {
        self.base - self.size * 0.2
    }
}

/// Puts glyphs together, in no particular order of lines.
pub(super) fn lines(mut glyphs: Vec<PdfGlyph>) -> Vec<TextLine> {
    glyphs.sort_by(|one, other| one.turn.cmp(&other.turn).then(other.base.total_cmp(&one.base)));
    let mut lines = Vec::new();
    let mut row: Vec<PdfGlyph> = Vec::new();
    let (mut weight, mut sum, mut largest) = (0.0, 0.0, 0.0_f64);
    for glyph in glyphs {
        let base = if weight > 0.0 { sum / weight } else { glyph.base };
        let is_new = row.first().is_some_and(|first| first.turn != glyph.turn)
            || (base - glyph.base).abs() > SAME_LINE * largest.clamp(glyph.size, glyph.size * 1.6);
        if is_new && !row.is_empty() {
            split_row(std::mem::take(&mut row), &mut lines);
            (weight, sum, largest) = (0.0, 0.0, 0.0);
        }
        let own = glyph.size * glyph.size;
        weight += own;
        sum += own * glyph.base;
        largest = largest.max(glyph.size);
        row.push(glyph);
    }
    if !row.is_empty() {
        split_row(row, &mut lines);
    }
    lines
}

/// Cuts a row at its wide gaps.
fn split_row(mut row: Vec<PdfGlyph>, lines: &mut Vec<TextLine>) {
    row.sort_by(|one, other| one.left.total_cmp(&other.left));
    let mut piece: Vec<PdfGlyph> = Vec::new();
    let mut right = f64::MIN;
    for glyph in row {
        let is_blank = glyph.text.trim().is_empty();
        if !is_blank && !piece.is_empty() && glyph.left - right > WIDE_GAP * glyph.size.max(4.0) {
            lines.extend(line_of(&piece));
            piece.clear();
        }
        if is_blank && piece.is_empty() {
            continue;
        }
        if !is_blank {
            right = if piece.is_empty() { glyph.right } else { right.max(glyph.right) };
        }
        piece.push(glyph);
    }
    lines.extend(line_of(&piece));
}

fn line_of(piece: &[PdfGlyph]) -> Option<TextLine> {
    let shown: Vec<&PdfGlyph> = piece.iter().filter(|glyph| !glyph.text.trim().is_empty()).collect();
    let first = shown.first()?;
    // The size of most of the line, not of its largest letter.
    let mut sizes: Vec<f64> = shown.iter().map(|glyph| glyph.size).collect();
    sizes.sort_by(f64::total_cmp);
    let size = sizes[sizes.len() / 2];
    let mut bases: Vec<f64> = shown.iter().map(|glyph| glyph.base).collect();
    bases.sort_by(f64::total_cmp);
    let bold = shown.iter().filter(|glyph| glyph.is_bold).count();
    Some(TextLine {
        left: first.left,
        right: shown.iter().map(|glyph| glyph.right).fold(f64::MIN, f64::max),
        base: bases[bases.len() / 2],
        size,
        is_bold: bold * 10 >= shown.len() * 9,
        face: first.face,
        turn: first.turn,
        text: text_of(piece),
    })
}

/// The text of glyphs from left to right. A gap is a space, unless the file has spaces of its own.
fn text_of(piece: &[PdfGlyph]) -> String {
    let has_spaces = piece.iter().any(|glyph| glyph.text.trim().is_empty());
    let narrow = if has_spaces { 0.25 } else { 0.17 };
    let mut parts: Vec<String> = Vec::new();
    let mut previous: Option<&PdfGlyph> = None;
    let mut right = f64::MIN;
    for glyph in piece {
        if glyph.text.trim().is_empty() {
            if parts.last().is_some_and(|part| part != " ") {
                parts.push(" ".to_owned());
            }
            continue;
        }
        if let Some(previous) = previous {
            // Letters that are printed twice to look bold.
            let offset = (glyph.left - previous.left).abs();
            if previous.text == glyph.text && offset < 0.1 * glyph.size && offset < 0.3 * (glyph.right - glyph.left) {
                continue;
            }
            let gap = glyph.left - right;
            if gap > narrow * glyph.size.max(previous.size) && parts.last().is_some_and(|part| part != " ") {
                parts.push(" ".to_owned());
            }
        }
        parts.push(bidi::plain_letters(&glyph.text));
        previous = Some(glyph);
        right = right.max(glyph.right);
    }
    without_leaders(bidi::logical(&parts).trim())
}

/// Dots in a row, with or without spaces, lead the eye and say nothing.
fn without_leaders(text: &str) -> String {
    let is_leader = |run: &str| run.bytes().filter(|byte| *byte == b'.').count() >= 4;
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['.', ' ']) {
        let length = rest[at..].bytes().take_while(|byte| matches!(byte, b'.' | b' ')).count();
        result.push_str(&rest[..at]);
        let run = &rest[at..at + length];
        result.push_str(if is_leader(run) { LEADER } else { run });
        rest = &rest[at + length..];
    }
    result.push_str(rest);
    result.trim().to_owned()
}
