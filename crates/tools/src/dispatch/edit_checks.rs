//! Runs the user's checkers after an agent has edited files, and appends what they say to the result: once for edits that follow
//! each other in a turn.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;
use updraft_run::{Reply, RowOfEdits, ToolCall};
use updraft_workspace::Workspace;

use super::{CallResult, Dispatcher};
use crate::builtin::PathFilter;
use crate::shell;
use crate::tool::CallContext;

/// How long one checker may take, in seconds.
const TIME: u64 = 120;
/// How many lines of a checker's output the agent is shown.
const SHOWN_LINES: usize = 10;
/// And how many bytes of them.
const SHOWN_BYTES: usize = 2_000;

/// A command that checks edited files: `cargo check`, or only for some files `*.py: ruff check {files}`.
#[derive(Debug)]
pub(crate) struct EditCheck {
    filter: Option<PathFilter>,
    command: String,
}

impl EditCheck {
    /// Reads it as it stands in the settings.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let pattern = text.split_once(": ").filter(|(pattern, _)| is_pattern(pattern));
        let (pattern, command) = pattern.map_or((None, text), |(pattern, command)| (Some(pattern), command));
        let filter = PathFilter::parse(pattern).map_err(|why| format!("`{text}`: {why}"))?;
        Ok(Self { filter, command: command.trim().to_owned() })
    }

    /// The command for these files of a workspace; `None` if none of them is to be checked.
    fn command_for(&self, files: &BTreeSet<String>, workspace: &Workspace) -> Option<String> {
        let root = workspace.locate(".").ok()?;
        let takes = |path: &&String| {
            let filter = self.filter.as_ref();
            filter.is_none_or(|filter| workspace.locate(path).is_ok_and(|path| filter.takes(&path, &root)))
        };
        let files: Vec<String> = files.iter().filter(takes).map(|path| as_argument(path)).collect();
        (!files.is_empty()).then(|| self.command.replace("{files}", &files.join(" ")))
    }
}

/// A path as an argument that is no option, whatever its name.
fn as_argument(path: &str) -> String {
    shell::quoted(&if path.starts_with('-') { format!("./{path}") } else { path.to_owned() })
}

/// Whether the beginning of a check names files: one word with a `*`.
fn is_pattern(text: &str) -> bool {
    text.contains('*') && !text.contains(char::is_whitespace)
}

impl Dispatcher {
    /// The result of an edit, with what the checkers say about the files now.
    pub(super) async fn with_checks(
        &self,
        mut result: CallResult,
        checks: &[EditCheck],
        cx: &CallContext,
    ) -> CallResult {
        let has_edited = matches!(&result.reply, Reply::Output(output) if !output.is_error);
        let mut edited = cx.around.edits.before.clone();
        if has_edited {
            edited.extend(cx.around.edits.own.iter().cloned());
        }
        if edited.is_empty() {
            return result;
        }
        // A check is no edit itself.
        let mut around_check = cx.clone();
        around_check.around.edits = RowOfEdits::default();
        let commands = checks.iter().filter_map(|check| check.command_for(&edited, &cx.place.workspace));
        for command in commands {
            let args = json!({ "command": command, "seconds": TIME });
            let call = ToolCall { id: "check".into(), name: "run_command".into(), args, fault: None };
            let checked = Box::pin(self.call(&call, &around_check)).await;
            result.kept.extend(checked.kept);
            let output = match &mut result.reply {
                Reply::Output(output) => Arc::make_mut(output),
                // The last edit of a row failed; those before it are checked all the same.
                Reply::Failed(why) => {
                    if let Reply::Output(said) = checked.reply {
                        let how = if said.is_error { "found problems" } else { "found nothing" };
                        let _ = write!(why.message, "\n\n[after the edits before it, `{command}` {how}]\n");
                        why.message.push_str(&if said.is_error { first_lines(&said.text) } else { String::new() });
                    }
                    continue;
                }
                _ => break,
            };
            match checked.reply {
                Reply::Output(said) => {
                    let how = if said.is_error { "found problems" } else { "found nothing" };
                    let _ = writeln!(output.text, "\n[after the edit, `{command}` {how}]");
                    if said.is_error {
                        output.text.push_str(&first_lines(&said.text));
                    }
                    output.changes.extend(said.changes.iter().cloned());
                    let is_partial = said.all_changes.is_some() || said.unlisted.is_some();
                    output.unlisted = output
                        .unlisted
                        .take()
                        .or_else(|| is_partial.then(|| format!("what `{command}` changed is listed in part")));
                }
                Reply::Failed(why) => {
                    let _ = writeln!(output.text, "\n[after the edit, `{command}` could not be run: {why}]");
                }
                _ => {
                    let _ = writeln!(output.text, "\n[after the edit, `{command}` did not end]");
                }
            }
        }
        result
    }
}

/// The beginning of what a checker says; how it ended stands in the first line.
fn first_lines(text: &str) -> String {
    let end = text.match_indices('\n').nth(SHOWN_LINES).map_or(text.len(), |(at, _)| at + 1);
    let end = text.floor_char_boundary(end.min(SHOWN_BYTES));
    let left = text[end..].lines().count();
    let more = if left == 0 { String::new() } else { format!("[{left} more lines: run the command to see them]\n") };
    let between = if text[..end].ends_with('\n') || more.is_empty() { "" } else { "\n" };
    format!("{}{between}{more}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_for_the_files_that_its_pattern_takes() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        assert_eq!(as_argument("--version"), "./--version");
        let files = BTreeSet::from(["a.py".to_owned(), "web/it's.ts".to_owned()]);
        let command = |text: &str| EditCheck::parse(text).unwrap().command_for(&files, &workspace);
        assert_eq!(command("*.py: ruff check {files}").unwrap(), "ruff check a.py");
        assert_eq!(command("web/*.ts: tsc --noEmit").unwrap(), "tsc --noEmit");
        assert_eq!(command("*.rs: cargo check"), None);
        assert_eq!(command("echo a: b").unwrap(), "echo a: b");
        assert_eq!(command("lint {files}").unwrap(), r"lint a.py 'web/it'\''s.ts'");
        assert!(EditCheck::parse("[*: lint").is_err());
    }

    #[test]
    fn ten_lines_of_what_a_checker_says_are_shown() {
        let long = (0..20).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n";
        let shown = first_lines(&format!("[exit code 1]\n{long}"));
        assert!(shown.contains("line 9\n") && !shown.contains("line 10\n"), "{shown}");
        assert!(shown.ends_with("[10 more lines: run the command to see them]\n"), "{shown}");
        assert_eq!(first_lines("short"), "short");
    }
}
