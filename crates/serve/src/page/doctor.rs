//! `/doctor`: what works here, what does not, and what to do about it: the same as `updraft doctor`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use maud::{Markup, html};
use tokio::sync::Mutex;
use tokio::time::Instant;
use updraft_workbench::doctor::{CheckStatus, DoctorCheck};

use super::failure::PageFailure;
use super::layout::{self, PageFrame};
use super::{PageState, words};

/// How long the results are shown before everything is examined again.
const FRESH: Duration = Duration::from_secs(5);

/// The last examination. It starts processes, so there is one at a time, for all who ask meanwhile.
#[derive(Default)]
pub(crate) struct LastExamination(Mutex<Option<(Instant, Arc<[DoctorCheck]>)>>);

impl LastExamination {
    async fn checks(&self, examine: impl AsyncFnOnce() -> Vec<DoctorCheck>) -> Arc<[DoctorCheck]> {
        let mut last = self.0.lock().await;
        if let Some((at, checks)) = &*last
            && at.elapsed() < FRESH
        {
            return Arc::clone(checks);
        }
        let checks: Arc<[DoctorCheck]> = examine().await.into();
        *last = Some((Instant::now(), Arc::clone(&checks)));
        checks
    }
}

pub(super) async fn show(State(state): State<Arc<PageState>>) -> Result<Markup, PageFailure> {
    let runs = state.service.runs.clone();
    let checks = state.doctor.checks(async || runs.doctor().await).await;
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_who_ask_at_once_or_soon_after_get_one_examination() {
        let (last, count, at_once) = (LastExamination::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        let ask = || {
            last.checks(async || {
                count.fetch_add(1, Ordering::Relaxed);
                assert_eq!(at_once.fetch_add(1, Ordering::Relaxed), 0, "one at a time");
                tokio::time::sleep(Duration::from_secs(30)).await;
                at_once.fetch_sub(1, Ordering::Relaxed);
                Vec::new()
            })
        };
        futures_util::future::join_all((0..50).map(|_| ask())).await;
        assert_eq!(count.load(Ordering::Relaxed), 1);
        ask().await;
        assert_eq!(count.load(Ordering::Relaxed), 1);
        tokio::time::advance(FRESH).await;
        ask().await;
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }
}
