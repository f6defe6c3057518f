//! The built-in model: a program in place of a language model, without weights and without a key.
//!
//! It gets the same prompts as every other model and answers with plans, tool calls and text in the same way. Its
//! answers depend only on the prompt, so that a resumed run gets the same answers. It asks the tool
//! `retrieve` for passages and quotes the best of them with their places; it never invents, and says once that no language
//! model is connected.
//!
//! | module | contents |
//! |---|---|
//! | `plan` | its plans |
//! | `question`, `matching` | what a goal asks about, and which words are forms of one |
//! | `retrieve`, `passages` | calling tools, and reading what they returned |
//! | `units`, `sentences`, `compose` | what can be quoted, what is chosen, and the answer |
//! | `choose` | choosing among several results |
//! | `agents` | what it does in place of agents that need a real model |
//! | `conversation` | helpers to read the conversation and to build answers |
//! | `words` | its fixed sentences |

mod agents;
mod choose;
mod compose;
mod conversation;
mod matching;
mod passages;
mod plan;
mod question;
mod retrieve;
mod sentences;
mod units;
mod words;

use updraft_run::{AgentRole, Cost, EffectKind, ModelAnswer, ThinkingEffort};

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

fn answer(prompt: &Prompt<'_>) -> ModelAnswer {
    match prompt.brief.side_question {
        Some(EffectKind::Compact) => return agents::summarise(prompt),
        Some(EffectKind::Judge) => return agents::judge(),
        Some(EffectKind::Ask | EffectKind::Call | EffectKind::Approve | EffectKind::Guard) | None => {}
    }
    match prompt.brief.role {
        AgentRole::Planner => plan::plan(prompt),
        AgentRole::Router => plan::route(prompt),
        AgentRole::Distiller => agents::distil(prompt),
        AgentRole::Judge => agents::review(prompt),
        AgentRole::Chooser => choose::choose(prompt),
        AgentRole::Work | AgentRole::Thinker | AgentRole::Generalist => work(prompt),
    }
}

/// A step of a plan. This model's own plans use the agents that come with the program; every other agent is treated as
/// a retriever.
fn work(prompt: &Prompt<'_>) -> ModelAnswer {
    match prompt.brief.agent.as_str() {
        "summarizer" | "thinker" if !prompt.brief.inputs.is_empty() => retrieve::compose_inputs(prompt),
        "clarification" => agents::clarify(prompt),
        "formatter" => agents::format(prompt),
        "coder" => agents::decline(prompt, words::CANNOT_WRITE),
        "browser" => agents::decline(prompt, words::CANNOT_BROWSE),
        _ => retrieve::step(prompt),
    }
}
