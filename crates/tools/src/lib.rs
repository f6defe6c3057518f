//! Finds, validates and calls tools.
//!
//! A [`Tool`] describes itself (its [`spec`](Tool::spec)), declares its [`ToolTraits`], and does the work. The
//! [`Registry`] holds tools by name. The [`Dispatcher`] handles a model's call: it finds the tool, checks the
//! arguments, enforces the time limit, catches panics and cuts the output to size. It never asks a person and never
//! decides whether a call is allowed: the run decides that, from what [`Dispatcher::prepare`] returns.
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
//! assert!(matches!(called.reply, Reply::Output(output) if output.text == "1\thello\n"));
//! # });
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `tool` | the trait, and the context that a call gets |
//! | `registry` | tools by name |
//! | `offer` | which of its tools a model is told of |
//! | `remote_agent` | agents on other servers, by A2A |
//! | `dispatch` | turns one call into a reply |
//! | `schema` | checks arguments against a JSON Schema, which may be hostile |
//! | `open_plain` | opens files outside the workspace |
//! | `confinement` | how child processes are confined |
//! | [`document_reader`] | reads files of every kind, those that have to be unpacked in a confined child |
//! | `picture` | recognizes pictures by their first bytes |
//! | [`worker`] | programs in the sandbox that serve one call after another |
//! | `web` | fetches web pages: which addresses are allowed, and how a page becomes text |
//! | `browser` | pages opened, read and used in Chromium |
//! | `workspace_index` | the index of a workspace's files: where it is, what goes into it, bringing it up to date |
//! | `background_commands` | commands that keep running while their step goes on |
//! | `dropin` | drop-in tools: Python functions, and programs that describe themselves |
//! | `builtin` | the built-in tools, one file each |

mod background_commands;
mod browser;
mod builtin;
mod change_tracker;
mod confinement;
mod diffs;
mod dispatch;
pub mod document_reader;
mod dropin;
mod error;
mod file_outline;
mod guardrails;
mod hooks;
mod limits;
mod memory_access;
mod offer;
mod open_plain;
mod picture;
mod registry;
mod remote_agent;
mod schema;
mod shell;
mod tool;
mod truncate;
mod web;
pub mod worker;
mod workspace_index;

pub use browser::BrowserOptions;
pub use builtin::{ASK_MODEL, NapMode, USUAL_TIME, ask_user_spec, changed_lines};
pub use change_tracker::ChangeWitness;
pub use confinement::{Confinement, MOVED, MovedFileRecord, left_behind, not_started, remember};
pub use dispatch::{CallResult, Dispatcher, RegistrySnapshot};
pub use document_reader::{DocumentLimits, DocumentReader};
pub use dropin::{CacheUse, DropInListing, DropIns, ListedFile, Problem, Severity, ToolFolder};
pub use error::Error;
pub use file_outline::{FileOutline, OutlineBounds, OutlineEntry};
pub use guardrails::{GuardAction, GuardCheck, GuardPoint, Guardrail, Guardrails};
pub use hooks::{Hook, HookAnswer, HookEvent};
pub use limits::ToolLimits;
pub use memory_access::{MemoryAccess, seconds_now};
pub use offer::{FINDERS, MANY_TOOLS, OfferSituation};
pub use open_plain::{open_plain, open_unlinked, read_plain};
pub use picture::{LARGEST_PICTURE, mime_of};
pub use registry::Registry;
pub use remote_agent::{AgentToken, RemoteAgentConfig, remote_agent_tool};
pub use schema::{Mismatch, Schema};
pub use tool::{
    CallContext, CallLog, Caller, Consultation, ReadEarlierTurns, ReadOutput, ReleaseFuture, RunContext, Tool,
    ToolFuture, ToolSource, ToolTraits,
};
pub use updraft_workspace::{
    Error as WorkspaceError, HiddenFiles, LinkPolicy, PathContent, PathList, Place, WholeText, Workspace,
    WorkspacePath, WriteOutcome, is_draft_of_any, replace_private,
};
pub use web::{AddressOverride, PageCache, SearchConfig, SearchKey, SearchProvider, WebConfig, WebLimits};
pub use workspace_index::{
    IndexAnswer, IndexConfig, IndexProgress, IndexState, IndexWork, LoadEmbedder, ReadDocument, WorkspaceIndex,
    address_of, path_pattern, reasons_for,
};
