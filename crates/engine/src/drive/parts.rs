//! The parts of a drive: what it tells, what comes in, what is under way, what waits to be written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use updraft_journal::{Blob, Lease, Status};
use updraft_run::{EffectAddress, Input, Reply, Run, RunId, StepId};

use super::code::{CallRequest, MOST_WISHES};
use super::{KnownMarks, RunDriver, status_of};
use crate::context::Snapshot;
use crate::conversation::Conversation;
use crate::effects::RunningEffects;
use crate::engine::EngineInner;
use crate::words::PromptKit;

/// Inputs that wait for a run at the same time. People and other processes send them, a few in a run's life; what other
/// processes sent stays in the journal's inbox until it is taken, so it is brought again where there is no room.
const MOST_MAIL: usize = 1024;

/// An input on its way to a run, and its place in the inbox if it came from another process.
pub(crate) struct QueuedInput {
    pub(crate) input: Input,
    pub(crate) row: Option<i64>,
    /// The code that waits for what comes of it.
    pub(crate) heard: Option<oneshot::Sender<Reply>>,
}

impl From<Input> for QueuedInput {
    fn from(input: Input) -> Self {
        Self { input, row: None, heard: None }
    }
}

/// Brings inputs to a run that is being driven.
pub(crate) type MailSender = mpsc::Sender<QueuedInput>;

/// What models and tools are told.
pub(crate) struct Briefing {
    pub(crate) kit: Arc<PromptKit>,
    /// The version of the tools that the run knows.
    pub(crate) tools_version: Option<u64>,
    /// What a step that begins now is told about the workspace.
    pub(crate) context: Snapshot,
    /// Something may have changed since the context was taken.
    pub(crate) is_stale: bool,
    /// The conversations of steps at work, while no model is being asked.
    pub(crate) conversations: BTreeMap<StepId, Box<Conversation>>,
}

/// What comes in.
pub(crate) struct Inbox {
    pub(crate) mail: mpsc::Receiver<QueuedInput>,
    /// Calls that code asks for.
    pub(crate) wishes: mpsc::Receiver<CallRequest>,
    /// Inputs to be taken at once.
    pub(crate) queued: Vec<QueuedInput>,
    /// Inputs of other processes that were taken, by their places in the journal's inbox.
    pub(crate) taken: BTreeSet<i64>,
}

/// What is under way.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) effects: RunningEffects,
    /// When to give up on what was told to stop.
    pub(crate) patience: Option<tokio::time::Instant>,
}

/// Code that waits for calls it asked for.
pub(crate) struct CodeCalls {
    /// Given to each call, so that its code can ask.
    pub(crate) wishing: mpsc::Sender<CallRequest>,
    /// Who hears of which call.
    pub(crate) listening: BTreeMap<EffectAddress, oneshot::Sender<Reply>>,
    /// Those who wait until what they noted is on disk.
    pub(crate) noted: Vec<oneshot::Sender<Reply>>,
}

/// What goes to disk with the next append.
#[derive(Default)]
pub(crate) struct Unwritten {
    /// Inputs that can wait for it.
    pub(crate) riding: Vec<QueuedInput>,
    /// Values that it must hold.
    pub(crate) blobs: Vec<Blob>,
}

/// How far a run has come in the journal.
pub(crate) struct Position {
    pub(crate) lease: Lease,
    pub(crate) status: Status,
    /// Events on disk.
    pub(crate) head: u64,
}

/// A run of the journal that is about to be driven.
pub(crate) struct OpenedRun {
    pub(crate) id: RunId,
    pub(crate) run: Run,
    pub(crate) lease: Lease,
    pub(crate) kit: Arc<PromptKit>,
    pub(crate) context: Snapshot,
    /// The workspace may be another than the context says.
    pub(crate) is_stale: bool,
    /// Inputs to be taken first.
    pub(crate) queued: Vec<QueuedInput>,
}

impl RunDriver {
    /// Puts a drive together. Whoever has the sender reaches the run.
    pub(crate) fn new(engine: &Arc<EngineInner>, opened: OpenedRun) -> (Self, MailSender) {
        let OpenedRun { id, run, lease, kit, context, is_stale, queued } = opened;
        let (send, mail) = mpsc::channel(MOST_MAIL);
        let (wishing, wishes) = mpsc::channel(MOST_WISHES);
        let drive = Self {
            engine: Arc::clone(engine),
            id,
            clock: engine.run_clock(),
            briefing: Briefing { kit, tools_version: None, context, is_stale, conversations: BTreeMap::new() },
            inbox: Inbox { mail, wishes, queued, taken: BTreeSet::new() },
            work: Work::default(),
            code: CodeCalls { wishing, listening: BTreeMap::new(), noted: Vec::new() },
            unwritten: Unwritten::default(),
            position: Position { lease, status: status_of(&run), head: run.events() },
            marks: engine.marks().map(|marks| KnownMarks::of(marks, &run)),
            run,
        };
        (drive, send)
    }
}
