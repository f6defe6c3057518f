//! `/settings`: every setting with where it comes from, and which keys are set.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};

use super::PageState;
use super::layout::{self, PageFrame};

pub(super) async fn show(State(state): State<Arc<PageState>>) -> Markup {
    let settings = state.service.settings();
    let rows = settings.effective.list();
    let frame =
        PageFrame { title: "Settings", place: "/settings", kind: "settings", waiting: state.service.runs.waiting() };
    let body = html! {
        h1 { "Settings" }
        p.about { "They are in files; " code { "updraft config show --origin" } " says where." }
        p { a href="/doctor" { "Doctor: what works here, and what does not" } }
        p { a href="/schedules" { "Schedules: what begins by itself" } }
        p { a href="/users" { "Users: who may use this page" } }
        @if let Some(remark) = settings.notice() { p.reason { (remark) } }
        h2 { "Keys" }
        table.keys {
            thead { tr { th scope="col" { "Variable" } th scope="col" { "State" } } }
            tbody {
                @for (name, is_set) in state.service.runs.keys() {
                    tr { th scope="row" { code { (name) } } td { @if is_set { "set" } @else { "not set" } } }
                }
            }
        }
        h2 { "Values" }
        table.values {
            thead { tr { th scope="col" { "Setting" } th scope="col" { "Value" } th scope="col" { "From" } } }
            tbody {
                @for (name, value, from) in &rows {
                    tr { th scope="row" { code { (name) } } td { code { (value) } } td { (from) } }
                }
            }
        }
    };
    layout::page(&frame, &body)
}
