//! `/runs/ID/fork`: a run taken up again after one of its events, as it was or with changes.

use std::sync::Arc;

use axum::extract::{Form, Path, Query, State};
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use updraft_workbench::Fault;
use updraft_workbench::service::{ForkChoices, ForkOrder};

use super::failure::PageFailure;
use super::layout::{self, PageFrame};
use super::run_page::back;
use super::{PageState, words};

/// Where the run is cut.
#[derive(Deserialize)]
pub(super) struct ForkRequest {
    at: u64,
}

/// Shows what can be changed in the copy.
pub(super) async fn show(
    State(state): State<Arc<PageState>>,
    Path(run): Path<String>,
    Query(request): Query<ForkRequest>,
) -> Result<Markup, PageFailure> {
    let choices = choices(&state, &run, request.at).await?;
    let frame = PageFrame { title: "Fork", place: "", kind: "fork", waiting: state.service.runs.waiting() };
    Ok(layout::page(&frame, &form(&run, request.at, &choices)))
}

async fn choices(state: &PageState, run: &str, at: u64) -> Result<ForkChoices, PageFailure> {
    let (runs, run) = (state.service.runs.clone(), run.to_owned());
    Ok(tokio::task::spawn_blocking(move || runs.fork_choices(&run, at)).await??)
}

fn form(run: &str, at: u64, choices: &ForkChoices) -> Markup {
    html! {
        p { a href={ "/runs/" (run) "?at=" (at) } { "The run at event " (at) } }
        h1 { "Fork after event " (at) }
        p.about { "A new run begins with the first " (words::count(at, "event")) " of this one, and goes on from there. Files are \
            as they are now." }
        form.fork-form method="post" action={ "/runs/" (run) "/fork" } {
            input type="hidden" name="at" value=(at);
            @match &choices.message {
                Some(message) => div.field {
                    label for="message" { "Your message" }
                    textarea id="message" name="message" rows="4" maxlength="100000" { "\n" (message) }
                    p.about { "If you change it, the new run gets the new message instead." }
                },
                None => div.field {
                    label for="message" { "Say something first (if you like)" }
                    textarea id="message" name="message" rows="2" maxlength="100000" {}
                },
            }
            div.field {
                label for="goal" { "Goal" }
                textarea id="goal" name="goal" rows="4" maxlength="1000000" { "\n" (choices.goal) }
            }
            @if !choices.variables.is_empty() {
                fieldset {
                    legend { "Results that later steps read" }
                    @for (n, (name, value)) in choices.variables.iter().enumerate() {
                        div.field {
                            label for={ "value-" (n) } { code { (name) } @if !value.is_string() { " (JSON)" } }
                            textarea.code id={ "value-" (n) } name={ "value." (name) } rows="4" spellcheck="false" { "\n" (written(value)) }
                        }
                    }
                }
            }
            div.field {
                label for="model" { "Model" }
                input id="model" type="text" name="model" value=(choices.model) maxlength="400";
            }
            button type="submit" { "Fork" }
        }
    }
}

/// A value as it is edited.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// Starts the copy.
pub(super) async fn start(
    State(state): State<Arc<PageState>>,
    Path(run): Path<String>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Result<Response, PageFailure> {
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, text)| lines(text));
    let at = field("at").and_then(|at| at.parse().ok());
    let at: u64 = at.ok_or_else(|| PageFailure::usage("say after which event the run is cut"))?;
    let choices = choices(&state, &run, at).await?;
    let mut order = ForkOrder { at, goal: field("goal"), model: field("model"), ..ForkOrder::default() };
    match (&choices.message, field("message")) {
        // The old message stays in the copy.
        (Some(old), Some(new)) if lines(old) == new => {}
        (Some(_), Some(new)) => (order.at, order.message) = (at - 1, Some(new)),
        (_, message) => order.message = message,
    }
    for (name, old) in choices.variables {
        if let Some(text) = field(&format!("value.{name}")).filter(|text| *text != lines(&written(&old))) {
            let value = read(&name, &text, &old)?;
            order.variables.push((name, value));
        }
    }
    let new = state.service.runs.fork(&run, order).await?;
    Ok(back(new.as_str()))
}

/// A value as a person wrote it: a text stays one.
fn read(name: &str, text: &str, old: &Value) -> Result<Value, Fault> {
    match old {
        Value::String(_) => Ok(Value::String(text.to_owned())),
        _ => serde_json::from_str(text).map_err(|error| Fault::usage(format!("`{name}` is not JSON: {error}"))),
    }
}

/// A text as it is after it was in a form: browsers change the ends of lines, and have no NUL. (They also leave out a line
/// end at the beginning of a field, so each field begins with one.)
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}")
}
