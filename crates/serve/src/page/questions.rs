//! Questions and approvals: forms where they are asked, and what was answered.

use maud::{Markup, html};
use updraft_run::{Cost, Reply};
use updraft_workbench::history::{EntryKind, QuestionEntry, RunHistory};
use updraft_workbench::{StepOutlook, WaitingPlan};

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
                (form(scene.id.as_str(), question, FormPlace::Run))
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
        p.asked { (words::ticked(&question.text)) }
        @if let Some(call) = &question.call {
            div.wanted-call { code.tool { (call.name) } (words::value(&call.args)) }
        }
        @if !question.origins.is_empty() { p.origins { "Text from " (question.origins.in_words()) " could misuse it." } }
        @if let Some(url) = &question.url { p.visit { "It asks you to open: " code { (url) } } }
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

/// Where a form is shown: the answer leads back there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormPlace {
    Run,
    Inbox,
}

/// The form that answers a question.
pub(super) fn form(run: &str, question: &QuestionEntry, place: FormPlace) -> Markup {
    let kept = html! {
        input type="hidden" name="id" value=(question.address);
        @if place == FormPlace::Inbox { input type="hidden" name="from" value="inbox"; }
    };
    html! { @if question.is_approval { (approval(run, question, &kept)) } @else { (answer(run, question, &kept)) } }
}

fn approval(run: &str, question: &QuestionEntry, kept: &Markup) -> Markup {
    let key = words::effect_id(&question.address);
    let name = if question.is_plan { "Carry it out" } else { "Allow" };
    html! {
        form.approval method="post" action={ "/runs/" (run) "/approve" } data-approval {
            (kept)
            (always(&key, question))
            label for={ (key) "-because" } { "If you refuse, say why" }
            input id={ (key) "-because" } type="text" name="because" maxlength="2000";
            div.choices {
                button.allow type="submit" name="verdict" value="allow" { (name) }
                button.deny type="submit" name="verdict" value="deny" { "Refuse" }
            }
        }
    }
}

/// Whether calls like this one are asked about again: only rules can be kept for the workspace.
fn always(key: &str, question: &QuestionEntry) -> Markup {
    let rules = question.always.join(", ");
    let like = question.always_in_run.as_deref().unwrap_or(&rules);
    html! {
        @if !like.is_empty() {
            div.always {
                label for={ (key) "-always" } { "Next time" }
                select id={ (key) "-always" } name="always" {
                    option value="" { "Ask again" }
                    option value="run" { "Always allow in this run" }
                    @if !rules.is_empty() { option value="workspace" { "Always allow in this workspace" } }
                }
                p.about { "Always would allow " code { (like) } }
            }
        }
    }
}

/// The plan that waits: its steps, and the way to a form in which it can be changed.
fn plan(scene: &RunScene<'_>) -> Markup {
    let Some(plan) = WaitingPlan::of(scene.history.run()) else { return html! {} };
    let outlook = scene.source.outlook(scene.history.run(), &plan.graph);
    html! {
        div.waiting-plan {
            (whole_price(&outlook))
            ol {
                @for step in &plan.graph.steps {
                    li {
                        strong { (step.id) } " " span.agent { (step.agent) }
                        @if !step.after.is_empty() {
                            " after " (step.after.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
                        }
                        p { (words::short(if step.description.is_empty() { &step.prompt } else { &step.description }, 300)) }
                        @if let Some(own) = outlook.iter().find(|own| own.step == step.id) { (step_outlook(own)) }
                    }
                }
            }
            @if !plan.requirements.is_empty() {
                h4 { "Required at the end" }
                ul { @for one in &plan.requirements { li { (one.text) ": " (one.how()) } } }
            }
            p { a.button.edit-plan href={ "/runs/" (scene.id) "/plan" } { "Change the plan" } }
        }
    }
}

/// What all steps cost together, from short ones to long ones.
fn whole_price(outlook: &[StepOutlook]) -> Markup {
    let prices: Vec<(Cost, Cost)> = outlook.iter().filter_map(|own| own.price).collect();
    let unknown = outlook.len() - prices.len();
    let (least, most) = prices.iter().fold((0, 0), |(least, most), (from, to)| (least + from.0, most + to.0));
    html! {
        @if !outlook.is_empty() {
            p.price {
                @match (most, unknown) {
                    (0, 0) => "Free: its models cost nothing.",
                    (0, _) => "The price of its models is not known.",
                    (most, unknown) => {
                        "About " (Cost(least)) " to " (Cost(most)) " together"
                        @if unknown > 0 { ", and " (words::count(unknown as u64, "step")) " of unknown price" }
                        "."
                    }
                }
            }
        }
    }
}

/// The rights and the price of a step, and its model where it is not the run's.
fn step_outlook(own: &StepOutlook) -> Markup {
    html! {
        p.outlook {
            span.rights { "Rights: " (own.rights) }
            @if own.price.is_some() { " · " span.price { (own.price_in_words()) } }
            @if own.chosen_by != "run" { " · " span.model { (words::short(&own.model, 80)) } " by the " (own.chosen_by) }
        }
    }
}

fn answer(run: &str, question: &QuestionEntry, kept: &Markup) -> Markup {
    let key = words::effect_id(&question.address);
    html! {
        form.answer method="post" action={ "/runs/" (run) "/answer" } {
            (kept)
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
