//! Describes calls and their results in short words.

use serde_json::Value;
use updraft_run::{FailureKind, Reply, ToolCall};

use super::describe::arguments;
use crate::time_format;

/// Most characters of a call that are kept: more than any terminal has columns.
const LONGEST: usize = 400;

/// A call in short words: `$ cargo test`, `read src/main.rs`, `search "pattern"`.
pub(crate) fn call_words(call: &ToolCall) -> String {
    let text = |name: &str| call.args[name].as_str().map(str::trim).filter(|text| !text.is_empty());
    let line = |name: &str| text(name).map(first_line).unwrap_or_default();
    let path = || text("path").unwrap_or(".");
    let said = match call.name.as_str() {
        "run_command" => match text("folder") {
            Some(folder) => format!("$ {}  (in {folder})", line("command")),
            None => format!("$ {}", line("command")),
        },
        "run_python" => format!("python: {}", code(&call.args)),
        "read_file" => match (call.args["offset"].as_u64(), call.args["limit"].as_u64()) {
            (None, None) => match (text("pages"), text("sheet")) {
                (Some(pages), _) => format!("read {}, pages {pages}", path()),
                (None, Some(sheet)) => format!("read {}, sheet {sheet}", path()),
                (None, None) => format!("read {}", path()),
            },
            (from, lines) => {
                let from = from.unwrap_or(1).max(1);
                let to = lines.map_or(String::new(), |lines| (from + lines.max(1) - 1).to_string());
                format!("read {}:{from}-{to}", path())
            }
        },
        "write_file" => format!("write {}", path()),
        "edit_file" if text("path").is_some() => format!("edit {}", path()),
        "edit_file" | "apply_patch" => format!("patch {}", patched_files(&call.args)),
        "append_line" => format!("append to {}", path()),
        "list_files" => format!("list {}", path()),
        "search_files" => match text("path") {
            Some(path) => format!("search \"{}\" in {path}", line("pattern")),
            None => format!("search \"{}\"", line("pattern")),
        },
        "retrieve" => match text("path") {
            Some(path) => format!("look up \"{}\" in {path}", line("query")),
            None => format!("look up \"{}\"", line("query")),
        },
        "web_fetch" => format!("fetch {}", line("url")),
        "web_search" => format!("search the web: {}", line("query")),
        "browser_open" => format!("open {}", line("url")),
        "check_guardrails" => "check by the guardrails".to_owned(),
        "check_result" => match text("path") {
            Some(path) => format!("check {path}"),
            None => format!("check the result by {}", line("schema")),
        },
        "ask_user" => format!("ask you: {}", line("question")),
        "ask_model" => format!("ask {}: {}", text("model").unwrap_or("a model"), line("question")),
        name => format!("{name}({})", arguments(&call.args)),
    };
    said.chars().take(LONGEST).collect()
}

/// The first line that is not empty, with a mark if there is more.
fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default().to_owned();
    if lines.next().is_some() { first + " …" } else { first }
}

/// The files that a patch names.
fn patched_files(args: &Value) -> String {
    let patch = ["patch", "input"].iter().find_map(|name| args[*name].as_str()).unwrap_or_default();
    let headers = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
    let path = |line: &str| headers.iter().find_map(|header| line.trim().strip_prefix(*header)).map(str::to_owned);
    let paths: Vec<String> = patch.lines().filter_map(path).collect();
    paths.join(", ")
}

/// The first line of code that is not a comment or import.
fn code(args: &Value) -> String {
    let code = args["code"].as_str().or_else(|| args["variants"][0].as_str()).unwrap_or_default();
    let is_prelude = |line: &str| ["import ", "from ", "#"].iter().any(|start| line.starts_with(start));
    let says_something = |line: &&str| !line.trim().is_empty() && !is_prelude(line);
    let first = code.lines().find(says_something).or_else(|| code.lines().next()).unwrap_or_default();
    if code.lines().count() > 1 { format!("{} …", first.trim()) } else { first.trim().to_owned() }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// It succeeded.
    Good,
    /// It failed, and why.
    Bad(String),
}

impl CallEnd {
    /// The end of a call with this reply.
    pub(crate) fn of(reply: &Reply) -> Self {
        match reply {
            Reply::Output(output) => {
                let value = output.value.as_ref();
                let code = value.and_then(|value| value["exit_code"].as_i64());
                let timed_out = value.is_some_and(|value| value["timed_out"] == true);
                match code {
                    _ if timed_out => Self::Bad("stopped at its time limit".to_owned()),
                    Some(0) => Self::Good,
                    Some(code) => Self::Bad(format!("exit code {code}")),
                    // The text of Python's output begins with the time that it took.
                    None if output.is_error => {
                        let error = value.and_then(|value| value["error"].as_str());
                        Self::Bad(failed(error.unwrap_or(&output.text)))
                    }
                    None => Self::Good,
                }
            }
            Reply::Failed(why) => Self::Bad(failed(&why.message)),
            Reply::TimedOut { limit } => Self::Bad(format!("stopped after {}", time_format::length(*limit))),
            Reply::Cancelled => Self::Bad("cancelled".to_owned()),
            Reply::InDoubt { .. } => Self::Bad("interrupted: outcome unknown".to_owned()),
            _ => Self::Good,
        }
    }

    /// The end of a call that was not made.
    pub(crate) fn rejected(why: &updraft_run::Failure) -> Self {
        let word = if why.kind == FailureKind::Security { "refused" } else { "not called" };
        Self::Bad(format!("{word}: {}", first_line(&why.message)))
    }
}

fn failed(why: &str) -> String {
    let why = first_line(why);
    if why.is_empty() { "failed".to_owned() } else { format!("failed: {why}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use updraft_run::{Failure, ToolOutput};

    use super::*;

    #[test]
    fn calls_are_said_as_people_say_them() {
        let said =
            |name: &str, args: Value| call_words(&ToolCall { id: "1".into(), name: name.into(), args, fault: None });
        assert_eq!(said("run_command", json!({ "command": "cargo test\necho done" })), "$ cargo test …");
        assert_eq!(said("run_command", json!({ "command": "ls", "folder": "src" })), "$ ls  (in src)");
        assert_eq!(said("read_file", json!({ "path": "src/main.rs" })), "read src/main.rs");
        assert_eq!(said("read_file", json!({ "path": "a", "offset": 3, "limit": 7 })), "read a:3-9");
        assert_eq!(said("search_files", json!({ "pattern": "fn main" })), "search \"fn main\"");
        assert_eq!(said("retrieve", json!({ "query": "tides", "path": "docs" })), "look up \"tides\" in docs");
        assert_eq!(
            said("run_python", json!({ "code": "import csv\nfrom a import b\nprint(1)\n" })),
            "python: print(1) …"
        );
        assert_eq!(said("mcp_mail_send", json!({ "to": "a@b.c" })), "mcp_mail_send(to: a@b.c)");
    }

    #[test]
    fn what_did_not_work_says_so() {
        let output = |value, is_error| {
            Reply::Output(ToolOutput { value, is_error, text: "no".into(), ..ToolOutput::default() }.into())
        };
        assert_eq!(CallEnd::of(&output(Some(json!({ "exit_code": 0 })), false)), CallEnd::Good);
        assert_eq!(CallEnd::of(&output(Some(json!({ "exit_code": 101 })), true)), CallEnd::Bad("exit code 101".into()));
        assert_eq!(CallEnd::of(&output(None, true)), CallEnd::Bad("failed: no".into()));
        let python = json!({ "error": "KeyError: 'price'\n  line 5: sum(price)", "seconds": 0.1 });
        assert_eq!(CallEnd::of(&output(Some(python), true)), CallEnd::Bad("failed: KeyError: 'price' …".into()));
        let why = Failure::new(FailureKind::Security, "outside the workspace");
        assert_eq!(CallEnd::rejected(&why), CallEnd::Bad("refused: outside the workspace".into()));
    }
}
