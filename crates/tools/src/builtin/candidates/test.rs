//! `test_candidates`: runs a command in the copy of each candidate, in the sandbox.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, PreparedCall, Reply, ToolOutput, ToolSpec};
use updraft_workspace::Place;

use super::CandidateStore;
use crate::builtin::{parse, reply, spec};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};
use crate::truncate;

/// Most bytes of a command's output that are shown for each candidate.
const SHOWN: usize = 2_000;

pub(super) struct TestCandidates {
    spec: ToolSpec,
    store: Arc<CandidateStore>,
    run_command: Arc<dyn Tool>,
}

#[derive(Deserialize)]
struct Args {
    candidates: Vec<String>,
    command: String,
}

impl TestCandidates {
    pub(super) fn new(store: Arc<CandidateStore>, run_command: Arc<dyn Tool>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "candidates": { "type": "array", "items": { "type": "string" }, "description": "Their names, as listed under \"Candidates\"." },
                "command": { "type": "string", "description": "Passed to `sh -c` in each copy; exit code 0 means passed." }
            },
            "required": ["candidates", "command"],
            "additionalProperties": false
        });
        let description = "Run a command in the copy of each candidate, in the sandbox, and say which pass.";
        Self { spec: spec("test_candidates", description, parameters), store, run_command }
    }

    async fn test(&self, args: &Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let Args { candidates, command } = parse(args)?;
        let mut text = String::new();
        let mut results = Vec::new();
        for name in candidates {
            let copy = self.store.open(&name, &cx.place)?;
            let mut own = cx.attempt();
            own.place = Place { workspace: copy.workspace.clone() };
            cx.log.line(&format!("{name}: {command}"));
            let (code, said) = match self.run_command.call(json!({ "command": command }), &own).await {
                Reply::Output(output) => {
                    (output.value.as_ref().and_then(|value| value["exit_code"].as_i64()), output.text.clone())
                }
                Reply::Failed(failure) => (None, failure.message),
                Reply::TimedOut { limit } => (None, format!("took longer than {} s", limit.0 / 1000)),
                other => (None, format!("{other:?}")),
            };
            let has_passed = code == Some(0);
            let verdict = match code {
                Some(0) => "passed".to_owned(),
                Some(code) => format!("failed with exit code {code}"),
                None => "could not be tested".to_owned(),
            };
            let _ = writeln!(text, "{name}: {verdict}");
            if !has_passed {
                text.push_str(&truncate::head_and_tail(&said, SHOWN).unwrap_or(said));
                text.push('\n');
            }
            results.push(json!({ "candidate": name, "passed": has_passed, "exit_code": code }));
        }
        Ok(ToolOutput { text, value: Some(json!({ "results": results })), ..ToolOutput::default() })
    }
}

impl Tool for TestCandidates {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        let command = self.run_command.traits();
        ToolTraits {
            // The copies are thrown away, so a test may be repeated.
            class: EffectClass::Idempotent,
            group: "candidates",
            time: command.time * 10,
            ..command
        }
    }

    /// The command is judged by the same rules as one of `run_command`.
    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        let prepared = self.run_command.prepare(&json!({ "command": args["command"] }), place);
        let known_as = Some("run_command".to_owned());
        PreparedCall { class: EffectClass::Idempotent, elsewhere: true, lists_changes: false, known_as, ..prepared }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.test(&args, cx).await) })
    }
}
