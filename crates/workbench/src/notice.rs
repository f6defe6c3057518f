//! What people should hear while runs are put together. Faces decide how, and whether.

use std::fmt;
use std::sync::Arc;

use updraft_run::EffectAddress;

/// Something to tell a person. Its text may hold words of others: a face that writes to a terminal makes them harmless.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The model that was chosen, and why, where the choice was left to us.
    Model {
        /// Its name.
        name: String,
        /// Why this one.
        why: Option<String>,
    },
    /// What of the workspace does not count, because it is not trusted.
    Ignored(String),
    /// The workspace is the whole home folder.
    HomeFolder,
    /// Agents' commands run without a sandbox.
    Unconfined,
    /// About tools and MCP servers that are not there, or not as they were.
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
    /// How a run's rights differ from what the settings say now.
    Rights(String),
    /// An answer that came too late: the call that had asked was cut off, and is not made again.
    Unused(EffectAddress),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Model { name, why: Some(why) } => write!(f, "model: {name} ({why})"),
            Notice::Model { name, why: None } => write!(f, "model: {name}"),
            Notice::HomeFolder => f.write_str("workspace: your whole home folder; name a smaller one with --workspace"),
            Notice::Unconfined => f.write_str("sandbox: none; agents' commands can do whatever you can"),
            Notice::LeftOut { agent, why } => write!(f, "left out: agent `{agent}`: {why}"),
            Notice::Unused(at) => {
                write!(f, "the answer to {at} is not used: the call that had asked was cut off, and is not made again")
            }
            Notice::Ignored(text) | Notice::Tools(text) | Notice::Waiting(text) | Notice::Rights(text) => {
                f.write_str(text)
            }
        }
    }
}

/// Hears notices as they come up.
pub type Tell = Arc<dyn Fn(Notice) + Send + Sync>;
