//! Checks one model with a short question and a tool call: whether it answers, how fast, and at what price.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use updraft_models::{
    Delta, Error, Model, ModelAccess, ModelChoice, ModelSpec, Prompt, RequestDraft, TaskBrief, ToolCallStyle, choose,
    resolve,
};
use updraft_run::{Message, ModelAnswer, ToolCall, ToolSpec};

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
    // What was learnt before does not count: the server may have another model, or another template.
    let access = &ModelAccess { styles: access.styles.afresh(), ..access.clone() };
    let ModelChoice { model, why, spec, .. } = choose(spec, access).await?;
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
    let tools = [tool];
    let mut style = called(&*model, &tools).await?.then(|| model.tool_style().unwrap_or_default());
    if style.is_none()
        && model.tool_style().is_none()
        && let Some(in_text) = in_text(&spec, access)
        && called(&*in_text, &tools).await?
    {
        model.learn_tool_style(ToolCallStyle::Text);
        style = Some(ToolCallStyle::Text);
    }
    print(&*model, &word, style, as_json);
    Ok(CliExitCode::Done)
}

/// Whether a model calls the tool that it is told to call.
async fn called(model: &dyn Model, tools: &[ToolSpec]) -> Result<bool, Error> {
    let answer = ask(model, "Call the tool `report` with the city Bern.", tools).await?.answer;
    let is_right = |call: &ToolCall| call.name == "report" && call.fault.is_none() && call.args["city"].is_string();
    Ok(answer.calls.iter().any(is_right))
}

/// The same model, told of its tools in text. `None` for several models, or one whose style is set.
fn in_text(spec: &str, access: &ModelAccess) -> Option<Arc<dyn Model>> {
    let mut spec = ModelSpec::parse(spec).ok().filter(|one| !one.name.is_empty() && !spec.contains(" | "))?;
    spec.tuning.tools = Some(ToolCallStyle::Text);
    resolve(&spec.to_string(), access).ok()
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

fn print(model: &dyn Model, word: &TimedAnswer, style: Option<ToolCallStyle>, as_json: bool) {
    let TimedAnswer { answer, first, whole } = word;
    let usage = &answer.usage;
    if as_json {
        out::json(&json!({
            "model": model.name(), "answered": answer.text, "first_ms": first.map(|time| time.as_millis() as u64),
            "whole_ms": whole.as_millis() as u64, "input_tokens": usage.input, "output_tokens": usage.output,
            "estimated": usage.estimated, "cost": usage.cost.map(|cost| cost.0 as f64 / 1e9), "calls_tools": style.is_some(),
            "tools": style.map(ToolCallStyle::word), "pictures": model.sees(),
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
    out::line(match style {
        Some(ToolCallStyle::Native) => "  calls tools",
        Some(ToolCallStyle::Text) => {
            "  writes its calls as text, so it is told of its tools in text (remembered for this server)"
        }
        None => "  did not call the tool that it was told to call, neither natively nor as text",
    });
    out::line(match model.sees() {
        Some(true) => "  accepts pictures",
        Some(false) => "  does not accept pictures",
        None => "  whether it accepts pictures is known only once one is sent",
    });
}
