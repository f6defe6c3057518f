//! What the console is told by the rest of the program, and what it asks of it.

use std::sync::mpsc::Sender;

use updraft_run::EffectAddress;

use crate::view::CallEnd;

/// News for the thread that draws.
pub(super) enum ConsoleNews {
    /// Text was printed.
    Printed(String),
    /// Somebody needs a line from the user.
    Asked(LinePrompt),
    /// Work begins, or has ended.
    Working(bool),
    /// The question that is asked is answered already.
    Withdrawn,
    /// The model that answers.
    Model(String),
    /// A run has begun.
    Began {
        /// Its model.
        model: String,
        /// One agent answers, so what it says is shown as it arrives.
        talks: bool,
    },
    /// A part of an answer has arrived.
    Delta(EffectAddress, String),
    /// The parts so far do not count: the model is asked again.
    Void(EffectAddress),
    /// An answer is complete.
    Spoken(EffectAddress, String),
    /// A call has ended.
    Called(FinishedCall),
    /// Something else has happened.
    Logged(String),
    /// The result of a run.
    Answered(String),
    /// What the conversation has cost so far, in words.
    Cost(String),
    /// The text that the user may want to edit and send.
    Draft(String),
    /// The process was stopped and continues.
    Continued,
    /// The terminal is needed for something else; the sender is told when it is free.
    Suspend(Sender<()>),
    /// The terminal is ours again.
    Resume,
}

/// A question that one line answers.
pub(super) struct LinePrompt {
    pub(super) text: String,
    /// `None` if the user does not answer.
    pub(super) reply: Sender<Option<String>>,
}

/// A tool call that has ended.
#[derive(Clone, Debug)]
pub(super) struct FinishedCall {
    /// The step, if there are several.
    pub(super) step: Option<String>,
    pub(super) words: String,
    pub(super) end: CallEnd,
    /// Its arguments and its whole output.
    pub(super) details: String,
    /// What it changed, as a unified diff.
    pub(super) diff: Option<String>,
}

/// What the user wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConsoleRequest {
    /// Has sent a message; while a run is at work, it is told to it.
    Say(String),
    /// A command such as `/model NAME`.
    Command(String, String),
    /// What is being done is to stop.
    Interrupt,
    /// The full screen was left.
    Closed,
    /// The console is to end.
    Quit,
}
