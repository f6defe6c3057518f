//! The JSON Schema that the answer of a step must fit, if there is one.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_run::{Run, Step, StepRole};

use crate::plan_prompt;

/// The schema that a step's answer must fit, if there is one.
pub(crate) fn schema_of(run: &Run, step: &Step) -> Option<Arc<Value>> {
    if run.is_review(step) {
        return Some(verdict_schema());
    }
    let own = run.roster().agent(&step.spec.agent).and_then(|card| card.schema.clone()).map(Arc::new);
    own.or_else(|| (step.role == StepRole::Plan).then(|| plan_prompt::schema(run)))
}

/// The schema of a verdict.
pub(crate) fn verdict_schema() -> Arc<Value> {
    Arc::new(json!({
        "type": "object",
        "properties": {
            "feedback": { "type": "string" },
            "verdict": { "type": "string", "enum": ["accept", "retry", "pivot", "replan"] },
        },
        "required": ["verdict", "feedback"],
        "additionalProperties": false,
    }))
}
