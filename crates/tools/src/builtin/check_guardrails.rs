//! `check_guardrails`: checks a goal or an answer by the guardrails of the run. The run calls it itself; no agent is offered
//! it.

use std::fmt::Write as _;
use std::io::Read;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, PreparedCall, Reply, ToolOutput, ToolSpec};
use updraft_workspace::{LinkPolicy, Place};

use super::{parse, reply, spec};
use crate::guardrails::{GuardPoint, GuardSubject, Guardrails};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

/// How much of each file of a goal is checked, in bytes.
const FILE: u64 = 1 << 20;
/// A person who is asked may take long; the run waits without a process.
const TIME: Duration = Duration::from_hours(24 * 365);

pub(crate) struct CheckGuardrails {
    spec: ToolSpec,
    guardrails: Guardrails,
}

#[derive(Deserialize)]
struct Args {
    when: String,
    text: String,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    false_citations: Vec<String>,
}

impl CheckGuardrails {
    pub(crate) fn new(guardrails: Guardrails) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "when": { "type": "string", "enum": ["input", "output"] },
                "text": { "type": "string" },
                "files": { "type": "array", "items": { "type": "string" } },
                "false_citations": { "type": "array", "items": { "type": "string" } }
            },
            "required": ["when", "text"],
            "additionalProperties": false
        });
        let description = "Check a goal or an answer by the guardrails.";
        Self { spec: spec(updraft_run::CHECK_GUARDRAILS, description, parameters), guardrails }
    }

    async fn check(&self, args: &Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let Args { when, mut text, files, false_citations } = parse(args)?;
        let point = if when == "input" { GuardPoint::Input } else { GuardPoint::Output };
        for file in &files {
            let _ = write!(text, "\n\n# {file}\n\n{}", content(file, &cx.place).unwrap_or_default());
        }
        let names = self.guardrails.names_at(point).join(", ");
        let subject = GuardSubject { text: &text, call: None, called: "", false_citations: &false_citations };
        Ok(match self.guardrails.judge(point, &subject, cx).await {
            None => output(format!("passed: {names}"), json!({ "passed": true }), false),
            Some(found) => {
                let (name, why) = (found.guardrail, found.why);
                let value = json!({ "passed": false, "guardrail": name, "action": found.action.word(), "why": why });
                output(format!("the guardrail `{name}`: {why}"), value, true)
            }
        })
    }
}

impl Tool for CheckGuardrails {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        let (class, group) = (EffectClass::Idempotent, "proof");
        ToolTraits { class, group, only_by_name: true, time: TIME, ..ToolTraits::default() }
    }

    fn prepare(&self, _: &Value, _: &Place) -> PreparedCall {
        PreparedCall { class: EffectClass::Idempotent, elsewhere: true, ..PreparedCall::default() }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            tokio::select! {
                checked = self.check(&args, cx) => reply(checked),
                () = cx.cancel.cancelled() => Reply::Cancelled,
            }
        })
    }
}

/// The text of a file of the goal; what is no text has none.
fn content(file: &str, place: &Place) -> Option<String> {
    let located = place.workspace.locate(file).ok()?;
    let (opened, _) = place.workspace.open_file(&located, LinkPolicy::Inside).ok()?;
    let mut bytes = Vec::new();
    opened.take(FILE).read_to_end(&mut bytes).ok()?;
    updraft_workspace::text::decode(&bytes).map(|(text, _)| text)
}

fn output(text: String, value: Value, is_error: bool) -> ToolOutput {
    ToolOutput { text: text + "\n", value: Some(value), is_error, ..ToolOutput::default() }
}
