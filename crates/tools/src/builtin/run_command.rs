//! `run_command`: a shell command in the sandbox, with a time limit and nobody to answer it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use updraft_run::{Class, Failure, FailureKind, Output, Prepared, Reply, ToolSpec};
use updraft_sandbox::{Command, Ended, Level, Network, Policy, Sandbox};

use super::{changes, parse, reply, spec, whole};
use crate::place::Place;
use crate::tool::{CallContext, Calling, Tool, Traits};

/// What a command may take if it does not say.
const USUAL_TIME: u64 = 120;
/// No command is waited for longer.
const LONGEST_TIME: u64 = 3_600;

/// How commands are run: the same for all of a process, whatever the workspace.
#[derive(Clone, Debug)]
pub struct Commands {
    /// The program that confines them: our own, executed again.
    pub launcher: std::path::PathBuf,
    /// What the user allows at least and at most; `None` takes the best there is, and no less than Landlock.
    pub level: Option<Level>,
    /// What they may do beyond the workspace; its own `workspace` is put in for each call.
    pub policy: Policy,
    /// The variables there are; the policy says which pass.
    pub environment: Vec<(String, String)>,
}

pub(super) struct RunCommand {
    spec: ToolSpec,
    commands: Commands,
    /// Found out with the first command.
    sandbox: OnceCell<Sandbox>,
}

#[derive(Deserialize)]
struct Args {
    command: String,
    #[serde(default)]
    folder: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    seconds: Option<u64>,
}

impl RunCommand {
    pub(super) fn new(commands: Commands) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "description": "For `sh -c`, run in the workspace.", "examples": ["ls -l"] },
                "folder": { "type": "string", "description": "Where to run it, relative to the workspace." },
                "seconds": { "type": "integer", "minimum": 1, "maximum": LONGEST_TIME, "description": format!("Time limit; {USUAL_TIME} if left out.") }
            },
            "required": ["command"],
            "additionalProperties": false
        });
        let network = match &commands.policy.network {
            Network::None => "It has no network beyond its own loopback.".to_owned(),
            Network::Allow(hosts) => {
                let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
                format!("Of the network it reaches {} only.", hosts.join(", "))
            }
            Network::Host => "It can reach the network.".to_owned(),
        };
        let description = format!(
            "Run a shell command in a sandbox: it sees the workspace and the system's programs, can write in the \
             workspace and in its own /tmp, and gets no input. {network} Everything it started is gone when it ends."
        );
        Self { spec: spec("run_command", &description, parameters), commands, sandbox: OnceCell::new() }
    }

    async fn run(&self, args: Value, cx: &CallContext) -> Result<Output, Failure> {
        let args: Args = parse(&args)?;
        let sandbox = self.sandbox.get_or_try_init(|| self.commands.sandbox()).await?;
        let root = cx.place.workspace.root();
        let mut policy = Policy { workspace: root.to_owned(), ..self.commands.policy.clone() };
        policy.limits.time = Some(Duration::from_secs(args.seconds.unwrap_or(USUAL_TIME).min(LONGEST_TIME)));
        let folder = args.folder.as_deref().map(|folder| cx.place.workspace.locate(folder)).transpose()?;
        let command = Command {
            args: vec!["-c".to_owned(), args.command],
            env: self.commands.environment.clone(),
            cwd: folder.map(|folder| root.join(folder.as_str())),
            ..Command::new("sh")
        };
        let began = now();
        let started = sandbox.spawn(&policy, command).await.map_err(|error| not_run(&error))?;
        let ended = started.wait().await.map_err(|error| not_run(&error))?;
        let mut output = output(&ended);
        changes::tell(&mut output, &ended, began, cx).await;
        Ok(output)
    }
}

impl Commands {
    /// The sandbox at the level that is to be had; never lower than was said, and none only where that was said.
    async fn sandbox(&self) -> Result<Sandbox, Failure> {
        let probe = Sandbox::probe(&self.launcher).await.map_err(|error| not_run(&error))?;
        let level = self.level.unwrap_or(probe.level);
        if level > probe.level || (level == Level::None && self.level.is_none()) {
            let causes: Vec<String> =
                probe.missing.iter().map(|missing| format!("{}: {}", missing.cause, missing.remedy)).collect();
            return Err(Failure::new(
                FailureKind::Security,
                format!("no command can be run: the sandbox is not to be had here ({})", causes.join("; ")),
            ));
        }
        Sandbox::new(&self.launcher, level).map_err(|error| not_run(&error))
    }
}

impl Tool for RunCommand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> Traits {
        let outside = self.commands.policy.network == Network::Host || self.commands.level == Some(Level::None);
        let time = Duration::from_secs(LONGEST_TIME + 60);
        Traits { class: Class::Opaque, group: "sandbox", outside, time, ..Traits::default() }
    }

    fn prepare(&self, args: &Value, _place: &Place) -> Prepared {
        let Traits { class, outside, .. } = self.traits();
        let hosts = match &self.commands.policy.network {
            Network::None | Network::Host => Vec::new(),
            Network::Allow(hosts) => hosts.iter().map(ToString::to_string).collect(),
        };
        let command = args["command"].as_str().map(str::to_owned);
        Prepared { class, outside, command, hosts, ..Prepared::default() }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> Calling<'a> {
        Box::pin(async move {
            tokio::select! {
                ended = self.run(args, cx) => reply(ended),
                // Dropping the child ends everything it started.
                () = cx.cancel.cancelled() => Reply::Cancelled,
            }
        })
    }
}

pub(super) fn tool(commands: Commands) -> Arc<dyn Tool> {
    Arc::new(RunCommand::new(commands))
}

#[expect(clippy::disallowed_methods, reason = "compared with the times of files, which the system's clock gives")]
fn now() -> SystemTime {
    SystemTime::now()
}

fn not_run(error: &updraft_sandbox::Error) -> Failure {
    Failure::new(FailureKind::Security, format!("the command was not run: {error}"))
}

/// What the model is told: how it ended, what it said, what was refused and moved.
fn output(ended: &Ended) -> Output {
    let mut lines = vec![head(ended)];
    lines.extend(ended.refused.iter().map(|refusal| format!("[{refusal}]")));
    lines.extend(ended.moved_aside.iter().map(|moved| {
        let (path, kept, why) = (moved.path.display(), moved.kept_at.display(), &moved.why);
        format!("[`{path}` would run later ({why}); it was moved to `{kept}` until someone approves it]")
    }));
    lines.extend(ended.troubles.iter().map(|trouble| format!("[{trouble}]")));
    for (name, said) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
        let text = said.text();
        if !text.trim().is_empty() {
            lines.push(format!("{name}:\n{}", text.trim_end()));
        }
    }
    let value = json!({
        "exit_code": ended.exit_code(),
        "timed_out": ended.timed_out(),
        "level": ended.level.to_string(),
        "milliseconds": ended.elapsed.as_millis() as u64,
    });
    Output { text: lines.join("\n") + "\n", value: Some(value), is_error: !ended.succeeded(), ..Output::default() }
}

fn head(ended: &Ended) -> String {
    let how = match ended.killed_for {
        Some(limit) => format!("ended by its limit ({limit:?})").to_lowercase(),
        None => format!("exit code {}", ended.exit_code()),
    };
    let level = match ended.level {
        Level::Full => String::new(),
        Level::Landlock | Level::None => format!(", sandbox level {}", ended.level),
    };
    format!("[{how}, {:.1} s{level}]", ended.elapsed.as_secs_f64())
}
