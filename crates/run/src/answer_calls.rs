//! Reads the calls out of a model's answer, and describes the outcome of a call in plain text.

use std::borrow::Cow;

use serde_json::{Value, json};
use updraft_lenient::{Repair, calls_alone, read_calls, whole_object};

use crate::goal::AgentCard;
use crate::message::{ModelAnswer, ToolCall};
use crate::reply::Reply;
use crate::state::Run;
use crate::step::{Step, ToolCallOutcome};

/// The tool that puts a question to the user. The run handles it itself.
pub const ASK_USER: &str = "ask_user";

/// The tool that runs code. An answer that asks for another visit may contain some.
pub(crate) const RUN_PYTHON: &str = "run_python";

impl Run {
    /// The calls in an answer of this step: native ones, or, for a model that was told about its tools in plain text,
    /// the call that its whole text is. A call quoted inside an answer is part of the answer.
    ///
    /// Both preparing calls and deciding about them use this function, so that they agree on the number of calls.
    pub fn calls_in<'a>(&self, step: &Step, answer: &'a ModelAnswer) -> Cow<'a, [ToolCall]> {
        if !answer.calls.is_empty() {
            return Cow::Borrowed(&answer.calls);
        }
        let Some(card) = self.card(&step.spec.agent).filter(|card| !card.tools.is_empty()) else {
            return Cow::Borrowed(&[]);
        };
        let written = if answer.writes_calls { calls_alone(&answer.text, &step.spec.writes) } else { Vec::new() };
        let mut calls: Vec<ToolCall> = written
            .into_iter()
            .enumerate()
            .map(|(n, call)| ToolCall {
                id: format!("text.{n}"),
                fault: risky(&call.repairs),
                name: known(card, &call.name).map_or(call.name, str::to_owned),
                args: call.args,
            })
            .collect();
        if calls.is_empty()
            && let Some(args) = again(&answer.text).and_then(|again| again.code)
        {
            calls.push(ToolCall { id: "text.0".into(), name: RUN_PYTHON.into(), args, fault: None });
        }
        Cow::Owned(calls)
    }

    /// The call at an address, while it is open.
    pub fn call_at(&self, id: &crate::EffectAddress) -> Option<ToolCall> {
        if id.inner.is_some() {
            return self.inner_at(id)?.requested.as_ref().map(|(call, _)| call.clone());
        }
        if id.kind == crate::EffectKind::Guard {
            return self.guard_call(id);
        }
        let step = self.step(&id.step).filter(|step| step.visit == id.visit)?;
        let answer = step.last_answer()?;
        self.calls_in(step, answer).get(id.n as usize).cloned()
    }
}

impl Run {
    /// The tool that an answer calls in the middle of other text, for a model that writes its calls as text.
    pub(crate) fn call_among_text(&self, step: &Step, answer: &ModelAnswer) -> Option<String> {
        let card = self.card(&step.spec.agent).filter(|_| answer.writes_calls && answer.calls.is_empty())?;
        let read = read_calls(&answer.text, &|name| known(card, name).is_some());
        read.calls.into_iter().next().map(|call| call.name)
    }
}

/// The tool of an agent that a name refers to: the tool with this name, or a remote tool that its server calls so.
fn known<'a>(card: &'a AgentCard, name: &str) -> Option<&'a str> {
    let tools = || card.tools.iter().map(String::as_str);
    tools().find(|tool| *tool == name).or_else(|| tools().find(|tool| bare(tool) == name))
}

/// The name of a remote tool without its server.
fn bare(tool: &str) -> &str {
    tool.strip_prefix("mcp_").and_then(|rest| rest.split_once('_')).map_or(tool, |(_, name)| name)
}

/// The reason not to act on repaired arguments: a repair that may have changed their meaning.
fn risky(repairs: &[Repair]) -> Option<String> {
    let doubtful = repairs.iter().find(|repair| repair.what.is_risky())?;
    Some(format!("the arguments were not valid JSON ({} at byte {}); send them again", doubtful.what, doubtful.at))
}

/// A step's request for another visit with an updated context.
pub(crate) struct RerunRequest {
    pub(crate) instruction: String,
    /// The arguments of the call that runs its code: the code, or variants to try in turn.
    pub(crate) code: Option<Value>,
}

/// Reads a `call_self` request out of an answer.
pub(crate) fn again(text: &str) -> Option<RerunRequest> {
    if !text.contains("call_self") {
        return None;
    }
    let value = whole_object(text)?;
    let wish = value.get("call_self")?;
    let inside = |key: &str| wish.get(key).or_else(|| value.get(key)).and_then(Value::as_str).map(str::to_owned);
    match wish {
        Value::Bool(false) | Value::Null => None,
        Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            Some(RerunRequest {
                instruction: inside("next_instruction").or_else(|| inside("instruction")).unwrap_or_default(),
                code: variants(wish.get("code_variants").or_else(|| value.get("code_variants")))
                    .or_else(|| inside("code").map(|code| json!({ "code": code }))),
            })
        }
    }
}

/// Variants of code, as a list or by name in the order of the names: `{"CODE_1A": "…", "CODE_1B": "…"}`.
fn variants(written: Option<&Value>) -> Option<Value> {
    let codes: Vec<&Value> = match written? {
        Value::Array(codes) => codes.iter().collect(),
        Value::Object(codes) => codes.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    let is_code = |code: &&Value| code.as_str().is_some_and(|code| !code.trim().is_empty());
    let codes: Vec<&Value> = codes.into_iter().filter(is_code).collect();
    (!codes.is_empty()).then(|| json!({ "variants": codes }))
}

/// The outcome of a call as plain text, in one line or more.
pub fn outcome_words(outcome: &ToolCallOutcome) -> Cow<'_, str> {
    match outcome {
        ToolCallOutcome::Rejected(why) => Cow::Owned(format!("not called: {why}")),
        ToolCallOutcome::Replied(reply) => match reply {
            Reply::Output(output) => Cow::Borrowed(&output.text),
            Reply::Said(text) => Cow::Borrowed(text),
            Reply::Failed(failure) => Cow::Owned(format!("failed: {failure}")),
            Reply::TimedOut { limit } => Cow::Owned(format!("stopped: took longer than {} s", limit.0.div_ceil(1000))),
            Reply::Cancelled => Cow::Borrowed("stopped: cancelled"),
            Reply::InDoubt { evidence } => Cow::Owned(format!("outcome unknown: {evidence}")),
            Reply::Verdict(verdict) => Cow::Borrowed(&verdict.because),
            Reply::Answer(answer) => Cow::Borrowed(&answer.text),
        },
    }
}
