//! The spans of a run, made from its journal: one for the run, for each visit of a step, each question to a model and
//! each call. A span is made when the event that ends it is read.

use serde_json::{Value, json};
use updraft_engine::trace_context::{effect_span, run_span, trace_id, visit_span};
use updraft_run::{
    Effect, EffectAddress, EffectKind, Event, FinishReason, ModelAnswer, Record, Reply, RunId, StepId, TokenUsage,
};

use super::genai as name;
use super::metrics::model_label;
use super::span::{Span, SpanValue, TraceSpanKind};
use crate::history::{AnswerEntry, CallEntry, EntryKind, RunHistory};

/// Most bytes of one text, if texts are wanted.
const LONGEST_TEXT: usize = 16 << 10;
/// Most bytes of a name or an id that a model wrote.
const LONGEST_NAME: usize = 128;

/// Whether spans contain what was said: prompts, answers, arguments and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanContent {
    Left,
    Included,
}

/// Makes the spans of a run's events.
pub(crate) struct RunSpans<'a> {
    pub(crate) run: &'a RunId,
    /// The run after the record.
    pub(crate) history: &'a RunHistory,
    pub(crate) content: SpanContent,
}

impl RunSpans<'_> {
    /// The spans that end with this record.
    pub(crate) fn ended_with(&self, record: &Record) -> Vec<Span> {
        record.events.iter().filter_map(|event| self.ended_by(event)).collect()
    }

    fn ended_by(&self, event: &Event) -> Option<Span> {
        match event {
            Event::Replied { id, .. } | Event::Rejected { id, .. } => {
                match &self.history.entry_at(id)?.kind {
                    EntryKind::Answer(answer) => self.chat(answer),
                    EntryKind::Call(call) => self.tool(call),
                    // How long people took is not work.
                    _ => None,
                }
            }
            // The step is entered again, which ends its visit before, unless the step had ended with that.
            Event::Wanted { id, effect: Effect::Ask } if id.kind == EffectKind::Ask && id.turn == 0 => {
                self.visit(&id.step, id.visit.checked_sub(1)?, 0)
            }
            Event::StepDone { step, .. } | Event::StepCancelled { step } => self.last_visit(step, None),
            Event::StepFailed { step, why } => self.last_visit(step, Some(why.kind.name())),
            Event::Finished { answer, failed } => Some(self.whole(answer, failed.as_ref().map(|why| why.kind.name()))),
            _ => None,
        }
    }

    fn span(&self, id: [u8; 8], parent: Option<[u8; 8]>, name: String) -> Span {
        Span {
            trace: trace_id(self.run),
            id,
            parent,
            name,
            kind: TraceSpanKind::Internal,
            began: self.history.began(),
            ended: self.history.last(),
            attributes: vec![(name::RUN, self.run.as_str().into()), (name::CONVERSATION, self.run.as_str().into())],
            error: None,
            links: Vec::new(),
        }
    }

    /// The whole run.
    fn whole(&self, answer: &str, failed: Option<&'static str>) -> Span {
        let run = self.history.run();
        let mut span = self.span(run_span(self.run), None, "invoke_workflow updraft".to_owned());
        span.attributes.extend([
            (name::OPERATION, "invoke_workflow".into()),
            (name::WORKFLOW_NAME, "updraft".into()),
            (name::STATUS, run.status().as_str().into()),
        ]);
        usage(&mut span, &run.ledger().usage);
        if self.content == SpanContent::Included {
            span.attributes.push((name::INPUT_MESSAGES, said("user", &run.goal().text).into()));
            span.attributes.push((name::OUTPUT_MESSAGES, said("assistant", answer).into()));
        }
        if let Some(from) = self.history.forked_from() {
            span.links.push((trace_id(from), run_span(from)));
        }
        fail(&mut span, failed);
        span
    }

    /// The last visit of a step that has ended. If it ends again with the same visit, that was told.
    fn last_visit(&self, step: &StepId, failed: Option<&'static str>) -> Option<Span> {
        let visit = self.history.times(step)?.visits.last()?.visit;
        let mut span = self.visit(step, visit, 1)?;
        fail(&mut span, failed);
        Some(span)
    }

    /// A visit with which the step has ended this often.
    fn visit(&self, step: &StepId, visit: u32, endings: u32) -> Option<Span> {
        let times = self.history.times(step)?.visits.iter().find(|times| times.visit == visit)?;
        if times.endings != endings {
            return None;
        }
        let known = self.history.run().step(step)?;
        let id = visit_span(self.run, step, visit);
        let mut span = self.span(id, Some(run_span(self.run)), format!("invoke_agent {}", known.spec.agent));
        (span.began, span.ended) = (times.began, times.ended.unwrap_or(self.history.last()));
        span.attributes.extend([
            (name::OPERATION, "invoke_agent".into()),
            (name::AGENT_NAME, known.spec.agent.as_str().into()),
            (name::STEP, step.as_str().into()),
            (name::VISIT, u64::from(visit).into()),
        ]);
        // What the step used is known for all its visits together.
        if visit == known.visit {
            usage(&mut span, &known.ledger.usage);
        }
        Some(span)
    }

    /// A question to a model.
    fn chat(&self, asked: &AnswerEntry) -> Option<Span> {
        let ended = asked.ended?;
        let label = model_label(&asked.model);
        let (provider, model) = label.split_once('/').unwrap_or((label, label));
        let mut span = self.effect(&asked.address, format!("chat {model}"), &asked.agent);
        span.kind = TraceSpanKind::Client;
        (span.began, span.ended) = (asked.asked_before(ended), ended);
        span.attributes.extend([
            (name::OPERATION, "chat".into()),
            (name::PROVIDER, name::provider_name(provider).into()),
            (name::REQUEST_MODEL, model.into()),
            (name::ATTEMPTS, u64::from(asked.attempts.max(1)).into()),
        ]);
        if let Some(answer) = &asked.answer {
            let by = answer.by.as_deref().map_or(label, model_label);
            span.attributes.push((name::RESPONSE_MODEL, by.split_once('/').map_or(by, |(_, model)| model).into()));
            span.attributes.push((name::FINISH_REASONS, SpanValue::Texts(vec![finish(answer).to_owned()])));
            usage(&mut span, &answer.usage);
            if self.content == SpanContent::Included {
                span.attributes.push((name::OUTPUT_MESSAGES, answered(answer).into()));
            }
        }
        fail(&mut span, asked.failed.as_ref().map(|_| "model"));
        Some(span)
    }

    /// A tool call that was made or refused.
    fn tool(&self, call: &CallEntry) -> Option<Span> {
        let ended = call.ended?;
        let run = self.history.run();
        let agent = run.step(&call.address.step).map(|step| step.spec.agent.clone()).unwrap_or_default();
        let tool = tool_name(&call.name);
        let mut span = self.effect(&call.address, format!("execute_tool {tool}"), &agent);
        (span.began, span.ended) = (call.begun.unwrap_or(call.wanted), ended);
        span.attributes.extend([
            (name::OPERATION, "execute_tool".into()),
            (name::TOOL_NAME, tool.into()),
            (name::TOOL_TYPE, "function".into()),
        ]);
        if let Some(id) = run.call_at(&call.address).map(|call| call.id).filter(|id| !id.is_empty()) {
            span.attributes.push((name::TOOL_CALL_ID, id[..id.floor_char_boundary(LONGEST_NAME)].into()));
        }
        if let Some(Reply::Output(output)) = &call.reply
            && let Some(used) = &output.usage
        {
            usage(&mut span, used);
        }
        if self.content == SpanContent::Included {
            span.attributes.push((name::TOOL_ARGUMENTS, cut(&call.args.to_string()).into()));
            span.attributes.push((name::TOOL_RESULT, cut(&call.result().unwrap_or_default()).into()));
        }
        fail(&mut span, failure_of(call));
        Some(span)
    }

    fn effect(&self, at: &EffectAddress, title: String, agent: &str) -> Span {
        let parent =
            at.outer().map_or_else(|| visit_span(self.run, &at.step, at.visit), |outer| effect_span(self.run, &outer));
        let mut span = self.span(effect_span(self.run, at), Some(parent), title);
        span.attributes.extend([
            (name::AGENT_NAME, agent.into()),
            (name::STEP, at.step.as_str().into()),
            (name::ADDRESS, at.to_string().into()),
        ]);
        span
    }
}

/// The name of a tool. Models may call what does not exist; if that is no name at all, it is what was said.
fn tool_name(called: &str) -> &str {
    let is_letter = |one: char| one.is_ascii_alphanumeric() || "_-.:/".contains(one);
    if called.len() <= LONGEST_NAME && called.chars().all(is_letter) { called } else { "unknown" }
}

/// The kind of error that a call ended with.
fn failure_of(call: &CallEntry) -> Option<&'static str> {
    match (&call.reply, &call.rejected) {
        (_, Some(why)) | (Some(Reply::Failed(why)), None) => Some(why.kind.name()),
        (Some(Reply::Output(output)), None) => output.is_error.then_some("tool"),
        (Some(Reply::TimedOut { .. }), None) => Some("timeout"),
        (Some(Reply::Cancelled), None) => Some("cancelled"),
        (Some(Reply::InDoubt { .. }), None) => Some("in_doubt"),
        (Some(_) | None, None) => None,
    }
}

/// Notes that a span failed, by the kind of error only: the words of an error may quote what was said.
fn fail(span: &mut Span, kind: Option<&'static str>) {
    span.attributes.extend(kind.map(|kind| (name::ERROR_TYPE, kind.into())));
    span.error = kind;
}

fn usage(span: &mut Span, used: &TokenUsage) {
    span.attributes.push((name::INPUT_TOKENS, used.input.into()));
    span.attributes.push((name::OUTPUT_TOKENS, used.output.into()));
    for (key, count) in [
        (name::CACHE_READ_TOKENS, used.cached),
        (name::CACHE_CREATION_TOKENS, used.stored),
        (name::REASONING_TOKENS, used.reasoning),
    ] {
        if count > 0 {
            span.attributes.push((key, count.into()));
        }
    }
    if let Some(cost) = used.cost {
        span.attributes.push((name::COST, SpanValue::Number(cost.0 as f64 / 1e9)));
    }
}

fn finish(answer: &ModelAnswer) -> &'static str {
    match answer.finish {
        FinishReason::Stop if answer.calls.is_empty() => "stop",
        FinishReason::Stop => "tool_call",
        FinishReason::Length => "length",
        _ => "content_filter",
    }
}

/// A message in the form of the conventions.
fn said(role: &str, text: &str) -> String {
    json!([{ "role": role, "parts": [{ "type": "text", "content": cut(text) }] }]).to_string()
}

fn answered(answer: &ModelAnswer) -> String {
    let mut parts = Vec::new();
    if !answer.reasoning.is_empty() {
        parts.push(json!({ "type": "reasoning", "content": cut(&answer.reasoning) }));
    }
    if !answer.text.is_empty() {
        parts.push(json!({ "type": "text", "content": cut(&answer.text) }));
    }
    parts.extend(answer.calls.iter().map(|call| {
        let written = call.args.to_string();
        // Arguments that are cut are no JSON any more, so they are a text.
        let arguments = if written.len() > LONGEST_TEXT { json!(cut(&written)) } else { call.args.clone() };
        json!({ "type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments })
    }));
    Value::from(vec![json!({ "role": "assistant", "parts": parts, "finish_reason": finish(answer) })]).to_string()
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

#[cfg(test)]
mod tests {
    use updraft_run::ToolCall;

    use super::*;

    #[test]
    fn what_a_model_wrote_is_bounded() {
        assert_eq!((tool_name("mcp_a_echo"), tool_name("read_file")), ("mcp_a_echo", "read_file"));
        assert_eq!(tool_name("the password is hunter2"), "unknown");
        assert_eq!(tool_name(&"a".repeat(129)), "unknown");
        let args = json!({ "content": "é".repeat(1 << 20) });
        let call = |args| ToolCall { id: "1".into(), name: "write_file".into(), args, fault: None };
        let said = |args| answered(&ModelAnswer { calls: vec![call(args)], ..ModelAnswer::default() });
        assert!(said(args).len() < 2 * LONGEST_TEXT);
        assert!(said(json!({ "path": "a" })).contains(r#""arguments":{"path":"a"}"#));
    }
}
