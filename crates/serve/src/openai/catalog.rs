//! `/v1/models`: `updraft` plans and lets its agents work, `updraft/AGENT` is one agent alone.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::{Value, json};
use updraft_workbench::service::AgentChoice;

use super::OpenAiState;
use super::failure::{OpenAiFailure, json_body};

/// The model that plans.
pub(super) const PLANNER: &str = "updraft";

pub(super) async fn list(State(state): State<Arc<OpenAiState>>) -> Response {
    let agents = state.service.runs.agents();
    let models: Vec<Value> = std::iter::once(of_planner()).chain(agents.iter().map(of_agent)).collect();
    json_body(&json!({ "object": "list", "data": models }))
}

pub(super) async fn show(
    State(state): State<Arc<OpenAiState>>,
    Path(model): Path<String>,
) -> Result<Response, OpenAiFailure> {
    match agent_of(&state, &model)? {
        Some(agent) => Ok(json_body(&of_agent(&agent))),
        None => Ok(json_body(&of_planner())),
    }
}

fn of_planner() -> Value {
    entry(PLANNER, "Plans, and lets the agents carry out the plan.")
}

fn of_agent(agent: &AgentChoice) -> Value {
    entry(&format!("{PLANNER}/{}", agent.name), &agent.purpose)
}

fn entry(id: &str, purpose: &str) -> Value {
    json!({ "id": id, "object": "model", "created": 0, "owned_by": "updraft", "description": purpose })
}

/// The agent that a model stands for; `None` for the planner.
pub(super) fn agent_of(state: &OpenAiState, model: &str) -> Result<Option<AgentChoice>, OpenAiFailure> {
    if model == PLANNER {
        return Ok(None);
    }
    let agents = state.service.runs.agents();
    let wanted = model.strip_prefix(PLANNER).and_then(|rest| rest.strip_prefix('/'));
    let found = wanted.and_then(|name| agents.iter().find(|agent| agent.name == name)).cloned();
    found.map(Some).ok_or_else(|| {
        let known: Vec<String> = agents.iter().map(|agent| format!("`{PLANNER}/{}`", agent.name)).collect();
        let failure = OpenAiFailure::missing(
            "model_not_found",
            format!("no model named `{model}`; available: `{PLANNER}`, {}", known.join(", ")),
        );
        OpenAiFailure { param: Some("model".to_owned()), ..failure }
    })
}
