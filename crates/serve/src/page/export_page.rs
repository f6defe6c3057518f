//! A run as one HTML file: the looks of the page inlined, no scripts, and nothing that is loaded or followed.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use updraft_run::{RunPhase, Step};
use updraft_workbench::history::{EntryKind, HistoryEntry, RunArchive};

use super::run_page::{self, RunScene, RunTab, SceneCache};
use super::run_source::RunSource;
use super::{assets, chat, inspector, steps, words};

/// What the file may do: show itself.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
/// What differs from the page.
const STYLE: &str = include_str!("assets/export.css");
/// The parts, for the links at the top.
const PARTS: [(&str, &str); 5] = [
    ("#answer", "Answer"),
    ("#part-graph", "Graph"),
    ("#part-timeline", "Timeline"),
    ("#part-steps", "Steps"),
    ("#conversation", "Conversation"),
];

/// A run as one HTML file.
pub fn run_as_html(archive: &RunArchive) -> String {
    let history = archive.history();
    let scene = RunScene {
        source: RunSource::Stored(archive),
        id: archive.id(),
        history,
        is_now: false,
        tab: RunTab::Graph,
        step: None,
        prompt: None,
        from: None,
        before: None,
        newest: history.position(),
        cache: SceneCache::default(),
    };
    whole(&scene).into_string()
}

fn whole(scene: &RunScene<'_>) -> Markup {
    let title = words::short(scene.history.run().goal().own_words(), 80);
    html! {
        (DOCTYPE)
        html lang="en" data-page="export" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) " · Updraft" }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "Updraft " (env!("CARGO_PKG_VERSION")) };
                meta name="referrer" content="no-referrer";
                // A file has no icon of its own; without this a browser would look for one.
                link rel="icon" href="data:,";
                style { (PreEscaped(assets::STYLES)) (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to content" }
                header.bar {
                    span.brand { "Updraft" }
                    nav aria-label="Parts" { @for (address, name) in PARTS { a href=(address) { (name) } } }
                }
                main.export id="main" {
                    (run_page::head(scene))
                    (about(scene))
                    (answer(scene))
                    section id="part-graph" { h2 { "Graph" } (picture(scene)) }
                    section id="part-timeline" { h2 { "Timeline" } (steps::timeline(scene)) }
                    (step_list(scene))
                    section id="conversation" {
                        h2 { "Conversation" }
                        ol.chat { @for entry in scene.history.entries() { (chat::item(scene, entry)) } }
                    }
                }
                footer.export-end { "Run " code { (scene.id) } ", written by Updraft " (env!("CARGO_PKG_VERSION")) }
            }
        }
    }
}

/// Where and when it was.
fn about(scene: &RunScene<'_>) -> Markup {
    let (history, run) = (scene.history, scene.history.run());
    html! {
        dl.facts {
            div { dt { "Run" } dd { code { (scene.id) } } }
            div { dt { "Began" } dd { (words::moment(history.began())) } }
            div { dt { "Last event" } dd { (words::moment(history.last())) } }
            div { dt { "Workspace" } dd { code { (run.settings().workspace) } } }
            div { dt { "Events" } dd { (history.position()) } }
        }
    }
}

/// The answer, or what there is of it so far.
fn answer(scene: &RunScene<'_>) -> Markup {
    let run = scene.history.run();
    let (answer, failed) = match run.phase() {
        RunPhase::Over { answer, failed } => (answer.to_string(), failed.as_ref().map(|why| why.message.clone())),
        _ => (run.answer(), None),
    };
    html! {
        section.result id="answer" {
            h2 { @if run.is_over() { "Answer" } @else { "Answer so far" } }
            @if let Some(why) = failed { p.failed { (why) } }
            @if answer.trim().is_empty() { p.silent { "There is none." } } @else { (chat::said(&answer)) }
        }
    }
}

/// The graph alone; the steps have a part of their own.
fn picture(scene: &RunScene<'_>) -> Markup {
    html! {
        @match steps::drawn_graph(scene) {
            Some(drawn) => div.graph-frame { (drawn) },
            None => p.empty { "There is no plan, or it is too large to be drawn." },
        }
    }
}

fn step_list(scene: &RunScene<'_>) -> Markup {
    html! {
        section id="part-steps" {
            h2 { "Steps" }
            @for step in scene.history.run().steps() { (one_step(scene, step)) }
        }
    }
}

/// A step, folded. The element that links lead to is inside, so that browsers unfold it.
fn one_step(scene: &RunScene<'_>, step: &Step) -> Markup {
    let spec = &step.spec;
    let own: Vec<&HistoryEntry> =
        scene.history.entries().iter().filter(|entry| entry.step.as_ref() == Some(&spec.id)).collect();
    html! {
        details.step-details data-status=(step.status()) {
            summary {
                (words::step_status(step.status())) " "
                strong { (spec.id) } " " span.agent { (spec.agent) }
                @if let Some(took) = steps::took(scene.history, &spec.id) { span.took { (took) } }
            }
            div.step-body id=(steps::row_id(&spec.id)) {
                @if !spec.description.is_empty() { p.about { (spec.description) } }
                (inspector::facts(scene, step))
                @if let Some(error) = inspector::error_of(step) { p.failed { (error) } }
                @if !spec.prompt.is_empty() { h3 { "Task" } (words::verbatim(&spec.prompt)) }
                @if let Some(output) = &step.output { h3 { "Result" } (chat::said(output)) }
                @if !own.is_empty() {
                    h3 { "Turns and calls" }
                    ol.turn-links { @for entry in own { (turn_link(entry)) } }
                }
            }
        }
    }
}

/// A line that leads to an entry of the conversation.
fn turn_link(entry: &HistoryEntry) -> Markup {
    let (what, took) = match &entry.kind {
        EntryKind::Answer(asked) => {
            let said = asked.answer.as_ref().map(|answer| words::short(&answer.text, 80)).unwrap_or_default();
            let took = asked.ended.map(|ended| words::took(asked.wanted, ended));
            (html! { "Turn " (asked.address.turn + 1) @if !said.is_empty() { ": " (said) } }, took)
        }
        EntryKind::Call(call) => {
            let took = call.ended.map(|ended| words::took(call.wanted, ended));
            (html! { code { (call.name) } " " (chat::in_short(call)) }, took)
        }
        EntryKind::Question(question) => (html! { "Asked: " (words::short(&question.text, 80)) }, None),
        _ => return html! {},
    };
    html! {
        li {
            a href={ "#" (chat::id_of(entry)) } { (what) }
            @if let Some(took) = took { " " span.took { (took) } }
        }
    }
}
