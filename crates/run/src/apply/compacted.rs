//! What is kept of turns that a summary replaces: what the person said, which files were touched, how tests ended, which
//! outputs can be read again. A summary is written by a model and may leave these out.

use serde_json::Value;

use crate::answer_calls::{ASK_USER, outcome_words};
use crate::arguments::argument_lines;
use crate::message::ToolCall;
use crate::reply::{FailureKind, Reply, ToolOutput};
use crate::shown::output_name;
use crate::step::{CompactedFacts, ConversationEntry, ToolCallOutcome, TurnResults};

/// How many files, calls and outputs are kept.
const MAX_PATHS: usize = 200;
const MAX_CALLS: usize = 40;
const MAX_OUTPUTS: usize = 100;
/// The longest path, and the longest words of one person or refusal, in bytes.
const MAX_PATH_BYTES: usize = 200;
const MAX_WORDS_BYTES: usize = 4_000;
/// How much of a call is quoted, in bytes.
const MAX_CALL_BYTES: usize = 100;
/// Shorter outputs are not worth a line.
const MIN_OUTPUT_BYTES: usize = 200;

/// The arguments that name files, in the tools that we know.
const PATHS: [&str; 6] = ["path", "paths", "file", "files", "from", "to"];

/// Words of commands that test something.
const TESTS: [&str; 8] = ["test", "tests", "pytest", "nextest", "check", "tox", "jest", "vitest"];

impl CompactedFacts {
    /// Adds what these entries say.
    pub(super) fn add(&mut self, entries: &[ConversationEntry]) {
        let mut calls: &[ToolCall] = &[];
        for entry in entries {
            match entry {
                ConversationEntry::Answer(answer) => {
                    calls = &answer.calls;
                    for call in calls {
                        self.add_paths(&call.args);
                    }
                }
                ConversationEntry::Results(results) => self.add_results(calls, results),
                ConversationEntry::Note(_) | ConversationEntry::Summary(_) => {}
            }
        }
        self.named.retain(|path| !self.changed.contains(path));
        while self.outputs.len() > MAX_OUTPUTS {
            self.outputs.pop_first();
        }
    }

    fn add_results(&mut self, calls: &[ToolCall], results: &TurnResults) {
        for (at, (n, outcome)) in results.numbered().enumerate() {
            let call = calls.get(at);
            let what = call.map_or_else(|| "a call".to_owned(), in_short);
            match outcome {
                ToolCallOutcome::Rejected(why)
                    if matches!(why.kind, FailureKind::Security | FailureKind::Unapproved) =>
                {
                    keep(&mut self.refusals, format!("{what}: {why}"));
                }
                ToolCallOutcome::Rejected(_) => {}
                ToolCallOutcome::Replied(Reply::Said(words)) => {
                    let asked =
                        call.filter(|call| call.name == ASK_USER).and_then(|call| call.args.get("question")?.as_str());
                    keep(&mut self.answers, format!("\u{201c}{}\u{201d}: {words}", asked.unwrap_or(&what)));
                }
                ToolCallOutcome::Replied(Reply::Verdict(_)) => {
                    keep(&mut self.refusals, format!("{what}: {}", outcome_words(outcome)));
                }
                ToolCallOutcome::Replied(Reply::InDoubt { evidence }) => {
                    keep(&mut self.unknown, format!("{what}: {evidence}"));
                }
                ToolCallOutcome::Replied(Reply::Output(output)) => self.add_output(n, call, &what, output),
                ToolCallOutcome::Replied(
                    Reply::Failed(_) | Reply::TimedOut { .. } | Reply::Cancelled | Reply::Answer(_),
                ) => {}
            }
        }
    }

    fn add_output(&mut self, n: u32, call: Option<&ToolCall>, what: &str, output: &ToolOutput) {
        for change in &output.changes {
            if is_path(&change.path) && self.changed.len() < MAX_PATHS {
                self.changed.insert(change.path.clone());
            }
        }
        let command = call.and_then(|call| call.args.get("command")?.as_str()).filter(|command| is_test(command));
        let exit = output.value.as_ref().and_then(|value| value.get("exit_code")?.as_i64());
        if let (Some(command), Some(exit)) = (command, exit)
            && (self.tests.len() < MAX_CALLS || self.tests.contains_key(command))
        {
            self.tests.insert(command.to_owned(), format!("exit code {exit}"));
        }
        let bytes = output.whole.map_or(output.text.len(), |whole| whole.len as usize);
        if bytes >= MIN_OUTPUT_BYTES {
            self.outputs.insert(n, format!("`{}`: {what}, {bytes} bytes", output_name(n)));
        }
    }

    fn add_paths(&mut self, args: &Value) {
        let named = PATHS.iter().filter_map(|name| args.get(name));
        let texts = named.flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice));
        for path in texts.filter_map(Value::as_str).filter(|path| is_path(path)) {
            if self.named.len() < MAX_PATHS {
                self.named.insert(path.to_owned());
            }
        }
    }
}

fn keep(list: &mut Vec<String>, words: String) {
    if list.len() < MAX_CALLS && !list.contains(&words) {
        let end = words.floor_char_boundary(MAX_WORDS_BYTES);
        list.push(if end < words.len() { format!("{}…", &words[..end]) } else { words });
    }
}

fn is_path(path: &str) -> bool {
    !path.is_empty() && path != "." && path.len() <= MAX_PATH_BYTES && !path.contains('\n')
}

fn is_test(command: &str) -> bool {
    let mut words = command.split(|letter: char| !letter.is_alphanumeric());
    words.any(|word| TESTS.contains(&word) || word == "unittest")
}

/// A call in a few words: its tool, and the argument that says most.
fn in_short(call: &ToolCall) -> String {
    let lines = argument_lines(&call.args);
    let most =
        ["command", "path", "pattern", "query", "url", "code"].iter().find_map(|name| call.args.get(*name)?.as_str());
    let said = most.map_or_else(|| lines.first().map(ToString::to_string).unwrap_or_default(), str::to_owned);
    let line = said.lines().next().unwrap_or_default();
    let end = if line.len() < said.len() || line.len() > MAX_CALL_BYTES { "…" } else { "" };
    let shown = &line[..line.floor_char_boundary(MAX_CALL_BYTES)];
    if shown.is_empty() { format!("`{}`", call.name) } else { format!("`{}` {shown}{end}", call.name) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::message::ModelAnswer;
    use crate::reply::{FileChange, ToolOutput};

    #[test]
    fn files_that_were_named_or_changed_and_calls_without_an_outcome_are_kept() {
        let call = |name: &str, args: Value| ToolCall { id: name.into(), name: name.into(), args, fault: None };
        let calls = vec![
            call("read_file", json!({ "path": "src/a.rs" })),
            call("run_command", json!({ "command": "make" })),
            call("move", json!({ "from": "old.txt", "files": ["x.md", "y.md"], "path": "." })),
        ];
        let changed = FileChange { path: "out/b.o".into(), ..FileChange::default() };
        let output = ToolOutput { changes: vec![changed], ..ToolOutput::default() };
        let outcomes = vec![
            ToolCallOutcome::Replied(Reply::Output(Arc::default())),
            ToolCallOutcome::Replied(Reply::Output(output.into())),
            ToolCallOutcome::Replied(Reply::InDoubt { evidence: "it had begun".into() }),
        ];
        let answer = Arc::new(ModelAnswer { calls, ..ModelAnswer::default() });
        let mut facts = CompactedFacts::default();
        facts.add(&[ConversationEntry::Answer(answer), ConversationEntry::Results(TurnResults { first: 1, outcomes })]);
        let named: Vec<&str> = facts.named.iter().map(String::as_str).collect();
        assert_eq!(named, ["old.txt", "src/a.rs", "x.md", "y.md"]);
        assert_eq!(facts.changed.into_iter().collect::<Vec<_>>(), ["out/b.o"]);
        assert_eq!(facts.unknown, ["`move` .: it had begun"]);
    }
}
