//! The raw events of a run, page by page.

use maud::{Markup, html};
use serde_json::Value;
use updraft_workbench::Fault;
use updraft_workbench::service::NumberedEvent;

use super::run_page::{RunScene, RunTab};
use super::words;

/// How many events one page shows.
const PAGE: u64 = 200;

/// The events up to the position of the page: the newest, or those from a number on.
pub(super) fn list(scene: &RunScene<'_>) -> Result<Markup, Fault> {
    let last = scene.history.position();
    let newest = last.saturating_sub(PAGE - 1).max(1);
    let from = scene.from.unwrap_or(newest).clamp(1, last.max(1));
    let until = (from + PAGE - 1).min(last);
    let events = scene.source.events(scene.id, from, (until + 1).saturating_sub(from) as usize)?;
    let base = scene.address(RunTab::Events, scene.step.as_ref(), scene.at());
    Ok(html! {
        nav.pages aria-label="Events" {
            @if from > 1 {
                a href={ (base) "&from=1" } { "First" }
                a rel="prev" href={ (base) "&from=" (from.saturating_sub(PAGE).max(1)) } { "Earlier" }
            }
            span { (from) "–" (until) " of " (last) }
            @if until < last { a rel="next" href={ (base) "&from=" (until + 1) } { "Later" } a href=(base) { "Newest" } }
        }
        ol.events id="events" start=(from) data-newest[until == last] { @for event in &events { (row(scene, event)) } }
    })
}

/// An event by itself: its kind and the beginning of what it holds, with all of that to be unfolded.
pub(super) fn content(event: &NumberedEvent) -> Markup {
    let json = serde_json::to_value(&event.event).unwrap_or_default();
    html! { div.event data-event=(event.event.name()) { details { summary { (sketch(event, &json)) } (words::value(&json)) } } }
}

fn sketch(event: &NumberedEvent, json: &Value) -> Markup {
    let inner = json.get(event.event.name()).unwrap_or(json);
    html! { strong { (event.event.name()) } " " span.sketch { (words::short(&inner.to_string(), 140)) } }
}

/// One event.
pub(super) fn row(scene: &RunScene<'_>, event: &NumberedEvent) -> Markup {
    let json = serde_json::to_value(&event.event).unwrap_or_default();
    html! {
        li.event id={ "v-" (event.number) } data-event=(event.event.name()) {
            details {
                summary {
                    span.number { (event.number) } " "
                    (words::clock(event.at)) " "
                    (sketch(event, &json))
                }
                (words::value(&json))
                p { a href=(scene.address(RunTab::Events, scene.step.as_ref(), Some(event.number))) { "The run at this event" } }
            }
        }
    }
}
