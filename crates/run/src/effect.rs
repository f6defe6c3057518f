//! What a run can want from the world, and what is known about a call before it is made.

use serde::{Deserialize, Serialize};

use crate::id::{Hash, Timestamp};
use crate::message::is_false;
use crate::reply::Failure;

/// Something wanted from the world. What exactly stands in the run at the effect's address:
/// the conversation for an ask, the model's call for a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effect {
    /// Ask a model. May be done again, but may be billed twice: after two cut-off attempts it fails.
    Ask,
    /// Call the tool that the model asked for at this address. Its `Class` says whether it may be done again.
    Call,
    /// Put a question to a person. May be asked again.
    Question {
        /// What to ask.
        text: String,
        /// Answers to choose from; empty where any text will do.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    },
    /// Ask a person whether the call of the same number may be made. May be asked again.
    Approval {
        /// Why it needs approval.
        why: String,
    },
    /// Wait until a moment. May be waited for again.
    Timer {
        /// The moment.
        until: Timestamp,
    },
}

impl Effect {
    /// Whether it waits for a person or a clock only: such a run needs no process.
    pub fn is_patient(&self) -> bool {
        match self {
            Effect::Question { .. } | Effect::Approval { .. } | Effect::Timer { .. } => true,
            Effect::Ask | Effect::Call => false,
        }
    }
}

/// Whether an effect that was cut off may be done again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Reads only: run again silently.
    Pure,
    /// Done twice is the same as done once: run again.
    Idempotent,
    /// The traces tell whether it happened (a file write with known hashes): look, then finish, redo or tell.
    Checkable,
    /// Nobody can tell: never run again by us; the agent is told and decides.
    #[default]
    Opaque,
}

impl Class {
    /// Whether it may be performed again without looking.
    pub fn is_repeatable(self) -> bool {
        matches!(self, Class::Pure | Class::Idempotent)
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_pure(&self) -> bool {
        *self == Class::Pure
    }
}

fn pure() -> Class {
    Class::Pure
}

/// What is known about a call before it is made: found without any effect, so that the run can decide on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// May it be done twice?
    #[serde(default = "pure", skip_serializing_if = "Class::is_pure")]
    pub class: Class,
    /// Files and folders it will read, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Files it will write, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Hosts it will reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The command it will run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// It reaches beyond workspace and sandbox, so it needs approval.
    #[serde(default, skip_serializing_if = "is_false")]
    pub outside: bool,
    /// Why it needs approval, where neither host nor command says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// It can carry something out of this machine: what it is given, or what it finds.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sends: bool,
    /// What it does cannot be undone by us.
    #[serde(default, skip_serializing_if = "is_false")]
    pub destroys: bool,
    /// Why it cannot be made at all: no such tool, arguments that break the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Failure>,
}

impl Default for Prepared {
    fn default() -> Self {
        Self {
            class: Class::Pure,
            reads: Vec::new(),
            writes: Vec::new(),
            hosts: Vec::new(),
            command: None,
            outside: false,
            because: None,
            sends: false,
            destroys: false,
            fault: None,
        }
    }
}

impl Prepared {
    /// Whether it is a harmless read inside this process.
    pub fn is_plain(&self) -> bool {
        let Self { class, reads: _, writes, hosts, command, outside, because: _, sends, destroys, fault } = self;
        let touches_nothing = writes.is_empty() && hosts.is_empty() && command.is_none() && fault.is_none();
        *class == Class::Pure && touches_nothing && !(*outside || *sends || *destroys)
    }
}

/// What is known only at the moment an effect begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Chained hash of everything the model is told: `replay` builds the prompt again and compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Hash>,
    /// The context the step began with, where it is not the one the run started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Hash>,
    /// Files about to be written, with the hash of their content before and after (absent: no such file).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Expected>,
}

/// A file write that can be checked afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// Relative to the workspace.
    pub path: String,
    /// Hash before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Hash>,
    /// Hash after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Hash>,
}
