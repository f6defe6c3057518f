//! One word of a command: its quotes removed, and whether it is known before it runs.

use super::read::Reader;

/// A word as it was read.
#[derive(Default)]
pub(super) struct Word {
    /// Without quotes. Meaningless where it is not known.
    pub(super) text: String,
    /// It depends on variables, files or commands.
    pub(super) unknown: bool,
    /// Some of it was quoted: no keyword, no digit of a redirection.
    pub(super) quoted: bool,
    /// What stands before its `=` is not known: it may become several words.
    pub(super) strange: bool,
    /// It may become several words, or none.
    pub(super) splits: bool,
    /// Bytes of the text before the first thing that is not known.
    start: usize,
}

impl Word {
    /// The word, where it is known.
    pub(super) fn known(self) -> Option<String> {
        (!self.unknown).then_some(self.text)
    }

    /// Something in it is known only when it runs.
    fn lose(&mut self) {
        if !self.unknown {
            self.start = self.text.len();
        }
        self.unknown = true;
    }

    /// Whether it may turn out to be an option, or several words.
    pub(super) fn is_loose(&self) -> bool {
        let start = &self.text[..self.start.min(self.text.len())];
        self.unknown && (self.splits || start.is_empty() || start.starts_with(['-', '+']))
    }

    /// Whether it is this keyword.
    pub(super) fn is(&self, keyword: &str) -> bool {
        !self.quoted && !self.unknown && self.text == keyword
    }

    /// As an assignment: what is not known of the value is left out.
    pub(super) fn assignment(self) -> String {
        let Self { text, unknown, .. } = self;
        match text.split_once('=').filter(|_| unknown) {
            Some((name, _)) => format!("{name}=?"),
            None => text,
        }
    }

    /// Whether it sets a variable: a name, and an unquoted `=` behind it.
    pub(super) fn assigns(&self) -> bool {
        !self.strange && is_assignment(&self.text)
    }
}

/// Whether a text begins with a variable's name and `=`.
pub(super) fn is_assignment(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Reader<'_, '_> {
    /// Reads one word; `None` where none begins here.
    pub(super) fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        let from = self.at;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | '\r' | ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' if self.ahead("<(") || self.ahead(">(") => {
                    self.skip(2);
                    self.list(Some(')'));
                    word.lose();
                }
                '<' | '>' => break,
                '\'' => self.single(&mut word),
                '"' => self.double(&mut word),
                '`' => self.backtick(&mut word, false),
                '$' => self.dollar(&mut word),
                '\\' => self.escaped(&mut word),
                '{' if self.ahead("{}") => {
                    self.skip(2);
                    word.text.push_str("{}");
                }
                '*' | '?' | '[' | '{' | '~' => {
                    // What it becomes depends on the files there are; a lone one is a keyword or a test.
                    let alone = self.skip(1).and_then(|()| self.peek()).is_none_or(is_end) && word.text.is_empty();
                    if !(alone && matches!(c, '[' | '{')) {
                        word.lose();
                        word.splits |= c == '{';
                    }
                    word.text.push(c);
                }
                other => {
                    self.skip(1);
                    word.strange |= other == '=' && word.unknown && !word.text.contains('=');
                    word.text.push(other);
                }
            }
        }
        (self.at > from).then_some(word)
    }

    fn single(&mut self, word: &mut Word) {
        self.skip(1);
        word.quoted = true;
        while let Some(c) = self.next() {
            if c == '\'' {
                return;
            }
            self.note_line(c);
            word.text.push(c);
        }
        self.broken();
    }

    fn double(&mut self, word: &mut Word) {
        self.skip(1);
        word.quoted = true;
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.skip(1);
                    return;
                }
                '`' => self.backtick(word, true),
                '$' => self.dollar_quoted(word),
                '\\' => {
                    self.skip(1);
                    match self.next() {
                        Some('\n') => {}
                        Some(c @ ('$' | '`' | '"' | '\\')) => word.text.push(c),
                        Some(other) => word.text.extend(['\\', other]),
                        None => {}
                    }
                }
                other => {
                    self.skip(1);
                    self.note_line(other);
                    word.text.push(other);
                }
            }
        }
        self.broken();
    }

    fn escaped(&mut self, word: &mut Word) {
        self.skip(1);
        match self.next() {
            Some('\n') => {}
            Some(c) => {
                word.quoted = true;
                word.text.push(c);
            }
            None => self.broken(),
        }
    }

    /// `…`: the text between is a command once its own escapes are gone.
    /// Within double quotes, shells do not agree on whether `\"` is such an escape.
    pub(super) fn backtick(&mut self, word: &mut Word, is_quoted: bool) {
        self.skip(1);
        word.lose();
        word.splits |= !is_quoted;
        let mut inner = String::new();
        while let Some(c) = self.next() {
            match c {
                '`' => {
                    self.inside(&inner);
                    return;
                }
                '\\' => match self.next() {
                    Some(c @ ('`' | '\\' | '$')) => inner.push(c),
                    Some(c @ ('"' | '\n')) if is_quoted || c == '\n' => {
                        self.doubtful();
                        inner.extend(['\\', c]);
                    }
                    Some(other) => inner.extend(['\\', other]),
                    None => {}
                },
                other => inner.push(other),
            }
        }
        self.inside(&inner);
        self.broken();
    }

    /// `$` outside of quotes: `$'…'` and `$"…"` are words of some shells only.
    fn dollar(&mut self, word: &mut Word) {
        if self.ahead("$'") || self.ahead("$\"") {
            self.skip(1);
            word.lose();
            if self.ahead("\"") {
                self.double(word);
            } else {
                self.ansi();
            }
            return;
        }
        self.deeper(|reader| reader.expansion(word, false));
    }

    /// `$'…'`, in which `\'` does not end it. Where it is no such word, it is another one: nobody can tell.
    fn ansi(&mut self) {
        self.skip(1);
        self.doubtful();
        while let Some(c) = self.next() {
            match c {
                '\'' => return,
                '\\' => drop(self.next()),
                _ => {}
            }
        }
        self.broken();
    }

    pub(super) fn dollar_quoted(&mut self, word: &mut Word) {
        self.deeper(|reader| reader.expansion(word, true));
    }

    fn expansion(&mut self, word: &mut Word, is_quoted: bool) {
        self.skip(1);
        // `"$@"` and `"${a[@]}"` become several words in quotes, too.
        word.splits |= !is_quoted || self.ahead("@") || self.ahead("{");
        match self.peek() {
            Some('(') if self.ahead("((") => {
                word.lose();
                self.skip(2);
                self.arithmetic();
            }
            Some('(') => {
                word.lose();
                self.skip(1);
                self.list(Some(')'));
            }
            Some('{') => {
                word.lose();
                self.skip(1);
                self.braces(is_quoted);
            }
            Some(c) if c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '*' | '#' | '?' | '-' | '$' | '!') => {
                word.lose();
                self.skip(1);
            }
            Some(_) | None => word.text.push('$'),
        }
    }

    /// `${…}`: what stands inside may be a command again. Within double quotes, quotes may be signs like others.
    fn braces(&mut self, is_quoted: bool) {
        let mut inner = Word::default();
        while let Some(c) = self.peek() {
            match c {
                '}' => {
                    self.skip(1);
                    return;
                }
                '\'' | '"' if is_quoted => {
                    self.doubtful();
                    self.skip(1);
                }
                '\'' => self.single(&mut inner),
                '"' => self.double(&mut inner),
                '`' => self.backtick(&mut inner, is_quoted),
                '\\' => self.escaped(&mut inner),
                '$' => self.deeper(|reader| reader.expansion(&mut inner, is_quoted)),
                '<' | '>' if self.ahead("<(") || self.ahead(">(") => {
                    self.doubtful();
                    self.skip(2);
                }
                other => {
                    self.skip(1);
                    self.note_line(other);
                }
            }
        }
        self.broken();
    }

    /// `$((…))`: numbers, with perhaps a command among them. Where it ends otherwise it was something else.
    fn arithmetic(&mut self) {
        let mut open = 2;
        let mut inner = Word::default();
        while let Some(c) = self.peek() {
            match c {
                '$' => self.dollar_quoted(&mut inner),
                '`' => self.backtick(&mut inner, true),
                '\'' | '"' | '\\' => {
                    self.doubtful();
                    self.skip(1);
                }
                '(' => {
                    self.skip(1);
                    open += 1;
                }
                ')' if open == 2 && !self.ahead("))") => {
                    self.doubtful();
                    self.skip(1);
                    open = 1;
                }
                ')' => {
                    self.skip(1);
                    open -= 1;
                    if open == 0 {
                        return;
                    }
                }
                _ => {
                    self.skip(1);
                }
            }
        }
        self.broken();
    }
}

/// Whether a word ends here.
fn is_end(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
}
