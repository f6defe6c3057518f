//! `ask_model`: asks another model a question. This file only describes the tool; the engine asks, within the run's
//! budget.

use std::time::Duration;

use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, FailureKind, PreparedCall, Reply, ToolSpec};
use updraft_workspace::Place;

use super::spec;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

/// The name of the tool that asks another model.
pub const ASK_MODEL: &str = "ask_model";

pub(super) struct AskModel(ToolSpec);

impl AskModel {
    pub(super) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "model": { "type": "string", "minLength": 1, "description": "A profile's name, or PROVIDER/NAME." },
                "question": { "type": "string", "minLength": 1, "description": "A complete question: the model sees nothing else." },
                "system": { "type": "string", "description": "The role it should take, and how it should answer." }
            },
            "required": ["model", "question"],
            "additionalProperties": false
        });
        let description = "Ask another language model one question and get its answer. It counts towards the budget.";
        Self(spec(ASK_MODEL, description, parameters))
    }
}

impl Tool for AskModel {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn traits(&self) -> ToolTraits {
        // The call changes nothing. Asking twice may be billed twice, but the run knows that from the name of the
        // model.
        ToolTraits {
            class: EffectClass::Pure,
            group: ASK_MODEL,
            time: Duration::from_mins(10),
            ..ToolTraits::default()
        }
    }

    fn prepare(&self, args: &Value, _: &Place) -> PreparedCall {
        PreparedCall { model: args["model"].as_str().map(str::to_owned), ..PreparedCall::default() }
    }

    fn call<'a>(&'a self, _: Value, _: &'a CallContext) -> ToolFuture<'a> {
        let failure = Failure::new(FailureKind::Tool, "models are asked by the engine");
        Box::pin(async move { Reply::Failed(failure) })
    }
}
