//! Runs a process with no more rights than it was given.
//!
//! Every child process that is started on an agent's behalf (a command, Python, a drop-in tool, an MCP server) is
//! started here, under a [`Policy`]. Our own binary is executed again as the **launcher**: it creates namespaces with
//! their own root folder, gives up every right with Landlock, seccomp and resource limits, starts the program, and
//! stays until every descendant is gone. No other program is needed.
//!
//! A binary that uses this crate starts like this:
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
//! | [`SandboxLevel::None`] | time, memory and the end of descendants | everything else; only if the user requests it
//! |
//!
//! On macOS and Windows there is no sandbox: any level except the last is [`Error::Level`], and even that has fewer
//! limits. The code for these systems (`unconfined`) is untested.
//!
//! | module | holds |
//! |---|---|
//! | `policy`, `toolchain` | what a child may do, as plain data; folders that compilers and interpreters need |
//! | `sandbox`, `child`, `capture` | starting a child, its end, its output |
//! | [`launch`] | the launcher process: namespaces, root folder, confinement, supervision |
//! | `shared_network` | a private network that several children share |
//! | `filter` | system calls that are refused |
//! | `guard` | files that other programs would run later |
//! | `staged`, `staged_change` | the changes of a command, staged until it ends |
//! | [`address`], `proxy` | which hosts may be reached, and how |
//! | `refusal` | what was refused, and what would allow it |
//! | `probe` | what this machine supports |
//! | `unconfined` | children without a sandbox, on other systems |

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "the parts that use it exist on Linux only"))]

pub mod address;
mod capture;
#[cfg(target_os = "linux")]
mod channel;
#[cfg(target_os = "linux")]
mod child;
mod child_result;
mod command;
#[cfg(target_os = "linux")]
mod connection;
mod error;
mod error_output;
#[cfg(target_os = "linux")]
mod filter;
mod git_config;
mod git_identity;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
pub mod launch;
mod policy;
mod probe;
mod protocol;
#[cfg(target_os = "linux")]
mod proxy;
mod reached_hosts;
mod refusal;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod shared_network;
#[cfg(target_os = "linux")]
mod staged;
mod staged_change;
mod toolchain;
#[cfg(any(test, not(target_os = "linux")))]
mod unconfined;
mod visible;

pub use capture::{CaptureOptions, CapturedStream, LineListener};
#[cfg(target_os = "linux")]
pub use child::{Child, ChildHandle, StdinWriter, StdoutReader};
pub use child_result::ChildResult;
pub use command::{Command, OutputMode, StdinMode};
pub use error::{Error, SETUP_FAILED};
pub use error_output::read_from as refusals;
pub use git_identity::GitSetting;
pub use policy::{ChildLifetime, Network, NotANetwork, Policy, ResourceLimits, SandboxLevel};
pub use probe::{MissingFeature, SandboxSupport};
pub use protocol::{KillReason, MOVED, MovedFile, MovedFileRecord, ProgramExit, SetupStep};
pub use reached_hosts::ReachedHosts;
pub use refusal::{Grant, RefusalKind, SandboxRefusal};
#[cfg(target_os = "linux")]
pub use sandbox::Sandbox;
#[cfg(target_os = "linux")]
pub use shared_network::SharedNetwork;
#[cfg(target_os = "linux")]
pub use staged::StagedChanges;
pub use staged_change::{StagedChange, UnlistedChanges};
pub use toolchain::{NotAToolchain, Toolchain};
#[cfg(not(target_os = "linux"))]
pub use unconfined::{
    NoSharedNetwork as SharedNetwork, NoStagedChanges as StagedChanges, PlainChild as Child,
    PlainChildHandle as ChildHandle, PlainSandbox as Sandbox, PlainStdinWriter as StdinWriter,
    PlainStdoutReader as StdoutReader, launch,
};
pub use visible::HiddenProgram;
