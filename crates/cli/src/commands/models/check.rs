//! Checks one model with a short question and a tool call: whether it answers, how fast, and at what price.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use updraft_models::{Delta, Error, Model, ModelAccess, ModelChoice, Prompt, RequestDraft, TaskBrief, choose};
use updraft_run::{Message, ModelAnswer, ToolSpec};

use crate::fault::{CliError, CliExitCode, CliResult};
use crate::out;

/// Most tokens of an answer: enough for a word and a call, even if a model thinks first.
const CAP: u64 = 256;

/// The answer to one question, with its times.
struct TimedAnswer {
    answer: ModelAnswer,
    first: Option<Duration>,
    whole: Duration,
}

pub(super) async fn check(access: &ModelAccess, spec: &str, as_json: bool) -> CliResult {
    let ModelChoice { model, why, .. } = choose(spec, access).await?;
    if model.name() == "builtin" {
        return Err(CliError::failed(format!("there is nothing to check: {why}"))
            .hint("name a model, for instance `updraft models --check ollama/qwen3`"));
    }
    let word = ask(&*model, "Answer with the one word: ready", &[]).await?;
    let tool = ToolSpec {
        name: "report".to_owned(),
        description: "Report a city.".to_owned(),
        parameters: json!({
            "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"], "additionalProperties": false,
        }),
    };
    let called = ask(&*model, "Call the tool `report` with the city Bern.", &[tool]).await?;
    let city = called.answer.calls.iter().find(|call| call.name == "report" && call.fault.is_none());
    let city = city.and_then(|call| call.args.get("city")).and_then(Value::as_str);
    print(&*model, &word, city, as_json);
    Ok(CliExitCode::Done)
}

async fn ask(model: &dyn Model, text: &str, tools: &[ToolSpec]) -> Result<TimedAnswer, Error> {
    let brief = TaskBrief::default();
    let messages = [Message::User(text.into())];
    let prompt = Prompt { messages: &messages, tools, max_output: CAP, ..Prompt::empty(&brief) };
    let began = Instant::now();
    let mut first = None;
    let mut hear = |delta: Delta<'_>| match delta {
        Delta::Text(_) | Delta::Reasoning(_) | Delta::Call(_) => {
            first.get_or_insert_with(|| began.elapsed());
        }
        Delta::Waiting(why) => out::note(why),
        Delta::Again(why) => out::note(&format!("asking again: {why}")),
        _ => {}
    };
    let answer = model.ask(&prompt, &mut RequestDraft::default(), &mut hear).await?;
    Ok(TimedAnswer { answer, first, whole: began.elapsed() })
}

fn print(model: &dyn Model, word: &TimedAnswer, city: Option<&str>, as_json: bool) {
    let TimedAnswer { answer, first, whole } = word;
    let usage = &answer.usage;
    if as_json {
        out::json(&json!({
            "model": model.name(), "answered": answer.text, "first_ms": first.map(|time| time.as_millis() as u64),
            "whole_ms": whole.as_millis() as u64, "input_tokens": usage.input, "output_tokens": usage.output,
            "estimated": usage.estimated, "cost": usage.cost.map(|cost| cost.0 as f64 / 1e9), "calls_tools": city.is_some(),
            "pictures": model.sees(),
        }));
        return;
    }
    let first = first.map(|time| format!("first word after {} ms, ", time.as_millis())).unwrap_or_default();
    let about = if usage.estimated { "about " } else { "" };
    let cost = usage.cost.map_or_else(|| "cost unknown".to_owned(), |cost| cost.to_string());
    out::line(&format!("{} answers {:?}", model.name(), out::short(answer.text.trim(), 60)));
    out::line(&format!(
        "  {first}complete after {} ms; {about}{} tokens read, {} written, {cost}",
        whole.as_millis(),
        usage.input,
        usage.output
    ));
    out::line(match city {
        Some(_) => "  calls tools",
        None => "  did not call the tool that it was told to call",
    });
    out::line(match model.sees() {
        Some(true) => "  accepts pictures",
        Some(false) => "  does not accept pictures",
        None => "  whether it accepts pictures is known only once one is sent",
    });
}
