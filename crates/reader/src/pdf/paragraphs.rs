//! Paragraphs, headings and items of lists from lines that follow each other.

use std::collections::BTreeMap;

use super::layout::PageBlock;
use super::lines::TextLine;
use super::{joined, size_class};
use crate::document::BlockKind;

/// A heading is at least this much larger than the text.
const LARGER: f64 = 1.12;
const LONGEST_HEADING: usize = 200;
/// What dots that lead to the number of a page are read as.
pub(super) const LEADER: &str = " … ";
const BULLETS: [char; 14] = ['•', '◦', '▪', '●', '○', '■', '□', '‣', '⁃', '∙', '·', '➢', '\u{f0b7}', '\u{f0a7}'];

/// What the text of a document looks like.
#[derive(Debug)]
pub(super) struct PageStyles {
    body: f64,
    is_body_bold: bool,
    /// Classes of sizes that headings have, the largest first.
    headings: Vec<u32>,
}

impl PageStyles {
    /// Looks through all pages; `body` is the size of most of the text.
    pub(super) fn of(pages: &[(u32, Vec<PageBlock>)], body: f64) -> Self {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        let (mut bold, mut all) = (0, 0);
        for block in pages.iter().flat_map(|(_, blocks)| blocks) {
            let PageBlock::Lines(lines) = block else { continue };
            for line in lines {
                all += 1;
                bold += usize::from(line.is_bold);
                if line.size > body * LARGER && line.text.chars().any(char::is_alphabetic) {
                    *counts.entry(size_class(line.size)).or_default() += 1;
                }
            }
        }
        let headings = counts.into_keys().rev().collect();
        Self { body, is_body_bold: bold * 2 > all, headings }
    }

    fn heading(&self, lines: &[TextLine], text: &str) -> Option<u8> {
        let first = lines.first()?;
        if text.chars().count() > LONGEST_HEADING || lines.len() > 4 || !text.chars().any(char::is_alphabetic) {
            return None;
        }
        if first.size > self.body * LARGER {
            let rank = self.headings.iter().position(|class| *class == size_class(first.size)).unwrap_or(0);
            return Some((rank + 1).min(4) as u8);
        }
        let is_alone = lines.len() <= 2 && text.chars().count() <= 100 && !text.ends_with(['.', ',', ';', ':']);
        let is_set_off = !self.is_body_bold && lines.iter().all(|line| line.is_bold) && first.size > self.body * 0.9;
        (is_alone && is_set_off).then(|| (self.headings.len() + 1).min(5) as u8)
    }
}

/// The blocks of a region, as Markdown.
pub(super) fn paragraphs(lines: &[TextLine], styles: &PageStyles) -> Vec<(BlockKind, String)> {
    let right = lines.iter().map(|line| line.right).fold(f64::MIN, f64::max);
    let step = usual_step(lines);
    let mut blocks = Vec::new();
    let mut start = 0;
    for end in 1..=lines.len() {
        let is_end = lines.get(end).is_none_or(|next| starts_anew(&lines[start..end], next, right, step));
        if is_end {
            blocks.push(block(&lines[start..end], styles));
            start = end;
        }
    }
    blocks
}

/// The usual distance between two lines of a paragraph, in sizes of the text.
fn usual_step(lines: &[TextLine]) -> f64 {
    let pairs = lines.windows(2).filter(|pair| (pair[0].size - pair[1].size).abs() < 0.1 * pair[0].size);
    let mut steps: Vec<f64> = pairs.map(|pair| (pair[0].base - pair[1].base) / pair[0].size).collect();
    steps.retain(|step| (0.8..2.4).contains(step));
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 3).copied().unwrap_or(1.3)
}

/// Whether a line begins a new paragraph after these.
fn starts_anew(lines: &[TextLine], next: &TextLine, right: f64, usual: f64) -> bool {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return true };
    let size = last.size.max(next.size);
    let step = last.base - next.base;
    let is_apart = step > (usual * 1.25).max(1.2) * size || step < 0.3 * size;
    let is_other = (last.size - next.size).abs() > 0.12 * size || last.is_bold != next.is_bold;
    let is_item = item(&next.text).is_some() || last.text.contains(LEADER);
    let is_short = right - last.right > 0.2 * (right - first.left) && last.text.ends_with(['.', '!', '?', ':', '。']);
    // An indented line after one that ended with its sentence.
    let is_indented =
        next.left - last.left > 0.8 * size && last.text.ends_with(['.', '!', '?', ':']) && item(&first.text).is_none();
    // A short line in a font of its own is a heading of some kind.
    let is_headline = lines.len() == 1 && last.face != next.face && right - last.right > 0.25 * (right - first.left);
    is_apart || is_other || is_item || is_short || is_indented || is_headline
}

fn block(lines: &[TextLine], styles: &PageStyles) -> (BlockKind, String) {
    let text = flowing(lines);
    if let Some((marker, rest)) = item(&text)
        && styles.heading(lines, &text).is_none()
    {
        return (BlockKind::ListItem, format!("{marker} {rest}"));
    }
    match styles.heading(lines, &text) {
        Some(level) => (BlockKind::Heading(level), format!("{} {}", "#".repeat(level.into()), joined(lines))),
        None => (BlockKind::Paragraph, text),
    }
}

/// The marker of an item as Markdown writes it, and its text.
fn item(text: &str) -> Option<(String, &str)> {
    if let Some(rest) = text.strip_prefix(BULLETS) {
        return Some(("-".to_owned(), rest.trim_start())).filter(|(_, rest)| !rest.is_empty());
    }
    if let Some(rest) = text.strip_prefix("- ").or_else(|| text.strip_prefix("– ")) {
        return Some(("-".to_owned(), rest.trim_start()));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=3).contains(&digits) {
        return None;
    }
    let rest = text[digits..].strip_prefix(['.', ')'])?;
    rest.starts_with(' ').then(|| (format!("{}.", &text[..digits]), rest.trim_start()))
}

/// Lines as running text. A word that is broken at the end of a line is put together again.
fn flowing(lines: &[TextLine]) -> String {
    let mut text = String::new();
    for line in lines {
        let continues = line.text.starts_with(char::is_lowercase);
        let before = text.chars().rev().nth(1);
        if text.ends_with(['-', '\u{2010}']) && continues && before.is_some_and(char::is_alphabetic) {
            text.pop();
        } else {
            let has_no_spaces = is_cjk(text.chars().last()) && is_cjk(line.text.chars().next());
            if !text.is_empty() && !has_no_spaces {
                text.push(' ');
            }
        }
        text.push_str(&line.text);
    }
    text
}

/// Scripts that put no space between words.
fn is_cjk(character: Option<char>) -> bool {
    character.is_some_and(|c| matches!(c, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff60}'))
}
