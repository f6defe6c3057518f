//! Drive a run from goal to answer.
//!
//! The [`Engine`] writes what a run decides to the journal, performs what it wants through [`Perform`], and feeds each
//! reply back as the next input. A run that only waits for people holds no task, no lease and no memory here.
//!
//! | to read | file |
//! |---|---|
//! | the loop | `drive.rs`, then `drive/gather.rs` and `drive/begin.rs` |
//! | who does it | `perform.rs`, `effects.rs` |
//! | what models are told | `conversation.rs`, `context.rs`, `words.rs` |
//! | agents and templates as files | `agents.rs`, `prompts.rs` |
//! | starting and opening runs | `engine.rs`, `start.rs` |
//! | which files hold words from outside | `marks.rs`, `drive/marks.rs` |
//! | looking back | `report.rs`, `stopped.rs`, `replay.rs`, `nodelink.rs`, `touched.rs`, `changed.rs` |
//! | what people say to a run's questions | `response.rs` |
//! | taking back | `undo.rs`, then `undo/plan.rs` and `undo/carry.rs` |

mod agents;
mod between;
mod changed;
mod clock;
mod consult;
mod context;
mod conversation;
mod diff;
mod drive;
mod effects;
mod engine;
mod error;
mod front_matter;
mod history;
mod marks;
mod nodelink;
mod outage;
mod perform;
mod plain;
mod prompts;
mod recorded;
mod replay;
mod report;
mod response;
mod start;
mod stopped;
mod touched;
mod undo;
mod used;
mod watch;
mod words;

pub use agents::{Agent, Agents, Trust};
pub use changed::{ChangedFile, changed_files};
pub use context::Context;
pub use diff::{Diff, StepDiff, diff};
pub use drive::Rested;
pub use engine::{Engine, Handle, Options, Sender};
pub use error::Error;
pub use history::Past;
pub use marks::{Book, Marked, Marks, Remains};
pub use nodelink::{EdgeList, node_link};
pub use perform::{Doing, Given, Hands, Perform};
pub use prompts::Prompts;
pub use recorded::recorded;
pub use replay::{Difference, Differs, Replayed, Told, prompts as prompts_of, replay};
pub use report::{Report, Statistics, StepReport, dollars, failure_of, messages, waiting_for};
pub use response::{PersonResponse, ResponseStatus, outlives_its_process};
pub use start::NewRun;
pub use stopped::{command_to_go_on, why_stopped};
pub use touched::{Approved, Touched, touched};
pub use undo::{Left, Made, Move, Plan as UndoPlan, Side, Undo, Undone, Unlisted, Which, Why};
pub use updraft_models::Delta;
pub use used::Used;
pub use watch::{Nobody, Watch};
pub use words::{AgentWords, Words};
