//! The form of a plan as JSON Schema, for models whose answers can be constrained.

use serde_json::{Value, json};

use super::Graph;

/// The most steps that a small model may plan: more of them repeat each other.
const STEPS_OF_A_SEQUENCE: usize = 4;
/// The longest task in the plan of a small model, in characters.
const TASK_OF_A_SEQUENCE: usize = 160;

impl Graph {
    /// The form of a plan for these agents. Every field is required, as strict servers demand; an empty `model` means
    /// the agent's own. Without names of models there is no such field.
    pub fn schema(agents: &[&str], models: &[&str]) -> Value {
        let names = json!({ "type": "array", "items": { "type": "string" } });
        let mut step = json!({
            "id": { "type": "string" },
            "agent": { "type": "string", "enum": agents },
            "description": { "type": "string" },
            "prompt": { "type": "string" },
            "reads": names,
            "writes": names,
            "after": names,
        });
        if !models.is_empty() {
            let choice: Vec<&str> = std::iter::once("").chain(models.iter().copied()).collect();
            step["model"] = json!({ "type": "string", "enum": choice });
        }
        plan_of(&step, &json!({}))
    }

    /// The form of a plan for a small model: tasks one after another. `Graph::read` gives them names.
    pub fn sequence_schema(agents: &[&str]) -> Value {
        let step = json!({
            "agent": { "type": "string", "enum": agents },
            "task": { "type": "string", "minLength": 8, "maxLength": TASK_OF_A_SEQUENCE },
        });
        plan_of(&step, &json!({ "minItems": 1, "maxItems": STEPS_OF_A_SEQUENCE }))
    }
}

/// An object with a list of such steps; every member of a step is required.
fn plan_of(step: &Value, bounds: &Value) -> Value {
    let required: Vec<&String> = step.as_object().into_iter().flat_map(|members| members.keys()).collect();
    let item = json!({ "type": "object", "properties": step, "required": required, "additionalProperties": false });
    let mut steps = bounds.clone();
    steps["type"] = "array".into();
    steps["items"] = item;
    json!({
        "type": "object",
        "properties": { "steps": steps },
        "required": ["steps"],
        "additionalProperties": false,
    })
}
