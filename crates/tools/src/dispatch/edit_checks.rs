//! Runs the user's checkers after an agent has edited files, and appends what they say to the result: once for all edits of a
//! turn.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use updraft_run::{Reply, ToolCall};

use super::{CallResult, Dispatcher};
use crate::tool::CallContext;
use crate::truncate;

/// The tools whose calls are edits.
const EDITS: [&str; 3] = ["append_line", "edit_file", "write_file"];
/// How long one checker may take, in seconds.
const TIME: u64 = 120;
/// How much of a checker's output the agent is shown, in bytes.
const SHOWN: usize = 4_000;

/// The edits that are being made.
#[derive(Clone, Default)]
pub(super) struct EditsUnderWay {
    count: Arc<AtomicUsize>,
    /// Whether something was edited since the last check.
    is_due: Arc<AtomicBool>,
}

/// One edit, until it has ended.
pub(super) struct EditInProgress(EditsUnderWay);

impl EditsUnderWay {
    /// Begins an edit, if a call is one and there are checkers.
    pub(super) fn begin(&self, tool: &str, checks: &[String]) -> Option<EditInProgress> {
        if checks.is_empty() || !EDITS.contains(&tool) {
            return None;
        }
        self.count.fetch_add(1, Ordering::AcqRel);
        Some(EditInProgress(self.clone()))
    }
}

impl EditInProgress {
    /// Ends it. Whether checks are due now: something was edited, and no other edit is under way.
    fn end(self, result: &CallResult) -> bool {
        let has_edited = matches!(&result.reply, Reply::Output(output) if !output.is_error);
        if has_edited {
            self.0.is_due.store(true, Ordering::Release);
        }
        let is_last = self.0.count.load(Ordering::Acquire) == 1;
        has_edited && is_last && self.0.is_due.swap(false, Ordering::AcqRel)
    }
}

impl Drop for EditInProgress {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Dispatcher {
    /// The result of an edit, with what the checkers say about the files now.
    pub(super) async fn with_checks(
        &self,
        edit: EditInProgress,
        mut result: CallResult,
        checks: &[String],
        cx: &CallContext,
    ) -> CallResult {
        if !edit.end(&result) {
            return result;
        }
        for command in checks {
            let args = json!({ "command": command, "seconds": TIME });
            let call = ToolCall { id: "check".into(), name: "run_command".into(), args, fault: None };
            let checked = Box::pin(self.call(&call, cx)).await;
            result.kept.extend(checked.kept);
            let Reply::Output(output) = &mut result.reply else { break };
            let output = Arc::make_mut(output);
            match checked.reply {
                Reply::Output(said) => {
                    let how = if said.is_error { "found problems" } else { "found nothing" };
                    let _ = writeln!(output.text, "\n[after the edit, `{command}` {how}]");
                    if said.is_error {
                        let shown = truncate::head_and_tail(&said.text, SHOWN);
                        output.text.push_str(shown.as_deref().unwrap_or(&said.text));
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
