//! Words of a text with their places: folded to lower case without accents, and pairs of characters where a language
//! writes no spaces.

use std::ops::Range;

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word folded: lower case, no accents, full-width letters as plain ones.
    pub folded: String,
    /// Its bytes in the text.
    pub range: Range<usize>,
}

/// All words of a text in order, as [`each_word`] finds them.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::with_capacity(text.len() / 6);
    each_word(text, |folded, range| words.push(Word { folded: folded.to_owned(), range }));
    words
}

/// Calls `take` for every word of a text, folded, and its bytes. A run of Chinese, Japanese or Korean characters gives
/// every pair of neighbours; a run of one gives that character.
pub(crate) fn each_word(text: &str, mut take: impl FnMut(&str, Range<usize>)) {
    let mut buffer = String::new();
    let mut run = Run::default();
    for (at, c) in text.char_indices() {
        let kind = kind_of(c);
        if kind != run.kind && !(kind == CharKind::Mark && run.kind == CharKind::Letter) {
            run.finish(text, at, &mut buffer, &mut take);
            run = Run { kind, start: at };
        }
    }
    run.finish(text, text.len(), &mut buffer, &mut take);
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CharKind {
    #[default]
    Space,
    Letter,
    /// An accent of its own: part of the letter before it.
    Mark,
    Ideograph,
}

/// Neighbouring characters of one kind.
#[derive(Default)]
struct Run {
    kind: CharKind,
    start: usize,
}

impl Run {
    fn finish(&self, text: &str, end: usize, buffer: &mut String, take: &mut impl FnMut(&str, Range<usize>)) {
        let mut one = |range: Range<usize>| {
            buffer.clear();
            fold_into(&text[range.clone()], buffer);
            take(buffer, range);
        };
        match self.kind {
            CharKind::Space | CharKind::Mark => {}
            CharKind::Letter => one(self.start..end),
            CharKind::Ideograph => {
                let run = &text[self.start..end];
                let ends: Vec<usize> = run.char_indices().map(|(at, c)| self.start + at + c.len_utf8()).collect();
                let last = if ends.len() == 1 { &ends[..] } else { &ends[1..] };
                let mut start = self.start;
                for (end, next) in last.iter().zip(&ends) {
                    one(start..*end);
                    start = *next;
                }
            }
        }
    }
}

fn kind_of(c: char) -> CharKind {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { CharKind::Letter } else { CharKind::Space };
    }
    match c {
        '\u{300}'..='\u{36f}' => CharKind::Mark,
        // Kana, ideographs, Hangul syllables, Thai: written without spaces, or with endings that hide the word.
        '\u{3041}'..='\u{30ff}' if c != '・' => CharKind::Ideograph,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => CharKind::Ideograph,
        '\u{ff66}'..='\u{ff9f}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{323af}' | '々' => CharKind::Ideograph,
        '\u{e01}'..='\u{e4e}' => CharKind::Ideograph,
        _ if c.is_alphanumeric() => CharKind::Letter,
        _ => CharKind::Space,
    }
}

/// Lower case without accents.
#[cfg(feature = "minilm")]
pub(crate) fn fold(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    fold_into(word, &mut folded);
    folded
}

fn fold_into(word: &str, folded: &mut String) {
    if word.is_ascii() {
        folded.push_str(word);
        folded.make_ascii_lowercase();
        return;
    }
    for c in word.chars().flat_map(char::to_lowercase) {
        match c {
            '\u{300}'..='\u{36f}' => {}
            '\u{ff10}'..='\u{ff5a}' => folded.push(char::from_u32(c as u32 - 0xfee0).unwrap_or(c)),
            '\u{df}'..='\u{233}' | '\u{390}'..='\u{3ce}' | 'ё' | '\u{fb01}' => {
                folded.push_str(base(c).unwrap_or(c.encode_utf8(&mut [0; 4])));
            }
            _ => folded.push(c),
        }
    }
}

/// The letter without its accent.
fn base(c: char) -> Option<&'static str> {
    const TABLE: [(&str, &str); 33] = [
        ("a", "àáâãäåāăąǎ"),
        ("ae", "æ"),
        ("c", "çćĉċč"),
        ("d", "ďđð"),
        ("e", "èéêëēĕėęě"),
        ("g", "ĝğġģ"),
        ("h", "ĥħ"),
        ("i", "ìíîïĩīĭįıǐ"),
        ("j", "ĵ"),
        ("k", "ķ"),
        ("l", "ĺļľł"),
        ("n", "ñńņňŋ"),
        ("o", "òóôõöøōŏőǒ"),
        ("oe", "œ"),
        ("r", "ŕŗř"),
        ("s", "śŝşšș"),
        ("ss", "ß"),
        ("t", "ţťțŧ"),
        ("th", "þ"),
        ("u", "ùúûüũūŭůűųǔ"),
        ("w", "ŵ"),
        ("y", "ýÿŷ"),
        ("z", "źżž"),
        ("fi", "ﬁ"),
        ("α", "ά"),
        ("ε", "έ"),
        ("η", "ή"),
        ("ι", "ίϊΐ"),
        ("ο", "ό"),
        ("σ", "ς"),
        ("υ", "ύϋΰ"),
        ("ω", "ώ"),
        ("е", "ё"),
    ];
    TABLE.iter().find(|(_, accented)| accented.contains(c)).map(|(base, _)| *base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.folded).collect()
    }

    #[test]
    fn words_are_folded_and_know_their_place() {
        let text = "Größe: the Café's ＡＢＣ e\u{301}tat";
        assert_eq!(folded(text), ["grosse", "the", "cafe", "s", "abc", "etat"]);
        let found: Vec<&str> = words(text).into_iter().map(|word| &text[word.range]).collect();
        assert_eq!(found, ["Größe", "the", "Café", "s", "ＡＢＣ", "e\u{301}tat"]);
    }

    #[test]
    fn runs_without_spaces_become_pairs() {
        assert_eq!(folded("梅雨前線は2025年"), ["梅雨", "雨前", "前線", "線は", "2025", "年"]);
    }

    #[test]
    fn underscores_and_dots_separate() {
        assert_eq!(folded("account_class v2.0"), ["account", "class", "v2", "0"]);
    }
}
