//! The built-in model: a program in place of a language model, without weights and without a key.
//!
//! It gets the same prompts as every other model and answers with plans, tool calls and text in the same way. Its
//! answers depend only on the prompt, so that a resumed run gets the same answers. It finds lines by word search and
//! quotes them with file and line; it never invents, and says once that no language model is connected.
//!
//! | module | contents |
//! |---|---|
//! | `plan` | its plans |
//! | `retrieve` | looking, searching and reading, step by step or all in one |
//! | `question`, `tokens`, `terms`, `stem` | analysis of a goal: what it asks about |
//! | `hits`, `rank` | where the words of a goal occur, and which files are worth reading |
//! | `units`, `sentences`, `quote` | what can be quoted, and how well it fits |
//! | `compose` | the answer, or the statement that there is no evidence |
//! | `agents` | what it does in place of agents that need a real model |
//! | `conversation` | helpers to read the conversation and to build answers |
//! | `words` | its fixed sentences |

mod agents;
mod compose;
mod conversation;
mod hits;
mod plan;
mod question;
mod quote;
mod rank;
mod retrieve;
mod sentences;
mod stem;
mod terms;
mod tokens;
mod units;
mod words;

use updraft_run::{AgentRole, Cost, ModelAnswer, ThinkingEffort};

use crate::{Delta, DeltaCallback, Model, ModelFuture, Price, Prompt, RequestDraft, features};

/// Finds and quotes; plans, calls tools and answers without a language model.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltinModel;

impl Model for BuiltinModel {
    fn name(&self) -> &'static str {
        "builtin"
    }

    fn price(&self) -> Option<Price> {
        Some(Price::default())
    }

    fn sees(&self) -> Option<bool> {
        Some(false)
    }

    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt<'a>,
        _draft: &'a mut RequestDraft,
        hear: DeltaCallback<'a>,
    ) -> ModelFuture<'a> {
        Box::pin(async move {
            let mut answer = answer(prompt);
            answer.usage.cost = Some(Cost(0));
            if !matches!(prompt.think, ThinkingEffort::Auto | ThinkingEffort::Off) {
                answer.omitted.push(features::unthinking(self.name()));
            }
            for call in &answer.calls {
                hear(Delta::Call(&call.name));
            }
            if !answer.text.is_empty() {
                hear(Delta::Text(&answer.text));
            }
            Ok(answer)
        })
    }
}

/// Our prompts say what they ask for within this many characters; later text may quote anything.
const ASKS_FOR_A_VERDICT: usize = 600;
const NAMES_THE_TASK: usize = 40;

fn answer(prompt: &Prompt<'_>) -> ModelAnswer {
    let told = conversation::last_told(prompt.messages);
    if conversation::opening(told, NAMES_THE_TASK).to_lowercase().contains("summar") {
        return agents::summarise(prompt);
    }
    let reviews = prompt.brief.role == AgentRole::Judge;
    let is_judge = conversation::opening(told, NAMES_THE_TASK).to_lowercase().contains("judge");
    if conversation::opening(told, ASKS_FOR_A_VERDICT).contains("\"verdict\"") && (is_judge || !reviews) {
        return agents::judge();
    }
    match prompt.brief.role {
        AgentRole::Planner => plan::plan(prompt),
        AgentRole::Router => plan::route(prompt),
        AgentRole::Distiller => agents::distil(prompt),
        AgentRole::Judge => agents::review(prompt),
        AgentRole::Work | AgentRole::Thinker | AgentRole::Generalist => work(prompt),
    }
}

/// A step of a plan. This model's own plans use the agents that come with the program; every other agent is treated as
/// a retriever.
fn work(prompt: &Prompt<'_>) -> ModelAnswer {
    match prompt.brief.agent.as_str() {
        "retriever" => retrieve::step(prompt),
        "summarizer" | "thinker" if !prompt.brief.inputs.is_empty() => retrieve::compose(prompt),
        "clarification" => agents::clarify(prompt),
        "formatter" => agents::format(prompt),
        "coder" => agents::decline(prompt, words::CANNOT_WRITE),
        "browser" => agents::decline(prompt, words::CANNOT_BROWSE),
        _ => retrieve::whole(prompt),
    }
}
