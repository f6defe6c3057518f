//! Run one process with no more power than it was given.
//!
//! Every child process that is started on an agent's behalf (a command, Python, a drop-in tool, an MCP server) is
//! started here, under one [`Policy`]. The program is our own binary executed again, the **launcher**: it makes
//! namespaces with a root folder of their own, gives up every right with Landlock, seccomp and resource limits, becomes
//! the program, and stays beside it until every descendant is gone. No other program is needed.
//!
//! A binary that uses this crate begins like this:
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use updraft_sandbox::{Command, Policy, Sandbox, launch};
//!
//! if std::env::args().nth(1).as_deref() == Some(launch::ARGUMENT) {
//!     launch::main();
//! }
//! tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//!     let probe = Sandbox::probe("/proc/self/exe").await?;
//!     let sandbox = Sandbox::new("/proc/self/exe", probe.level)?;
//!     let command = Command { args: vec!["-c".into(), "make test".into()], ..Command::new("sh") };
//!     let ended = sandbox.spawn(&Policy::strict("/srv/project"), command).await?.wait().await?;
//!     assert!(ended.succeeded(), "{}", ended.stderr.text());
//!     Ok(())
//! })
//! # }
//! ```
//!
//! | level | enforces | lacks |
//! |---|---|---|
//! | [`SandboxLevel::Full`] | namespaces, own root, Landlock, seccomp, limits | |
//! | [`SandboxLevel::Landlock`] | Landlock, seccomp, limits, in the host's own view | see [`SandboxLevel`] |
//! | [`SandboxLevel::None`] | time, memory and the end of descendants | all else; only ever by the user's own word |
//!
//! On macOS and Windows there is no sandbox: any level but the last is [`Error::Level`], and even that has fewer limits.
//! What runs there (`elsewhere`) is untested.
//!
//! | module | holds |
//! |---|---|
//! | `policy`, `toolchain` | what a child may do, as plain data; folders that compilers and interpreters need |
//! | `sandbox`, `child`, `capture` | starting one, its end, what it said |
//! | [`launch`] | the other process: namespaces, root folder, confinement, watching |
//! | `filter` | system calls that are refused |
//! | `guard` | files that run later |
//! | `staged`, `changed` | what a command changed, gathered until it ends |
//! | [`address`], `proxy` | which hosts may be reached, and how |
//! | `refusal` | what was refused, and what would allow it |
//! | `probe` | what this machine offers |
//! | `elsewhere` | children without a sandbox, on other systems |

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "the parts that use it exist on Linux only"))]

pub mod address;
mod capture;
mod changed;
#[cfg(target_os = "linux")]
mod channel;
#[cfg(target_os = "linux")]
mod child;
mod command;
mod complaints;
mod config;
#[cfg(any(test, not(target_os = "linux")))]
mod elsewhere;
mod ended;
mod error;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod guard;
mod identity;
#[cfg(target_os = "linux")]
pub mod launch;
#[cfg(target_os = "linux")]
mod line;
mod order;
mod policy;
mod probe;
#[cfg(target_os = "linux")]
mod proxy;
mod reached;
mod refusal;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod staged;
mod toolchain;

pub use capture::{CaptureOptions, CapturedStream, LineListener};
pub use changed::{StagedChange, UnlistedChanges};
#[cfg(target_os = "linux")]
pub use child::{Child, ChildHandle, StdinWriter, StdoutReader};
pub use command::{Command, OutputMode, StdinMode};
pub use complaints::read_from as refusals;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{
    NoStagedChanges as StagedChanges, PlainChild as Child, PlainChildHandle as ChildHandle, PlainSandbox as Sandbox,
    PlainStdinWriter as StdinWriter, PlainStdoutReader as StdoutReader, launch,
};
pub use ended::ChildResult;
pub use error::{Error, SETUP_FAILED};
pub use identity::GitSetting;
pub use order::{KillReason, MOVED, MovedFile, MovedFileRecord, ProgramExit, SetupStep};
pub use policy::{ChildLifetime, Network, NotANetwork, Policy, ResourceLimits, SandboxLevel};
pub use probe::{MissingFeature, SandboxSupport};
pub use reached::ReachedHosts;
pub use refusal::{Grant, RefusalKind, SandboxRefusal};
#[cfg(target_os = "linux")]
pub use sandbox::Sandbox;
#[cfg(target_os = "linux")]
pub use staged::StagedChanges;
pub use toolchain::{NotAToolchain, Toolchain};
