//! Messages for the user while a run is prepared. Front ends decide whether and how to show them.

use std::fmt;
use std::sync::Arc;

use updraft_run::EffectAddress;

/// A message for the user. Its text may contain untrusted text, which a front end must escape before it writes it to a
/// terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The model that was chosen, and why if the user did not name one.
    Model {
        /// Its name.
        name: String,
        /// Why this one.
        why: Option<String>,
    },
    /// What is ignored in the workspace because it is not trusted.
    Ignored(String),
    /// The workspace is the whole home folder.
    HomeFolder,
    /// Agents' commands run without a sandbox.
    Unconfined,
    /// Tools and MCP servers that are missing or have changed.
    Tools(String),
    /// A server takes long to start.
    Waiting(String),
    /// An agent whose file cannot be used.
    LeftOut {
        /// The agent.
        agent: String,
        /// Why.
        why: String,
    },
    /// Why traces are not sent.
    Telemetry(String),
    /// What of the memory the run is not told.
    Memory(String),
    /// A hook that failed.
    Hook {
        /// Its name.
        hook: String,
        /// Why.
        why: String,
    },
    /// What a schedule did or could not do.
    Schedule {
        /// Its name.
        schedule: String,
        /// What.
        what: String,
    },
    /// Why no schedule can be carried out.
    Schedules(String),
    /// How a run's rights differ from the current settings.
    Rights(String),
    /// An answer that came too late: the call that asked was interrupted, and is not made again.
    Unused(EffectAddress),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Model { name, why: Some(why) } => write!(f, "model: {name} ({why})"),
            Notice::Model { name, why: None } => write!(f, "model: {name}"),
            Notice::HomeFolder => {
                f.write_str("workspace: your whole home folder; choose a smaller one with --workspace")
            }
            Notice::Unconfined => f.write_str("sandbox: none; agents' commands can do whatever you can"),
            Notice::LeftOut { agent, why } => write!(f, "left out: agent `{agent}`: {why}"),
            Notice::Unused(at) => {
                write!(f, "the answer to {at} is not used: the call that asked was interrupted, and is not made again")
            }
            Notice::Hook { hook, why } => write!(f, "the hook `{hook}` failed: {why}"),
            Notice::Schedule { schedule, what } => write!(f, "schedule `{schedule}`: {what}"),
            Notice::Schedules(why) => write!(f, "the schedules cannot be carried out: {why}"),
            Notice::Memory(text) => write!(f, "memory: {text}"),
            Notice::Telemetry(text) => write!(f, "telemetry: {text}"),
            Notice::Ignored(text) | Notice::Tools(text) | Notice::Waiting(text) | Notice::Rights(text) => {
                f.write_str(text)
            }
        }
    }
}

/// Receives notices as they occur.
pub type Tell = Arc<dyn Fn(Notice) + Send + Sync>;
