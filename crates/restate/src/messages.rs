//! What travels through Restate, and what its objects keep, as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use updraft_run::{ContentHash, EffectAddress, Input, Record, Timestamp};

/// The state of a run's object. The records are in the log, an object for each entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectHead {
    /// Who may advance the run: the process that attached last.
    pub(crate) epoch: u64,
    /// How many records the run has.
    pub(crate) records: u64,
    /// A chained hash of all of them.
    pub(crate) digest: String,
    /// Whether more are to come before it is a run: it is being taken over in pieces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_partial: bool,
}

/// A record, or an input that has not been decided about: then without events.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SentRecord {
    at: Timestamp,
    record: Box<RawValue>,
}

impl SentRecord {
    pub(crate) fn of(record: &Record) -> Result<Self, serde_json::Error> {
        let json = String::from_utf8(record.to_json()?).map_err(<serde_json::Error as serde::de::Error>::custom)?;
        Ok(Self { at: record.at, record: RawValue::from_string(json)? })
    }

    pub(crate) fn of_input(at: Timestamp, input: Input) -> Result<Self, serde_json::Error> {
        Self::of(&Record { at, input, events: Vec::new() })
    }

    pub(crate) fn read(&self) -> Result<Record, serde_json::Error> {
        Record::from_json(self.at, self.record.get().as_bytes())
    }

    /// How long it is, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.record.get().len()
    }

    /// The hash of a log that this is appended to.
    pub(crate) fn chained(&self, digest: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(digest.as_bytes());
        hash.update(self.at.0.to_be_bytes());
        hash.update(self.record.get().as_bytes());
        ContentHash(hash.finalize().into()).to_string()
    }
}

/// The request to give a run to a process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct AttachRequest {
    /// The machine of the process.
    pub(crate) machine: String,
}

/// The request to advance a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AdvanceRequest {
    /// The process that performs the run's effects.
    pub(crate) epoch: u64,
    /// The inputs, in order.
    pub(crate) inputs: Vec<SentRecord>,
}

/// The request to take over a run with its records. If these are too many for one message, there are several requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AdoptRequest {
    pub(crate) epoch: u64,
    /// How many records were sent before.
    #[serde(default)]
    pub(crate) from: u64,
    pub(crate) records: Vec<SentRecord>,
    /// Whether more follow.
    #[serde(default)]
    pub(crate) is_partial: bool,
}

/// An input that a person gives from anywhere.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TellRequest {
    /// When, in milliseconds since 1970.
    pub(crate) at: Timestamp,
    /// The input.
    pub(crate) input: Input,
}

/// What was decided about one input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DecidedInput {
    /// The input with what followed from it.
    pub(crate) record: SentRecord,
    /// Whether it is part of the log.
    pub(crate) is_kept: bool,
}

/// One entry of a run's log: what was decided at once, and what may begin then. Everything that the decision brings
/// about follows from it, so that a decision that was stored only in part is completed and not taken again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LogEntry {
    /// How many records the run had before.
    pub(crate) before: u64,
    /// The inputs with what followed from them.
    pub(crate) decided: Vec<DecidedInput>,
    /// The effects that may begin, and which attempt.
    pub(crate) effects: Vec<(EffectAddress, u32)>,
    /// Whether the process that performs effects has to be told, because it did not send the input.
    pub(crate) is_news: bool,
    /// The state of the object afterwards.
    pub(crate) head: ObjectHead,
}

/// What a worker is handed: an effect that may begin, or news.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HandOver {
    pub(crate) run: String,
    pub(crate) records: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) effect: Option<(EffectAddress, u32)>,
}

/// The request to start a run on a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartRequest {
    /// The id of the run; by default one that follows from the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What to do.
    pub goal: String,
    /// The agent that does it alone; without one, it is planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Another model than the worker's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Files of the workspace, by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// A swarm of agents does it, without a plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub swarm: bool,
    /// Stricter approvals than the worker's: `ask`, `refuse`, `read-only`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<String>,
    /// The plan waits for approval before anything is changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plan_first: bool,
    /// The run that it follows up on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// What must hold at the end, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// Shared variables to start with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Value>,
    /// A plan, instead of one that the planner makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Value>,
}
