//! The agents that do not retrieve, and what the built-in model can do in their place.

use serde_json::{Value, json};
use updraft_run::ModelAnswer;

use super::conversation::{self, CallBuilder, Toolbox};
use super::words;
use crate::Prompt;

/// Lines that are read of an attached file for its profile.
const PROFILED: u64 = 400;

/// Profiles the attached files: kind, length, first heading.
pub(super) fn distil(prompt: &Prompt<'_>) -> ModelAnswer {
    let tools = Toolbox(prompt.tools);
    let files = &prompt.brief.files;
    let may_call = tools.has("read_file") && !conversation::must_answer(prompt.messages);
    if may_call && !files.is_empty() && !conversation::has_called(prompt.messages, "read_file") {
        let call = |path: &String| {
            CallBuilder::of(&tools, "read_file").must(&["path"], path.clone()).may_count(&["end_line"], PROFILED).done()
        };
        return conversation::calling(prompt, files.iter().map(call).collect());
    }
    let exchanges = conversation::exchanges(prompt.messages, "read_file");
    let profile = |path: &String| {
        let exchange =
            exchanges.iter().find(|exchange| exchange.call.args.get("path").and_then(Value::as_str) == Some(path));
        match exchange {
            Some(exchange) if exchange.result.is_error => {
                json!({ "path": path, "kind": kind(path), "notes": exchange.result.text })
            }
            Some(exchange) => profile(path, &exchange.result.text),
            None => json!({ "path": path, "kind": kind(path) }),
        }
    };
    conversation::giving(prompt.brief, &json!({ "files": files.iter().map(profile).collect::<Vec<_>>() }))
}

fn profile(path: &str, text: &str) -> Value {
    let lines = text.lines().count();
    let heading = text.lines().map(str::trim).find(|line| line.starts_with('#') || line.starts_with("//!"));
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    let title = conversation::opening(heading.or(first).unwrap_or_default(), 200);
    json!({ "path": path, "kind": kind(path), "lines": lines, "title": title })
}

/// The kind of a file, by its name.
fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension.to_lowercase()).as_deref() {
        Some("md" | "txt" | "rst" | "adoc" | "html" | "pdf" | "docx" | "odt" | "epub") | None => "document",
        Some("csv" | "tsv" | "json" | "jsonl" | "xlsx" | "xml" | "yaml" | "yml" | "toml") => "data",
        Some("png" | "jpg" | "jpeg" | "gif" | "webp" | "svg") => "picture",
        Some(_) => "source",
    }
}

/// Asks the user the task as a question and returns the answer.
pub(super) fn clarify(prompt: &Prompt<'_>) -> ModelAnswer {
    let tools = Toolbox(prompt.tools);
    let exchanges = conversation::exchanges(prompt.messages, "ask_user");
    if let Some(exchange) = exchanges.last() {
        return conversation::giving(prompt.brief, &Value::String(exchange.result.text.clone()));
    }
    if tools.has("ask_user") && !conversation::must_answer(prompt.messages) {
        let brief = prompt.brief;
        let question = [&brief.task, &brief.goal, &brief.step].into_iter().find(|text| !text.trim().is_empty());
        if let Some(question) = question {
            return conversation::calling(
                prompt,
                vec![CallBuilder::of(&tools, "ask_user").must(&["question"], question.clone()).done()],
            );
        }
    }
    conversation::giving(prompt.brief, &Value::String(words::NOT_ASKED.to_owned()))
}

/// Accepts, and says that nothing was judged.
pub(super) fn review(prompt: &Prompt<'_>) -> ModelAnswer {
    conversation::giving(prompt.brief, &json!({ "verdict": "accept", "feedback": words::NOT_JUDGED }))
}

/// The verdict on a step's result: the rules have already judged it, and there is nothing to add.
pub(super) fn judge() -> ModelAnswer {
    conversation::saying(json!({ "verdict": "accept", "feedback": "" }).to_string())
}

/// Returns its only input unchanged; several inputs one after the other.
pub(super) fn format(prompt: &Prompt<'_>) -> ModelAnswer {
    let inputs: Vec<Value> = prompt
        .brief
        .inputs
        .keys()
        .flat_map(|name| conversation::inputs(prompt.brief, name).into_iter().take(1))
        .collect();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match inputs.as_slice() {
        [] => conversation::giving(prompt.brief, &Value::String(words::CANNOT_LOOK.to_owned())),
        [one] => conversation::giving(prompt.brief, one),
        several => conversation::giving(
            prompt.brief,
            &Value::String(several.iter().map(text).collect::<Vec<_>>().join("\n\n")),
        ),
    }
}

/// Says in one sentence that this needs a language model.
pub(super) fn decline(prompt: &Prompt<'_>, why: &str) -> ModelAnswer {
    conversation::giving(prompt.brief, &Value::String(why.to_owned()))
}

/// Shortens a conversation to the first lines of its messages.
pub(super) fn summarise(prompt: &Prompt<'_>) -> ModelAnswer {
    use updraft_run::Message;

    let mut lines: Vec<String> = Vec::new();
    let earlier = prompt.messages.split_last().map(|(_, earlier)| earlier).unwrap_or_default();
    for message in earlier {
        let text = match message {
            Message::User(text) => conversation::opening(text, 400).to_owned(),
            Message::Assistant(answer) => conversation::opening(&answer.text, 400).to_owned(),
            Message::Results(results) => results
                .iter()
                .map(|r| format!("{}: {}", r.name, conversation::opening(&r.text, 200)))
                .collect::<Vec<_>>()
                .join("\n"),
            Message::Pictures(pictures) => {
                pictures.iter().map(|picture| picture.name.as_str()).collect::<Vec<_>>().join("\n")
            }
        };
        lines.extend(text.lines().take(6).map(str::to_owned).filter(|line| !line.trim().is_empty()));
    }
    lines.truncate(40);
    conversation::saying(lines.join("\n"))
}
