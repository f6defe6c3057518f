//! The plans of the built-in model: a small graph that lists, searches, reads and answers.

use serde_json::{Value, json};
use updraft_run::{Message, ModelAnswer};

use super::conversation;
use super::retrieve::READERS;
use super::words::{self, StepText};
use crate::Prompt;

/// Lists and searches in parallel, reads in shares, answers from all results.
pub(super) fn plan(prompt: &Prompt<'_>) -> ModelAnswer {
    let again = suffix(prompt.messages);
    let name = |base: &str| format!("{base}{again}");
    let step = |id: &str, agent: &str, text: &StepText, reads: &[String], writes: &str| {
        step(&name(id), agent, text, reads, &name(writes))
    };
    let mut steps = vec![
        step("look", "retriever", &words::LOOK, &[], "files"),
        step("search", "retriever", &words::SEARCH, &[], "hits"),
    ];
    let found = [name("files"), name("hits")];
    let mut all = found.to_vec();
    for reader in 1..=READERS {
        steps.push(step(&format!("read_{reader}"), "retriever", &words::READ, &found, &format!("quotes_{reader}")));
        all.push(name(&format!("quotes_{reader}")));
    }
    steps.push(step("compose", "summarizer", &words::COMPOSE, &all, "answer"));
    conversation::saying(json!({ "steps": steps }).to_string())
}

/// The same for the workers of a swarm.
pub(super) fn route(prompt: &Prompt<'_>) -> ModelAnswer {
    let again = suffix(prompt.messages);
    let name = |base: &str| format!("{base}{again}");
    let (findings, review) = (name("findings"), name("review"));
    let steps = [
        step(&name("research"), "researcher", &words::RESEARCH, &[], &findings),
        step(&name("review"), "reviewer", &words::REVIEW, std::slice::from_ref(&findings), &review),
        step(&name("answer"), "thinker", &words::COMPOSE, &[findings.clone(), review.clone()], &name("answer")),
    ];
    conversation::saying(json!({ "steps": steps }).to_string())
}

fn step(id: &str, agent: &str, text: &StepText, reads: &[String], writes: &str) -> Value {
    json!({
        "id": id, "agent": agent, "description": text.description, "prompt": text.prompt,
        "reads": reads, "writes": [writes], "after": [],
    })
}

/// Ids of earlier steps and variables must not be used again: a new plan adds a number to its own.
fn suffix(messages: &[Message]) -> String {
    let told =
        || messages.iter().filter_map(|message| if let Message::User(text) = message { Some(&**text) } else { None });
    let is_new_plan = told().any(|text| conversation::opening(text, 80).contains("met a failure"));
    if !is_new_plan {
        return String::new();
    }
    let is_taken = |number: &usize| {
        told().any(|text| text.contains(&format!("compose_{number}")) || text.contains(&format!("research_{number}")))
    };
    let number = (2..100).find(|number| !is_taken(number)).unwrap_or(100);
    format!("_{number}")
}
