//! The service that other programs use: runs, files and conversations of a workbench that stays open. Adapters (the page,
//! HTTP APIs, MCP, ACP, the bridge) call it and translate the results into their protocols.
//!
//! | file | what it is about |
//! |---|---|
//! | `service_types.rs` | the types of requests and results |
//! | `runs.rs`, `drive_thread.rs` | drives the runs of this process on a thread of its own, and resumes those of the previous one |
//! | `control.rs`, `view.rs`, `reached_limit.rs` | showing runs to clients, and controlling them; limits that people raise |
//! | `conversations.rs`, `sessions.rs` | questions whose answers clients wait for; earlier questions and answers |
//! | `files.rs`, `added_files.rs`, `search.rs` | the workspace's files: read whole and listed; added; used through tools, and searched |
//! | `broadcast.rs` | sends what happens in runs to listeners |
//! | `run_list.rs`, `figures.rs`, `feeds.rs`, `inspection.rs` | runs for people: listed, watched while they happen, looked at closely |
//! | `gauges.rs` | how many runs there are, by status, and who watches them |
//! | `event_tail.rs` | the events of a run for programs, from any place on |
//! | `surroundings.rs`, `server_cards.rs`, `model_cards.rs`, `ingestion.rs` | tools, servers, models, memories, documents and keys, for people |
//! | `outbox.rs` | messages for other servers |
//! | `request_keys.rs`, `request_answers.rs` | requests that may be sent again: those that start runs, and others |
//! | `run_conversations.rs` | conversations as chains of runs, in all folders |
//! | `scheduler.rs`, `recurring.rs` | begins the runs of schedules when they are due; schedules and recipes for programs |
//! | `program_orders.rs`, `moments.rs`, `notes.rs` | runs that programs order with a conversation of their own, and what they are told of them |
//! | `run_results.rs` | how far runs are, and the files they made, for programs that delegate work |
//! | `aftermath.rs`, `upkeep.rs` | runs exported, reviewed, undone, removed; brought in and adopted; rules and marks |
//! | `accounts.rs` | runs accounted for: logs, audits, replays, what agents were told, how they did |
//! | `orders.rs`, `forks.rs` | runs that people start: with settings of their own, after others, once more, or from the past |
//! | `placement.rs` | runs that are started on a worker with a label |

mod accounts;
mod added_files;
mod aftermath;
mod broadcast;
mod control;
mod conversations;
mod drive_thread;
mod event_tail;
mod examination;
mod feeds;
mod figures;
mod files;
mod forks;
mod gauges;
mod ingestion;
mod inspection;
mod live_text;
mod mail;
mod model_cards;
mod moments;
mod notes;
mod orders;
mod outbox;
mod placement;
mod program_orders;
mod reached_limit;
mod recurring;
mod request_answers;
mod request_keys;
mod run_conversations;
mod run_list;
mod run_results;
mod runs;
mod scheduler;
mod search;
mod server_cards;
mod service_types;
mod sessions;
mod surroundings;
mod upkeep;
mod view;

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use updraft_tools::{Place, Workspace};

pub use live_text::{LiveText, LiveTextKind};
pub use updraft_engine::{
    AgentStats, AgentTally, CallAudit, DifferenceKind, FileReview, ReplayDifference, ReviewedChange, ReviewedState,
};

pub use accounts::{LogPage, LogRange, ReplayAccount, RunDetail};
pub use aftermath::UndoOrder;
use broadcast::RunBroadcast;
pub use control::CLIENT;
pub use conversations::Conversations;
pub use event_tail::{EventTail, TailItem};
pub use feeds::RunFeed;
pub use figures::RunFigures;
pub use forks::{ForkChoices, ForkOrder, RepeatOrder};
use ingestion::IngestionState;
pub use ingestion::{Ingestion, IngestionPhase, IngestionResult};
pub use inspection::NumberedEvent;
pub use model_cards::ProviderCard;
pub use moments::{AnswerDraft, MomentReader, NumberedMoment, RunMoment};
pub use notes::FaceNote;
pub use orders::{AgentChoice, OrderFace, RunOrder};
pub use outbox::{OutboxTurn, WebhookMessage, WebhookOutbox};
pub use placement::{PlacementFuture, RunPlacer};
pub use program_orders::{ProgramOrder, object_in};
pub use reached_limit::ReachedLimit;
pub use request_answers::{AnswerClaim, KeyedAnswer};
pub use request_keys::KeyedRun;
pub use run_conversations::{ConversationBook, RunConversation};
pub use run_list::{RunGroup, RunList, RunListQuery, RunRow};
pub use run_results::RunHead;
pub(crate) use runs::ENTRY_POINT;
pub use runs::LiveRuns;
pub(crate) use scheduler::SCHEDULE;
pub use search::WorkspaceFiles;
pub use server_cards::{ServerCard, ServerCardState};
pub use service_types::{
    FetchedDocument, FileList, FileToolOutput, PendingQuestion, Query, QueryAnswer, RunListener, RunProgress,
    RunRequest, RunView, SearchHit, WorkspaceFileChange,
};
use sessions::Sessions;
pub use sessions::{SessionLimits, sweep_conversations};
pub use surroundings::{SkillCard, ToolCard};

use crate::fault::Fault;
use crate::flags::Flags;
use crate::folders::AppFolders;
use crate::knowledge;
use crate::notice::Tell;
use crate::observe::{MetricsText, RunMetrics};
use crate::settings::WorkspaceSettings;
use crate::workbench::{RunCallbacks, Workbench};

/// A workbench that stays open for other programs. Cheap to clone.
#[derive(Clone)]
pub struct UpdraftService {
    /// Its runs.
    pub runs: LiveRuns,
    /// The files of its folder.
    pub files: Arc<WorkspaceFiles>,
    /// Questions whose answers clients wait for.
    pub conversations: Conversations,
    metrics: RunMetrics,
}

impl UpdraftService {
    /// Opens the service in a folder and resumes the runs that the previous process left unfinished; also returns their
    /// number.
    pub async fn open(
        folders: &AppFolders,
        folder: &Path,
        flags: Flags,
        stop: CancellationToken,
        tell: Tell,
    ) -> Result<(Self, usize), Fault> {
        let opened = Box::pin(Self::open_idle(folders, folder, flags, stop, tell)).await?;
        let left = opened.runs.recover().await?;
        Ok((opened, left))
    }

    /// The same, but nothing is resumed.
    pub async fn open_idle(
        folders: &AppFolders,
        folder: &Path,
        flags: Flags,
        stop: CancellationToken,
        tell: Tell,
    ) -> Result<Self, Fault> {
        Box::pin(Self::open_with(folders, folder, flags, RunCallbacks { stop, tell, ..RunCallbacks::default() })).await
    }

    /// The same, with runs that may have their home elsewhere. Who watches is replaced.
    pub async fn open_with(
        folders: &AppFolders,
        folder: &Path,
        flags: Flags,
        callbacks: RunCallbacks,
    ) -> Result<Self, Fault> {
        let (heard, stop) = (RunBroadcast::new(), callbacks.stop.clone());
        let callbacks = RunCallbacks { watch: Arc::new(heard.clone()), ..callbacks };
        let bench = Workbench::open(folders, folder, flags, callbacks)?;
        bench.prepare().await?;
        let (engine, dispatcher) = (bench.engine().await?.clone(), bench.dispatcher().await?.clone());
        let limits = bench.settings.effective.serving.sessions();
        let sessions = Sessions::new(
            engine.journal().clone(),
            folder.display().to_string(),
            limits,
            bench.settings.effective.memory.conversation(),
        );
        sessions.take_over(&folders.state.join("sessions")).await;
        let files = WorkspaceFiles {
            dispatcher,
            place: Place { workspace: Workspace::open(folder)? },
            settings: bench.settings.effective.run_settings(),
            folders: folders.clone(),
            folder: folder.to_owned(),
            index: Arc::new(knowledge::index(folders, folder, &bench.settings)),
            changed: heard.changed.clone(),
            ingestion: IngestionState::default(),
        };
        let runs = LiveRuns::new(bench, engine, stop.clone(), heard.feeds.clone())?;
        let metrics = heard.metrics.clone();
        let conversations = Conversations { runs: runs.clone(), heard, sessions: Arc::new(sessions) };
        conversations.sweep(limits.sweep, stop);
        Ok(Self { runs, files: Arc::new(files), conversations, metrics })
    }

    /// Resumes the runs that the previous process left unfinished, and returns their number.
    pub async fn resume_unfinished(&self) -> Result<usize, Fault> {
        self.runs.recover().await
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &WorkspaceSettings {
        self.runs.settings()
    }

    /// Writes the metrics of its runs. Blocks on the disk.
    pub fn write_metrics(&self, text: &mut MetricsText) -> Result<(), Fault> {
        self.runs.write_gauges(text)?;
        self.metrics.write(text);
        Ok(())
    }

    /// Waits until the runs have stopped, which they do when `stop` is cancelled, and closes the journal. Unfinished
    /// runs are resumed by the next process.
    pub async fn close(self) {
        self.runs.finish().await;
    }
}
