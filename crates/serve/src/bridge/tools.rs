//! The tools that are forwarded over a bridge, and the one that waits for a signal file.

use std::time::Duration;

use serde_json::{Value, json};
use updraft_mcp::server::{Plain, PlainTool};

use super::link::{Again, Link};

/// What is added to a prompt that has a signal file.
const SIGNAL: &str = include_str!("signal.md");
const INSTRUCTIONS: &str = "Reads and writes the files of an editor's workspace, and hands work to its agent. What the \
    agent does shows only in the files: name a signal file with dispatch_agent_task and wait for it with wait_for_signal.";
/// How often a signal file is looked for, where nobody tells that it has appeared.
const LOOK: Duration = Duration::from_secs(1);
/// How long a signal file is waited for, unless the caller says.
const USUAL: u64 = 60;
const LONGEST: u64 = 600;

/// The tools of a bridge, as a server.
pub fn tools(link: &Link, version: &str) -> Plain {
    let tools =
        vec![read(link.clone()), write(link.clone()), list(link.clone()), dispatch(link.clone()), wait(link.clone())];
    Plain::new("updraft-bridge", version, INSTRUCTIONS, tools)
}

#[expect(clippy::needless_pass_by_value, reason = "properties are written where they are handed over")]
fn schema(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn read(link: Link) -> PlainTool {
    let input = schema(json!({ "path": { "type": "string" } }), &["path"]);
    let function = move |arguments: Value| {
        let link = link.clone();
        async move { Ok(Value::String(content(&link.ask("fs/read", &arguments, Again::Yes).await?))) }
    };
    PlainTool::new("read_file", "Read a file of the editor's workspace.", input, function).reading()
}

fn write(link: Link) -> PlainTool {
    let properties =
        json!({ "path": { "type": "string" }, "content": { "type": "string", "description": "The whole content." } });
    let function = move |arguments: Value| {
        let link = link.clone();
        async move {
            // The same content twice is the same file.
            link.ask("fs/write", &arguments, Again::Yes).await?;
            Ok(Value::String(format!("wrote {}", arguments["path"].as_str().unwrap_or_default())))
        }
    };
    let text = "Write a file of the editor's workspace, new or in place of what is there.";
    PlainTool::new("write_file", text, schema(properties, &["path", "content"]), function)
}

fn list(link: Link) -> PlainTool {
    let input = schema(
        json!({ "recursive": { "type": "boolean", "description": "Folders within too; true if left out." } }),
        &[],
    );
    let function = move |mut arguments: Value| {
        let link = link.clone();
        async move {
            if arguments["recursive"].is_null() {
                arguments["recursive"] = json!(true);
            }
            Ok(Value::String(paths(&link.ask("fs/list", &arguments, Again::Yes).await?).join("\n")))
        }
    };
    PlainTool::new("list_files", "List the files of the editor's workspace.", input, function).reading()
}

fn dispatch(link: Link) -> PlainTool {
    let properties = json!({
        "prompt": { "type": "string", "minLength": 1, "description": "What is to be done. It is all the agent is told." },
        "signal_file": { "type": "string", "description": "A file whose appearance shall mean that it is done. The agent is asked to create it." }
    });
    let function = move |arguments: Value| {
        let link = link.clone();
        async move {
            let mut prompt = arguments["prompt"].as_str().unwrap_or_default().to_owned();
            if let Some(file) = arguments["signal_file"].as_str() {
                if link.look(file).await?.is_some() {
                    return Err(format!(
                        "`{file}` is there already, so its appearance would mean nothing; name another, or remove it"
                    ));
                }
                prompt = format!("{prompt}\n\n{}", SIGNAL.trim().replace("{file}", file));
            }
            let given = link.ask("agent/dispatch", &json!({ "prompt": prompt }), Again::No).await?;
            let run = given["run"].as_str().map(|run| format!(" as run {run}")).unwrap_or_default();
            let wait = arguments["signal_file"].as_str();
            let wait = wait.map(|file| format!("; wait for `{file}` with wait_for_signal")).unwrap_or_default();
            Ok(Value::String(format!("the agent has it{run}; look at the files for what comes of it{wait}")))
        }
    };
    let text =
        "Hand work to the agent of the editor and return at once. There is no answer: what it does shows in the files.";
    PlainTool::new("dispatch_agent_task", text, schema(properties, &["prompt"]), function)
}

fn wait(link: Link) -> PlainTool {
    let properties = json!({
        "path": { "type": "string", "description": "The signal file." },
        "seconds": { "type": "integer", "minimum": 1, "maximum": LONGEST, "description": "How long to wait; 60 if left out." }
    });
    let function = move |arguments: Value| {
        let link = link.clone();
        async move {
            let path = arguments["path"].as_str().unwrap_or_default().to_owned();
            let seconds = arguments["seconds"].as_u64().unwrap_or(USUAL).min(LONGEST);
            let deadline = tokio::time::Instant::now() + Duration::from_secs(seconds);
            let mut changes = link.changes();
            loop {
                if let Some(read) = link.look(&path).await? {
                    let content = content(&read);
                    return Ok(
                        json!({ "appeared": true, "content": content, "text": format!("`{path}` has appeared\n{content}") }),
                    );
                }
                if tokio::time::Instant::now() >= deadline {
                    let text =
                        format!("`{path}` has not appeared in {seconds} s; the agent may still be at work, wait again");
                    return Ok(json!({ "appeared": false, "text": text }));
                }
                let _ = tokio::time::timeout(LOOK, changes.recv()).await;
            }
        }
    };
    let text = "Wait until a signal file appears in the editor's workspace, and give what is in it.";
    PlainTool::new("wait_for_signal", text, schema(properties, &["path"]), function).reading()
}

/// The content of a file, however the host puts it.
fn content(read: &Value) -> String {
    let text = read.as_str().or_else(|| read["content"].as_str()).or_else(|| read["text"].as_str());
    text.map_or_else(|| read.to_string(), str::to_owned)
}

/// The paths in a list, however the host puts it.
fn paths(listed: &Value) -> Vec<String> {
    let list = listed.as_array().or_else(|| listed["files"].as_array());
    let path = |entry: &Value| entry.as_str().or_else(|| entry["path"].as_str()).map(str::to_owned);
    let paths = list.into_iter().flatten().filter_map(path);
    paths.map(|path| path.strip_prefix("./").map_or(path.clone(), str::to_owned)).collect()
}
