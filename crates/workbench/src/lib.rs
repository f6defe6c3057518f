//! Everything a run needs, put together: the folders, the settings, what is trusted, the models, the tools, the sandbox.
//!
//! A face (the terminal, MCP, the bridge, later HTTP and editors) opens a [`Workbench`] on a folder and starts, resumes,
//! forks or adopts runs with it. Nothing here prints: what went wrong is a [`Fault`], and what a person should hear is a
//! [`Notice`].
//!
//! | file | what it is about |
//! |---|---|
//! | `workbench.rs` | the workbench of one folder: `open`, and the parts that runs share |
//! | `start.rs`, `resume.rs`, `fork.rs`, `adopt.rs` | the four ways to get a run going, one function each |
//! | `flags.rs` | what a face was told for this once, over the settings |
//! | `notice.rs`, `fault.rs` | what is told to people, and what went wrong |
//! | `places.rs`, `plain.rs`, `list_file.rs`, `moment.rs` | folders and the environment; files of others and of our own; times |
//! | `settings.rs` and `settings/` | what is written in files, the environment and flags, and whom to trust |
//! | `reach.rs` | which models can be reached, and with which keys |
//! | `confine.rs`, `offered.rs` | how children are confined, and what this machine can do |
//! | `tools.rs`, `dropins.rs` | the tools of a folder, and rules that name them |
//! | `servers.rs` and `servers/` | which MCP servers there are, and what they are lent |
//! | `cast.rs` | agents and prompts |
//! | `journal.rs` | the journal and the runs in it, found as people name them |
//! | `office.rs` and `office/` | a workbench that stays open for programs outside: runs, files, conversations |

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
