//! Reads the list of citations in an answer: `[1]: docs/tides.md:12-14 "quoted words"`, and the ways in which models write
//! it instead.

use super::reference::{Reference, references};

/// A citation as an answer gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CitationEntry {
    pub(crate) n: u32,
    /// A path or an address.
    pub(crate) source: String,
    pub(crate) place: String,
    pub(crate) quote: String,
    /// The line of the answer that it begins in, from 0.
    pub(crate) line: usize,
}

/// What encloses quoted words.
const OPENING: [char; 4] = ['"', '“', '„', '«'];
const CLOSING: [char; 4] = ['"', '”', '“', '»'];

/// Words between a source and a place in it.
const PLACE_WORDS: [&str; 16] = [
    "lines", "line", "ll.", "pages", "page", "pp.", "p.", "slide", "sheet", "cells", "cell", "rows", "row", "section",
    "chapter", "part",
];

/// The citations that an answer lists, unless none of them quotes anything: then it is a list of links. What is inside of
/// code fences is not read, nor where the links of a text lead: `[1]: https://example.org "Title"` for `[text][1]`.
pub(crate) fn entries(text: &str) -> Vec<CitationEntry> {
    let mut fence = Fence::default();
    let mut blocks: Vec<(usize, u32, Vec<&str>)> = Vec::new();
    let mut is_open = false;
    let mut uses: Vec<(usize, Reference)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if fence.is_code(line) || line.trim().is_empty() {
            is_open = false;
            continue;
        }
        uses.extend(references(line).into_iter().map(|reference| (at, reference)));
        if let Some((n, rest)) = numbered(line) {
            blocks.push((at, n, vec![rest]));
            is_open = true;
        } else if let Some((.., lines)) = blocks.last_mut().filter(|_| is_open) {
            lines.push(line.trim());
        }
    }
    let mut entries: Vec<CitationEntry> =
        blocks.iter().filter_map(|(at, n, lines)| CitationEntry::read(*n, lines, *at)).collect();
    uses.retain(|(at, _)| !entries.iter().any(|entry| entry.line == *at));
    entries.retain(|entry| {
        let mut uses = uses.iter().filter(|(_, reference)| reference.n == entry.n).peekable();
        uses.peek().is_none() || uses.any(|(_, reference)| !reference.is_link_target)
    });
    if entries.iter().any(|entry| !entry.quote.is_empty()) { entries } else { Vec::new() }
}

/// Tells lines of code from others.
#[derive(Default)]
pub(super) struct Fence {
    is_open: bool,
}

impl Fence {
    /// Whether a line is part of a fenced block. Lines must be given in their order.
    pub(super) fn is_code(&mut self, line: &str) -> bool {
        let line = line.trim_start();
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        self.is_open ^= is_fence;
        is_fence || self.is_open
    }
}

/// Reads `[12]` or `[^12]`, and gives what follows.
pub(super) fn number(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.strip_prefix('[')?.split_once(']')?;
    let digits = digits.strip_prefix('^').unwrap_or(digits);
    let is_number = (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((digits.parse().ok().filter(|_| is_number)?, rest))
}

/// The number that a line begins with, and the rest.
fn numbered(line: &str) -> Option<(u32, &str)> {
    let line = line.trim_start().trim_start_matches(['-', '*', '•', '>', ' ']);
    let (n, rest) = number(line)?;
    let is_link = rest.starts_with('(');
    (!is_link).then(|| (n, rest.trim_start_matches(['*', ':', '.', ' ', '—', '–', '-'])))
}

impl CitationEntry {
    fn read(n: u32, lines: &[&str], line: usize) -> Option<Self> {
        let first = lines.first()?;
        let (head, quote) = if let Some((at, quote)) = quoted(&lines.join("\n")) {
            (first.get(..at).unwrap_or(first), quote)
        } else {
            let block = lines[1..].iter().filter_map(|line| line.strip_prefix('>')).map(str::trim);
            (*first, block.collect::<Vec<_>>().join("\n"))
        };
        let (source, place) = source_and_place(head);
        let is_bare = source.contains(char::is_whitespace) || place.is_empty();
        let is_source =
            is_address(source) || has_extension(source) || (source.contains('/') && !source.contains(' ')) || !is_bare;
        let entry = Self { n, source: source.to_owned(), place, quote, line };
        (is_source && source.chars().any(char::is_alphanumeric)).then_some(entry)
    }
}

/// The quoted words in an entry, and where they begin: between quotation marks, or in a second pair of backticks.
fn quoted(entry: &str) -> Option<(usize, String)> {
    let says_something = |words: &str| words.chars().any(char::is_alphanumeric);
    if let Some(start) = entry.find(OPENING)
        && let Some(end) = entry.rfind(CLOSING).filter(|end| *end > start)
    {
        let inner = entry[start..end].trim_start_matches(OPENING).trim();
        return says_something(inner).then(|| (start, inner.to_owned()));
    }
    let (head, rest) = entry.split_once(" `")?;
    let words = rest.rsplit_once('`')?.0.trim();
    (says_something(head) && says_something(words)).then(|| (head.len(), words.to_owned()))
}

/// Splits `docs/tides.md:12-14`, `report.pdf, page 3` or `book.xlsx Sales!A2` into the source and the place in it.
fn source_and_place(head: &str) -> (&str, String) {
    const AROUND: [char; 12] = [' ', ',', ';', ':', '—', '–', '-', '`', '*', '<', '>', '\n'];
    let head = head.trim_matches(AROUND);
    if let Some((_, link)) = head.split_once("](")
        && let Some((target, rest)) = link.split_once(')')
    {
        return (target, rest.trim_matches(AROUND).to_owned());
    }
    if is_address(head) {
        let (address, rest) = head.split_once(char::is_whitespace).unwrap_or((head, ""));
        return (
            address.trim_end_matches([',', ';', ':', '>']),
            rest.trim_matches(AROUND).trim_matches(['(', ')']).to_owned(),
        );
    }
    // What is in parentheses is the place, or the headings above it.
    if let Some((source, inside)) = head.strip_suffix(')').and_then(|head| head.rsplit_once(" (")) {
        let (source, place) = source_and_place(source);
        let is_place = place.is_empty() && (has_place_word(inside) || inside.starts_with(|c: char| c.is_ascii_digit()));
        return (source, if is_place { inside.to_owned() } else { place });
    }
    if let Some((source, lines)) = head.rsplit_once("#L") {
        return (source, lines.replace('L', ""));
    }
    let tail = head.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '–' | ':')).len();
    if let Some((colon, lines)) = head[tail..].find(':').map(|at| (tail + at, &head[tail + at + 1..]))
        && lines.starts_with(|c: char| c.is_ascii_digit())
    {
        return (head[..colon].trim_end_matches('`'), lines.split(':').next().unwrap_or(lines).to_owned());
    }
    let words = head.match_indices([' ', ',']).map(|(at, _)| at);
    if let Some(at) = words.into_iter().find(|at| has_place_word(head[at + 1..].trim_start())) {
        return (head[..at].trim_matches(AROUND), head[at + 1..].trim_matches(AROUND).to_owned());
    }
    if let Some((source, place)) = head.rsplit_once([' ', ':']).filter(|(_, place)| place.contains('!')) {
        return (source.trim_matches(AROUND), place.to_owned());
    }
    (head, String::new())
}

/// Whether a text begins with a word for a place and says which.
fn has_place_word(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    PLACE_WORDS.iter().any(|word| {
        text.strip_prefix(word)
            .is_some_and(|rest| rest.trim_start().len() < rest.len() || (word.ends_with('.') && !rest.is_empty()))
    })
}

fn is_address(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// Whether the text ends as the name of a file does. `et al.` and `version 2.1` do not.
fn has_extension(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        let is_short = (1..=8).contains(&extension.len()) && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
        !stem.is_empty() && is_short && extension.bytes().any(|byte| byte.is_ascii_alphabetic()) && !text.contains(", ")
    })
}
