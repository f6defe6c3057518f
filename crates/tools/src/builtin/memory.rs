//! `memory`: keeps something for later runs, or finds what was kept. It only passes the call on, to `remember` or `recall`,
//! so that models are shown one tool instead of two.

use serde_json::{Value, json};
use updraft_knowledge::LONGEST_MEMORY;
use updraft_run::{EffectClass, Failure, FailureKind, PreparedCall, Reply, ToolSpec};
use updraft_workspace::Place;

use super::remember::TIME;
use super::spec;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

pub(super) struct Memory(ToolSpec);

impl Memory {
    pub(super) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "find": { "type": "string", "minLength": 1, "description": "A question, or the words to look for." },
                "keep": { "type": "string", "minLength": 1, "maxLength": LONGEST_MEMORY, "description": "A preference of the person, a decision with its reason, or a fact that was hard to find, in a sentence that can be understood alone. No passwords or keys." },
                "scope": { "type": "string", "enum": ["user", "workspace", "agent"], "description": "Who is told; default: runs in this folder." },
                "pinned": { "type": "boolean", "description": "Tell every later run." }
            },
            "additionalProperties": false
        });
        let description =
            "Keep something for later runs, or find what earlier runs kept and what a summary replaced in this one.";
        Self(spec("memory", description, parameters))
    }
}

/// What a call is missing that neither keeps nor finds, or does both.
fn unclear() -> Failure {
    Failure::new(FailureKind::Validation, "expected either `find` or `keep`, in one call one of them")
}

impl Tool for Memory {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits { class: EffectClass::Pure, group: "memory", time: TIME, ..ToolTraits::default() }
    }

    fn passes_on(&self, args: &Value) -> Option<(String, Value)> {
        let mut own = args.as_object()?.clone();
        match (own.remove("find"), own.remove("keep")) {
            (Some(query), None) => Some(("recall".into(), json!({ "query": query }))),
            (None, Some(text)) => {
                own.insert("text".into(), text);
                Some(("remember".into(), Value::Object(own)))
            }
            (Some(_), Some(_)) | (None, None) => None,
        }
    }

    fn prepare(&self, _: &Value, _: &Place) -> PreparedCall {
        PreparedCall { fault: Some(unclear()), ..PreparedCall::default() }
    }

    fn call<'a>(&'a self, _: Value, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { Reply::Failed(unclear()) })
    }
}
