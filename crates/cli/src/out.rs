//! The only module that prints, and that asks for a line. While a console draws on the terminal, both go through it. A reader that stops reading (a closed pipe) is not an error. Output that cannot be
//! written, for instance on a full disk, is one, and the program exits with it.

use std::io::{BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use updraft_workbench::Tell;
pub(crate) use updraft_workbench::untrusted::{harmless, steers};

use crate::{folders, view};

/// Why standard output could not be written: the first error.
static LOSS: OnceLock<String> = OnceLock::new();

/// Draws on the terminal, so that nobody else may write to it.
pub(crate) trait LineConsole: Send + Sync {
    /// Prints text above what it draws.
    fn print(&self, text: &str);
    /// Asks for a line, and waits for it; `None` if the user gives none.
    fn ask(&self, prompt: &str) -> Option<String>;
}

/// The console that is open, if there is one.
static CONSOLE: RwLock<Option<Arc<dyn LineConsole>>> = RwLock::new(None);

/// From now on everything is printed and asked through this console, or no longer.
pub(crate) fn use_console(console: Option<Arc<dyn LineConsole>>) {
    *CONSOLE.write().unwrap_or_else(PoisonError::into_inner) = console;
}

/// Whether a console is open.
pub(crate) fn has_console() -> bool {
    console().is_some()
}

fn console() -> Option<Arc<dyn LineConsole>> {
    CONSOLE.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Asks the user for a line behind a prompt; `None` at the end of the input.
pub(crate) fn ask_line(prompt: &str) -> Option<String> {
    if let Some(console) = console() {
        return console.ask(prompt);
    }
    draw(prompt);
    if !is_typed() {
        draw("\n");
        return None;
    }
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

/// Whether nobody waits any more for the line that is asked for.
static IS_WITHDRAWN: AtomicBool = AtomicBool::new(false);

/// Takes back what is asked for line by line, as long as it lives: [`ask_line`] returns nothing.
pub(crate) struct WithdrawnLine(());

impl WithdrawnLine {
    pub(crate) fn begin() -> Self {
        IS_WITHDRAWN.store(true, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for WithdrawnLine {
    fn drop(&mut self) {
        IS_WITHDRAWN.store(false, Ordering::SeqCst);
    }
}

/// Waits until a line was typed, or the input has ended; false if nobody waits for it any more. A terminal gives one line at a time, so
/// none waits in our buffer.
#[cfg(unix)]
fn is_typed() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let (stdin, wait) = (std::io::stdin(), Timespec { tv_sec: 0, tv_nsec: 100_000_000 });
    while !IS_WITHDRAWN.load(Ordering::SeqCst) {
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return true,
        }
    }
    false
}

/// Elsewhere a line that is read cannot be taken back. Untested.
#[cfg(not(unix))]
fn is_typed() -> bool {
    true
}

/// Standard output that remembers its first write error.
pub(crate) struct CheckedStdout(StdoutLock<'static>);

impl Write for CheckedStdout {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Some(console) = console() {
            console.print(&String::from_utf8_lossy(bytes));
            return Ok(bytes.len());
        }
        self.0.write(bytes).inspect_err(remember)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush().inspect_err(remember)
    }
}

fn remember(error: &std::io::Error) {
    if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) {
        LOSS.get_or_init(|| error.to_string());
    }
}

/// Why not all output could be written, if so.
pub(crate) fn loss() -> Option<&'static str> {
    let _ = stdout().flush();
    LOSS.get().map(String::as_str)
}

fn stdout() -> CheckedStdout {
    CheckedStdout(std::io::stdout().lock())
}

/// Writes text to standard output.
pub(crate) fn print(text: &str) {
    let mut out = stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes one line to standard output.
pub(crate) fn line(text: &str) {
    let mut whole = String::with_capacity(text.len() + 1);
    whole.push_str(text);
    whole.push('\n');
    print(&whole);
}

/// Writes a model's answer to standard output: unchanged into a file or pipe, rendered on a terminal.
pub(crate) fn answer(text: &str) {
    if std::io::stdout().is_terminal() {
        line(&page(text));
    } else if text.ends_with('\n') {
        print(text);
    } else {
        line(text);
    }
}

/// A model's answer as a part of standard output: rendered on a terminal.
pub(crate) fn page(text: &str) -> String {
    let is_shown = std::io::stdout().is_terminal();
    if is_shown { view::render(text, view::size().1, Paint::for_stdout()) } else { harmless(text.trim_end()) }
}

/// Writes one line to standard error.
pub(crate) fn note(text: &str) {
    if let Some(console) = console() {
        return console.print(&format!("{text}\n"));
    }
    let mut err = std::io::stderr().lock();
    let _ = writeln!(err, "{text}");
}

/// Prints the notices of the workbench on standard error.
pub(crate) fn tell() -> Tell {
    Arc::new(|notice| note(&harmless(&notice.to_string())))
}

/// Writes text to standard error unchanged.
pub(crate) fn draw(text: &str) {
    if let Some(console) = console() {
        return console.print(text);
    }
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// A buffered standard output for many lines.
pub(crate) fn many() -> BufWriter<CheckedStdout> {
    BufWriter::with_capacity(64 << 10, stdout())
}

/// One JSON value as a line on standard output.
pub(crate) fn json(value: &serde_json::Value) {
    line(&value.to_string());
}

/// One JSON value on several lines, on standard output.
pub(crate) fn pretty(value: &serde_json::Value) {
    line(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// Whether a person can be asked: both their input and our output are a terminal.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether somebody listens instead of looking.
static SCREEN_READER: AtomicBool = AtomicBool::new(false);

/// From now on nothing is redrawn, and words stand for marks.
pub(crate) fn set_screen_reader(is_on: bool) {
    SCREEN_READER.store(is_on, Ordering::Relaxed);
}

/// A line of progress as it is read aloud: its mark in words.
pub(crate) fn readable(line: &str) -> String {
    if !SCREEN_READER.load(Ordering::Relaxed) {
        return line.to_owned();
    }
    let marks = [
        ("→ ", "begins: "),
        ("✓ ", "done: "),
        ("✗ ", "failed: "),
        ("? ", "question: "),
        ("↻ ", "again: "),
        ("! ", "stopped: "),
        ("- ", "left out: "),
    ];
    let (indent, text) = line.split_at(line.len() - line.trim_start().len());
    let begun =
        marks.iter().find_map(|(mark, word)| text.strip_prefix(mark).map(|rest| format!("{indent}{word}{rest}")));
    let whole = begun.unwrap_or_else(|| line.to_owned());
    whole.replace("✗ ", "failed: ").replace("↳ ", "from code: ").replace(" · ", ", ")
}

/// Whether progress may be redrawn in place.
pub(crate) fn can_redraw() -> bool {
    !SCREEN_READER.load(Ordering::Relaxed)
        && std::io::stderr().is_terminal()
        && folders::env("CI").is_none()
        && folders::env("TERM").is_none_or(|term| term != "dumb")
}

/// Colours, if they are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(bool);

impl Paint {
    pub(crate) fn for_stdout() -> Self {
        Self(std::io::stdout().is_terminal() && wanted())
    }

    pub(crate) fn for_stderr() -> Self {
        Self(std::io::stderr().is_terminal() && wanted())
    }

    #[cfg(test)]
    pub(crate) fn on() -> Self {
        Self(true)
    }

    /// Without colours.
    pub(crate) fn off() -> Self {
        Self(false)
    }

    /// Whether colours are on.
    pub(crate) fn is_on(self) -> bool {
        self.0
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.with("36", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

fn wanted() -> bool {
    folders::env("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A text such as a file's name, escaped and on one line.
pub(crate) fn on_one_line(text: &str) -> String {
    harmless(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// A line without our colour codes.
pub(crate) fn without_colours(line: &str) -> String {
    let mut parts = line.split('\x1b');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    text
}

/// The first line of a text, cut to at most this many characters.
pub(crate) fn short(text: &str, most: usize) -> String {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default();
    let mut cut: String = first.chars().take(most).map(|c| if steers(c) { ' ' } else { c }).collect();
    if cut.len() < text.len() {
        while cut.chars().count() >= most {
            cut.pop();
        }
        cut.push('…');
    }
    cut
}
