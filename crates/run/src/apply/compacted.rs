//! What is kept of turns that a summary replaces: which files they touched, and which calls have no known outcome. A
//! summary is written by a model and may leave these out.

use serde_json::Value;

use crate::message::ToolCall;
use crate::reply::Reply;
use crate::step::{CompactedFacts, ConversationEntry, ToolCallOutcome};

/// How many files and how many calls are kept.
const MOST_PATHS: usize = 200;
const MOST_CALLS: usize = 20;
/// The longest path that counts as one.
const LONGEST: usize = 200;

/// The arguments that name files, in the tools that we know.
const PATHS: [&str; 6] = ["path", "paths", "file", "files", "from", "to"];

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
                ConversationEntry::Results(outcomes) => {
                    for (at, outcome) in outcomes.iter().enumerate() {
                        self.add_outcome(calls.get(at), outcome);
                    }
                }
                ConversationEntry::Note(_) | ConversationEntry::Summary(_) => {}
            }
        }
    }

    fn add_paths(&mut self, args: &Value) {
        let named = PATHS.iter().filter_map(|name| args.get(name));
        let texts = named.flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice));
        for path in texts.filter_map(Value::as_str) {
            self.add_path(path);
        }
    }

    fn add_path(&mut self, path: &str) {
        let is_path = !path.is_empty() && path != "." && path.len() <= LONGEST && !path.contains('\n');
        if is_path && self.paths.len() < MOST_PATHS {
            self.paths.insert(path.to_owned());
        }
    }

    fn add_outcome(&mut self, call: Option<&ToolCall>, outcome: &ToolCallOutcome) {
        let ToolCallOutcome::Replied(reply) = outcome else { return };
        if let Reply::Output(output) = reply {
            for change in &output.changes {
                self.add_path(&change.path);
            }
        }
        if let (Reply::InDoubt { evidence }, true) = (reply, self.unknown.len() < MOST_CALLS) {
            let name = call.map_or("a call", |call| call.name.as_str());
            self.unknown.push(format!("`{name}`: {evidence}"));
        }
    }
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
        facts.add(&[ConversationEntry::Answer(answer), ConversationEntry::Results(outcomes)]);
        let paths: Vec<&str> = facts.paths.iter().map(String::as_str).collect();
        assert_eq!(paths, ["old.txt", "out/b.o", "src/a.rs", "x.md", "y.md"]);
        assert_eq!(facts.unknown, ["`move`: it had begun"]);
    }
}
