//! `ask_user`: asks the user a question. This file only describes the tool; the run asks the question itself.

use std::time::Duration;

use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, FailureKind, Reply, ToolSpec};

use super::spec;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

/// The description of `ask_user` that the model gets.
pub fn ask_user_spec() -> ToolSpec {
    spec(
        "ask_user",
        "Ask the user a question. The run waits for the answer, perhaps for long: do first what needs none. Use it only \
         for what you cannot find out yourself.",
        json!({
            "type": "object",
            "properties": {
                "question": { "type": "string", "minLength": 1, "description": "The question, complete in itself." },
                "options": {
                    "type": "array",
                    "items": { "type": "string" },
                    "maxItems": 20,
                    "description": "Answers to choose from. Omit if any text will do."
                },
                "assumption": { "type": "string", "description": "What you will assume if nobody can be asked." }
            },
            "required": ["question"],
            "additionalProperties": false
        }),
    )
}

pub(super) struct AskUser(ToolSpec);

impl AskUser {
    pub(super) fn new() -> Self {
        Self(ask_user_spec())
    }
}

impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            class: EffectClass::Pure,
            group: "ask_user",
            time: Duration::from_secs(1),
            ..ToolTraits::default()
        }
    }

    fn call<'a>(&'a self, _: Value, _: &'a CallContext) -> ToolFuture<'a> {
        let failure = Failure::new(FailureKind::Tool, "questions are asked by the run");
        Box::pin(async move { Reply::Failed(failure) })
    }
}
