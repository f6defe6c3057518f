//! What `sed` runs and writes by its script: `e` runs a command, `w` writes a file, and `s` has both as flags.

use super::options::{Given, given, is_fed};

/// Whether a call of `sed` may run or write something by its script. What cannot be told for certain may.
pub(super) fn call_does_more(words: &[Option<String>]) -> bool {
    // `-i` takes what is joined to it, and that is no option.
    let cut = |word: &String| match word.split_once('i') {
        Some((before, _)) if word.starts_with('-') && !word.starts_with("--") && !before.contains(['e', 'f', 'l']) => {
            format!("{before}i")
        }
        _ => word.clone(),
    };
    let words: Vec<Option<String>> = words.iter().skip(1).map(|word| word.as_ref().map(cut)).collect();
    let all = given(&words, "efl");
    let mut script: Vec<&str> = Vec::new();
    let mut has_script = false;
    for option in &all {
        match option {
            Given::Letter('e', Some(text)) => script.push(text),
            Given::Letter('e', None) => return true,
            Given::Letter('f', file) if is_fed(*file) => return true,
            Given::Long(_, Some(text)) if option.may_be("expression") => script.push(text),
            Given::Long(_, file) if option.may_be("file") && is_fed(*file) => return true,
            Given::Long(..) if option.may_be("expression") => return true,
            Given::Letter('f', _) => {}
            Given::Long(..) if option.may_be("file") => {}
            _ => continue,
        }
        has_script = true;
    }
    if !has_script {
        match all.iter().find(|given| matches!(given, Given::Word(_) | Given::Unknown)) {
            Some(Given::Word(text)) => script.push(text),
            // Only options, such as `--version`.
            None => return false,
            Some(_) => return true,
        }
    }
    does_more(&script.join("\n"))
}

/// Whether a script may run or write something. Some know of brackets within patterns, and some do not: a script that only
/// the others take is refused by these.
fn does_more(script: &str) -> bool {
    let read = |brackets| Script { rest: script, brackets }.does_more();
    match (read(true), read(false)) {
        (Some(more), Some(also)) => more || also,
        (Some(more), None) | (None, Some(more)) => more,
        (None, None) => true,
    }
}

struct Script<'t> {
    rest: &'t str,
    brackets: bool,
}

impl<'t> Script<'t> {
    /// Nothing where this is no script.
    fn does_more(mut self) -> Option<bool> {
        loop {
            self.skip(|c| c.is_whitespace() || c == ';');
            if self.rest.is_empty() {
                return Some(false);
            }
            self.address()?;
            match self.next()? {
                'e' | 'w' | 'W' => return Some(true),
                's' => {
                    let mark = self.next()?;
                    self.until(mark, self.brackets)?;
                    self.until(mark, false)?;
                    let flags = self.skip(|c| c.is_ascii_alphanumeric());
                    if flags.contains(['e', 'w']) {
                        return Some(true);
                    }
                    self.end()?;
                }
                'y' => {
                    let mark = self.next()?;
                    self.until(mark, false)?;
                    self.until(mark, false)?;
                    self.end()?;
                }
                'a' | 'i' | 'c' => self.text(),
                'r' | 'R' | '#' => drop(self.skip(|c| c != '\n')),
                ':' | 'b' | 't' | 'T' | 'v' => drop(self.skip(|c| !matches!(c, '\n' | ';' | '}'))),
                '{' | '}' => {}
                '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => self.end()?,
                'l' | 'L' | 'q' | 'Q' => {
                    self.skip(|c| c == ' ' || c.is_ascii_digit());
                    self.end()?;
                }
                _ => return None,
            }
        }
    }

    /// The lines that a command is for: `1,$`, `/words/`, `\,words,`, `!`.
    fn address(&mut self) -> Option<()> {
        loop {
            self.skip(|c| c.is_ascii_digit() || c.is_whitespace() || ",$!~+".contains(c));
            let mark = match self.rest.chars().next()? {
                '/' => '/',
                '\\' => {
                    self.next();
                    self.rest.chars().next()?
                }
                _ => return Some(()),
            };
            self.next();
            self.until(mark, self.brackets)?;
            self.skip(|c| c == 'I' || c == 'M');
        }
    }

    /// Goes behind the next mark that is not written with a backslash, nor within brackets where these count.
    fn until(&mut self, mark: char, brackets: bool) -> Option<()> {
        while let Some(c) = self.next() {
            match c {
                _ if c == mark => return Some(()),
                '\\' => drop(self.next()),
                '[' if brackets => self.bracket()?,
                _ => {}
            }
        }
        None
    }

    /// Goes behind `[…]`, whose first sign may be a `]`, and which may hold `[:alpha:]`.
    fn bracket(&mut self) -> Option<()> {
        self.rest = self.rest.strip_prefix('^').unwrap_or(self.rest);
        self.rest = self.rest.strip_prefix(']').unwrap_or(self.rest);
        loop {
            match self.next()? {
                ']' => return Some(()),
                '[' if self.rest.starts_with([':', '.', '=']) => {
                    let end = format!("{}]", self.next()?);
                    let at = self.rest.find(&end)?;
                    self.rest = &self.rest[at + end.len()..];
                }
                _ => {}
            }
        }
    }

    /// Text up to the end of a line that no backslash continues.
    fn text(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\n' => return,
                '\\' => drop(self.next()),
                _ => {}
            }
        }
    }

    /// Nothing more belongs to a command.
    fn end(&mut self) -> Option<()> {
        self.skip(|c| c == ' ' || c == '\t');
        (self.rest.is_empty() || self.rest.starts_with([';', '\n', '}', '#'])).then_some(())
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn skip(&mut self, is_meant: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest.trim_start_matches(is_meant);
        let skipped = &self.rest[..self.rest.len() - rest.len()];
        self.rest = rest;
        skipped
    }
}

#[cfg(test)]
mod tests {
    use super::does_more;

    #[test]
    fn scripts_that_run_or_write_are_told_from_those_that_edit() {
        let harmful = [
            "e touch x",
            "1e touch x",
            "1etouch x",
            "e",
            "$!e",
            "/a/e touch x",
            "s/a/b/e",
            "s/a/b/ge",
            "s/x*/touch P;true/e",
            "s/[/]/touch P/e",
            "s/[]/]/b/e",
            "s/a/b/;s/c/{/e",
            "y/a/;/;e x",
            "a text\ne touch x",
            "s|a|b|w out",
            "w out",
            "p;w x",
            "no script",
        ];
        for script in harmful.into_iter().chain(["1,5{e x\n}", "\\,a,e x", "s;a;b;e", "s/\\//b/e", "/x/I,/y/w z"]) {
            assert!(does_more(script), "{script}");
        }
        for script in [
            "1,10p",
            "$p",
            "s/a/b/g",
            "s/we/ew/",
            "/end/d",
            "s,x,ew,",
            "y/abc/def/",
            "$!N;P;D",
            "s/e/w/2",
            ":a;N;$!ba;s/\\n/ /g",
            "s/[^/]*$//",
            "s/a;b/c;e d/",
            "1i\\\nwe are",
            "/x/{s/a/b/;p}",
            "s/[[:space:]]*$//",
        ] {
            assert!(!does_more(script), "{script}");
        }
    }
}
