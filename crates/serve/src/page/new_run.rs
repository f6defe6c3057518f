//! `/new`: a goal, who works on it and how, and files that come with it.

use std::sync::Arc;

use axum::extract::{Multipart, Query, State};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;
use updraft_run::{ApprovalMode, RunMode};
use updraft_workbench::service::RunOrder;

use super::failure::PageFailure;
use super::layout::{self, PageFrame};
use super::run_page::back;
use super::{PageState, uploads};

/// What the form is filled in with at first.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct NewRequest {
    goal: String,
}

pub(super) async fn show(State(state): State<Arc<PageState>>, Query(request): Query<NewRequest>) -> Markup {
    let frame = PageFrame { title: "New run", place: "/new", kind: "new", waiting: state.service.runs.waiting() };
    layout::page(&frame, &form(&state, &request))
}

fn form(state: &PageState, request: &NewRequest) -> Markup {
    let runs = &state.service.runs;
    let settings = &state.service.settings().effective;
    let usual = settings.approvals.value;
    let modes = ApprovalMode::ALL;
    html! {
        h1 { "New run" }
        form.new-run method="post" action="/new" enctype="multipart/form-data" {
            div.field {
                label for="goal" { "What do you want done?" }
                textarea id="goal" name="goal" rows="6" required maxlength="1000000" autofocus { (request.goal) }
            }
            div.field {
                label for="files" { "Files that come with it" }
                input id="files" type="file" name="files" multiple;
                p.about { "They are put into the folder " code { (uploads::FOLDER) } " of the workspace; at most "
                    (uploads::MOST_BYTES >> 20) " MB together." }
            }
            div.field {
                label for="mode" { "Who works on it" }
                select id="mode" name="mode" {
                    option value="plan" { "Agents with a plan" }
                    option value="swarm" { "A swarm of agents" }
                    @for agent in runs.agents() {
                        option value={ "agent:" (agent.name) } { (agent.name) ": " (agent.purpose) }
                    }
                }
            }
            div.field {
                label for="model" { "Model" }
                input id="model" type="text" name="model" placeholder=(settings.model.value) maxlength="200";
            }
            div.field {
                label for="approvals" { "What it may do" }
                select id="approvals" name="approvals" {
                    @for mode in modes.into_iter().filter(|mode| *mode >= usual) {
                        option value=(mode.word()) selected[mode == usual] { (explained(mode)) }
                    }
                }
            }
            @if runs.knows_labels() {
                div.field {
                    label for="label" { "Label that the worker must have" }
                    input id="label" type="text" name="label" maxlength="100";
                    p.about { "What its machine offers, such as " code { "gpu" } ". Without a label, any worker takes the run." }
                }
            }
            div.field.check {
                label { input type="checkbox" name="plan_first" value="yes"; " Show me the plan before it is carried out" }
            }
            button type="submit" { "Start" }
        }
    }
}

fn explained(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Allow => "Everything, except what a rule denies",
        ApprovalMode::Ask => "Work in the folder; ask me about the rest",
        ApprovalMode::Refuse => "Work in the folder; never ask",
        ApprovalMode::ReadOnly => "Only read",
    }
}

/// Starts the run.
pub(super) async fn start(State(state): State<Arc<PageState>>, mut sent: Multipart) -> Result<Response, PageFailure> {
    let mut order = RunOrder::default();
    let mut receiver = uploads::Receiver::default();
    let broken = |error: axum::extract::multipart::MultipartError| PageFailure::usage(&error.body_text());
    while let Some(field) = sent.next_field().await.map_err(broken)? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "files" {
            receiver.take(field).await?;
            continue;
        }
        let text = field.text().await.map_err(broken)?;
        match (name.as_str(), text.trim()) {
            ("goal", _) => order.goal = text,
            ("mode", "swarm") => order.mode = RunMode::Swarm,
            ("mode", word) => {
                if let Some(agent) = word.strip_prefix("agent:") {
                    order.mode = RunMode::Agent(agent.to_owned());
                }
            }
            ("model", model) if !model.is_empty() => order.model = Some(model.to_owned()),
            ("approvals", word) => order.approvals = ApprovalMode::from_word(word),
            ("label", label) if !label.is_empty() => order.label = Some(label.to_owned()),
            ("plan_first", "yes") => order.plan_first = true,
            _ => {}
        }
    }
    if order.goal.trim().is_empty() {
        return Err(PageFailure::usage("the goal is empty; say what you want done"));
    }
    order.files = receiver.store(&state.service.files).await?;
    let id = state.service.runs.order(order).await?;
    Ok(back(id.as_str()).into_response())
}
