//! `/doctor`: what works here, what does not, and what to do about it: the same as `updraft doctor`.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use updraft_workbench::doctor::{CheckStatus, DoctorCheck};

use super::failure::PageFailure;
use super::layout::{self, PageFrame};
use super::{PageState, words};

pub(super) async fn show(State(state): State<Arc<PageState>>) -> Result<Markup, PageFailure> {
    let checks = state.service.runs.doctor().await;
    let frame =
        PageFrame { title: "Doctor", place: "/settings", kind: "doctor", waiting: state.service.runs.waiting() };
    Ok(layout::page(&frame, &body(&checks)))
}

fn body(checks: &[DoctorCheck]) -> Markup {
    let count = |status: CheckStatus| checks.iter().filter(|check| check.status == status).count() as u64;
    let (failed, warned) = (count(CheckStatus::Fail), count(CheckStatus::Warn));
    html! {
        p { a href="/settings" { "Settings" } }
        h1 { "Doctor" }
        p.about {
            @match (failed, warned) {
                (0, 0) => "Everything works here.",
                (0, warned) => { "Everything important works here; " (words::count(warned, "warning")) "." }
                (failed, _) => { (words::count(failed, "check")) " failed." }
            }
        }
        ul.findings {
            @for check in checks {
                li.finding data-check=(check.status.word()) {
                    span.status data-status=(shown(check.status)) {
                        span.sign aria-hidden="true" { (sign(check.status)) } " " (check.status.word())
                    }
                    strong { (check.what) }
                    p.found { (words::ticked(&check.found)) }
                    @if !check.advice.is_empty() { p.advice { (words::ticked(&check.advice)) } }
                }
            }
        }
    }
}

/// The status of a step that looks the same.
fn shown(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Ok => "completed",
        CheckStatus::Warn => "waiting",
        CheckStatus::Fail => "failed",
    }
}

fn sign(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Ok => "✓",
        CheckStatus::Warn => "!",
        CheckStatus::Fail => "✗",
    }
}
