//! A program that describes itself as a tool. It gets its arguments on stdin and writes the result to stdout.

use std::sync::Arc;

use serde_json::Value;
use updraft_run::{EffectClass, Failure, FailureKind, Millis, Reply, ToolOutput, ToolSpec};
use updraft_sandbox::{ChildResult, Command, StdinMode};

use super::find::{self, CandidateKind};
use super::{DropInsShared, ListedTool, describe};
use crate::builtin::{WAIT_FOR_OTHERS, changes, now};
use crate::tool::{CallContext, Tool, ToolFuture, ToolSource, ToolTraits};

pub(super) struct ProgramTool {
    listed: ListedTool,
    shared: Arc<DropInsShared>,
}

impl ProgramTool {
    pub(super) fn new(shared: Arc<DropInsShared>, listed: ListedTool) -> Self {
        Self { listed, shared }
    }

    async fn run(&self, args: &Value, cx: &CallContext) -> Result<Reply, Failure> {
        self.compare().await?;
        let (settings, workspace) = (&self.shared.settings, cx.place.workspace.root());
        let writable = self.shared.writable(workspace, self.listed.traits.class).await?;
        let sandbox = settings.confinement.sandbox().await?;
        let confinement = &settings.confinement;
        let only_reads = self.listed.traits.class == EffectClass::Pure;
        let mut policy =
            if only_reads { confinement.policy_for_reading(&writable) } else { confinement.policy_for(&writable) };
        policy.read.extend(self.shared.readable(workspace, self.listed.traits.class));
        policy.limits.memory = policy.limits.memory.min(super::MEMORY);
        policy.limits.time = Some(settings.time);
        if self.listed.traits.class != EffectClass::Pure {
            policy.staged.clone_from(&settings.confinement.staged);
        }
        let command = Command {
            env: settings.confinement.environment.clone(),
            cwd: Some(workspace.to_owned()),
            stdin: StdinMode::Pipe,
            ..Command::new(self.listed.path.display().to_string())
        };
        let not_run = |error: updraft_sandbox::Error| {
            Failure::new(FailureKind::Security, format!("`{}` was not run: {error}", self.listed.shown))
        };
        let began = now();
        let ended = sandbox.run(&policy, command, format!("{args}\n").as_bytes()).await.map_err(not_run)?;
        settings.confinement.remember(&ended.moved_aside, &cx.around.run);
        ended.stderr.text().lines().filter(|_| ended.succeeded()).for_each(|line| cx.log.line(line));
        let mut output = self.output(&ended);
        if self.listed.traits.class != EffectClass::Pure {
            changes::tell(&mut output, &ended, &policy.write, began + ended.waited, cx).await;
        }
        if ended.timed_out() && output.changes.is_empty() {
            return Ok(Reply::TimedOut { limit: Millis(settings.time.as_millis() as u64) });
        }
        Ok(Reply::Output(Arc::new(output)))
    }

    /// Checks that the program still describes itself the same way.
    async fn compare(&self) -> Result<(), Failure> {
        let changed = |how: &str| {
            let why = format!("`{}` was changed since it described itself: {how}", self.listed.shown);
            Err(Failure::new(FailureKind::Validation, why))
        };
        let content = match find::read(&self.listed.path, CandidateKind::Program) {
            Ok(content) => content,
            Err(why) => return changed(&why),
        };
        if content.hash == self.listed.hash {
            return Ok(());
        }
        let (described, _) = describe::program(&self.shared, &self.listed.path).await;
        match described.tools.iter().find(|tool| tool.name == self.listed.spec.name) {
            None => changed(&format!("it is no longer a tool named `{}`", self.listed.spec.name)),
            Some(now)
                if now.parameters != self.listed.definition.parameters
                    || now.output != self.listed.definition.output =>
            {
                changed("its parameters or its output schema have changed; a new run will use the new ones")
            }
            Some(_) => Ok(()),
        }
    }

    fn output(&self, ended: &ChildResult) -> ToolOutput {
        let (said, hosts) = (ended.stdout.text(), ended.reached.clone());
        if !ended.succeeded() {
            return ToolOutput { text: self.failed(ended, &said), is_error: true, hosts, ..ToolOutput::default() };
        }
        let value = serde_json::from_str::<Value>(&said).ok();
        let text = match &value {
            Some(Value::String(text)) => text.clone(),
            Some(_) | None => said.trim_end().to_owned(),
        };
        let text = text + &crate::left_behind(&ended.moved_aside, &ended.troubles);
        let (untrusted, value) = (self.listed.traits.sends, value.filter(|value| !value.is_null()));
        let origins = if untrusted { vec![self.listed.shown.clone()] } else { Vec::new() };
        ToolOutput { text, value, untrusted, origins, hosts, ..ToolOutput::default() }
    }

    fn failed(&self, ended: &ChildResult, said: &str) -> String {
        let how = match ended.killed_for {
            Some(limit) => format!("was killed: {limit}"),
            None => format!("ended with exit code {}", ended.exit_code()),
        };
        let mut lines = vec![format!("`{}` {how}", self.listed.spec.name)];
        lines.extend(ended.refused.iter().map(|refusal| format!("[{refusal}]")));
        let complaint = ended.stderr.text();
        let complaint = if complaint.trim().is_empty() { said } else { &complaint };
        lines.push(complaint.trim().to_owned());
        lines.retain(|line| !line.is_empty());
        lines.join("\n") + &crate::left_behind(&ended.moved_aside, &ended.troubles)
    }
}

impl Tool for ProgramTool {
    fn spec(&self) -> &ToolSpec {
        &self.listed.spec
    }

    fn traits(&self) -> ToolTraits {
        let ToolTraits { time, .. } = self.listed.traits;
        ToolTraits { time: time + WAIT_FOR_OTHERS, ..self.listed.traits }
    }

    fn output(&self) -> Option<&Value> {
        self.listed.definition.output.as_ref()
    }

    fn source(&self) -> ToolSource {
        ToolSource::File(self.listed.shown.clone())
    }

    fn words_from(&self) -> Option<String> {
        self.listed.words_from.clone()
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            tokio::select! {
                reply = self.run(&args, cx) => reply.unwrap_or_else(Reply::Failed),
                // Dropping the child ends everything it started.
                () = cx.cancel.cancelled() => Reply::Cancelled,
            }
        })
    }
}
