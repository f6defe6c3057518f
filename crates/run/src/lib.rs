//! What a run is and what it wants next, as pure data.

mod effect;
mod event;
mod goal;
mod graph;
mod id;
mod input;
mod message;
mod reply;

pub use effect::{Class, Effect, Expected, Facts, Prepared};
pub use event::{Because, Event, Judgement, Note};
pub use goal::{
    AgentCard, Approvals, Budget, Ceiling, Goal, Limit, Mode, Reflect, Roster, Settings, Start,
};
pub use graph::{Graph, StepSpec};
pub use id::{Address, BadId, Cost, Hash, Kind, Millis, RunId, StepId, Timestamp};
pub use input::{Finding, ForkChange, Found, Input, Record};
pub use message::{Answer, Finish, Message, ToolCall, ToolResult, ToolSpec, Usage};
pub use reply::{BlobRef, Change, Failure, FailureKind, Output, Reply, Verdict};
