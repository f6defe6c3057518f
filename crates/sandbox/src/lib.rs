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
//! | [`Level::Full`] | namespaces, own root, Landlock, seccomp, limits | |
//! | [`Level::Landlock`] | Landlock, seccomp, limits, in the host's own view | see [`Level`] |
//! | [`Level::None`] | time, memory and the end of descendants | all else; only ever by the user's own word |
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

pub use capture::{Capture, Captured, Listener};
pub use changed::{Changed, Unlisted};
#[cfg(target_os = "linux")]
pub use child::{Child, Handle, Reader, Writer};
pub use command::{Command, Output, Stdin};
pub use complaints::read_from as refusals;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Child, Handle, Reader, Sandbox, Staged, Writer, launch};
pub use ended::Ended;
pub use error::{Error, SETUP_FAILED};
pub use identity::GitSetting;
pub use order::{Exit, Killed, MOVED, Moved, MovedAside, Step};
pub use policy::{Level, Lifetime, Limits, Network, NotANetwork, Policy};
pub use probe::{Missing, Probe};
pub use reached::Reached;
pub use refusal::{Denied, Grant, Refusal};
#[cfg(target_os = "linux")]
pub use sandbox::Sandbox;
#[cfg(target_os = "linux")]
pub use staged::Staged;
pub use toolchain::{NotAToolchain, Toolchain};
