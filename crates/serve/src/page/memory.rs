//! `/memory`: what is remembered, to be seen, changed and forgotten.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::PageState;
use super::failure::PageFailure;
use super::layout::{self, PageFrame};
use super::visitor::Visitor;
use crate::users::UserRole;

pub(super) async fn show(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Markup, PageFailure> {
    let may_change = visitor.role() >= UserRole::Administer;
    let runs = state.service.runs.clone();
    let memories = tokio::task::spawn_blocking(move || runs.memories()).await??;
    let frame = PageFrame { title: "Memory", place: "/memory", kind: "memory", waiting: state.service.runs.waiting() };
    let body = html! {
        h1 { "Memory" }
        p.about { "What later runs are told, or find with " code { "recall" } "." }
        form.remember method="post" action="/memory" {
            label for="new-memory" { "Remember for this folder" }
            textarea id="new-memory" name="text" rows="2" required maxlength="4000" {}
            label { input type="checkbox" name="pinned" value="yes"; " Tell every run" }
            button type="submit" name="act" value="add" { "Remember" }
        }
        @if memories.is_empty() { p.empty { "Nothing is remembered yet." } }
        ol.memories {
            @for memory in memories.iter().take(500) {
                @let (content, key) = (&memory.content, format!("memory-{}", memory.id));
                li.memory id=(key) {
                    form method="post" action="/memory" {
                        input type="hidden" name="id" value=(memory.id);
                        label for={ (key) "-text" } {
                            "For " (content.scope.word()) " " (content.scope.name())
                            @if !content.origins.is_empty() { ", from outside: " (content.origins.join(", ")) }
                        }
                        textarea id={ (key) "-text" } name="text" rows="2" maxlength="4000" { (content.text) }
                        label { input type="checkbox" name="pinned" value="yes" checked[content.pinned]; " Tell every run" }
                        @if may_change {
                            div.choices {
                                button type="submit" name="act" value="change" { "Save" }
                                button.deny type="submit" name="act" value="forget" { "Forget" }
                            }
                        }
                    }
                }
            }
        }
    };
    Ok(layout::page(&frame, &body))
}

/// A memory that is added, changed or forgotten.
#[derive(Deserialize)]
pub(super) struct MemoryForm {
    act: String,
    #[serde(default)]
    id: i64,
    #[serde(default)]
    text: String,
    #[serde(default)]
    pinned: String,
}

pub(super) async fn change(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Form(form): Form<MemoryForm>,
) -> Result<Response, PageFailure> {
    // What is remembered for the owner counts in every folder.
    if form.act != "add" && visitor.role() < UserRole::Administer {
        return Ok(visitor.refusal(UserRole::Administer));
    }
    let runs = state.service.runs.clone();
    let is_pinned = form.pinned == "yes";
    let changed = tokio::task::spawn_blocking(move || match form.act.as_str() {
        "add" => runs.remember(&form.text, is_pinned),
        "change" => runs.change_memory(form.id, &form.text, is_pinned),
        "forget" => runs.forget_memory(form.id),
        _ => Err(updraft_workbench::Fault::usage("expected `add`, `change` or `forget`")),
    });
    changed.await??;
    Ok(Redirect::to("/memory").into_response())
}
