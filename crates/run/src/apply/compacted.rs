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
                    calls.iter().for_each(|call| self.add_paths(&call.args));
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
        let texts = named.flat_map(|value| match value {
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
            value => value.as_str().into_iter().collect::<Vec<_>>(),
        });
        for path in texts {
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
            output.changes.iter().for_each(|change| self.add_path(&change.path));
        }
        if let (Reply::InDoubt { evidence }, true) = (reply, self.unknown.len() < MOST_CALLS) {
            let name = call.map_or("a call", |call| call.name.as_str());
            self.unknown.push(format!("`{name}`: {evidence}"));
        }
    }
}
