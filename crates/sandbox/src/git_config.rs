//! Parses git's settings files like git does; for example, a setting may follow a section's header on the same line.
//!
//! A file that git would refuse, or that some version would read differently, is not parsed at all.

/// One setting. Names are in lower case, as git compares them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GitConfigEntry {
    pub(crate) section: String,
    /// The subsection in the brackets, unchanged: `origin` in `[remote "origin"]`.
    pub(crate) part: Option<String>,
    pub(crate) key: String,
    /// The value without quotes and comments; empty if there is none.
    pub(crate) value: String,
}

/// All settings of a file; `None` if any part of it cannot be parsed.
pub(crate) fn settings(text: &str) -> Option<Vec<GitConfigEntry>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    // Some programs treat a NUL as the end of a text, others do not.
    if text.contains('\0') {
        return None;
    }
    let mut reader = GitConfigReader(text.chars().collect::<Vec<_>>().into_iter().peekable());
    let (mut section, mut settings) = (None, Vec::new());
    while let Some(next) = reader.0.next() {
        match next {
            ' ' | '\t' | '\r' | '\n' => {}
            '#' | ';' => reader.skip_line(),
            '[' => section = Some(reader.head()?),
            letter if letter.is_ascii_alphabetic() => {
                let (section, part) = section.clone()?;
                settings.push(reader.setting(section, part, letter)?);
            }
            _ => return None,
        }
    }
    Some(settings)
}

struct GitConfigReader(std::iter::Peekable<std::vec::IntoIter<char>>);

impl GitConfigReader {
    fn skip_line(&mut self) {
        while self.0.next().is_some_and(|next| next != '\n') {}
    }

    /// The header in brackets: the section's name and its subsection. `[remote.origin]` is an older form of `[remote
    /// "origin"]`.
    fn head(&mut self) -> Option<(String, Option<String>)> {
        let (mut name, mut part) = (String::new(), None);
        loop {
            match self.0.next()? {
                ']' => break,
                ' ' | '\t' => {
                    part = Some(self.rest_of_head()?);
                    break;
                }
                letter if is_of_key(letter) || letter == '.' => name.push(letter.to_ascii_lowercase()),
                _ => return None,
            }
        }
        match name.split_once('.') {
            Some((section, rest)) => Some((section.to_owned(), Some(part.unwrap_or_else(|| rest.to_owned())))),
            None => Some((name, part)),
        }
    }

    fn rest_of_head(&mut self) -> Option<String> {
        let mut part = String::new();
        while self.0.next_if(|next| matches!(next, ' ' | '\t')).is_some() {}
        (self.0.next()? == '"').then_some(())?;
        loop {
            match self.0.next()? {
                '"' => break,
                '\n' => return None,
                '\\' => part.push(self.0.next().filter(|next| *next != '\n')?),
                other => part.push(other),
            }
        }
        (self.0.next()? == ']').then_some(part)
    }

    fn setting(&mut self, section: String, part: Option<String>, first: char) -> Option<GitConfigEntry> {
        let mut key = String::from(first.to_ascii_lowercase());
        while let Some(letter) = self.0.next_if(|next| is_of_key(*next)) {
            key.push(letter.to_ascii_lowercase());
        }
        while self.0.next_if(|next| matches!(next, ' ' | '\t')).is_some() {}
        let value = match self.0.next() {
            None | Some('\n') => String::new(),
            Some('=') => self.value()?,
            Some(_) => return None,
        };
        Some(GitConfigEntry { section, part, key, value })
    }

    /// Reads up to the end of the line, or of the last line that a backslash continues.
    fn value(&mut self) -> Option<String> {
        let (mut value, mut is_quoted, mut spaces) = (String::new(), false, String::new());
        loop {
            let next = match self.0.next() {
                None | Some('\n') => return (!is_quoted).then_some(value),
                Some(next) => next,
            };
            match next {
                '#' | ';' if !is_quoted => {
                    self.skip_line();
                    return Some(value);
                }
                ' ' | '\t' | '\r' if !is_quoted => {
                    // Only spaces between words count.
                    spaces.extend((!value.is_empty()).then_some(next));
                    continue;
                }
                _ => value.push_str(&std::mem::take(&mut spaces)),
            }
            match next {
                '"' => is_quoted = !is_quoted,
                '\\' => value.push_str(self.escaped()?),
                other => value.push(other),
            }
        }
    }

    /// The text for an escape sequence; empty if the backslash continues the line.
    fn escaped(&mut self) -> Option<&'static str> {
        match self.0.next()? {
            '\n' => Some(""),
            't' => Some("\t"),
            'n' => Some("\n"),
            'b' => Some("\u{8}"),
            '"' => Some("\""),
            '\\' => Some("\\"),
            _ => None,
        }
    }
}

fn is_of_key(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Vec<(String, String)>> {
        let pair = |one: GitConfigEntry| (format!("{}.{}", one.section, one.key), one.value);
        settings(text).map(|all| all.into_iter().map(pair).collect())
    }

    fn reads_as(text: &str, wanted: &[(&str, &str)]) {
        let wanted: Vec<_> = wanted.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(read(text), Some(wanted), "{text}");
    }

    #[test]
    fn a_line_may_hold_a_head_and_a_setting() {
        reads_as("[core] fsmonitor = ./evil.sh # ]\n", &[("core.fsmonitor", "./evil.sh")]);
        reads_as("[core][Alias]St=!evil", &[("alias.st", "!evil")]);
        reads_as("[core \"a]\"] bare\n", &[("core.bare", "")]);
        reads_as("[remote.Origin]\nurl = x\n", &[("remote.url", "x")]);
    }

    #[test]
    fn the_part_of_a_section_is_what_stands_in_quotes() {
        let part = |text: &str| settings(text).unwrap().pop().unwrap().part;
        assert_eq!(part("[user]\na = b\n"), None);
        assert_eq!(part("[includeIf \"gitdir:~/a \\\"b\\\\\"]\na = b\n").as_deref(), Some("gitdir:~/a \"b\\"));
        assert_eq!(part("[user.Other]\na = b\n").as_deref(), Some("other"));
    }

    #[test]
    fn quotes_comments_and_joined_lines_are_those_of_git() {
        reads_as("[a]\nb = \"x # y\" z ; w\n", &[("a.b", "x # y z")]);
        reads_as("[a]\nb = x \\\n  y\nc\n", &[("a.b", "x   y"), ("a.c", "")]);
        reads_as("[a]\nb = x # \\\nc = y\n", &[("a.b", "x"), ("a.c", "y")]);
        reads_as("\u{feff}[a]\r\n\tb = \"\\\"\\\\\"\r\n# [x] y=z\n;\n", &[("a.b", "\"\\")]);
        reads_as("# [core]\n", &[]);
    }

    #[test]
    fn what_git_would_refuse_is_not_read() {
        for text in [
            "a = b\n",
            "[a\nb = c]\n",
            "[a \"b\nc\"]\n",
            "[a b]\n",
            "[a]\nb c\n",
            "[a]\nb = \"c\n",
            "[a]\nb = \\x\n",
            "[a]\n1 = b\n",
            "[a]\nb = c\0d\n",
            "[a] ] b = c\n",
            "[a",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
