//! `remember`: keeps something for later runs.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_knowledge::{LONGEST_MEMORY, MemoryScope, NewMemory};
use updraft_run::{EffectClass, Failure, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::Place;

use super::retrieve::failed as index_failed;
use super::{failed, parse, reply, spec};
use crate::memory_access::{MemoryAccess, seconds_now};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

pub(super) const TIME: Duration = Duration::from_secs(30);

pub(super) struct Remember {
    spec: ToolSpec,
    memory: Arc<MemoryAccess>,
}

#[derive(Deserialize)]
struct Args {
    text: String,
    #[serde(default)]
    scope: Option<String>,
    #[serde(default)]
    pinned: bool,
}

impl Remember {
    pub(super) fn new(memory: Arc<MemoryAccess>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "text": { "type": "string", "minLength": 1, "maxLength": LONGEST_MEMORY, "description": "One fact, decision or preference, in a sentence that can be understood without this conversation: with names and dates instead of `he`, `it` and `today`." },
                "scope": { "type": "string", "enum": ["user", "workspace", "agent"], "description": "Who is told later: all runs of this person, runs in this folder (default), or you." },
                "pinned": { "type": "boolean", "description": "Tell it to every later run, whatever its goal. For rules that always hold." }
            },
            "required": ["text"],
            "additionalProperties": false
        });
        let description = "Keep something for later runs, which are told it when it fits their goal: a preference of the person, a decision with its reason, a fact that was hard to find. Not for what files say already, and never for passwords or keys.";
        Self { spec: spec("remember", description, parameters), memory }
    }

    fn remember(&self, args: &Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let Args { text, scope, pinned } = parse(args)?;
        let text = text.trim().to_owned();
        if text.is_empty() || text.len() > LONGEST_MEMORY {
            return failed(format!("the text has {} bytes; expected from 1 to {LONGEST_MEMORY}", text.len()));
        }
        let around = &cx.around;
        let scope = match scope.as_deref() {
            Some("user") => MemoryScope::User,
            Some("agent") if around.agent.is_empty() => return failed("there is no agent here; choose another scope"),
            Some("agent") => MemoryScope::Agent(around.agent.clone()),
            _ => MemoryScope::Workspace(cx.place.workspace.root().display().to_string()),
        };
        let word = scope.word();
        let (run, step) = (around.run.clone(), around.step.clone());
        let new = NewMemory { text, scope, pinned, run, step, origins: around.origins.clone() };
        let key = (!around.run.is_empty()).then_some(cx.key.as_str());
        let added = self.memory.with(|store| store.add(&new, key, seconds_now()));
        let (id, is_new) = added.map_err(|error| index_failed(&error))?;
        let text =
            if is_new { format!("remembered as {id}, for this {word}\n") } else { format!("known already, as {id}\n") };
        Ok(ToolOutput { text, value: Some(json!({ "id": id, "new": is_new })), ..ToolOutput::default() })
    }
}

impl Tool for Remember {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        // The call's key is kept with the memory, so that doing it twice adds nothing.
        let class = EffectClass::Idempotent;
        ToolTraits { class, group: "memory", untold: true, time: TIME, blocking: true, ..ToolTraits::default() }
    }

    fn prepare(&self, _: &Value, _: &Place) -> PreparedCall {
        let class = EffectClass::Idempotent;
        PreparedCall { class, lasts: true, adds: true, elsewhere: true, ..PreparedCall::default() }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.remember(&args, cx)) })
    }
}
