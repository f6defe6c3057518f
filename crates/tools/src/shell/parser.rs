//! The parser for simple commands of plain words, the operators between them, and redirections.

use std::iter::Peekable;
use std::str::Chars;

/// Files that store nothing.
const NOWHERE: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// One simple command. A word is `None` if it is known only when the command runs: `$x`, `*.rs`.
#[derive(Default)]
pub(super) struct Simple {
    pub(super) words: Vec<Option<String>>,
    /// The files that its output is written to.
    pub(super) written: Vec<Option<String>>,
}

#[derive(Default)]
struct Word {
    text: String,
    is_unknown: bool,
    is_quoted: bool,
}

impl Word {
    fn known(self) -> Option<String> {
        (!self.is_unknown).then_some(self.text)
    }
}

/// The simple commands of a text up to the first construct that cannot be parsed, and whether that is all of the
/// text.
pub(super) fn commands(text: &str) -> (Vec<Simple>, bool) {
    let mut reader = Reader { chars: text.chars().peekable(), found: vec![Simple::default()] };
    let is_whole = reader.all().is_some();
    (reader.found.into_iter().filter(|one| !one.words.is_empty() || !one.written.is_empty()).collect(), is_whole)
}

struct Reader<'t> {
    chars: Peekable<Chars<'t>>,
    /// Never empty: the last one is being parsed.
    found: Vec<Simple>,
}

/// Each method returns `None` if it meets a construct that cannot be parsed.
impl Reader<'_> {
    fn all(&mut self) -> Option<()> {
        loop {
            self.blanks()?;
            match self.chars.peek().copied() {
                None => return Some(()),
                // This is one redirection in some shells; in others the command ends here, and a redirection follows.
                Some('&') if self.ahead("&>") => return None,
                Some('\n' | ';' | '&' | '|') => {
                    self.chars.next();
                    self.found.push(Simple::default());
                }
                Some('<' | '>') => self.redirection()?,
                Some(_) => self.take()?,
            }
        }
    }

    fn take(&mut self) -> Option<()> {
        let word = self.word()?;
        let is_digits = !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit());
        if is_digits && !word.is_quoted && matches!(self.chars.peek(), Some('<' | '>')) {
            return self.redirection();
        }
        self.found.last_mut()?.words.push(word.known());
        Some(())
    }

    fn redirection(&mut self) -> Option<()> {
        let operators = ["<<", "<(", ">(", "<&", ">&", ">>", ">|", "<>", "<", ">"];
        let operator = operators.into_iter().find(|operator| self.ahead(operator))?;
        self.chars.nth(operator.len() - 1);
        self.blanks()?;
        let target = self.word().filter(|word| word.is_quoted || !word.text.is_empty() || word.is_unknown)?;
        match operator {
            "<<" | "<(" | ">(" => return None,
            "<&" | ">&" => {
                // The number of a stream. Shells differ in how they treat anything else.
                return target.known().filter(|text| text.bytes().all(|b| b.is_ascii_digit())).map(drop);
            }
            "<" => {}
            _ if NOWHERE.contains(&target.text.as_str()) && !target.is_unknown => {}
            _ => self.found.last_mut()?.written.push(target.known()),
        }
        Some(())
    }

    /// Skips blanks, comments and line continuations.
    fn blanks(&mut self) -> Option<()> {
        loop {
            match self.chars.peek().copied() {
                Some(' ' | '\t') => drop(self.chars.next()),
                Some('\\') if self.ahead("\\\n") => drop(self.chars.nth(1)),
                Some('#') => while self.chars.next_if(|c| *c != '\n').is_some() {},
                // Some parsers treat it as a blank, but every shell treats it as part of a word.
                Some('\r') => return None,
                Some(_) | None => return Some(()),
            }
        }
    }

    fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        while let Some(&c) = self.chars.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' => break,
                '(' | ')' | '`' | '\r' => return None,
                '\'' => self.single(&mut word)?,
                '"' => self.double(&mut word)?,
                '\\' => self.escaped(&mut word)?,
                '$' => self.variable(&mut word)?,
                // As `xargs` and `find` use it; empty braces are literal.
                '{' if self.ahead("{}") => word.text.extend(self.chars.by_ref().take(2)),
                _ => {
                    let is_home = c == '~' && (word.text.is_empty() || word.text.ends_with(['=', ':']));
                    // The program `[` is not a pattern.
                    let is_pattern = matches!(c, '*' | '?' | '{' | '}') || (c == '[' && !self.ahead("[ "));
                    word.is_unknown |= is_home || is_pattern;
                    word.text.extend(self.chars.next());
                }
            }
        }
        Some(word)
    }

    fn single(&mut self, word: &mut Word) -> Option<()> {
        self.chars.next();
        word.is_quoted = true;
        loop {
            match self.chars.next()? {
                '\'' => return Some(()),
                c => word.text.push(c),
            }
        }
    }

    fn double(&mut self, word: &mut Word) -> Option<()> {
        self.chars.next();
        word.is_quoted = true;
        loop {
            match self.chars.peek().copied()? {
                '"' => return self.chars.next().map(drop),
                '`' => return None,
                // A `$` before a quote is literal here.
                '$' if self.ahead("$\"") || self.ahead("$'") => word.text.extend(self.chars.next()),
                '$' => self.variable(word)?,
                '\\' => {
                    self.chars.next();
                    match self.chars.next()? {
                        '\n' => {}
                        c @ ('"' | '\\' | '$' | '`') => word.text.push(c),
                        other => word.text.extend(['\\', other]),
                    }
                }
                _ => word.text.extend(self.chars.next()),
            }
        }
    }

    fn escaped(&mut self, word: &mut Word) -> Option<()> {
        self.chars.next();
        let c = self.chars.next()?;
        if c != '\n' {
            word.is_quoted = true;
            word.text.push(c);
        }
        Some(())
    }

    /// `$x`, `${x}` and `$?` are known only when the command runs; all other uses of `$` cannot be parsed.
    fn variable(&mut self, word: &mut Word) -> Option<()> {
        self.chars.next();
        match self.chars.peek().copied() {
            Some(c) if c.is_ascii_alphanumeric() || matches!(c, '_' | '?' | '#' | '$' | '!' | '@' | '*' | '-') => {
                self.chars.next();
                self.name();
            }
            Some('{') => {
                self.chars.next();
                self.name();
                self.chars.next_if_eq(&'}')?;
            }
            Some('(' | '[' | '\'' | '"') => return None,
            Some(_) | None => {
                word.text.push('$');
                return Some(());
            }
        }
        word.is_unknown = true;
        Some(())
    }

    fn name(&mut self) {
        while self.chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_').is_some() {}
    }

    fn ahead(&self, text: &str) -> bool {
        let mut rest = self.chars.clone();
        text.chars().all(|c| rest.next() == Some(c))
    }
}
