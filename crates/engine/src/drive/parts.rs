//! The parts of a `RunDriver`: what models and tools are told, what comes in, what is running, what waits to be
//! written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use updraft_journal::{Blob, Lease, Status};
use updraft_run::{EffectAddress, Input, Reply, Run, RunId, StepId, Timestamp};

use super::calls_from_code::{CallRequest, MOST_REQUESTS};
use super::{KnownMarks, RunDriver};
use crate::context::Snapshot;
use crate::conversation::Conversation;
use crate::effects::RunningEffects;
use crate::engine::EngineInner;
use crate::home::HomeAttachment;
use crate::prompt_texts::PromptKit;

/// How many inputs may wait for a run at the same time. People and other processes send only a few during a run. Inputs
/// of other processes stay in the journal's inbox until they are taken, so they are delivered again if there is no
/// room.
const MOST_MAIL: usize = 1024;

/// An input on its way to a run, and its row in the inbox if it came from another process.
pub(crate) struct QueuedInput {
    pub(crate) input: Input,
    pub(crate) row: Option<i64>,
    /// When it was sent, if it was in the inbox.
    pub(crate) sent: Timestamp,
    /// The channel to the code that waits for the reply.
    pub(crate) reply_to: Option<oneshot::Sender<Reply>>,
}

impl From<Input> for QueuedInput {
    fn from(input: Input) -> Self {
        Self { input, row: None, sent: Timestamp::default(), reply_to: None }
    }
}

/// Sends inputs to a run that is being driven.
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
    /// The models whose window this process has asked for.
    pub(crate) windows_asked: BTreeSet<String>,
}

/// Where inputs arrive.
pub(crate) struct Inbox {
    pub(crate) mail: mpsc::Receiver<QueuedInput>,
    /// Calls that code asks for.
    pub(crate) requests: mpsc::Receiver<CallRequest>,
    /// Inputs to be taken at once.
    pub(crate) queued: Vec<QueuedInput>,
    /// The inbox rows of the inputs that were already taken.
    pub(crate) taken: BTreeSet<i64>,
}

/// The effects that are running.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) effects: RunningEffects,
    /// When to give up on effects that were told to stop.
    pub(crate) deadline: Option<tokio::time::Instant>,
}

/// Code that waits for calls it asked for.
pub(crate) struct CodeCalls {
    /// Given to each call, so that its code can send requests.
    pub(crate) request_sender: mpsc::Sender<CallRequest>,
    /// Which code waits for the reply to which call.
    pub(crate) listening: BTreeMap<EffectAddress, oneshot::Sender<Reply>>,
    /// Code that waits until its handle is on disk.
    pub(crate) noted: Vec<oneshot::Sender<Reply>>,
}

/// What will be written with the next append.
#[derive(Default)]
pub(crate) struct Unwritten {
    /// Inputs that can wait for the next append.
    pub(crate) deferred_inputs: Vec<QueuedInput>,
    /// Blobs to be stored with it.
    pub(crate) blobs: Vec<Blob>,
}

/// The position of a run in the journal.
pub(crate) struct Position {
    pub(crate) lease: Lease,
    pub(crate) status: Status,
    /// How many events are on disk.
    pub(crate) head: u64,
}

/// A run from the journal that is about to be driven.
pub(crate) struct OpenedRun {
    pub(crate) id: RunId,
    pub(crate) run: Run,
    pub(crate) lease: Lease,
    pub(crate) kit: Arc<PromptKit>,
    pub(crate) context: Snapshot,
    /// The workspace may have changed since the context was taken.
    pub(crate) is_stale: bool,
    /// Inputs to be taken first.
    pub(crate) queued: Vec<QueuedInput>,
    /// The run's home, if that is elsewhere.
    pub(crate) home: Option<HomeAttachment>,
}

impl RunDriver {
    /// Builds a driver, and the sender that reaches the run.
    pub(crate) fn new(engine: &Arc<EngineInner>, opened: OpenedRun) -> (Self, MailSender) {
        let OpenedRun { id, run, lease, kit, context, is_stale, queued, home } = opened;
        let (send, mail) = mpsc::channel(MOST_MAIL);
        let (request_sender, requests) = mpsc::channel(MOST_REQUESTS);
        let drive = Self {
            engine: Arc::clone(engine),
            id,
            clock: engine.run_clock(),
            briefing: Briefing {
                kit,
                tools_version: None,
                context,
                is_stale,
                conversations: BTreeMap::new(),
                windows_asked: BTreeSet::new(),
            },
            inbox: Inbox { mail, requests, queued, taken: BTreeSet::new() },
            work: Work::default(),
            code: CodeCalls { request_sender, listening: BTreeMap::new(), noted: Vec::new() },
            unwritten: Unwritten::default(),
            position: Position { lease, status: run.recorded_status(), head: run.events() },
            marks: engine.marks().map(|marks| KnownMarks::of(marks, &run)),
            home,
            run,
        };
        (drive, send)
    }
}
