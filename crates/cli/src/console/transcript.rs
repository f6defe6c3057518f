//! What was said and done, as lines for the scrollback; and the answer that is arriving.

use updraft_run::EffectAddress;

use super::diff;
use super::news::FinishedCall;
use super::stream::{FinishedBlocks, MarkdownStream};
use crate::out::{self, Paint};
use crate::view::{self, CallEnd};

/// Most lines of a message that are repeated after it was sent.
const MOST_SAID: usize = 20;
/// Most lines of a diff below the call that made it.
const MOST_CHANGED: usize = 16;

/// Lines that are finished, and the answer that is not.
pub(super) struct Transcript {
    paint: Paint,
    columns: usize,
    finished: Vec<String>,
    /// Whether the last line is empty; nothing was written yet counts as well.
    is_spaced: bool,
    /// The beginning of a printed line without its end.
    partial: String,
    stream: Option<(EffectAddress, MarkdownStream)>,
    /// The last complete answer that was shown.
    spoken: String,
    newest: Option<FinishedCall>,
    /// The last line is about a call.
    is_after_call: bool,
    /// The last line is about something else that happened.
    is_after_log: bool,
}

impl Transcript {
    pub(super) fn new(paint: Paint, columns: usize) -> Self {
        Self {
            paint,
            columns,
            finished: Vec::new(),
            is_spaced: true,
            partial: String::new(),
            stream: None,
            spoken: String::new(),
            newest: None,
            is_after_call: false,
            is_after_log: false,
        }
    }

    pub(super) fn resize(&mut self, columns: usize) {
        self.columns = columns;
    }

    /// Takes the lines that are finished.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.finished)
    }

    /// Whether an answer is arriving.
    pub(super) fn is_streaming(&self) -> bool {
        self.stream.as_ref().is_some_and(|(_, stream)| !stream.open().trim().is_empty())
    }

    /// The last rows of the answer that is arriving.
    pub(super) fn open_lines(&self, most: usize) -> Vec<String> {
        let Some((_, stream)) = &self.stream else { return Vec::new() };
        let open = stream.open();
        // Data is written for the program.
        if open.trim().is_empty() || stream.whole().trim_start().starts_with(['{', '[']) {
            return Vec::new();
        }
        let lines: Vec<String> = self.rendered(open);
        let mut lines = lines[lines.len().saturating_sub(most)..].to_vec();
        if !self.is_spaced && !stream.is_joined() {
            lines.insert(0, String::new());
        }
        lines
    }

    /// Text that was printed.
    pub(super) fn print(&mut self, text: &str) {
        self.partial.push_str(text);
        while let Some(end) = self.partial.find('\n') {
            let line: String = self.partial.drain(..=end).collect();
            let line = line.trim_end_matches(['\n', '\r']);
            // One empty line is enough, whoever wants one.
            if line.is_empty() && self.is_spaced {
                continue;
            }
            for part in view::wrap_painted(line, self.columns) {
                self.line(part);
            }
        }
    }

    /// What the user has sent.
    pub(super) fn user(&mut self, text: &str, mark: &str) {
        self.gap();
        let room = self.columns.saturating_sub(3);
        let lines = view::wrap(text, room);
        for (n, line) in lines.iter().take(MOST_SAID).enumerate() {
            let before = if n == 0 { self.paint.cyan(mark) } else { " ".repeat(view::width(mark)) };
            self.line(format!("{before}{}", self.paint.bold(line)));
        }
        if lines.len() > MOST_SAID {
            let more = view::count((lines.len() - MOST_SAID) as u64, "more line");
            self.line(self.paint.dim(&format!("  … {more}")));
        }
        self.gap();
    }

    /// A part of an answer.
    pub(super) fn delta(&mut self, at: &EffectAddress, text: &str) {
        if self.stream.as_ref().is_none_or(|(known, _)| known != at) {
            self.end_stream();
            self.stream = Some((at.clone(), MarkdownStream::default()));
        }
        let Some((_, stream)) = &mut self.stream else { return };
        stream.push(text);
        if stream.whole().trim_start().starts_with(['{', '[']) {
            return;
        }
        let mut blocks = Vec::new();
        while let Some(block) = stream.take_finished() {
            blocks.push(block);
        }
        for block in blocks {
            self.blocks(&block);
        }
    }

    /// The answer so far does not count.
    pub(super) fn void(&mut self, at: &EffectAddress) {
        if let Some((_, stream)) = self.stream.take_if(|(known, _)| known == at)
            && stream.whole().len() > stream.open().len()
        {
            self.log("the model is asked again; what it said so far does not count");
        }
    }

    /// The whole answer. What has not arrived in parts is shown now.
    pub(super) fn spoken(&mut self, at: &EffectAddress, text: &str) {
        let known = self.stream.take_if(|(known, _)| known == at).map(|(_, stream)| stream).unwrap_or_default();
        text.trim().clone_into(&mut self.spoken);
        let mut stream = known;
        if stream.whole().trim() != text.trim() {
            // Parts may be lost; the answer counts.
            let mut whole = MarkdownStream::default();
            if let Some(rest) = text.strip_prefix(stream.whole()) {
                stream.push(rest);
            } else {
                whole.push(text);
                stream = whole;
            }
        }
        if let Some(block) = stream.finish() {
            self.blocks(&block);
        }
    }

    /// Ends an answer that gets no end.
    pub(super) fn end_stream(&mut self) {
        if let Some(block) = self.stream.take().and_then(|(_, mut stream)| stream.finish()) {
            self.blocks(&block);
        }
    }

    /// The result of a run, unless it was just said; an empty one only ends what is being said.
    pub(super) fn answer(&mut self, text: &str) {
        self.end_stream();
        if text.trim().is_empty() {
            return self.gap();
        }
        if text.trim() != self.spoken {
            self.blocks(&FinishedBlocks { text: text.to_owned(), is_joined: false });
        }
        self.spoken.clear();
        self.gap();
    }

    /// A call that has ended, as one line, and what it changed.
    pub(super) fn call(&mut self, call: FinishedCall) {
        let paint = self.paint;
        // With several steps, calls are part of what is logged.
        let goes_on = self.is_after_call || (self.is_after_log && call.step.is_some());
        if !goes_on {
            self.gap();
        }
        let step = call.step.as_ref().map(|step| format!("{step}: ")).unwrap_or_default();
        let words = format!("{step}{}", call.words);
        let room = self.columns.saturating_sub(4);
        self.line(match &call.end {
            CallEnd::Good => format!("  {} {}", paint.green("✓"), paint.dim(&view::cut(&words, room))),
            CallEnd::Bad(why) => {
                let why = view::cut(why, room / 2);
                let words = view::cut(&words, room.saturating_sub(2 + view::width(&why)));
                format!("  {} {}  {}", paint.red("✗"), paint.dim(&words), paint.red(&why))
            }
        });
        if let Some(diff) = &call.diff {
            let lines = diff::lines(diff, self.columns.saturating_sub(4), paint);
            let more = lines.len().saturating_sub(MOST_CHANGED);
            let shown = if more > 1 { MOST_CHANGED } else { lines.len() };
            for line in &lines[..shown] {
                self.line(format!("    {line}"));
            }
            if shown < lines.len() {
                let hint = format!("    … {}; Ctrl-O shows all", view::count(more as u64, "more line"));
                self.line(paint.dim(&view::cut(&hint, self.columns)));
            }
        }
        self.newest = Some(call);
        self.is_after_call = true;
    }

    /// The newest call in full.
    pub(super) fn show_newest(&mut self) {
        let Some(call) = self.newest.clone() else {
            return self.log("no tool was called yet");
        };
        self.gap();
        self.line(self.paint.bold(&view::cut(&call.words, self.columns)));
        let text = out::harmless(&call.details);
        text.lines().for_each(|line| self.line(format!("  {line}")));
        if let Some(diff) = &call.diff {
            for line in diff::lines(diff, usize::MAX, self.paint) {
                self.line(format!("  {line}"));
            }
        }
        self.gap();
    }

    /// A line about what happens.
    pub(super) fn log(&mut self, text: &str) {
        for (n, line) in view::wrap(text, self.columns.saturating_sub(4)).iter().enumerate() {
            let indent = if n == 0 { "  " } else { "    " };
            self.line(format!("{indent}{}", self.paint.dim(line)));
        }
        self.is_after_log = true;
    }

    fn blocks(&mut self, block: &FinishedBlocks) {
        if !block.is_joined {
            self.gap();
        }
        for line in self.rendered(block.text.trim_matches('\n')) {
            self.line(line);
        }
    }

    fn rendered(&self, markdown: &str) -> Vec<String> {
        view::render(markdown, self.columns, self.paint).lines().map(str::to_owned).collect()
    }

    fn gap(&mut self) {
        if !self.is_spaced {
            self.line(String::new());
        }
    }

    fn line(&mut self, line: String) {
        (self.is_spaced, self.is_after_call, self.is_after_log) = (line.is_empty(), false, false);
        self.finished.push(line);
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
