//! Handles tool calls from Python code: each is made like a call of the agent, and what it touched counts as touched
//! by the code.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{FileChange, Reply, ToolCall, ToolCallOutcome, ToolOutput, outcome_words};

use crate::tool::CallContext;
use crate::worker::{WorkerAnswerFuture, WorkerHost};

/// Answers the requests of Python code.
pub(super) struct PythonHost<'a> {
    cx: &'a CallContext,
    touched: Mutex<CodeEffects>,
}

/// What the tool calls of one piece of code did.
#[derive(Default)]
struct CodeEffects {
    calls: u32,
    /// The first called tool that must not be called twice.
    unrepeatable: Option<String>,
    is_untrusted: bool,
    origins: Vec<String>,
    hosts: Vec<String>,
    changes: Vec<FileChange>,
}

#[derive(Deserialize)]
struct CodeCall {
    tool: String,
    #[serde(default)]
    args: Value,
}

impl<'a> PythonHost<'a> {
    pub(super) fn new(cx: &'a CallContext) -> Self {
        Self { cx, touched: Mutex::default() }
    }

    /// The first called tool that must not be called again.
    pub(super) fn unrepeatable(&self) -> Option<String> {
        self.touched().unrepeatable.clone()
    }

    /// Records hosts that the code itself connected to.
    pub(super) fn reached(&self, hosts: &[String]) {
        let known = &mut self.touched().hosts;
        for host in hosts {
            if !known.contains(host) {
                known.push(host.clone());
            }
        }
    }

    /// Adds to the code's output what its tool calls read, sent and changed.
    pub(super) fn with_what_they_touched(&self, mut output: ToolOutput) -> ToolOutput {
        let touched = self.touched();
        output.untrusted |= touched.is_untrusted;
        output.origins.extend(touched.origins.iter().cloned());
        output.hosts.extend(touched.hosts.iter().cloned());
        output.changes.extend(touched.changes.iter().cloned());
        output
    }

    fn touched(&self) -> MutexGuard<'_, CodeEffects> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn make(&self, what: Value) -> Result<Value, String> {
        let CodeCall { tool, args } =
            serde_json::from_value(what).map_err(|error| format!("this is not a tool call: {error}"))?;
        let Some(caller) = &self.cx.around.caller else {
            return Err("tools cannot be called from code here: this call does not belong to a run".to_owned());
        };
        if tool == "run_python" {
            return Err("`run_python` cannot be called from code; put that code here".to_owned());
        }
        let call = {
            let mut touched = self.touched();
            touched.calls += 1;
            ToolCall { id: format!("code.{}", touched.calls), name: tool, args, fault: None }
        };
        if !caller.class(&call).is_repeatable() {
            self.touched().unrepeatable.get_or_insert_with(|| call.name.clone());
        }
        self.taken(caller.call(call).await)
    }

    fn taken(&self, reply: Reply) -> Result<Value, String> {
        let output = match reply {
            Reply::Output(output) => output,
            Reply::Failed(failure) => return Err(failure.message),
            other => return Err(outcome_words(&ToolCallOutcome::Replied(other)).into_owned()),
        };
        let mut touched = self.touched();
        touched.is_untrusted |= output.untrusted;
        let CodeEffects { origins, hosts, changes, .. } = &mut *touched;
        origins.extend(output.origins.iter().filter(|one| !origins.contains(one)).cloned().collect::<Vec<_>>());
        hosts.extend(output.hosts.iter().filter(|one| !hosts.contains(one)).cloned().collect::<Vec<_>>());
        changes.extend(output.changes.iter().cloned());
        if output.is_error {
            return Err(output.text.clone());
        }
        Ok(json!({ "value": output.value, "text": output.text }))
    }
}

impl WorkerHost for PythonHost<'_> {
    fn answer(&self, what: Value) -> WorkerAnswerFuture<'_> {
        Box::pin(async move {
            match self.make(what).await {
                Ok(value) => value,
                Err(why) => json!({ "error": why }),
            }
        })
    }

    fn printed(&self, text: &str) {
        for line in text.lines() {
            self.cx.log.line(line);
        }
    }
}
