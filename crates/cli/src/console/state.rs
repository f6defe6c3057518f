//! The state of the console: changed by keys and by news, and drawn by `layout.rs`. No input or output happens here.

use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::completion::{Completion, Completions};
use super::composer::Composer;
use super::history::MessageHistory;
use super::news::{ConsoleNews, ConsoleRequest, LinePrompt};
use super::transcript::Transcript;
use crate::out::Paint;

/// The console.
pub(super) struct ConsoleState {
    pub(super) paint: Paint,
    pub(super) composer: Composer,
    pub(super) history: MessageHistory,
    pub(super) transcript: Transcript,
    pub(super) completions: Completions,
    pub(super) completion: Option<Completion>,
    pub(super) search: Option<HistorySearch>,
    /// The question that the next line answers.
    pub(super) prompt: Option<LinePrompt>,
    /// A question that waits until the user has sent or deleted what they are writing.
    held: Option<LinePrompt>,
    /// The user has just pressed a key that sends nothing.
    is_typing: bool,
    /// What has begun and not ended yet; since when is known to the thread that draws.
    pub(super) is_working: bool,
    pub(super) mode: ConsoleMode,
    /// One agent answers.
    pub(super) talks: bool,
    pub(super) model: String,
    pub(super) folder: String,
    pub(super) cost: String,
    /// Ctrl-C was pressed; once more quits.
    pub(super) is_quitting: bool,
    /// The user has asked that the work stop.
    pub(super) is_stopping: bool,
    /// Whether something has changed since the last frame.
    pub(super) has_changed: bool,
}

/// What the console is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConsoleMode {
    /// A conversation.
    Talk,
    /// A run of another process.
    Watch,
    /// A run that nobody drives, to be looked at.
    Look,
    /// What a run needs, below the tree of its steps.
    Ask,
}

/// A search in the history: the words, and how many hits were skipped.
#[derive(Debug, Default)]
pub(super) struct HistorySearch {
    pub(super) words: String,
    pub(super) skipped: usize,
}

/// What the thread that draws has to do itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyEffect {
    None,
    Request(ConsoleRequest),
    /// Ctrl-Z.
    Stop,
    /// Ctrl-C, for the program that asks.
    Signal,
    /// Ctrl-L.
    Redraw,
    /// Ctrl-V: the picture in the clipboard is wanted.
    PastePicture,
}

/// The size of the terminal, and what the time is for the marks that move.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameContext {
    pub(super) columns: usize,
    pub(super) rows: usize,
    /// How long the work takes so far.
    pub(super) elapsed: Duration,
}

impl ConsoleState {
    pub(super) fn new(
        paint: Paint,
        columns: usize,
        folder: String,
        history: MessageHistory,
        completions: Completions,
    ) -> Self {
        Self {
            paint,
            composer: Composer::default(),
            history,
            transcript: Transcript::new(paint, columns),
            completions,
            completion: None,
            search: None,
            prompt: None,
            held: None,
            is_typing: false,
            is_working: false,
            mode: ConsoleMode::Talk,
            talks: true,
            model: String::new(),
            folder,
            cost: String::new(),
            is_quitting: false,
            is_stopping: false,
            has_changed: true,
        }
    }

    /// Takes news from the rest of the program, except what is for the terminal itself.
    pub(super) fn take(&mut self, news: ConsoleNews) {
        self.has_changed = true;
        match news {
            ConsoleNews::Printed(text) => self.transcript.print(&text),
            ConsoleNews::Asked(prompt) => {
                self.held = Some(prompt);
                self.ask_held();
            }
            ConsoleNews::Withdrawn => self.end_prompt(),
            ConsoleNews::Model(model) => self.model = model,
            ConsoleNews::Working(begins) => {
                self.is_working = begins;
                self.is_stopping = false;
                if !begins {
                    self.transcript.end_stream();
                    self.end_prompt();
                }
            }
            ConsoleNews::Began { model, talks } => (self.model, self.talks) = (model, talks),
            ConsoleNews::Delta(at, text) => self.transcript.delta(&at, &text),
            ConsoleNews::Void(at) => self.transcript.void(&at),
            ConsoleNews::Spoken(at, text) => self.transcript.spoken(&at, &text),
            ConsoleNews::Called(call) => self.transcript.call(call),
            ConsoleNews::Logged(text) => self.transcript.log(&text),
            ConsoleNews::Answered(text) => self.transcript.answer(&text),
            ConsoleNews::Cost(cost) => self.cost = cost,
            ConsoleNews::Draft(text) => self.composer = Composer::of(&text),
            ConsoleNews::Continued | ConsoleNews::Suspend(_) | ConsoleNews::Resume => {}
        }
    }

    /// Whether the user is writing: what they write then must not become the answer to a question that appears meanwhile.
    pub(super) fn set_typing(&mut self, is_typing: bool) {
        self.is_typing = is_typing;
        self.ask_held();
    }

    /// Whether a question waits until the composer is empty.
    pub(super) fn has_held_question(&self) -> bool {
        self.held.is_some()
    }

    /// Asks what is held, unless a key of a sentence would answer it.
    fn ask_held(&mut self) {
        let is_writing = self.is_typing || !self.composer.is_empty() || self.search.is_some();
        if is_writing && self.prompt.is_none() {
            return;
        }
        let Some(prompt) = self.held.take() else { return };
        // What was typed to answer another question does not answer this one.
        self.composer = Composer::default();
        (self.completion, self.search) = (None, None);
        self.prompt = Some(prompt);
        self.has_changed = true;
    }

    /// Takes what the terminal reports.
    pub(super) fn event(&mut self, event: Event) -> KeyEffect {
        self.has_changed = true;
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key),
            Event::Paste(text) => {
                self.history.settle();
                match self.completions.dropped_file(&text) {
                    Some(mention) => self.composer.insert(&format!("{mention} ")),
                    None => self.composer.paste(&text),
                }
                KeyEffect::None
            }
            _ => KeyEffect::None,
        }
    }

    fn key(&mut self, key: KeyEvent) -> KeyEffect {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if let KeyCode::Char(letter) = key.code
            && control
        {
            match letter {
                'c' if self.mode == ConsoleMode::Ask => return KeyEffect::Signal,
                // In a terminal that was not prepared for keys, a line ends with it.
                'j' if self.mode == ConsoleMode::Ask => return self.enter(),
                'c' => return self.interrupt_or_quit(),
                'd' if self.composer.is_empty() => return self.quit(),
                'z' => return KeyEffect::Stop,
                'l' => return KeyEffect::Redraw,
                'v' => return KeyEffect::PastePicture,
                'o' => {
                    self.transcript.show_newest();
                    return KeyEffect::None;
                }
                _ => {}
            }
        }
        self.is_quitting = false;
        if self.search.is_some() {
            return self.search_key(key);
        }
        if self.completion.is_some() && self.completion_key(key) {
            return KeyEffect::None;
        }
        match key.code {
            KeyCode::Esc => return self.escape(),
            KeyCode::Enter if key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) => {
                self.composer.insert("\n");
            }
            KeyCode::Enter => return self.enter(),
            KeyCode::Char('r') if control && self.prompt.is_none() => self.search = Some(HistorySearch::default()),
            KeyCode::Up if !self.composer.up() => self.recall(true),
            KeyCode::Down if !self.composer.down() => self.recall(false),
            KeyCode::Char('p') if control => self.recall(true),
            KeyCode::Char('n') if control => self.recall(false),
            _ => {
                if self.edit(key) {
                    self.history.settle();
                    self.completion = self.completions.find(&self.composer, self.prompt.is_some());
                }
            }
        }
        KeyEffect::None
    }

    /// Keys that edit the text; false if this one does not.
    fn edit(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let composer = &mut self.composer;
        match key.code {
            KeyCode::Char('a') if control => composer.line_start(),
            KeyCode::Char('e') if control => composer.line_end(),
            KeyCode::Char('b') if control => composer.left(),
            KeyCode::Char('f') if control => composer.right(),
            KeyCode::Char('u') if control => composer.delete_to_start(),
            KeyCode::Char('k') if control => composer.delete_to_end(),
            KeyCode::Char('w') if control => composer.delete_word(),
            KeyCode::Char('y') if control => composer.yank(),
            KeyCode::Char('d') if control => composer.delete(),
            KeyCode::Char('h') if control => composer.backspace(),
            KeyCode::Char('j') if control => composer.insert("\n"),
            KeyCode::Char('b') if alt => composer.word_left(),
            KeyCode::Char('f') if alt => composer.word_right(),
            KeyCode::Char(c) if !control && !alt => composer.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace if alt || control => composer.delete_word(),
            KeyCode::Backspace => composer.backspace(),
            KeyCode::Delete => composer.delete(),
            KeyCode::Left if alt || control => composer.word_left(),
            KeyCode::Right if alt || control => composer.word_right(),
            KeyCode::Left => composer.left(),
            KeyCode::Right => composer.right(),
            KeyCode::Home => composer.line_start(),
            KeyCode::End => composer.line_end(),
            KeyCode::Tab => {}
            _ => return false,
        }
        true
    }

    fn enter(&mut self) -> KeyEffect {
        if self.composer.before_cursor().ends_with('\\') {
            self.composer.backspace();
            self.composer.insert("\n");
            return KeyEffect::None;
        }
        self.completion = None;
        if self.prompt.is_some() && !self.is_command() {
            let text = self.composer.whole();
            self.answer_prompt(Some(text));
            return KeyEffect::None;
        }
        if self.composer.whole().trim().is_empty() {
            return KeyEffect::None;
        }
        let composer = std::mem::take(&mut self.composer);
        let (text, shown) = (composer.whole(), composer.folded());
        self.history.add(&text);
        let request = request(&text);
        self.transcript.user(&shown, "› ");
        KeyEffect::Request(request)
    }

    /// Whether a command was typed: it answers no question, which stays open.
    fn is_command(&self) -> bool {
        matches!(request(&self.composer.whole()), ConsoleRequest::Command(name, _) if self.completions.has_command(&name))
    }

    fn escape(&mut self) -> KeyEffect {
        if self.prompt.is_some() {
            self.answer_prompt(None);
            return KeyEffect::None;
        }
        if self.is_working {
            self.is_stopping = true;
            return KeyEffect::Request(ConsoleRequest::Interrupt);
        }
        KeyEffect::None
    }

    fn interrupt_or_quit(&mut self) -> KeyEffect {
        if self.is_quitting {
            return self.quit();
        }
        self.is_quitting = true;
        (self.search, self.completion) = (None, None);
        if self.prompt.is_some() || self.is_working {
            return self.escape();
        }
        self.composer = Composer::default();
        self.history.settle();
        KeyEffect::None
    }

    fn quit(&mut self) -> KeyEffect {
        if self.prompt.is_some() {
            self.answer_prompt(None);
        }
        KeyEffect::Request(ConsoleRequest::Quit)
    }

    fn answer_prompt(&mut self, text: Option<String>) {
        let Some(prompt) = self.prompt.take() else { return };
        let said = std::mem::take(&mut self.composer);
        if text.is_some() {
            self.transcript.user(&said.folded(), "› ");
        }
        // Whoever asked may have given up.
        let _ = prompt.reply.send(text);
    }

    /// Takes away a question that nobody waits for any more.
    fn end_prompt(&mut self) {
        self.held = None;
        if self.prompt.take().is_some() {
            self.composer = Composer::default();
        }
    }

    fn recall(&mut self, older: bool) {
        if self.prompt.is_some() {
            return;
        }
        let recalled = if older { self.history.older(&self.composer) } else { self.history.newer() };
        if let Some(recalled) = recalled {
            self.composer = recalled;
        }
    }

    fn search_key(&mut self, key: KeyEvent) -> KeyEffect {
        let Some(search) = &mut self.search else { return KeyEffect::None };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('r') if control => {
                if self.history.find(&search.words, search.skipped + 1).is_some() {
                    search.skipped += 1;
                }
            }
            KeyCode::Char(c) if !control => {
                search.words.push(c);
                search.skipped = 0;
            }
            KeyCode::Backspace => {
                search.words.pop();
                search.skipped = 0;
            }
            KeyCode::Esc => self.search = None,
            _ => {
                if let Some(found) = self.history.find(&search.words, search.skipped) {
                    self.composer = Composer::of(found);
                }
                self.search = None;
                if key.code == KeyCode::Enter {
                    return self.enter();
                }
            }
        }
        KeyEffect::None
    }

    /// A key while completions are offered; false if it is not about them.
    fn completion_key(&mut self, key: KeyEvent) -> bool {
        let Some(completion) = &mut self.completion else { return false };
        match key.code {
            KeyCode::Tab | KeyCode::Enter => {
                let is_exact = completion.is_exact();
                let (typed, chosen) = completion.chosen();
                self.composer.replace_before_cursor(typed, &chosen);
                self.completion = None;
                // A command that was typed in full is sent at once.
                !(is_exact && key.code == KeyCode::Enter)
            }
            KeyCode::Up => {
                completion.previous();
                true
            }
            KeyCode::Down => {
                completion.next();
                true
            }
            KeyCode::Esc => {
                self.completion = None;
                true
            }
            _ => false,
        }
    }
}

/// What a sent text asks for: a command, or else a message. A path such as `/etc/hosts` is no command.
pub(crate) fn request(text: &str) -> ConsoleRequest {
    let line = text.trim();
    if let Some(command) = line.strip_prefix('/') {
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | ':');
        if name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_name) {
            return ConsoleRequest::Command(name.to_owned(), rest.trim().to_owned());
        }
    }
    ConsoleRequest::Say(line.to_owned())
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
