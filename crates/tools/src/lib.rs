//! Find, validate and call tools.
//!
//! A [`Tool`] says what it does (its [`spec`](Tool::spec)), what kind of thing it is (its [`ToolTraits`]) and does it.
//! The [`Registry`] holds them by name, and the [`Dispatcher`] stands between a model's wish and the tool: it finds the
//! tool, checks the arguments, keeps time, catches panics and cuts the output to size. It never asks a person and never
//! decides whether a call is allowed: that is decided in the run, from what [`Dispatcher::prepare`] found out.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use serde_json::json;
//! use updraft_run::{Reply, ToolCall};
//! use updraft_tools::{CallContext, Dispatcher, Place, Registry, ToolLimits, Workspace};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # std::fs::write(folder.path().join("notes.txt"), "hello\n").unwrap();
//! let limits = ToolLimits::default();
//! let dispatcher = Dispatcher::new(Registry::standard(&limits), limits);
//! let place = Place { workspace: Workspace::open(folder.path()).unwrap() };
//!
//! let args = json!({ "path": "notes.txt" });
//! let call = ToolCall { id: "1".into(), name: "read_file".into(), args, fault: None };
//! assert!(dispatcher.prepare(&call, &place).fault.is_none());
//!
//! let called = dispatcher.call(&call, &CallContext::new(place, "run/step/0/0/call.0")).await;
//! assert!(matches!(called.reply, Reply::Output(output) if output.text == "hello\n"));
//! # });
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `tool` | the trait, and what a call is given |
//! | `registry` | tools by name |
//! | `dispatch` | one call from wish to reply |
//! | `schema` | arguments against a JSON Schema that may be hostile |
//! | `plain`, `replace` | files outside of the workspace; files of our own, replaced whole |
//! | `confinement` | how every child process is confined |
//! | `picture` | pictures, told by their first bytes |
//! | [`worker`] | programs in the sandbox that serve one call after another |
//! | `web` | pages: which addresses may be asked for, and what of a page is text |
//! | `dropin` | tools that people drop into a folder: Python functions, programs that describe themselves |
//! | `builtin` | the tools that are always there, one file each |

mod builtin;
mod confinement;
mod cut;
mod diffs;
mod dispatch;
mod dropin;
mod error;
mod limits;
mod picture;
mod plain;
mod registry;
mod replace;
mod schema;
mod shell;
mod tool;
mod web;
mod witness;
pub mod worker;

pub use builtin::{ASK_MODEL, NapMode, USUAL_TIME, ask_user_spec, changed_lines};
pub use confinement::{Confinement, MOVED, MovedFileRecord, left_behind, not_started, remember};
pub use dispatch::{CallResult, Dispatcher, RegistrySnapshot};
pub use dropin::{CacheUse, DropInListing, DropIns, ListedFile, Problem, Severity, ToolFolder};
pub use error::Error;
pub use limits::ToolLimits;
pub use picture::{LARGEST_PICTURE, mime_of};
pub use plain::{open_plain, open_unlinked};
pub use registry::Registry;
pub use replace::replace_private;
pub use schema::{Mismatch, Schema};
pub use tool::{CallContext, CallLog, Caller, Consultation, RunContext, Tool, ToolFuture, ToolSource, ToolTraits};
pub use updraft_workspace::{
    Error as WorkspaceError, HiddenFiles, PathContent, PathList, Place, WholeText, Workspace, WorkspacePath,
    is_draft_of_any,
};
pub use web::{AddressOverride, WebConfig, WebLimits};
pub use witness::ChangeWitness;
