//! The options of a program as `getopt` reads them: letters in bundles, long names cut short, values joined or apart.

/// One thing among a program's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given<'w> {
    /// A letter, and its value where it takes one.
    Letter(char, Option<&'w str>),
    /// A long name, perhaps cut short, and its value: what follows `=`, else the next word, which may be none of its.
    Long(&'w str, Option<&'w str>),
    /// No option.
    Word(&'w str),
    /// A word that only running tells.
    Unknown,
}

impl Given<'_> {
    /// Whether it may be this long option.
    pub(super) fn may_be(&self, wanted: &str) -> bool {
        matches!(self, Self::Long(name, _) if !name.is_empty() && wanted.starts_with(name))
    }

    pub(super) fn is_letter(&self, letters: &str) -> bool {
        matches!(self, Self::Letter(letter, _) if letters.contains(*letter))
    }
}

/// Reads words behind a program's name. `takes` are the letters that have a value, in the same word or the next.
pub(super) fn given<'w>(words: &'w [Option<String>], takes: &str) -> Vec<Given<'w>> {
    let mut found = Vec::new();
    let mut rest = words.iter().map(Option::as_deref).peekable();
    let mut no_more_options = false;
    while let Some(word) = rest.next() {
        let Some(word) = word else {
            found.push(Given::Unknown);
            continue;
        };
        if no_more_options || word.len() < 2 || !word.starts_with('-') {
            found.push(Given::Word(word));
        } else if word == "--" {
            no_more_options = true;
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            found.push(Given::Long(name, value.or_else(|| rest.peek().copied().flatten())));
        } else {
            let mut letters = word[1..].chars();
            while let Some(letter) = letters.next() {
                if !takes.contains(letter) {
                    found.push(Given::Letter(letter, None));
                    continue;
                }
                let joined = Some(letters.as_str()).filter(|value| !value.is_empty());
                let value = joined.or_else(|| rest.next().flatten());
                found.push(Given::Letter(letter, value));
                break;
            }
        }
    }
    found
}

/// The files that an option says are written; absent where one is not known.
pub(super) fn written(all: &[Given<'_>], letter: char, long: &str) -> Vec<Option<String>> {
    let mut files = Vec::new();
    for option in all {
        match option {
            Given::Letter(given, file) if *given == letter => files.push(file.map(str::to_owned)),
            Given::Long(_, file) if option.may_be(long) => files.push(file.map(str::to_owned)),
            _ => {}
        }
    }
    files
}

/// Whether a file is no file: what is fed to a program.
pub(super) fn is_fed(file: Option<&str>) -> bool {
    file.is_none_or(|file| file == "-" || file.contains("/dev/") || file.contains("/proc/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_unbundled_and_long_names_may_be_cut_short() {
        let words: Vec<_> = "-nqx run -ofile --ex now --out=a b -- -x".split(' ').map(|w| Some(w.to_owned())).collect();
        let found = given(&words, "xo");
        let letters = [('n', None), ('q', None), ('x', Some("run")), ('o', Some("file"))];
        assert!(found.iter().zip(letters).all(|(given, (letter, value))| *given == Given::Letter(letter, value)));
        assert!(found[4].may_be("exec") && !found[4].may_be("only") && found[4] == Given::Long("ex", Some("now")));
        assert_eq!(
            found[5..],
            [Given::Word("now"), Given::Long("out", Some("a")), Given::Word("b"), Given::Word("-x")]
        );
    }
}
