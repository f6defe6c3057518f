//! Splits a text into the pieces of words that the model knows.

use std::collections::HashMap;
use std::path::Path;

use crate::error::Error;

/// The pieces by their spelling; a piece inside a word begins with `##`.
pub(super) struct WordPieces {
    numbers: HashMap<String, u32>,
    begin: u32,
    end: u32,
    unknown: u32,
}

/// A word longer than this is unknown as a whole.
const LONGEST_WORD: usize = 100;

impl WordPieces {
    /// Reads a list with one piece a line.
    pub(super) fn load(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        let numbers: HashMap<String, u32> = text.lines().map(str::to_owned).zip(0..).collect();
        let number = |piece: &str| {
            let why = format!("it has no line `{piece}`");
            numbers.get(piece).copied().ok_or(Error::Model { path: path.to_owned(), why })
        };
        let (begin, end, unknown) = (number("[CLS]")?, number("[SEP]")?, number("[UNK]")?);
        Ok(Self { numbers, begin, end, unknown })
    }

    /// The pieces of a text, at most `longest`, marks for begin and end included.
    pub(super) fn split(&self, text: &str, longest: usize) -> Vec<u32> {
        let mut tokens = vec![self.begin];
        for word in words(text) {
            if tokens.len() >= longest {
                break;
            }
            self.push_word(&word, &mut tokens);
        }
        tokens.truncate(longest - 1);
        tokens.push(self.end);
        tokens
    }

    /// The longest known piece, again and again; one unknown piece makes the whole word unknown.
    fn push_word(&self, word: &str, tokens: &mut Vec<u32>) {
        let first = tokens.len();
        let mut rest = word;
        let mut prefix = "";
        while !rest.is_empty() && word.chars().count() <= LONGEST_WORD {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let found = ends.into_iter().find_map(|end| {
                let number = self.numbers.get(&format!("{prefix}{}", &rest[..end]))?;
                Some((*number, end))
            });
            let Some((number, end)) = found else { break };
            tokens.push(number);
            rest = &rest[end..];
            prefix = "##";
        }
        if !rest.is_empty() {
            tokens.truncate(first);
            tokens.push(self.unknown);
        }
    }
}

/// Words in lower case without accents; punctuation and ideographs stand alone.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        let is_alone = is_punctuation(c) || is_ideograph(c);
        if (is_alone || c.is_whitespace()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if is_alone {
            words.push(c.to_string());
        } else if !c.is_whitespace() && !c.is_control() {
            word.push_str(&crate::text::fold(c.encode_utf8(&mut [0; 4])));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    matches!(c, '\u{a1}'..='\u{bf}' if !c.is_alphanumeric())
        || matches!(c, '\u{2010}'..='\u{205e}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '・' | '\u{ff01}'..='\u{ff0f}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}
