//! The tools that are forwarded over a bridge, and the tool that waits for a signal file.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use updraft_mcp::server::{PlainBackend, PlainTool};

use super::bridge_client::{BridgeClient, RemoteContent, RetryPermission};

/// Added to a prompt that has a signal file.
const SIGNAL: &str = include_str!("signal.md");
const INSTRUCTIONS: &str = "Reads and writes the files of an editor's workspace, and gives tasks to its agent. The \
    agent's work shows only in the files: name a signal file with dispatch_agent_task and wait for it with wait_for_signal.";
/// How often to look for a signal file if the host does not report changes.
const LOOK: Duration = Duration::from_secs(1);
/// How long to wait for a signal file by default, in seconds.
const USUAL: u64 = 60;
const LONGEST: u64 = 600;
/// Every so many looks, the whole list is searched, if the host does not say whether the file exists.
const THOROUGH: u32 = 5;
/// Maximum number of paths in a list.
const SHOWN: usize = 2_000;

/// Tools to control dispatched work: name, method, description.
const CONTROLS: [(&str, &str, &str); 4] = [
    ("task_status", "agent/status", "The status of a dispatched task, and its answer once there is one."),
    ("pause_task", "agent/pause", "Pause the task: the agent starts nothing new until it is resumed."),
    ("resume_task", "agent/resume", "Resume a task that was paused or interrupted."),
    ("cancel_task", "agent/cancel", "Cancel the task for good."),
];

/// The tools of a bridge, as an MCP backend.
pub fn tools(link: &BridgeClient, version: &str) -> PlainBackend {
    let mut tools =
        vec![read(link.clone()), write(link.clone()), list(link.clone()), dispatch(link.clone()), wait(link.clone())];
    tools.extend(CONTROLS.map(|(name, method, text)| control(link.clone(), name, method, text)));
    PlainBackend::new("updraft-bridge", version, INSTRUCTIONS, tools)
}

#[expect(clippy::needless_pass_by_value, reason = "properties are written where they are handed over")]
fn schema(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn read(link: BridgeClient) -> PlainTool {
    let properties = json!({
        "path": { "type": "string" },
        "start_line": { "type": "integer", "minimum": 1, "description": "The first line to read; default 1." },
        "end_line": { "type": "integer", "minimum": 1, "description": "The last line to read; default: the end." }
    });
    let function = move |arguments: Value| {
        let link = link.clone();
        async move {
            let read = link.ask("fs/read", &arguments, RetryPermission::Yes).await?;
            let (start, end) = (arguments["start_line"].as_u64(), arguments["end_line"].as_u64());
            if !read["start_line"].is_null() {
                // The host has already selected the lines.
                let text = content(&read);
                return Ok(json!({ "text": text, "start_line": read["start_line"], "end_line": read["end_line"],
                                  "lines_total": read["lines_total"] }));
            }
            lines(content(&read), start, end)
        }
    };
    let text = "Read a file of the editor's workspace: all of it, unchanged, or some of its lines.";
    PlainTool::new("read_file", text, schema(properties, &["path"]), function).reading()
}

fn write(link: BridgeClient) -> PlainTool {
    let properties =
        json!({ "path": { "type": "string" }, "content": { "type": "string", "description": "The whole content." } });
    let function = move |arguments: Value| {
        let link = link.clone();
        async move {
            // Writing the same content twice gives the same file.
            link.ask("fs/write", &arguments, RetryPermission::Yes).await?;
            Ok(Value::String(format!("wrote {}", arguments["path"].as_str().unwrap_or_default())))
        }
    };
    let text = "Create or replace a file in the editor's workspace.";
    PlainTool::new("write_file", text, schema(properties, &["path", "content"]), function)
}

fn list(link: BridgeClient) -> PlainTool {
    let properties = json!({
        "recursive": { "type": "boolean", "description": "Whether to list subfolders too; default true." },
        "path": { "type": "string", "description": "List only this folder." }
    });
    let function = move |mut arguments: Value| {
        let link = link.clone();
        async move {
            if arguments["recursive"].is_null() {
                arguments["recursive"] = json!(true);
            }
            let listed = link.ask("fs/list", &arguments, RetryPermission::Yes).await?;
            Ok(shown(paths(&listed), arguments["path"].as_str(), listed["truncated"] == true))
        }
    };
    let text = "List the files of the editor's workspace. A very long list is cut, and says so.";
    PlainTool::new("list_files", text, schema(properties, &[]), function).reading()
}

fn dispatch(link: BridgeClient) -> PlainTool {
    let properties = json!({
        "prompt": { "type": "string", "minLength": 1, "description": "What to do. The agent is told nothing else." },
        "signal_file": { "type": "string", "minLength": 1, "description": "A file that signals that the task is done. The agent is asked to create it." }
    });
    let function = move |arguments: Value| {
        let link = link.clone();
        async move {
            let mut prompt = arguments["prompt"].as_str().unwrap_or_default().to_owned();
            if let Some(file) = arguments["signal_file"].as_str() {
                check(file)?;
                if !matches!(appeared(&link, file, true).await?, RemoteContent::Nothing) {
                    return Err(format!(
                        "`{file}` already exists, so it cannot signal anything; name another file, or remove it"
                    ));
                }
                prompt = format!("{prompt}\n\n{}", SIGNAL.trim().replace("{file}", file));
            }
            let given = link.ask("agent/dispatch", &json!({ "prompt": prompt }), RetryPermission::No).await?;
            let run = given["run"].as_str().map(|run| format!(" as run {run}")).unwrap_or_default();
            let wait = arguments["signal_file"].as_str();
            let wait = wait.map(|file| format!("; wait for `{file}` with wait_for_signal")).unwrap_or_default();
            Ok(Value::String(format!("the agent has the task{run}; its results will appear in the files{wait}")))
        }
    };
    let text = "Give a task to the editor's agent and return at once. There is no answer: its work shows in the files.";
    PlainTool::new("dispatch_agent_task", text, schema(properties, &["prompt"]), function)
}

/// A tool to control dispatched work. Editors that only host an agent panel do not support it, and answer with an
/// error.
fn control(link: BridgeClient, name: &'static str, method: &'static str, text: &'static str) -> PlainTool {
    let properties = json!({
        "run": { "type": "string", "minLength": 1, "description": "The run's id; default: the one that was dispatched last." }
    });
    let function = move |arguments: Value| {
        let link = link.clone();
        async move {
            let given = link.ask(method, &arguments, RetryPermission::Yes).await?;
            let word = |name: &str| given[name].as_str().unwrap_or_default().to_owned();
            let mut text = format!("run {} is {}: {}", word("run"), word("status"), word("message"));
            if !word("answer").is_empty() {
                let _ = write!(text, "\n{}", word("answer"));
            }
            let mut told = given.clone();
            told["text"] = text.into();
            Ok(told)
        }
    };
    let tool = PlainTool::new(name, text, schema(properties, &[]), function);
    if method == "agent/status" { tool.reading() } else { tool }
}

fn wait(link: BridgeClient) -> PlainTool {
    let properties = json!({
        "path": { "type": "string", "minLength": 1, "description": "The signal file." },
        "seconds": { "type": "integer", "minimum": 1, "maximum": LONGEST, "description": "How long to wait; default 60." }
    });
    let function = move |arguments: Value| {
        let link = link.clone();
        async move {
            let path = arguments["path"].as_str().unwrap_or_default().to_owned();
            let seconds = arguments["seconds"].as_u64().unwrap_or(USUAL).min(LONGEST);
            let deadline = tokio::time::Instant::now() + Duration::from_secs(seconds);
            check(&path)?;
            let mut changes = link.changes();
            let mut looks = 0;
            loop {
                let seen = appeared(&link, &path, looks % THOROUGH == 0).await?;
                looks += 1;
                match seen {
                    RemoteContent::Text(read) => {
                        let content = content(&read);
                        let text = format!("`{path}` has appeared\n{content}");
                        return Ok(json!({ "appeared": true, "content": content, "text": text }));
                    }
                    RemoteContent::Unreadable | RemoteContent::Unsaid => {
                        let text = format!("`{path}` has appeared, but it is not readable text");
                        return Ok(json!({ "appeared": true, "text": text }));
                    }
                    RemoteContent::Nothing => {}
                }
                if tokio::time::Instant::now() >= deadline {
                    let text =
                        format!("`{path}` has not appeared in {seconds} s; the agent may still be working; wait again");
                    return Ok(json!({ "appeared": false, "text": text }));
                }
                let _ = tokio::time::timeout(LOOK, changes.recv()).await;
            }
        }
    };
    let text = "Wait until a signal file appears in the editor's workspace, and return its content.";
    PlainTool::new("wait_for_signal", text, schema(properties, &["path"]), function).reading()
}

/// Refuses a path that cannot be a signal file of the workspace.
fn check(path: &str) -> Result<(), String> {
    let mut parts = path.split(['/', '\\']);
    if path.trim().is_empty() || parts.any(|part| part == ".." || part.ends_with(':')) || path.starts_with(['/', '\\'])
    {
        return Err(format!("`{path}` is not a path in the workspace; name a file such as DONE.md, relative to it"));
    }
    Ok(())
}

/// What exists at a path. If the host does not say, the list is searched if `thorough`; otherwise it counts as nothing.
async fn appeared(link: &BridgeClient, path: &str, thorough: bool) -> Result<RemoteContent, String> {
    let seen = link.look(path).await?;
    match seen {
        // It may have appeared between the two requests.
        RemoteContent::Unreadable => return link.look(path).await,
        RemoteContent::Text(_) | RemoteContent::Nothing => return Ok(seen),
        RemoteContent::Unsaid => {}
    }
    if !thorough {
        return Ok(RemoteContent::Nothing);
    }
    let path = path.strip_prefix("./").unwrap_or(path).trim_end_matches('/');
    let within = format!("{path}/");
    let listed = paths(&link.ask("fs/list", &json!({ "recursive": true }), RetryPermission::Yes).await?);
    let is_there = listed.iter().any(|listed| listed == path || listed.starts_with(&within));
    Ok(if is_there { RemoteContent::Unreadable } else { RemoteContent::Nothing })
}

/// The whole text, or some of its lines; the latter with their numbers as data.
fn lines(text: String, start: Option<u64>, end: Option<u64>) -> Result<Value, String> {
    if start.is_none() && end.is_none() {
        return Ok(Value::String(text));
    }
    let (start, end, total) = super::lines::range(&text, start, end)?;
    let text = super::lines::of(&text, start, end);
    Ok(json!({ "text": text, "start_line": start, "end_line": end, "lines_total": total }))
}

/// A list as text and data, truncated if it is too long; the text says so.
fn shown(mut paths: Vec<String>, folder: Option<&str>, is_cut: bool) -> Value {
    // A host that does not support folders has listed everything.
    if let Some(folder) = folder.map(|folder| folder.trim_start_matches("./").trim_end_matches('/')) {
        let within = format!("{folder}/");
        paths.retain(|path| folder.is_empty() || folder == "." || path.starts_with(&within));
    }
    let more = paths.len().saturating_sub(SHOWN);
    paths.truncate(SHOWN);
    let mut text = paths.join("\n");
    if more > 0 || is_cut {
        let least = if is_cut { "at least " } else { "" };
        let _ = write!(text, "\n[and {least}{more} more; list a subfolder with `path`]");
    }
    json!({ "text": text, "files": paths, "more": more, "truncated": more > 0 || is_cut })
}

/// The content of a file, in any host's format.
fn content(read: &Value) -> String {
    let text = read.as_str().or_else(|| read["content"].as_str()).or_else(|| read["text"].as_str());
    text.map_or_else(|| read.to_string(), str::to_owned)
}

/// The paths in a list, in any host's format.
fn paths(listed: &Value) -> Vec<String> {
    let list = listed.as_array().or_else(|| listed["files"].as_array());
    let path = |entry: &Value| entry.as_str().or_else(|| entry["path"].as_str()).map(str::to_owned);
    let paths = list.into_iter().flatten().filter_map(path);
    paths.map(|path| path.strip_prefix("./").map_or(path.clone(), str::to_owned)).collect()
}
