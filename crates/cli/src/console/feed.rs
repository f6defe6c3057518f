//! Where news for the console wait until it draws: from runs, from what is printed, from questions.
//!
//! Whoever brings news never waits for the terminal.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use updraft_engine::{Delta, RunWatcher};
use updraft_run::{
    Effect, EffectAddress, EffectKind, Event, Record, Reply, Run, RunId, RunMode, ToolCall, argument_lines,
};

use super::news::{ConsoleNews, FinishedCall, LinePrompt};
use crate::out::{self, LineConsole};
use crate::time_format;
use crate::view::{CallEnd, ProgressPrinter, StepTree, call_words, is_reported_at_once};

/// Most bytes of a call's output that are kept to be shown in full.
const LONGEST_OUTPUT: usize = 200_000;
/// Most lines of the log that are kept.
const LONGEST_LOG: usize = 2_000;

/// News that wait, and the tree of the run's steps.
#[derive(Default)]
pub(super) struct ConsoleFeed {
    waiting: Mutex<VecDeque<ConsoleNews>>,
    pub(super) tree: Arc<StepTree>,
    progress: ProgressPrinter,
    /// Messages of the user that are on their way to the run: they are in the scrollback already.
    own: Mutex<Vec<String>>,
    /// The newest lines about what happened, each with its time.
    log: Mutex<VecDeque<String>>,
    /// The run that is under way or was the last, and how often there was news of it.
    run: Mutex<Option<(RunId, u64)>>,
}

impl ConsoleFeed {
    /// With a tree that somebody else keeps.
    pub(super) fn with_tree(tree: Arc<StepTree>) -> Self {
        Self { tree, ..Self::default() }
    }

    /// Brings news. Parts of the same answer are joined.
    pub(super) fn push(&self, news: ConsoleNews) {
        let mut waiting = self.lock();
        if let (ConsoleNews::Delta(at, text), Some(ConsoleNews::Delta(last, so_far))) = (&news, waiting.back_mut())
            && at == last
        {
            so_far.push_str(text);
            return;
        }
        waiting.push_back(news);
    }

    /// Takes what waits.
    pub(super) fn take(&self) -> VecDeque<ConsoleNews> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<ConsoleNews>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run to look at, and how often there was news of it.
    pub(super) fn run(&self) -> Option<(RunId, u64)> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// There is news of a run.
    pub(super) fn look_at(&self, id: &RunId) {
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let count = run.as_ref().map_or(0, |(_, count)| *count);
        *run = Some((id.clone(), count + 1));
    }

    /// The last lines about what happened.
    pub(super) fn log(&self, most: usize) -> Vec<String> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter().skip(log.len().saturating_sub(most)).cloned().collect()
    }

    /// The user has sent a message here.
    pub(super) fn expect_own(&self, message: &str) {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).push(message.to_owned());
    }

    /// Whether a message that the run was told was sent here.
    fn is_own(&self, message: &str) -> bool {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let at = own.iter().position(|sent| sent == message);
        at.map(|at| own.remove(at)).is_some()
    }

    fn keep_line(&self, record: &Record, line: &str) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend(line.lines().map(|line| format!("{}  {line}", time_format::clock(record.at))));
        let more = log.len().saturating_sub(LONGEST_LOG);
        log.drain(..more);
    }

    fn follow(&self, record: &Record, event: &Event, run: &Run) {
        let line = self.progress.line(record, event, run);
        if let Some(line) = &line {
            self.keep_line(record, line);
        }
        let talks = is_talk(run);
        let step = |at: &EffectAddress| (!talks).then(|| at.step.to_string());
        match event {
            Event::Started(_) | Event::Forked { .. } => {
                self.push(ConsoleNews::Began { model: run.settings().model.clone(), talks });
            }
            Event::Wanted { effect: Effect::Call | Effect::Question { .. } | Effect::Approval { .. }, .. } => {}
            Event::Halted { .. } if is_reported_at_once(event, run) => {}
            Event::Replied { id, reply, .. } if id.kind == EffectKind::Call => {
                let (Some(call), None) = (run.call_at(id), &id.inner) else { return };
                self.push(ConsoleNews::Called(finished(&call, reply, step(id))));
            }
            Event::Replied { id, reply: Reply::Answer(answer), .. } if talks && id.kind == EffectKind::Ask => {
                self.push(ConsoleNews::Spoken(id.clone(), answer.text.clone()));
            }
            Event::Rejected { id, why } => {
                let Some(call) = run.call_at(id) else { return };
                let (words, end) = (call_words(&call), CallEnd::rejected(why));
                let details = argument_lines(&call.args).join("\n");
                self.push(ConsoleNews::Called(FinishedCall { step: step(id), words, end, details, diff: None }));
            }
            Event::Told { message } => {
                if !self.is_own(message) {
                    self.push(ConsoleNews::Logged(format!("message from elsewhere: {}", out::short(message, 300))));
                }
            }
            Event::Wanted { .. } | Event::StepDone { .. } | Event::Planned { .. } if talks => {}
            _ => {
                if let Some(line) = line {
                    self.push(ConsoleNews::Logged(line));
                }
            }
        }
    }
}

/// Whether one agent answers by itself.
pub(super) fn is_talk(run: &Run) -> bool {
    matches!(run.goal().mode, RunMode::Agent(_))
}

fn finished(call: &ToolCall, reply: &Reply, step: Option<String>) -> FinishedCall {
    let mut details = argument_lines(&call.args).join("\n");
    let mut diff = None;
    if let Reply::Output(output) = reply {
        diff = output.value.as_ref().and_then(|value| value["diff"].as_str()).map(str::to_owned);
        let text = output.text.trim_end();
        details.push_str("\n\n");
        details.push_str(&text[..text.floor_char_boundary(LONGEST_OUTPUT)]);
    }
    FinishedCall { step, words: call_words(call), end: CallEnd::of(reply), details, diff }
}

impl RunWatcher for ConsoleFeed {
    fn record(&self, id: &RunId, first: u64, record: &Record, run: &Run) {
        self.tree.record(id, first, record, run);
        self.look_at(id);
        for event in &record.events {
            self.follow(record, event, run);
        }
    }

    fn delta(&self, id: &RunId, at: &EffectAddress, delta: Delta<'_>) {
        self.tree.delta(id, at, delta);
        match delta {
            Delta::Text(text) if self.tree.is_talk() && at.kind == EffectKind::Ask => {
                self.push(ConsoleNews::Delta(at.clone(), text.to_owned()));
            }
            Delta::Again(_) => self.push(ConsoleNews::Void(at.clone())),
            _ => {}
        }
    }

    fn said(&self, id: &RunId, at: &EffectAddress, line: &str) {
        self.tree.said(id, at, line);
    }

    fn printed(&self, id: &RunId, at: &EffectAddress, line: &str) {
        self.tree.printed(id, at, line);
    }
}

impl LineConsole for ConsoleFeed {
    fn print(&self, text: &str) {
        self.push(ConsoleNews::Printed(text.to_owned()));
    }

    fn ask(&self, prompt: &str) -> Option<String> {
        let (reply, answer) = mpsc::channel();
        self.push(ConsoleNews::Asked(LinePrompt { text: prompt.to_owned(), reply }));
        // If the console ends, or another question takes its place, nobody answers.
        answer.recv().ok().flatten()
    }
}

/// The feed as a watcher of runs.
pub(super) fn watcher(feed: &Arc<ConsoleFeed>) -> Arc<dyn RunWatcher> {
    Arc::clone(feed) as Arc<dyn RunWatcher>
}
