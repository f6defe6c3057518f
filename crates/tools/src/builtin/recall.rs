//! `recall`: finds what was remembered in earlier runs, and what this step said before it was summarised.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_knowledge::{Memory, MemoryScope, rank};
use updraft_run::{EffectClass, Failure, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::Place;

use super::remember::TIME;
use super::retrieve::failed;
use super::{parse, reply, spec, whole};
use crate::memory_access::MemoryAccess;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

/// How many are returned if the call does not say, and the most that it may ask for.
const USUAL: u64 = 5;
const MOST: u64 = 50;

pub(super) struct Recall {
    spec: ToolSpec,
    memory: Arc<MemoryAccess>,
}

#[derive(Deserialize)]
struct Args {
    query: String,
    #[serde(default, deserialize_with = "whole")]
    limit: Option<u64>,
}

impl Recall {
    pub(super) fn new(memory: Arc<MemoryAccess>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "minLength": 1, "description": "A question, or the words to look for." },
                "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "description": "The most to return of each kind; default 5." }
            },
            "required": ["query"],
            "additionalProperties": false
        });
        let description = "Find what was remembered in earlier runs, best first, and passages of your own earlier turns that have been replaced by a summary.";
        Self { spec: spec("recall", description, parameters), memory }
    }

    fn recall(&self, args: &Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let args: Args = parse(args)?;
        let most = args.limit.unwrap_or(USUAL).clamp(1, MOST) as usize;
        let workspace = MemoryScope::Workspace(cx.place.workspace.root().display().to_string());
        let scopes = [MemoryScope::User, workspace, MemoryScope::Agent(cx.around.agent.clone())];
        let found = self.memory.find(&args.query, &scopes, most).map_err(|error| failed(&error))?;
        let ids: Vec<i64> = found.iter().map(|memory| memory.id).collect();
        // Outside of a run a call is only compared with an earlier one. What is found is good even if its use cannot be
        // counted, for instance on a disk that is full or read-only.
        if !cx.around.run.is_empty() {
            let _ = self.memory.count_use(&ids);
        }
        let turns = cx.around.earlier.as_ref().map(|read| read()).unwrap_or_default();
        let texts: Vec<String> = turns.iter().map(|(_, text)| text.clone()).collect();
        let passages = if texts.is_empty() {
            Vec::new()
        } else {
            rank(&texts, &args.query, most).map_err(|error| failed(&error))?
        };
        let mut text = String::new();
        for memory in &found {
            let _ = writeln!(text, "- {}", line(memory));
        }
        for (at, passage) in &passages {
            let _ = writeln!(
                text,
                "- earlier in this step ({}):\n  {}",
                turns[*at].0,
                passage.trim().replace('\n', "\n  ")
            );
        }
        if text.is_empty() {
            text.push_str("[nothing is remembered about this]\n");
        }
        let earlier: Vec<Value> =
            passages.iter().map(|(at, passage)| json!({ "address": turns[*at].0, "text": passage })).collect();
        let origins: BTreeSet<String> =
            found.iter().flat_map(|memory| memory.content.origins.iter().cloned()).collect();
        Ok(ToolOutput {
            text,
            value: Some(json!({ "memories": found, "earlier": earlier })),
            untrusted: !origins.is_empty(),
            origins: origins.into_iter().collect(),
            ..ToolOutput::default()
        })
    }
}

/// A memory in one line, with whom it is for and since when.
fn line(memory: &Memory) -> String {
    let content = &memory.content;
    let since = jiff::Timestamp::from_second(memory.made).map(|at| at.strftime("%Y-%m-%d").to_string());
    let from = if content.origins.is_empty() {
        String::new()
    } else {
        format!("; from {}, no instruction", content.origins.join(", "))
    };
    let text = content.text.replace('\n', "\n  ");
    format!("{text} [{}, {} {}{from}]", memory.id, content.scope.word(), since.unwrap_or_default())
}

impl Tool for Recall {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            class: EffectClass::Pure,
            group: "memory",
            untold: true,
            time: TIME,
            blocking: true,
            ..ToolTraits::default()
        }
    }

    fn prepare(&self, _: &Value, _: &Place) -> PreparedCall {
        PreparedCall::default()
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.recall(&args, cx)) })
    }
}
