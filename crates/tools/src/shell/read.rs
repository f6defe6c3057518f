//! The reader: lists of commands, their operators, redirections and here-documents.

use updraft_run::Part;

use super::Found;
use super::word::Word;
use super::{variables, wrapped};

/// Words that stand before a command without being one.
const BEFORE: [&str; 9] = ["if", "then", "else", "elif", "while", "until", "do", "!", "{"];
/// Words that end a group.
const AFTER: [&str; 4] = ["fi", "done", "}", "esac"];

/// A text being read.
pub(super) struct Reader<'t, 'f> {
    text: &'t str,
    pub(super) at: usize,
    depth: usize,
    /// Lists within lists of this text.
    nested: usize,
    found: &'f mut Found,
    /// Here-documents whose text begins with the next line: where each ends, and whether it is taken as it stands.
    documents: Vec<(String, bool, bool)>,
    /// Open `case`s: in them, `)` ends a pattern.
    cases: usize,
}

impl<'t, 'f> Reader<'t, 'f> {
    pub(super) fn new(text: &'t str, depth: usize, found: &'f mut Found) -> Self {
        Self { text, at: 0, depth, nested: 0, found, documents: Vec::new(), cases: 0 }
    }

    /// Reads everything. A bracket that closes nothing ends no reading.
    pub(super) fn all(&mut self) {
        self.list(None);
        while self.peek().is_some() {
            self.broken();
            self.skip(1);
            self.list(None);
        }
        if !self.documents.is_empty() {
            self.broken();
        }
    }

    /// Reads commands up to a closing bracket, or to the end.
    pub(super) fn list(&mut self, end: Option<char>) {
        let cases = std::mem::take(&mut self.cases);
        self.deeper(|reader| reader.commands(end));
        self.cases = cases;
    }

    /// Reads something within something; too deep, nothing more is read.
    pub(super) fn deeper(&mut self, read: impl FnOnce(&mut Self)) {
        if self.depth + self.nested >= super::DEEPEST {
            self.give_up();
            return;
        }
        self.nested += 1;
        read(self);
        self.nested -= 1;
    }

    fn commands(&mut self, end: Option<char>) {
        loop {
            self.blanks();
            match self.peek() {
                None => {
                    if end.is_some() {
                        self.broken();
                    }
                    return;
                }
                Some(')') if self.cases > 0 => {
                    self.skip(1);
                }
                Some(')') => {
                    if end.is_some() {
                        self.skip(1);
                    }
                    return;
                }
                Some('\n') => {
                    self.skip(1);
                    self.bodies();
                }
                Some(';' | '&' | '|' | '\r') => {
                    self.skip(1);
                }
                Some('(') if self.ahead("((") => {
                    // Arithmetic in some shells, a subshell in a subshell in others.
                    self.doubtful();
                    self.skip(1);
                }
                Some('(') => {
                    self.skip(1);
                    self.list(Some(')'));
                }
                Some(_) => self.simple(),
            }
        }
    }

    /// Blanks, comments and joined lines.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => {
                    self.skip(1);
                }
                Some('\\') if self.ahead("\\\n") => {
                    self.skip(2);
                }
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.skip(1);
                    }
                }
                Some(_) | None => return,
            }
        }
    }

    /// One simple command, with what stands before it.
    fn simple(&mut self) {
        let mut words: Vec<Word> = Vec::new();
        let mut is_split = false;
        loop {
            self.blanks();
            match self.peek() {
                Some('<' | '>') if !self.ahead("<(") && !self.ahead(">(") => self.redirection(),
                Some('&') if self.ahead("&>") => {
                    // One redirection in some shells. In others the command ends with the `&`, and the next one begins.
                    is_split = true;
                    self.skip(1);
                    self.redirection();
                }
                Some('(') => {
                    // A function, an array, or something of another shell: its commands are read, and nobody is sure.
                    if !words.iter().all(is_time) {
                        self.doubtful();
                    }
                    self.skip(1);
                    self.list(Some(')'));
                    break;
                }
                None | Some('\n' | '\r' | ';' | '&' | '|' | ')') => break,
                Some(_) => {
                    let Some(word) = self.word() else { break };
                    if words.iter().all(is_time) && self.keyword(&word) {
                        return;
                    }
                    let digits = !word.quoted && !word.text.is_empty() && word.text.bytes().all(|b| b.is_ascii_digit());
                    if digits && matches!(self.peek(), Some('<' | '>')) {
                        continue;
                    }
                    if is_split {
                        self.doubtful();
                    }
                    words.push(word);
                }
            }
        }
        self.take(words);
    }

    /// Whether a word that begins a command is none: what follows is read as the next command.
    fn keyword(&mut self, word: &Word) -> bool {
        if BEFORE.iter().any(|keyword| word.is(keyword)) {
            return true;
        }
        if AFTER.iter().any(|keyword| word.is(keyword)) {
            self.cases = self.cases.saturating_sub(usize::from(word.is("esac")));
            return true;
        }
        if word.is("for") || word.is("select") || word.is("case") {
            self.cases += usize::from(word.is("case"));
            // The name and the words that it takes; their own commands are found while they are read.
            let mut is_name = !word.is("case");
            loop {
                self.blanks();
                let Some(next) = self.word() else { return true };
                if std::mem::take(&mut is_name) && variables::runs_others(&next.text) {
                    self.doubtful();
                }
                let last = if word.is("case") { "in" } else { "do" };
                if next.is(last) {
                    return true;
                }
            }
        }
        if word.is("function") {
            self.blanks();
            self.word();
        }
        let is_strange = word.is("function") || word.is("coproc");
        if is_strange || word.is("[[") {
            self.doubtful();
        }
        is_strange
    }

    /// `> file` and its like. What is written is a part of its own.
    fn redirection(&mut self) {
        let operators = ["<<<", "<<-", "<<", "<>", "<&", ">>", ">&", ">|", "<", ">"];
        let Some(operator) = operators.into_iter().find(|operator| self.ahead(operator)) else {
            self.skip(1);
            return;
        };
        self.skip(operator.len());
        self.blanks();
        let Some(target) = self.word() else {
            self.broken();
            return;
        };
        if operator.ends_with('&') && target.text.len() > 1 && target.text.starts_with('-') {
            // Some shells close what is there, and take what follows the dash for the next word.
            self.doubtful();
        }
        match operator {
            "<<" | "<<-" => {
                if target.unknown {
                    self.doubtful();
                }
                self.documents.push((target.text, target.quoted, operator == "<<-"));
            }
            ">" | ">>" | ">|" | ">&" | "<>" => {
                let harmless = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
                let is_number = target.text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
                let is_copy = operator == ">&" && is_number;
                if target.unknown || !(is_copy || harmless.contains(&target.text.as_str())) {
                    let words = vec![Some(">".to_owned()), target.known()];
                    self.found.add(Part { words, ..Part::default() });
                }
            }
            _ => {}
        }
    }

    /// The texts of the here-documents that were announced on the line before.
    fn bodies(&mut self) {
        for (end, as_it_stands, tabs) in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            let (mut joined, mut goes_on) = (String::new(), false);
            loop {
                let Some(line) = self.line() else {
                    self.broken();
                    break;
                };
                let shown = if tabs { line.trim_start_matches('\t') } else { line };
                // A line that ends in a backslash goes on with the next. Whether before or after the end is looked for,
                // shells do not agree.
                joined.push_str(shown);
                if goes_on && !as_it_stands && (shown == end || joined == end) {
                    self.doubtful();
                }
                goes_on = joined.pop() == Some('\\');
                if !goes_on {
                    joined.clear();
                }
                if shown == end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            if !as_it_stands {
                self.expand(&body);
            }
        }
    }

    /// The commands in a text that is expanded like one in double quotes.
    fn expand(&mut self, body: &str) {
        if self.depth + self.nested >= super::DEEPEST {
            self.doubtful();
            return;
        }
        let mut reader = Reader::new(body, self.depth + self.nested + 1, self.found);
        let mut word = Word::default();
        while let Some(c) = reader.peek() {
            match c {
                '\\' => {
                    reader.skip(1);
                    reader.next();
                }
                '`' => reader.backtick(&mut word, true),
                '$' => reader.dollar_quoted(&mut word),
                _ => {
                    reader.skip(1);
                }
            }
        }
    }

    /// A command within this one, as text of its own.
    pub(super) fn inside(&mut self, text: &str) {
        self.found.read(text, self.depth + self.nested + 1);
    }

    /// The words of a simple command become parts: assignments, the command, and what it runs.
    fn take(&mut self, words: Vec<Word>) {
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next_if(Word::assigns) {
            self.found.assign(word.assignment(), self.depth + self.nested);
        }
        let words: Vec<Word> = words.collect();
        let loose = std::mem::replace(&mut self.found.loose, words.iter().any(Word::is_loose));
        let declares = words.first().is_some_and(|word| !word.unknown && wrapped::declares(&word.text));
        // Of what is set with a known name, only the value is not known.
        let kept = |word: Word| {
            if declares && word.assigns() && !word.splits { Some(word.assignment()) } else { word.known() }
        };
        let words: Vec<Option<String>> = words.into_iter().map(kept).collect();
        if !words.is_empty() {
            self.found.unwrap(words, self.depth + self.nested);
        }
        self.found.loose = loose;
    }
}

/// `time` stands before whole groups, too.
fn is_time(word: &Word) -> bool {
    word.is("time") || word.is("-p")
}

/// Moving on in the text.
impl<'t> Reader<'t, '_> {
    pub(super) fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Goes so many characters on.
    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        for _ in 0..count {
            self.next()?;
        }
        Some(())
    }

    pub(super) fn ahead(&self, text: &str) -> bool {
        self.text[self.at..].starts_with(text)
    }

    fn line(&mut self) -> Option<&'t str> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let line = rest.split('\n').next().unwrap_or(rest);
        self.at += (line.len() + 1).min(rest.len());
        Some(line)
    }

    /// A line that ends within quotes, while a here-document waits: where that begins is anyone's guess.
    pub(super) fn note_line(&mut self, c: char) {
        if c == '\n' && !self.documents.is_empty() {
            self.doubtful();
        }
    }

    pub(super) fn doubtful(&mut self) {
        self.found.doubt();
    }

    /// Something was not closed.
    pub(super) fn broken(&mut self) {
        self.found.doubt();
    }

    /// Stops reading.
    pub(super) fn give_up(&mut self) {
        self.found.doubt();
        self.at = self.text.len();
    }
}
