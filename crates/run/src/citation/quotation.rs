//! Finds quoted words in a text. Whitespace, typographic marks, capitals and Markdown's marks make no difference, and `…`
//! stands for words left out.

/// The most places of the same words that are looked at.
const MOST_PLACES: usize = 50;

/// The lines (from 1) at which the words stand in the text, once for each place; empty if they do not stand there.
pub fn find_quotation(text: &str, quote: &str) -> Vec<(u32, u32)> {
    let text = PlainText::of(text);
    let quote = PlainText::of(quote).text.replace("[...]", "...").replace("(...)", "...");
    let pieces = quote.split("...").map(|piece| piece.trim_matches([' ', '.', ',', ';', ':', '!', '?']));
    let pieces: Vec<&str> = pieces.filter(|piece| !piece.is_empty()).collect();
    let Some((first, others)) = pieces.split_first() else { return Vec::new() };
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(start) = text.find(first, from).filter(|_| places.len() < MOST_PLACES) {
        let mut end = start + first.len();
        for piece in others {
            let Some(next) = text.find(piece, end) else { return places };
            end = next + piece.len();
        }
        places.push((text.line_at(start), text.line_at(end - 1)));
        from = start + first.chars().next().map_or(1, char::len_utf8);
    }
    places
}

/// A text without what makes no difference.
struct PlainText {
    text: String,
    /// Where each line after the first begins.
    lines: Vec<usize>,
}

impl PlainText {
    fn of(text: &str) -> Self {
        let mut folded = Self { text: String::with_capacity(text.len()), lines: Vec::new() };
        for (n, line) in text.split('\n').enumerate() {
            if n > 0 {
                folded.space();
                folded.lines.push(folded.text.len());
            }
            folded.add(without_marks(line));
        }
        folded
    }

    fn add(&mut self, line: &str) {
        for c in line.chars() {
            match c {
                '"' | '“' | '”' | '„' | '‟' | '«' | '»' | '\'' | '‘' | '’' | '‚' | '‛' | '´' | '`' | '*' =>
                    {}
                '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{feff}' => {}
                '‐' | '‑' | '‒' | '–' | '—' | '−' => self.text.push('-'),
                '…' => self.text.push_str("..."),
                '|' => self.space(),
                c if c.is_whitespace() => self.space(),
                c => self.text.extend(c.to_lowercase()),
            }
        }
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }

    /// The first place of these words from there on. A word or number must not continue on either side.
    fn find(&self, words: &str, from: usize) -> Option<usize> {
        let continues = |before: Option<char>, after: Option<char>| {
            before.is_some_and(|c| c.is_ascii_alphanumeric()) && after.is_some_and(|c| c.is_ascii_alphanumeric())
        };
        let mut at = from;
        loop {
            let start = at + self.text.get(at..)?.find(words)?;
            let end = start + words.len();
            let is_inside = continues(self.text[..start].chars().next_back(), words.chars().next())
                || continues(words.chars().next_back(), self.text[end..].chars().next());
            if !is_inside {
                return Some(start);
            }
            at = start + words.chars().next().map_or(1, char::len_utf8);
        }
    }

    fn line_at(&self, at: usize) -> u32 {
        1 + self.lines.partition_point(|start| *start <= at) as u32
    }
}

/// A line without what marks a comment, a heading, a quotation or an item of a list at its beginning.
fn without_marks(line: &str) -> &str {
    let line = line.trim_start();
    let rest = line.trim_start_matches(['/', '!', '#', '>', '-', '+', '*']);
    if rest.is_empty() || rest.starts_with(char::is_whitespace) { rest } else { line }
}
