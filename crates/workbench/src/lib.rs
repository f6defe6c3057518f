//! Builds everything that a run needs: folders, settings, trust in the workspace, models, tools and the sandbox.
//!
//! A front end (the terminal, MCP, the bridge, later HTTP and editors) opens a [`Workbench`] on a folder and uses it to
//! start, resume, fork or adopt runs. Nothing here prints: errors are returned as a [`Fault`], and messages for the
//! user are sent as a [`Notice`].
//!
//! | file | what it is about |
//! |---|---|
//! | `workbench.rs` | the workbench of one folder: `open`, and the parts that runs share |
//! | `start.rs`, `resume.rs`, `fork.rs`, `adopt.rs` | starting, resuming, forking and adopting a run |
//! | `flags.rs` | settings from the command line, which override all others |
//! | `notice.rs`, `fault.rs` | messages for the user, and errors |
//! | `places.rs`, `plain.rs`, `list_file.rs`, `moment.rs` | folders, environment; small files; times |
//! | `settings.rs` and `settings/` | settings from files, the environment and flags; which workspaces are trusted |
//! | `reach.rs` | which models can be reached, and with which keys |
//! | `confine.rs`, `offered.rs` | how child processes are confined, and which sandbox this machine supports |
//! | `tools.rs`, `dropins.rs` | the tools of a workspace, and rules that name them |
//! | `servers.rs` and `servers/` | which MCP servers are configured, and what they are given |
//! | `cast.rs` | agents and prompts |
//! | `journal.rs` | opening the journal, and finding runs by the names people type |
//! | `office.rs` and `office/` | the service that other programs use: runs, files, conversations |

mod adopt;
pub mod cast;
pub mod confine;
pub mod dropins;
mod fault;
mod flags;
mod fork;
pub mod journal;
mod list_file;
pub mod moment;
mod notice;
pub mod offered;
pub mod office;
pub mod places;
pub mod plain;
pub mod reach;
mod resume;
pub mod servers;
pub mod settings;
mod start;
pub mod tools;
mod workbench;

pub use fault::{Fault, Kind};
pub use flags::{Bounds, Confine, Flags};
pub use fork::{Fork, UNKNOWN_MODEL, may_fork};
pub use notice::{Notice, Tell};
pub use office::{SessionLimits, UpdraftService, with_conversation};
pub use places::AppFolders;
pub use resume::{ResumeOutcome, StoredRun, folder_of};
pub use settings::WorkspaceSettings;
pub use start::NewGoal;
pub use workbench::{Attendance, Workbench};
