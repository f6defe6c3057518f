//! The plans of the built-in model: find what each part of the goal asks for, then compose.

use serde_json::{Value, json};
use updraft_run::{Message, ModelAnswer};

use super::conversation;
use super::question::parts_of;
use super::words::{self, StepText};
use crate::Prompt;

/// A step for each part of the goal, side by side, and one that answers from all of them.
pub(super) fn plan(prompt: &Prompt<'_>) -> ModelAnswer {
    let again = suffix(prompt.messages);
    let count = parts_of(&prompt.brief.goal).len();
    let findings: Vec<String> = (1..=count).map(|part| format!("findings_{part}{again}")).collect();
    let find =
        |(part, writes): (usize, &String)| step(&format!("find_{part}{again}"), "retriever", &words::FIND, &[], writes);
    let mut steps: Vec<Value> = (1..).zip(&findings).map(find).collect();
    steps.push(step(&format!("compose{again}"), "summarizer", &words::COMPOSE, &findings, &format!("answer{again}")));
    conversation::saying(json!({ "steps": steps }).to_string())
}

/// The same for the workers of a swarm.
pub(super) fn route(prompt: &Prompt<'_>) -> ModelAnswer {
    let again = suffix(prompt.messages);
    let name = |base: &str| format!("{base}{again}");
    let (findings, review) = (name("findings"), name("review"));
    let steps = [
        step(&name("research"), "researcher", &words::FIND, &[], &findings),
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
