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
        "status": { "enum": ["working", "waiting", "paused", "done", "unproved", "not_done", "failed", "cancelled"] },
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

const RUN: &str = "The run's id, as returned by `dispatch_agent_task` or `query`.";

fn runs() -> Vec<Tool> {
    let agent = json!({ "type": "string", "description": "The name of one agent to use instead of a plan." });
    let query = json!({
        "query": { "type": "string", "minLength": 1, "description": "What you want to know, or want done." },
        "session": { "type": "string", "description": "Continues a conversation: the `session` of an earlier answer." },
        "history": { "type": "boolean", "description": "Also return the messages of the run." },
        "agent": agent
    });
    let answer = json!({ "session": { "type": "string" }, "messages": { "type": "array" } });
    let prompt = json!({
        "prompt": { "type": "string", "minLength": 1, "description": "What to do. The agents are told nothing else." },
        "agent": agent
    });
    let run = || schema(json!({ "run": { "type": "string", "description": RUN } }), &["run"]);
    vec![
        tool(
            "query",
            ToolEffect::Run,
            "Pursue a goal with agents in the workspace and wait for the answer. Returns the answer, the run's id, statistics, and a session to continue with.",
            schema(query, &["query"]),
            result(answer),
        ),
        tool(
            "dispatch_agent_task",
            ToolEffect::Run,
            "Start a task for agents and return at once with the run's id. The run continues by itself; check it with task_status, and get its result with task_result.",
            schema(prompt, &["prompt"]),
            standing(),
        ),
        tool(
            "task_status",
            ToolEffect::Nothing,
            "The status of a run, its progress, and what it is waiting for.",
            run(),
            standing(),
        ),
        tool(
            "task_result",
            ToolEffect::Nothing,
            "The result of a run, or its partial result so far, with statistics.",
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
        "id": { "type": "string", "description": "Which call, if several wait: the `id` in `waiting_for`." },
        "allow": { "type": "boolean", "description": "Whether to allow it; default true. False refuses it." },
        "because": { "type": "string", "description": "The reason for a refusal; the agent is told." }
    });
    let answer = json!({
        "run": run,
        "id": { "type": "string", "description": "Which question, if several are open: the `id` in `waiting_for`." },
        "answer": { "type": "string", "minLength": 1 }
    });
    vec![
        tool(
            "pause_task",
            ToolEffect::Run,
            "Pause a run: nothing new starts, and what is in progress may finish.",
            only(),
            standing(),
        ),
        tool("resume_task", ToolEffect::Run, "Resume a run that was paused or interrupted.", only(), standing()),
        tool("cancel_task", ToolEffect::Run, "Cancel a run for good.", only(), standing()),
        tool(
            "approve",
            ToolEffect::Run,
            "Allow or refuse a call that waits for approval. Ask the person you work for first.",
            schema(approve, &["run"]),
            standing(),
        ),
        tool(
            "answer_question",
            ToolEffect::Run,
            "Answer a question that a run asks.",
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
        "offset": { "type": "integer", "minimum": 1, "description": "The first line to read; default 1." },
        "limit": { "type": "integer", "minimum": 1, "description": "How many lines to read; default: all." }
    });
    let write =
        json!({ "path": path, "content": { "type": "string", "description": "The whole content of the file." } });
    let list = json!({
        "path": { "type": "string", "description": "A folder relative to the workspace; default: the whole workspace." },
        "recursive": { "type": "boolean", "description": "Whether to list subfolders too; default true." }
    });
    vec![
        tool(
            "search",
            ToolEffect::Nothing,
            "Search the workspace's files for words. Returns documents; fetch one by its id.",
            schema(json!({ "query": { "type": "string", "minLength": 1 } }), &["query"]),
            hits,
        ),
        tool(
            "fetch",
            ToolEffect::Nothing,
            "Return a document that search found: complete up to 1 MB; of a larger one the beginning, and its metadata says so.",
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
            "Create or replace a file in the workspace.",
            schema(write, &["path", "content"]),
            text.clone(),
        ),
        tool(
            "list_files",
            ToolEffect::Nothing,
            "List the files of the workspace by path. Hidden files and files that git ignores are left out.",
            schema(list, &[]),
            text,
        ),
    ]
}
