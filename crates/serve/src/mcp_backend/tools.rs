//! The definitions of the tools: their descriptions for a client's model, and the schemas of their input and output.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_mcp::server::model::{JsonObject, Tool, ToolAnnotations};

/// The tools that are forwarded to the workspace's own tools.
pub(super) const FILES: [&str; 3] = ["read_file", "write_file", "list_files"];

/// The effect of a tool.
#[derive(Clone, Copy)]
enum ToolEffect {
    /// Nothing.
    Nothing,
    /// Starts a run, or sends something to it.
    Run,
    /// Writes a file, and replaces its content.
    File,
}

/// Every tool, by name.
pub(super) fn all() -> Vec<Tool> {
    let mut tools = [runs(), control(), files()].concat();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools
}

fn tool(name: &'static str, touches: ToolEffect, text: &'static str, input: Value, output: Value) -> Tool {
    let hints = match touches {
        ToolEffect::Nothing => ToolAnnotations::new().read_only(true).idempotent(true),
        ToolEffect::Run => ToolAnnotations::new().read_only(false).destructive(false).idempotent(false),
        ToolEffect::File => ToolAnnotations::new().read_only(false).destructive(true).idempotent(true),
    };
    let open = matches!(touches, ToolEffect::Run);
    Tool::new(name, text, Arc::new(object(input)))
        .with_raw_output_schema(Arc::new(object(output)))
        .with_annotations(hints.open_world(open))
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(map) => map,
        _ => JsonObject::new(),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "properties are written where they are handed over")]
fn schema(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The output of `task_status`, and of all tools that change a run.
fn standing() -> Value {
    let waits = json!({ "type": "array", "items": { "type": "object", "properties": {
        "id": { "type": "string" },
        "kind": { "enum": ["question", "approval"] },
        "text": { "type": "string" },
        "options": { "type": "array", "items": { "type": "string" } },
        "call": {},
        "arguments": { "type": "array", "items": { "type": "string" } }
    }, "required": ["id", "kind", "text"] } });
    json!({ "type": "object", "properties": {
        "run": { "type": "string" },
        "status": { "enum": ["working", "waiting", "paused", "done", "failed", "cancelled"] },
        "message": { "type": "string" },
        "goal": { "type": "string" },
        "steps": { "type": "integer" },
        "done": { "type": "integer" },
        "waiting_for": waits,
        "created": { "type": "string" },
        "updated": { "type": "string" }
    }, "required": ["run", "status", "message", "steps", "done", "waiting_for"] })
}

/// The same with the result of the run.
fn result(more: Value) -> Value {
    let mut schema = standing();
    schema["properties"]["answer"] = json!({ "type": "string" });
    schema["properties"]["statistics"] = json!({ "type": "object" });
    if let Value::Object(more) = more {
        for (name, property) in more {
            schema["properties"][name] = property;
        }
    }
    schema
}

const RUN: &str = "The run's id, as `dispatch_agent_task` or `query` gave it.";

fn runs() -> Vec<Tool> {
    let agent = json!({ "type": "string", "description": "One agent by name instead of a plan." });
    let query = json!({
        "query": { "type": "string", "minLength": 1, "description": "What you want to know or have done." },
        "session": { "type": "string", "description": "Goes on with a conversation: the `session` of an earlier answer." },
        "history": { "type": "boolean", "description": "Give the messages of the run too." },
        "agent": agent
    });
    let answer = json!({ "session": { "type": "string" }, "messages": { "type": "array" } });
    let prompt = json!({
        "prompt": { "type": "string", "minLength": 1, "description": "What is to be done. It is all the agents are told." },
        "agent": agent
    });
    let run = || schema(json!({ "run": { "type": "string", "description": RUN } }), &["run"]);
    vec![
        tool(
            "query",
            ToolEffect::Run,
            "Pursue a goal with agents in the workspace and wait for the answer. Gives the answer, the run's id, figures, and a session to go on with.",
            schema(query, &["query"]),
            result(answer),
        ),
        tool(
            "dispatch_agent_task",
            ToolEffect::Run,
            "Start work for agents and return at once with the run's id. It goes on by itself; look with task_status, fetch what it came to with task_result.",
            schema(prompt, &["prompt"]),
            standing(),
        ),
        tool(
            "task_status",
            ToolEffect::Nothing,
            "How a run stands, how far it is, and what it waits for.",
            run(),
            standing(),
        ),
        tool(
            "task_result",
            ToolEffect::Nothing,
            "What a run came to, or has so far, with its figures.",
            run(),
            result(Value::Null),
        ),
    ]
}

fn control() -> Vec<Tool> {
    let run = json!({ "type": "string", "description": RUN });
    let only = || schema(json!({ "run": run }), &["run"]);
    let approve = json!({
        "run": run,
        "id": { "type": "string", "description": "Which call, where several wait: the `id` in `waiting_for`." },
        "allow": { "type": "boolean", "description": "False refuses it; true if left out." },
        "because": { "type": "string", "description": "What the agent is told with a refusal." }
    });
    let answer = json!({
        "run": run,
        "id": { "type": "string", "description": "Which question, where several are open: the `id` in `waiting_for`." },
        "answer": { "type": "string", "minLength": 1 }
    });
    vec![
        tool(
            "pause_task",
            ToolEffect::Run,
            "Let a run begin nothing new; what is under way may end.",
            only(),
            standing(),
        ),
        tool("resume_task", ToolEffect::Run, "Go on with a run that was paused or cut off.", only(), standing()),
        tool("cancel_task", ToolEffect::Run, "Stop a run for good.", only(), standing()),
        tool(
            "approve",
            ToolEffect::Run,
            "Allow or refuse a call that a run waits to make. Ask the person you work for first.",
            schema(approve, &["run"]),
            standing(),
        ),
        tool(
            "answer_question",
            ToolEffect::Run,
            "Answer a question of a run.",
            schema(answer, &["run", "answer"]),
            standing(),
        ),
    ]
}

fn files() -> Vec<Tool> {
    let hit = json!({ "type": "object", "properties": {
        "id": { "type": "string" }, "title": { "type": "string" },
        "url": { "type": "string" }, "text": { "type": "string" }
    }, "required": ["id", "title", "url"] });
    let hits = json!({ "type": "object", "properties": { "results": { "type": "array", "items": hit } }, "required": ["results"] });
    let document = json!({ "type": "object", "properties": {
        "id": { "type": "string" }, "title": { "type": "string" }, "text": { "type": "string" },
        "url": { "type": "string" }, "metadata": { "type": "object" }
    }, "required": ["id", "title", "text", "url"] });
    let text = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    let path = json!({ "type": "string", "description": "Relative to the workspace." });
    let read = json!({
        "path": path,
        "start_line": { "type": "integer", "minimum": 1, "description": "The first line to read; 1 if left out." },
        "end_line": { "type": "integer", "minimum": 1, "description": "The last line to read; the end if left out." }
    });
    let write =
        json!({ "path": path, "content": { "type": "string", "description": "The whole content of the file." } });
    let list = json!({
        "path": { "type": "string", "description": "A folder relative to the workspace; all of it if left out." },
        "recursive": { "type": "boolean", "description": "Whether folders within are listed too; true if left out." }
    });
    vec![
        tool(
            "search",
            ToolEffect::Nothing,
            "Look for words in the workspace's files. Gives documents; fetch one by its id.",
            schema(json!({ "query": { "type": "string", "minLength": 1 } }), &["query"]),
            hits,
        ),
        tool(
            "fetch",
            ToolEffect::Nothing,
            "Give a document that search found, whole up to 1 MB; of a larger one the beginning, and its metadata says so.",
            schema(json!({ "id": { "type": "string", "minLength": 1 } }), &["id"]),
            document,
        ),
        tool(
            "read_file",
            ToolEffect::Nothing,
            "Read a text file of the workspace, or some of its lines.",
            schema(read, &["path"]),
            text.clone(),
        ),
        tool(
            "write_file",
            ToolEffect::File,
            "Write a file of the workspace, new or in place of what is there.",
            schema(write, &["path", "content"]),
            text.clone(),
        ),
        tool(
            "list_files",
            ToolEffect::Nothing,
            "List the files of the workspace by path. Files that git ignores and hidden ones are left out.",
            schema(list, &[]),
            text,
        ),
    ]
}
