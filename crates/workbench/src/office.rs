//! What programs outside can ask of a workbench that stays open: runs, files and conversations. Adapters (MCP, the bridge)
//! call it, and turn what it gives into their protocol's shapes.
//!
//! | file | what it is about |
//! |---|---|
//! | `shapes.rs` | what is handed in and out |
//! | `runs.rs` | drives the runs of this process, and goes on with those of the one before |
//! | `steering.rs`, `view.rs` | runs as they are shown to and steered by whoever is outside |
//! | `conversations.rs`, `sessions.rs` | questions that are waited for; what was said before |
//! | `files.rs`, `find.rs` | the workspace's files: whole, for programs; through tools, and searched |
//! | `heard.rs` | what happens in runs, told to whoever listens |

mod conversations;
mod files;
mod find;
mod heard;
mod runs;
mod sessions;
mod shapes;
mod steering;
mod view;

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use updraft_tools::{Place, Workspace};

pub use conversations::Conversations;
pub use find::WorkspaceFiles;
use heard::RunBroadcast;
pub(crate) use runs::DOOR;
pub use runs::LiveRuns;
use sessions::Sessions;
pub use sessions::{SessionLimits, sweep_conversations, with_conversation};
pub use shapes::{
    Document, FileList, FileToolOutput, PendingQuestion, Query, QueryAnswer, RunListener, RunProgress, RunRequest,
    RunView, SearchHit, WorkspaceFileChange,
};

use crate::fault::Fault;
use crate::flags::Flags;
use crate::notice::Tell;
use crate::places::AppFolders;
use crate::settings::WorkspaceSettings;
use crate::workbench::{Attendance, Workbench};

/// A workbench that stays open for programs outside. Cheap to clone.
#[derive(Clone)]
pub struct UpdraftService {
    /// Its runs.
    pub runs: LiveRuns,
    /// The files of its folder.
    pub files: Arc<WorkspaceFiles>,
    /// Questions that are waited for.
    pub conversations: Conversations,
}

impl UpdraftService {
    /// Opens an office in a folder and goes on with the runs that the process before left behind; says how many.
    pub async fn open(
        places: &AppFolders,
        folder: &Path,
        flags: Flags,
        stop: CancellationToken,
        tell: Tell,
    ) -> Result<(Self, usize), Fault> {
        let heard = RunBroadcast::new();
        let attendance = Attendance { watch: Arc::new(heard.clone()), stop: stop.clone(), tell };
        let bench = Workbench::open(places, folder, flags, attendance)?;
        bench.prepare().await?;
        let (engine, dispatcher) = (bench.engine().await?.clone(), bench.dispatcher().await?.clone());
        let limits = bench.settings.meant.serving.sessions();
        let sessions = Sessions::new(engine.journal().clone(), folder.display().to_string(), limits);
        sessions.take_over(&places.state.join("sessions")).await;
        let files = WorkspaceFiles {
            dispatcher,
            place: Place { workspace: Workspace::open(folder)? },
            settings: bench.settings.meant.rules(),
            changed: heard.changed.clone(),
        };
        let runs = LiveRuns::new(bench, engine, stop.clone());
        let conversations = Conversations { runs: runs.clone(), heard, sessions: Arc::new(sessions) };
        conversations.sweep(limits.sweep, stop);
        let left = runs.recover().await?;
        Ok((Self { runs, files: Arc::new(files), conversations }, left))
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &WorkspaceSettings {
        self.runs.settings()
    }

    /// Waits until what runs here has stopped, which it does when `stop` is cancelled, and closes the journal. What is left
    /// goes on next time.
    pub async fn close(self) {
        self.runs.finish().await;
    }
}
