//! Git's settings, read as git reads them: what follows a section's head on its line counts too.
//!
//! Whatever git would refuse, or read otherwise in some version, is not read at all.

/// One setting. Names are in lower case, as git compares them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) section: String,
    pub(super) key: String,
    /// Without quotes and comments; empty if there is none.
    pub(super) value: String,
}

/// All settings of a file; nothing if any part of it cannot be understood.
pub(super) fn settings(text: &str) -> Option<Vec<Setting>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    // A NUL ends a text for some and not for others.
    if text.contains('\0') {
        return None;
    }
    let mut reader = Reader(text.chars().collect::<Vec<_>>().into_iter().peekable());
    let (mut section, mut settings) = (None, Vec::new());
    while let Some(next) = reader.0.next() {
        match next {
            ' ' | '\t' | '\r' | '\n' => {}
            '#' | ';' => reader.skip_line(),
            '[' => section = Some(reader.head()?),
            letter if letter.is_ascii_alphabetic() => {
                let section = section.clone()?;
                settings.push(reader.setting(section, letter)?);
            }
            _ => return None,
        }
    }
    Some(settings)
}

struct Reader(std::iter::Peekable<std::vec::IntoIter<char>>);

impl Reader {
    fn skip_line(&mut self) {
        while self.0.next().is_some_and(|next| next != '\n') {}
    }

    /// What stands in the brackets, of which only the section's own name counts here: `remote` of `[remote "origin"]`.
    fn head(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            match self.0.next()? {
                ']' => break,
                ' ' | '\t' => {
                    self.rest_of_head()?;
                    break;
                }
                letter if is_of_key(letter) || letter == '.' => name.push(letter.to_ascii_lowercase()),
                _ => return None,
            }
        }
        name.split('.').next().map(str::to_owned)
    }

    fn rest_of_head(&mut self) -> Option<()> {
        while self.0.next_if(|next| matches!(next, ' ' | '\t')).is_some() {}
        (self.0.next()? == '"').then_some(())?;
        loop {
            match self.0.next()? {
                '"' => break,
                '\n' => return None,
                '\\' => (self.0.next()? != '\n').then_some(())?,
                _ => {}
            }
        }
        (self.0.next()? == ']').then_some(())
    }

    fn setting(&mut self, section: String, first: char) -> Option<Setting> {
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
        Some(Setting { section, key, value })
    }

    /// Up to the end of the line, or of the last line that a backslash joins to it.
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
                    // Spaces count only between words.
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

    /// What a backslash stands for: nothing, if it joins two lines.
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
        let pair = |one: Setting| (format!("{}.{}", one.section, one.key), one.value);
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
