//! Porter's stemmer: `connected`, `connecting` and `connection` become `connect`.
//!
//! Written out here instead of SQLite's tokenizer of that name, because candidates found by the index are scored again
//! in Rust and both sides must see the same words.

/// The stem of a lower-case word. Words with other letters than `a` to `z` are their own stem.
pub(crate) fn stem(word: &str) -> String {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut stem = Stem { letters: word.as_bytes().to_vec() };
    stem.plurals();
    stem.past_tenses();
    stem.final_y();
    stem.replace_first(&DOUBLE_SUFFIXES, 0);
    stem.replace_first(&SUFFIXES, 0);
    stem.endings();
    stem.tidy();
    String::from_utf8_lossy(&stem.letters).into_owned()
}

/// Step 2 of the algorithm: two suffixes become one.
const DOUBLE_SUFFIXES: [(&str, &str); 20] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
];

/// Step 3: suffixes that say little about the meaning.
const SUFFIXES: [(&str, &str); 7] =
    [("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")];

/// Step 4: removed from words that are long enough without them.
const ENDINGS: [&str; 19] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize",
    "al", "er", "ic", "ou",
];

/// A word while it is cut.
struct Stem {
    letters: Vec<u8>,
}

impl Stem {
    fn plurals(&mut self) {
        if self.ends("sses") || self.ends("ies") {
            self.cut(2);
        } else if self.ends("s") && !self.ends("ss") {
            self.cut(1);
        }
    }

    fn past_tenses(&mut self) {
        if self.ends("eed") {
            if self.measure(3) > 0 {
                self.cut(1);
            }
            return;
        }
        let suffix = if self.ends("ed") { 2 } else { 3 };
        if !(self.ends("ed") || self.ends("ing")) || !self.has_vowel(suffix) {
            return;
        }
        self.cut(suffix);
        if self.ends("at") || self.ends("bl") || self.ends("iz") {
            self.letters.push(b'e');
        } else if self.ends_double() && !(self.ends("l") || self.ends("s") || self.ends("z")) {
            self.cut(1);
        } else if self.measure(0) == 1 && self.ends_short(0) {
            self.letters.push(b'e');
        }
    }

    fn final_y(&mut self) {
        if self.ends("y") && self.has_vowel(1) {
            self.cut(1);
            self.letters.push(b'i');
        }
    }

    /// Replaces the longest suffix of the list that the word has, if more than `least` syllables stay.
    fn replace_first(&mut self, list: &[(&str, &str)], least: usize) {
        let longest = list.iter().filter(|(suffix, _)| self.ends(suffix)).max_by_key(|(suffix, _)| suffix.len());
        if let Some((suffix, replacement)) = longest
            && self.measure(suffix.len()) > least
        {
            self.cut(suffix.len());
            self.letters.extend(replacement.bytes());
        }
    }

    fn endings(&mut self) {
        let Some(ending) = ENDINGS.iter().find(|ending| self.ends(ending)) else { return };
        let is_fit = *ending != "ion" || matches!(self.letter(ending.len()), Some(b's' | b't'));
        if is_fit && self.measure(ending.len()) > 1 {
            self.cut(ending.len());
        }
    }

    fn tidy(&mut self) {
        if self.ends("e") {
            let measure = self.measure(1);
            if measure > 1 || (measure == 1 && !self.ends_short(1)) {
                self.cut(1);
            }
        }
        if self.ends("ll") && self.measure(0) > 1 {
            self.cut(1);
        }
    }

    fn ends(&self, suffix: &str) -> bool {
        self.letters.ends_with(suffix.as_bytes())
    }

    fn cut(&mut self, count: usize) {
        self.letters.truncate(self.letters.len().saturating_sub(count));
    }

    /// The letter before the last `suffix` letters.
    fn letter(&self, suffix: usize) -> Option<u8> {
        self.letters.len().checked_sub(suffix + 1).and_then(|at| self.letters.get(at)).copied()
    }

    fn is_consonant(&self, at: usize) -> bool {
        match self.letters[at] {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => at == 0 || !self.is_consonant(at - 1),
            _ => true,
        }
    }

    /// How often a vowel is followed by a consonant, without the last `suffix` letters.
    fn measure(&self, suffix: usize) -> usize {
        let kinds: Vec<bool> = (0..self.letters.len().saturating_sub(suffix)).map(|at| self.is_consonant(at)).collect();
        kinds.windows(2).filter(|pair| !pair[0] && pair[1]).count()
    }

    fn has_vowel(&self, suffix: usize) -> bool {
        (0..self.letters.len().saturating_sub(suffix)).any(|at| !self.is_consonant(at))
    }

    fn ends_double(&self) -> bool {
        let last = self.letters.len().saturating_sub(1);
        last > 0 && self.letters[last] == self.letters[last - 1] && self.is_consonant(last)
    }

    /// Whether it ends in consonant, vowel, consonant, and the last is not `w`, `x` or `y`: `hop`, but not `snow`.
    fn ends_short(&self, suffix: usize) -> bool {
        let Some(last) = self.letters.len().checked_sub(suffix + 1).filter(|last| *last >= 2) else { return false };
        let is_sequence = self.is_consonant(last - 2) && !self.is_consonant(last - 1) && self.is_consonant(last);
        is_sequence && !matches!(self.letters[last], b'w' | b'x' | b'y')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_paper() {
        let pairs = [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("cats", "cat"),
            ("feed", "feed"),
            ("agreed", "agre"),
            ("plastered", "plaster"),
            ("motoring", "motor"),
            ("sing", "sing"),
            ("conflated", "conflat"),
            ("sized", "size"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("filing", "file"),
            ("happy", "happi"),
            ("sky", "sky"),
            ("relational", "relat"),
            ("digitizer", "digit"),
            ("operator", "oper"),
            ("decisiveness", "decis"),
            ("sensibiliti", "sensibl"),
            ("triplicate", "triplic"),
            ("hopefulness", "hope"),
            ("adjustment", "adjust"),
            ("adoption", "adopt"),
            ("effective", "effect"),
            ("probate", "probat"),
            ("rate", "rate"),
            ("controll", "control"),
            ("roll", "roll"),
        ];
        for (word, expected) in pairs {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn words_of_other_alphabets_and_numbers_stay() {
        assert_eq!(["größe", "2025", "梅雨", "is"].map(stem), ["größe", "2025", "梅雨", "is"]);
    }
}
