//! The agents that do not retrieve, and what the built-in model can do in their place.

use serde_json::{Value, json};
use updraft_run::ModelAnswer;

use super::conversation::{self, CallBuilder, Toolbox};
use super::words;
use crate::Prompt;

/// Lines that are read of an attached file for its profile.
const PROFILED: u64 = 400;

/// Headings and columns that a profile names.
const HEADINGS: usize = 10;
const COLUMNS: usize = 30;

/// Profiles the attached files: kind, length, headings, columns of the first table.
pub(super) fn distil(prompt: &Prompt<'_>) -> ModelAnswer {
    let tools = Toolbox(prompt.tools);
    let files = &prompt.brief.files;
    let may_call = tools.has("read_file") && !conversation::must_answer(prompt.messages);
    if may_call && !files.is_empty() && !conversation::has_called(prompt.messages, "read_file") {
        let call = |path: &String| {
            CallBuilder::of(&tools, "read_file").must(&["path"], path.clone()).may_count(&["limit"], PROFILED).done()
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
    let text = &super::passages::without_numbers(text);
    let (kind, text) = document_kind(text).unwrap_or((kind(path), text));
    let lines = text.lines().count();
    let mut meaningful = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_note(line));
    let headings: Vec<&str> = meaningful.clone().filter(|line| line.starts_with('#')).take(HEADINGS).collect();
    let heading = meaningful.clone().find(|line| line.starts_with('#') || line.starts_with("//!"));
    let title = conversation::opening(heading.or_else(|| meaningful.next()).unwrap_or_default(), 200);
    let mut profile = json!({ "path": path, "kind": kind, "lines": lines, "title": title });
    if headings.len() > 1 {
        profile["headings"] = json!(headings);
    }
    if let Some(columns) = columns(path, text) {
        profile["columns"] = json!(columns);
    }
    profile
}

/// The kind that `read_file` says of a document in its first line, and the rest.
fn document_kind(text: &str) -> Option<(&str, &str)> {
    let (first, rest) = text.split_once('\n')?;
    let kind = first.strip_prefix("[`")?.split_once("`: ")?.1.split_once(" file")?.0;
    Some((kind, rest))
}

/// Whether a line was added by `read_file`: a place such as `[page 3]`, or how to read on.
fn is_note(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(']')
}

/// The columns of the first table: the first line of a CSV file, or the first row of a table in Markdown.
fn columns(path: &str, text: &str) -> Option<Vec<String>> {
    let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_csv = matches!(ending.as_str(), "csv" | "tsv");
    let first = text.lines().find(|line| if is_csv { !line.is_empty() } else { line.starts_with("| ") })?;
    let count = |separator: &char| first.matches(*separator).count();
    let separator = if is_csv { [',', ';', '\t', '|'].into_iter().max_by_key(count)? } else { '|' };
    let cells = first.trim_matches('|').split(separator).map(|cell| cell.trim().trim_matches('"').to_owned());
    Some(cells.take(COLUMNS).collect())
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
