//! Builds everything that a run needs: folders, settings, trust in the workspace, models, tools and the sandbox.
//!
//! A front end (the terminal, the page, HTTP APIs, MCP, ACP, the bridge) opens a [`Workbench`] on a folder and uses it to
//! start, resume, fork or adopt runs. Nothing here prints: errors are returned as a [`Fault`], and messages for the
//! user are sent as a [`Notice`].
//!
//! | file | what it is about |
//! |---|---|
//! | `workbench.rs` | the workbench of one folder: `open`, and the parts that runs share |
//! | `start.rs`, `goal_pictures.rs`, `resume.rs`, `fork.rs`, `adopt.rs` | starting, resuming, forking and adopting a run |
//! | `offer.rs`, `whereabouts.rs` | what agents of a new run may use, what their models are told of; time, system and repository |
//! | `outlook.rs`, `repeat.rs` | what a plan will use and cost; which results of a run are kept when it is repeated |
//! | `remote_agents.rs` | agents on other servers |
//! | `recipes.rs`, `schedules.rs` | goals and plans with parameters, as files; runs that begin by themselves |
//! | `doctor.rs` | what works in a folder, what does not, and what to do about it |
//! | `flags.rs` | settings from the command line, which override all others |
//! | `notice.rs`, `fault.rs` | messages for the user, and errors |
//! | `folders.rs`, `untrusted.rs`, `list_file.rs`, `time_format.rs` | folders, environment; small files; times |
//! | `settings.rs` and `settings/` | settings from files, the environment and flags; which workspaces are trusted |
//! | `model_access.rs` | which models can be reached, and with which keys |
//! | `confinement.rs`, `sandbox_probe.rs` | how child processes are confined, and which sandbox this machine supports |
//! | `tools.rs`, `dropins.rs` | the tools of a workspace, and rules that name them |
//! | `servers.rs` and `servers/` | which MCP servers are configured, and what they are given |
//! | `agents.rs` | agents and prompts |
//! | `other_tools.rs` and `other_tools/` | what people have set up for other coding agents, taken over |
//! | `guardrails.rs`, `hooks.rs` | checks of goals, calls and answers; programs that are called at events |
//! | `knowledge.rs` | the index of a workspace's files |
//! | `history.rs` and `history/` | a run as people read it, up to one position of its journal |
//! | `observe.rs` and `observe/` | what operators see of runs: metrics |
//! | `journal.rs` | opening the journal, and finding runs by the names people type |
//! | `undo.rs` | what a run changed in its workspace, undone |
//! | `permissions.rs`, `aside.rs` | what decides about calls; files that were moved out of the workspace |
//! | `import.rs` and `import/` | runs from files |
//! | `removal.rs`, `piped_files.rs` | runs removed for good, with all that was kept for them |
//! | `repositories.rs` and `repositories/` | git repositories that runs clone, and push what they change to |
//! | `service.rs` and `service/` | the service that other programs use: runs, files, conversations |

mod adopt;
pub mod agents;
pub mod aside;
pub mod confinement;
pub mod doctor;
pub mod dropins;
mod fault;
mod flags;
pub mod folders;
mod fork;
mod goal_pictures;
mod guardrails;
pub mod history;
mod hooks;
pub mod import;
pub mod journal;
pub mod knowledge;
mod list_file;
pub mod memory;
pub mod model_access;
mod notice;
pub mod observe;
mod offer;
pub mod other_tools;
mod outlook;
pub mod permissions;
pub mod piped_files;
pub mod recipes;
mod remote_agents;
pub mod removal;
mod repeat;
pub mod repositories;
mod resume;
pub mod sandbox_probe;
pub mod schedules;
mod search_access;
pub mod servers;
pub mod service;
pub mod settings;
pub mod skills;
mod start;
pub mod time_format;
pub mod tools;
pub mod undo;
pub mod untrusted;
mod waiting_plan;
mod whereabouts;
mod workbench;

pub use fault::{Fault, Kind};
pub use flags::{Bounds, Confine, Flags, GivenServers};
pub use folders::AppFolders;
pub use fork::{Fork, UNKNOWN_MODEL, may_fork};
pub use goal_pictures::pictures_among;
pub use notice::{Notice, Tell};
pub use outlook::StepOutlook;
pub use repeat::{RepeatChange, RepeatVerdict, Repetition, StepVerdict};
pub use resume::{ResumeOutcome, StoredRun, folder_of};
pub use service::{SessionLimits, UpdraftService};
pub use settings::WorkspaceSettings;
pub use start::NewGoal;
pub use waiting_plan::{WaitingPlan, plan_file};
pub use workbench::{RunCallbacks, Workbench};
