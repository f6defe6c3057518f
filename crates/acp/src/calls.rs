//! Calls of tools in the words of the protocol: titles, kinds, places and diffs.

use std::path::Path;

use serde_json::{Value, json};
use updraft_run::Reply;
use updraft_workbench::history::CallEntry;

/// Most characters of a title.
const TITLE: usize = 200;
/// Most bytes of a result that are shown.
const RESULT: usize = 20_000;

/// A call in a few words.
pub(crate) fn title(name: &str, args: &Value) -> String {
    let text = |key: &str| args[key].as_str().map(str::trim).filter(|text| !text.is_empty());
    let path = || text("path").unwrap_or(".");
    let said = match name {
        "run_command" => format!("`{}`", text("command").unwrap_or_default()),
        "run_python" => "Run Python".to_owned(),
        "read_file" => format!("Read `{}`", path()),
        "write_file" => format!("Write `{}`", path()),
        "edit_file" | "apply_patch" | "append_line" => {
            text("path").map_or("Edit files".to_owned(), |path| format!("Edit `{path}`"))
        }
        "list_files" => format!("List `{}`", path()),
        "search_files" => format!("Search `{}`", text("pattern").unwrap_or_default()),
        "retrieve" => format!("Look up `{}`", text("query").unwrap_or_default()),
        "web_fetch" | "browser_open" => format!("Open {}", text("url").unwrap_or_default()),
        "web_search" => format!("Search the web: {}", text("query").unwrap_or_default()),
        "ask_user" => format!("Ask: {}", text("question").unwrap_or_default()),
        other => other.to_owned(),
    };
    let mut line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(TITLE) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// The kind of a tool.
pub(crate) fn kind(name: &str) -> &'static str {
    match name {
        "read_file" => "read",
        "list_files" | "search_files" | "retrieve" | "recall" | "web_search" => "search",
        "write_file" | "edit_file" | "apply_patch" | "append_line" => "edit",
        "run_command" | "run_python" => "execute",
        "web_fetch" => "fetch",
        _ if name.starts_with("browser_") => "fetch",
        "ask_model" => "think",
        _ => "other",
    }
}

/// The file that the arguments name.
pub(crate) fn locations(folder: &Path, args: &Value) -> Vec<Value> {
    let Some(path) = args["path"].as_str().filter(|path| !path.is_empty()) else { return Vec::new() };
    let mut location = json!({ "path": folder.join(path) });
    if let Some(line) = args["offset"].as_u64() {
        location["line"] = json!(line);
    }
    vec![location]
}

/// How a call stands.
pub(crate) fn status(call: &CallEntry) -> &'static str {
    match call.is_good() {
        Some(true) => "completed",
        Some(false) => "failed",
        None if call.begun.is_some() => "in_progress",
        None => "pending",
    }
}

/// A call as an update; `diff` is what it changed, as a unified diff.
pub(crate) fn update(id: &str, folder: &Path, call: &CallEntry, diff: Option<&str>) -> Value {
    let mut places = locations(folder, &call.args);
    let mut content = Vec::new();
    for hunk in diff.map(hunks).unwrap_or_default() {
        let path = folder.join(&hunk.path);
        content.push(json!({ "type": "diff", "path": path, "oldText": hunk.old, "newText": hunk.new }));
        places.push(json!({ "path": path, "line": hunk.line }));
    }
    if let Some(mut result) = call.result().filter(|_| content.is_empty()) {
        result.truncate(result.floor_char_boundary(RESULT));
        content.push(json!({ "type": "content", "content": { "type": "text", "text": result } }));
    }
    let mut update = json!({
        "toolCallId": id, "title": title(&call.name, &call.args), "kind": kind(&call.name),
        "status": status(call), "rawInput": call.args, "content": content, "locations": places,
    });
    if let Some(Reply::Output(output)) = &call.reply
        && let Some(value) = &output.value
    {
        update["rawOutput"] = value.clone();
    }
    update
}

/// A changed place of a file.
#[derive(Debug, PartialEq, Eq)]
struct DiffHunk {
    path: String,
    line: u64,
    /// Absent if the file is new.
    old: Option<String>,
    new: String,
}

/// The hunks of a unified diff.
fn hunks(diff: &str) -> Vec<DiffHunk> {
    let (mut found, mut path, mut is_new) = (Vec::<DiffHunk>::new(), String::new(), false);
    // Lines of the old and of the new file that the hunk still has.
    let (mut olds, mut news) = (0, 0);
    for line in diff.lines() {
        if let Some(ranges) = line.strip_prefix("@@ ").filter(|_| olds == 0 && news == 0) {
            let range = |sign: char| {
                let text = ranges.split_whitespace().find_map(|word| word.strip_prefix(sign)).unwrap_or_default();
                let (start, count) = text.split_once(',').unwrap_or((text, "1"));
                (start.parse::<u64>().unwrap_or(1), count.parse::<u64>().unwrap_or(1))
            };
            let (_, old) = range('-');
            let (start, new) = range('+');
            (olds, news) = (old, new);
            let old = (!is_new).then(String::new);
            found.push(DiffHunk { path: path.clone(), line: start.max(1), old, new: String::new() });
        } else if olds == 0 && news == 0 {
            if let Some(name) = line.strip_prefix("--- ") {
                is_new = name == "/dev/null";
                name.strip_prefix("a/").unwrap_or(name).clone_into(&mut path);
            } else if let Some(name) = line.strip_prefix("+++ ").filter(|name| *name != "/dev/null") {
                name.strip_prefix("b/").unwrap_or(name).clone_into(&mut path);
            }
        } else if let Some(hunk) = found.last_mut() {
            let (mark, text) = line.split_at_checked(1).unwrap_or((" ", ""));
            if matches!(mark, " " | "-") {
                olds = olds.saturating_sub(1);
                if let Some(old) = &mut hunk.old {
                    old.extend([text, "\n"]);
                }
            }
            if matches!(mark, " " | "+") {
                news = news.saturating_sub(1);
                hunk.new.extend([text, "\n"]);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hunk_of_a_diff_is_an_old_and_a_new_text() {
        let diff = "--- a/cart.py\n+++ b/cart.py\n@@ -1,2 +1,2 @@\n def total():\n-    return 1\n+    return 2\n@@ -9 +9,2 @@\n \
                    end\n+--- more\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x = 1\n";
        let hunk = |path: &str, line, old: Option<&str>, new: &str| DiffHunk {
            path: path.into(),
            line,
            old: old.map(str::to_owned),
            new: new.into(),
        };
        let expected = [
            hunk("cart.py", 1, Some("def total():\n    return 1\n"), "def total():\n    return 2\n"),
            hunk("cart.py", 9, Some("end\n"), "end\n--- more\n"),
            hunk("new.py", 1, None, "x = 1\n"),
        ];
        assert_eq!(hunks(diff), expected);
    }

    #[test]
    fn titles_are_short_and_on_one_line() {
        assert_eq!(title("run_command", &json!({ "command": "cargo test\n  -p x" })), "`cargo test -p x`");
        assert_eq!(title("mcp_mail_send", &json!({})), "mcp_mail_send");
        assert_eq!(title("read_file", &json!({ "path": "x".repeat(500) })).chars().count(), TITLE + 1);
    }
}
