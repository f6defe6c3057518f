//! Refusals: what the sandbox did not allow, and which grant would allow it.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::policy::ResourceLimits;
use crate::protocol::KillReason;

/// Something the sandbox did not allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRefusal {
    /// What was attempted.
    pub denied: RefusalKind,
    /// The path or host.
    pub subject: String,
    /// The rule that refused it.
    pub rule: String,
    /// What the user can grant to allow it, if anything.
    pub grant: Option<Grant>,
}

/// Kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefusalKind {
    /// Reading a file or folder.
    Read,
    /// Writing a file or folder.
    Write,
    /// Reaching a host.
    Network,
    /// Exceeding a limit.
    Limit,
}

/// What a user can grant for one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grant {
    /// A path may be read.
    Read(PathBuf),
    /// A path may be written.
    Write(PathBuf),
    /// A host may be reached.
    Host(String),
    /// The host's network may be used.
    Network,
    /// The setting with this name can be changed.
    Setting(String),
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Grant::Read(path) => write!(f, "--read {}", path.display()),
            Grant::Write(path) => write!(f, "--write {}", path.display()),
            Grant::Host(host) => write!(f, "--network allow:{host}"),
            Grant::Network => f.write_str("--network host"),
            Grant::Setting(name) => write!(f, "sandbox.{name}"),
        }
    }
}

impl fmt::Display for SandboxRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.denied {
            RefusalKind::Read => "reading",
            RefusalKind::Write => "writing",
            RefusalKind::Network => "reaching",
            RefusalKind::Limit => "more",
        };
        match self.denied {
            RefusalKind::Limit => write!(f, "the sandbox refused more {}: {}", self.subject, self.rule)?,
            RefusalKind::Read | RefusalKind::Write | RefusalKind::Network => {
                write!(f, "the sandbox refused {verb} `{}`: {}", self.subject, self.rule)?;
            }
        }
        match &self.grant {
            Some(grant @ Grant::Setting(_)) => write!(f, "; `{grant}` in the settings allows more"),
            Some(grant) => write!(f, "; allowed by `{grant}`"),
            None => Ok(()),
        }
    }
}

/// The refusal for a limit that ended a command, with the setting that raises it.
pub(crate) fn of_limit(killed: KillReason, limits: &ResourceLimits) -> Option<SandboxRefusal> {
    let mebibytes = |bytes: u64| format!("at most {} MiB", bytes.div_ceil(1 << 20));
    let (subject, rule, setting) = match killed {
        KillReason::Memory => ("memory", mebibytes(limits.memory), Some("memory")),
        KillReason::Processes => ("processes", format!("at most {} at a time", limits.processes), Some("processes")),
        KillReason::Disk => ("disk", mebibytes(limits.disk), Some("disk")),
        KillReason::Output => ("output", format!("{}; write it to a file", mebibytes(limits.output)), None),
        // The caller that set the time limit knows best how to get more.
        KillReason::Time => return None,
    };
    let grant = setting.map(|name| Grant::Setting(name.to_owned()));
    Some(SandboxRefusal { denied: RefusalKind::Limit, subject: subject.to_owned(), rule, grant })
}
