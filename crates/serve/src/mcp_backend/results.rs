//! The results of tools: text for a model, and the same as data.

use serde_json::{Value, json};
use updraft_mcp::server::model::{CallToolResult, ContentBlock, JsonObject};
use updraft_run::Status;
use updraft_workbench::service::{FetchedDocument, FileToolOutput, PendingQuestion, RunView, SearchHit};

/// A result with text and data. Clients that do not support data read the text.
fn both(text: impl Into<String>, data: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text.into())]);
    result.structured_content = Some(data);
    result
}

/// The state of a run.
pub(super) fn standing(view: &RunView) -> CallToolResult {
    both(in_words(view), data(view))
}

/// The result of a run; an error if the run failed.
pub(super) fn result(view: &RunView) -> CallToolResult {
    let mut data = data(view);
    data["answer"] = json!(view.answer);
    data["statistics"] = view.statistics.clone();
    let text = match view.status {
        Status::Done => view.answer.clone(),
        Status::Unproved => format!("{}\n\n({})", view.answer, view.message),
        _ if view.answer.trim().is_empty() => in_words(view),
        _ => format!("{}\n\nSo far:\n{}", in_words(view), view.answer),
    };
    let mut result = both(text, data);
    if matches!(view.status, Status::Failed | Status::NotDone | Status::Cancelled) {
        result.is_error = Some(true);
    }
    result
}

/// The result of a query.
pub(super) fn answered(view: &RunView, session: &str, messages: Option<Vec<Value>>) -> CallToolResult {
    let mut result = result(view);
    if let Some(data) = &mut result.structured_content {
        data["session"] = json!(session);
        if let Some(messages) = messages {
            data["messages"] = json!(messages);
        }
    }
    result
}

/// Why an answer did not reach a run, and the state of that run.
pub(super) fn unanswered(why: &str, view: &RunView, session: Option<&str>) -> CallToolResult {
    let mut data = data(view);
    data["session"] = json!(session);
    let mut result = both(format!("{why}\n{}", in_words(view)), data);
    result.is_error = Some(true);
    result
}

pub(super) fn data(view: &RunView) -> Value {
    json!({
        "run": view.run, "status": view.word(), "message": view.message, "goal": view.goal,
        "steps": view.steps, "done": view.done, "created": view.created, "updated": view.updated,
        "waiting_for": view.waits.iter().map(wait).collect::<Vec<_>>(),
    })
}

fn wait(wait: &PendingQuestion) -> Value {
    let kind = if wait.is_approval { "approval" } else { "question" };
    let arguments = updraft_run::argument_lines(&wait.call["args"]);
    json!({ "id": wait.id, "kind": kind, "text": wait.text, "options": wait.options, "call": wait.call,
            "arguments": arguments })
}

fn in_words(view: &RunView) -> String {
    let mut lines = vec![format!("run {} is {}: {}", view.run, view.word(), view.message)];
    if view.steps > 0 {
        lines.push(format!("{} of {} steps have ended", view.done, view.steps));
    }
    for wait in &view.waits {
        let (what, tool) = if wait.is_approval { ("an approval", "approve") } else { ("an answer", "answer_question") };
        lines.push(format!("it waits for {what} (id {}): {}", wait.id, wait.text));
        for option in &wait.options {
            lines.push(format!("- {option}"));
        }
        lines.extend(updraft_run::argument_lines(&wait.call["args"]).into_iter().map(|line| format!("- {line}")));
        lines.push(format!("respond with `{tool}`"));
    }
    lines.join("\n")
}

/// Search results in the format that connectors of chat programs read: the text is the data as JSON.
pub(super) fn hits(hits: &[SearchHit]) -> CallToolResult {
    let results: Vec<Value> =
        hits.iter().map(|hit| json!({ "id": hit.id, "title": hit.title, "url": hit.url, "text": hit.text })).collect();
    let data = json!({ "results": results });
    both(data.to_string(), data)
}

/// A document in the same format.
pub(super) fn document(document: &FetchedDocument) -> CallToolResult {
    let FetchedDocument { id, title, url, text, cut_from } = document;
    let mut metadata = json!({ "source": "workspace" });
    if let Some(bytes) = cut_from {
        metadata["truncated"] = json!(true);
        metadata["bytes"] = json!(bytes);
        metadata["bytes_given"] = json!(text.len());
    }
    let data = json!({ "id": id, "title": title, "text": text, "url": url, "metadata": metadata });
    both(data.to_string(), data)
}

/// The output of a tool of the workspace.
pub(super) fn output(tool: &str, arguments: &JsonObject, output: FileToolOutput) -> CallToolResult {
    let mut data = match output.value {
        Some(Value::Object(data)) => Value::Object(data),
        _ => json!({}),
    };
    if tool != "list_files"
        && let Some(path) = arguments.get("path")
    {
        data["path"] = path.clone();
    }
    data["text"] = json!(output.text);
    both(output.text, data)
}
