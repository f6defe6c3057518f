//! `background`: reads what a background command prints, waits for a line or a port, and stops it.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, PreparedCall, Reply, ToolOutput, ToolSpec};
use updraft_workspace::Place;

use super::{parse, reply, spec, whole};
use crate::background_commands::{BackgroundCommand, BackgroundCommands, WaitTarget};
use crate::confinement::Confinement;
use crate::tool::{CallContext, ReleaseFuture, Tool, ToolFuture, ToolTraits};

/// The wait in seconds if the call sets none.
const USUAL_WAIT: u64 = 30;
/// The longest wait that a call can set, in seconds.
const LONGEST_WAIT: u64 = 600;
/// How long a command that was just started is watched, so that one that fails at once is reported at once.
const FIRST_LOOK: Duration = Duration::from_secs(1);

pub(super) struct Background {
    spec: ToolSpec,
    confinement: Confinement,
    commands: BackgroundCommands,
}

#[derive(Deserialize)]
struct Args {
    name: String,
    #[serde(default)]
    wait: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    seconds: Option<u64>,
    #[serde(default)]
    stop: bool,
}

impl Background {
    pub(super) fn new(confinement: Confinement, commands: BackgroundCommands) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "wait": { "type": "string", "minLength": 1, "description": "Part of a line, or a port." },
                "seconds": { "type": "integer", "minimum": 1, "maximum": LONGEST_WAIT, "description": format!("Longest wait; default {USUAL_WAIT}.") },
                "stop": { "type": "boolean" }
            },
            "required": ["name"],
            "additionalProperties": false
        });
        let description =
            "Read what a background command printed since the last read; first wait for a line or a port, or stop it.";
        Self { spec: spec("background", description, parameters), confinement, commands }
    }

    async fn run(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let Args { name, wait, seconds, stop } = parse(&args)?;
        let command = self.commands.find(&name, &cx.around)?;
        let sandbox = self.confinement.sandbox().await?;
        let limit = Duration::from_secs(seconds.unwrap_or(USUAL_WAIT).min(LONGEST_WAIT));
        let target = wait.map(|wait| match wait.parse() {
            Ok(port) => WaitTarget::Port(port, self.commands.ports(&cx.around, sandbox)),
            Err(_) => WaitTarget::Line(wait),
        });
        // With a time alone, anything new is waited for.
        let target = target.or_else(|| seconds.filter(|_| !stop).map(|_| WaitTarget::Output));
        let mut outcome = WaitOutcome::None;
        if let Some(target) = target {
            outcome = WaitOutcome::of(&target, command.wait_for(&target, limit).await, limit);
        }
        if stop {
            command.stop().await;
        }
        let left = command.look_after(&self.confinement, &cx.around.run).await;
        let mut output = report(&command, &outcome);
        if !left.is_empty() {
            output.text = format!("{left}\n{}", output.text);
        }
        output.background = Some(self.commands.live(&cx.around.run, &cx.around.step));
        output.hosts = command.reached();
        mark_origins(&mut output, &self.confinement);
        Ok(output)
    }
}

/// What a program with a network prints may come from there.
fn mark_origins(output: &mut ToolOutput, confinement: &Confinement) {
    if confinement.traits().sends {
        output.untrusted = true;
        output.origins = updraft_run::network_origins(&confinement.hosts());
    }
}

/// What became of waiting.
enum WaitOutcome {
    /// Nothing was waited for.
    None,
    Came(String),
    DidNotCome(String),
}

impl WaitOutcome {
    fn of(target: &WaitTarget, has_come: bool, limit: Duration) -> Self {
        let seconds = limit.as_secs();
        match (target, has_come) {
            (WaitTarget::Output | WaitTarget::End, _) => WaitOutcome::None,
            (WaitTarget::Line(part), true) => WaitOutcome::Came(format!("it printed `{part}`")),
            (WaitTarget::Line(part), false) => {
                WaitOutcome::DidNotCome(format!("it did not print `{part}` within {seconds} s"))
            }
            (WaitTarget::Port(port, _), true) => WaitOutcome::Came(format!("port {port} accepts connections")),
            (WaitTarget::Port(port, _), false) => {
                WaitOutcome::DidNotCome(format!("port {port} accepts no connections after {seconds} s"))
            }
        }
    }
}

/// The text for the model: whether it runs, what was waited for, and what is new.
fn report(command: &BackgroundCommand, outcome: &WaitOutcome) -> ToolOutput {
    let (name, end) = (&command.name, command.end());
    // With its age no two reports are the same: who looks again while it works does not go round in circles.
    let mut text = match (end, outcome) {
        (None, WaitOutcome::None) => format!("[{name} runs, {}]\n", command.age()),
        (None, WaitOutcome::Came(what) | WaitOutcome::DidNotCome(what)) => {
            format!("[{name} runs, {}; {what}]\n", command.age())
        }
        (Some(end), _) => format!("[{name} has ended: {}]\n{}", end.words, end.remarks),
    };
    let printed = command.take_unread();
    text.push_str(if printed.is_empty() { "[nothing new was printed]\n" } else { &printed });
    let is_error = match (end, outcome) {
        (None, outcome) => matches!(outcome, WaitOutcome::DidNotCome(_)),
        (Some(end), outcome) => end.has_failed || matches!(outcome, WaitOutcome::DidNotCome(_)),
    };
    let value = json!({ "name": name, "runs": end.is_none(), "exit_code": end.and_then(|end| end.exit_code) });
    ToolOutput { text, value: Some(value), is_error, ..ToolOutput::default() }
}

/// The result of starting one: what it has printed in its first moments.
pub(super) async fn started(
    command: &BackgroundCommand,
    commands: &BackgroundCommands,
    confinement: &Confinement,
    cx: &CallContext,
) -> ToolOutput {
    command.wait_for(&WaitTarget::End, FIRST_LOOK).await;
    let mut output = report(command, &WaitOutcome::None);
    if command.end().is_none() {
        let head = format!("[{} runs until you stop it or your task ends; read it with `background`]", command.name);
        let rest = output.text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        output.text = format!("{head}\n{rest}");
    }
    output.background = Some(commands.live(&cx.around.run, &cx.around.step));
    output.hosts = command.reached();
    output.unlisted = Some(format!("what {} changes while it runs is not listed and cannot be undone", command.name));
    mark_origins(&mut output, confinement);
    output
}

impl Tool for Background {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        let time = Duration::from_secs(LONGEST_WAIT + 30);
        ToolTraits { class: EffectClass::Pure, group: "sandbox", time, ..ToolTraits::default() }
    }

    fn prepare(&self, args: &Value, _place: &Place) -> PreparedCall {
        // Its command was judged when it was started. It may have read any file and prints what it likes.
        let reads = vec![".".to_owned()];
        let class = if args["stop"] == json!(true) { EffectClass::Idempotent } else { EffectClass::Pure };
        PreparedCall { class, reads, ..PreparedCall::default() }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            tokio::select! {
                read = self.run(args, cx) => reply(read),
                () = cx.cancel.cancelled() => Reply::Cancelled,
            }
        })
    }

    fn release<'a>(&'a self, run: Option<&'a str>) -> ReleaseFuture<'a> {
        Box::pin(self.commands.end(run, None))
    }

    fn end_step<'a>(&'a self, run: &'a str, step: &'a str) -> ReleaseFuture<'a> {
        Box::pin(self.commands.end(Some(run), Some(step)))
    }

    fn comes_with(&self) -> Option<&str> {
        Some("run_command")
    }

    fn running(&self, run: &str, step: &str) -> Vec<String> {
        self.commands.live(run, step)
    }
}

pub(super) fn tool(confinement: Confinement, commands: BackgroundCommands) -> Arc<dyn Tool> {
    Arc::new(Background::new(confinement, commands))
}
