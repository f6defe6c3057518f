//! Questions and approvals: forms where they are asked, and what was answered.

use maud::{Markup, html};
use updraft_run::Reply;
use updraft_workbench::history::{EntryKind, QuestionEntry, RunHistory};
use updraft_workbench::service::WaitingPlan;

use super::run_page::RunScene;
use super::{chat, words};

/// The questions that are open.
pub(super) fn open(history: &RunHistory) -> impl Iterator<Item = &QuestionEntry> {
    let run = history.run();
    history.entries().iter().rev().filter_map(move |entry| match &entry.kind {
        EntryKind::Question(question) if run.open().contains_key(&question.address) => Some(&**question),
        _ => None,
    })
}

/// A question in the chat.
pub(super) fn entry(scene: &RunScene<'_>, question: &QuestionEntry) -> Markup {
    let is_open = scene.history.run().open().contains_key(&question.address) && question.reply.is_none();
    html! {
        (asked(question))
        @match &question.reply {
            Some(reply) => p.answered { (answered(reply)) },
            None if is_open && scene.is_now => {
                @if question.is_plan { (plan(scene)) }
                (form(scene.id.as_str(), question))
            }
            None if is_open => p.answered { "Open at this moment." },
            None => p.answered { "No longer asked." },
        }
    }
}

/// What is asked.
pub(super) fn asked(question: &QuestionEntry) -> Markup {
    html! {
        @if let Some(from) = &question.from { p.from { (words::short(from, 200)) " asks:" } }
        p.asked { (question.text) }
        @if let Some(call) = &question.call {
            div.wanted-call { code.tool { (call.name) } (words::value(&call.args)) }
        }
        @if !question.origins.is_empty() { p.origins { "Text from " (question.origins.in_words()) " could misuse it." } }
        @if let Some(visit) = &question.visit { p.visit { "It asks you to visit: " code { (visit) } } }
    }
}

fn answered(reply: &Reply) -> String {
    match reply {
        Reply::Said(text) => format!("Answered: {}", words::short(text, 400)),
        Reply::Verdict(verdict) => {
            let word = if verdict.allow { "Allowed" } else { "Refused" };
            let by = if verdict.by.is_empty() { String::new() } else { format!(" by {}", verdict.by) };
            let why = if verdict.because.is_empty() { String::new() } else { format!(": {}", verdict.because) };
            format!("{word}{by}{why}")
        }
        _ => "Withdrawn.".to_owned(),
    }
}

/// The form that answers a question.
pub(super) fn form(run: &str, question: &QuestionEntry) -> Markup {
    html! { @if question.is_approval { (approval(run, question)) } @else { (answer(run, question)) } }
}

fn approval(run: &str, question: &QuestionEntry) -> Markup {
    let (name, key) = (if question.is_plan { "Carry it out" } else { "Allow" }, words::effect_id(&question.address));
    html! {
        form.approval method="post" action={ "/runs/" (run) "/approve" } data-approval {
            input type="hidden" name="id" value=(question.address);
            @if question.always_in_run.is_some() || !question.always.is_empty() {
                label.always {
                    input type="checkbox" name="always" value="run";
                    " Always in this run: "
                    @match &question.always_in_run {
                        Some(like) => code { (like) },
                        None => code { (question.always.join(", ")) },
                    }
                }
            }
            label for={ (key) "-because" } { "If you refuse, say why" }
            input id={ (key) "-because" } type="text" name="because" maxlength="2000";
            div.choices {
                button.allow type="submit" name="verdict" value="allow" { (name) }
                button.deny type="submit" name="verdict" value="deny" { "Refuse" }
            }
        }
    }
}

/// The plan that waits: its steps, and a form in which it can be changed.
fn plan(scene: &RunScene<'_>) -> Markup {
    let Some(plan) = WaitingPlan::of(scene.history.run()) else { return html! {} };
    html! {
        div.waiting-plan {
            ol {
                @for step in &plan.graph.steps {
                    li {
                        strong { (step.id) } " " span.agent { (step.agent) }
                        @if let Some(model) = &step.model { " " span.model { (model) } }
                        @if !step.after.is_empty() {
                            " after " (step.after.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
                        }
                        p { (words::short(if step.description.is_empty() { &step.prompt } else { &step.description }, 300)) }
                    }
                }
            }
            @if !plan.requirements.is_empty() {
                h4 { "Required at the end" }
                ul { @for one in &plan.requirements { li { (one.text) ": " (one.how()) } } }
            }
            details.edit-plan id="edit-plan" {
                summary { "Change the plan" }
                form method="post" action={ "/runs/" (scene.id) "/plan" } {
                    label for="plan-text" { "The plan as JSON" }
                    textarea.code id="plan-text" name="plan" rows="16" spellcheck="false" { (plan.in_json()) }
                    button type="submit" { "Carry out as changed" }
                }
            }
        }
    }
}

fn answer(run: &str, question: &QuestionEntry) -> Markup {
    let key = words::effect_id(&question.address);
    html! {
        form.answer method="post" action={ "/runs/" (run) "/answer" } {
            input type="hidden" name="id" value=(question.address);
            @if let Some(form) = &question.form {
                (fields(&key, form))
            } @else if question.options.is_empty() {
                label for={ (key) "-text" } { "Your answer" }
                textarea id={ (key) "-text" } name="text" rows="2" required maxlength="100000" {}
            } @else {
                fieldset {
                    legend { "Your answer" }
                    @for option in &question.options {
                        label.option { input type="radio" name="text" value=(option) required; " " (option) }
                    }
                }
            }
            div.choices {
                button type="submit" { "Answer" }
                @if question.from.is_some() {
                    button.deny type="submit" name="decline" value="yes" formnovalidate { "Decline" }
                }
            }
        }
    }
}

/// The plain fields of a form that a server wants filled in. Names begin with `field.`.
fn fields(key: &str, form: &serde_json::Value) -> Markup {
    let required = |name: &str| form["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let properties = form["properties"].as_object();
    html! {
        @for (n, (name, schema)) in properties.into_iter().flatten().enumerate() {
            @let (id, label) = (format!("{key}-{n}"), schema["title"].as_str().unwrap_or(name));
            div.field {
                label for=(id) { (label) @if required(name) { " (needed)" } }
                @if let Some(choices) = schema["enum"].as_array() {
                    select id=(id) name={ "field." (name) } {
                        @if !required(name) { option value="" { "–" } }
                        @for choice in choices.iter().filter_map(|choice| choice.as_str()) {
                            option value=(choice) { (choice) }
                        }
                    }
                } @else if schema["type"] == "boolean" {
                    select id=(id) name={ "field." (name) } { option value="false" { "no" } option value="true" { "yes" } }
                } @else {
                    input id=(id) name={ "field." (name) } required[required(name)] maxlength="10000"
                        type=(if matches!(schema["type"].as_str(), Some("integer" | "number")) { "number" } else { "text" })
                        step=[(schema["type"] == "number").then_some("any")];
                }
                @if let Some(about) = schema["description"].as_str() { p.about { (about) } }
            }
        }
    }
}

/// The address of the entry in the chat.
pub(super) fn place(history: &RunHistory, question: &QuestionEntry) -> String {
    let is_it = |kind: &EntryKind| matches!(kind, EntryKind::Question(other) if other.address == question.address);
    history.entries().iter().rev().find(|entry| is_it(&entry.kind)).map(chat::id_of).unwrap_or_default()
}
