//! `run_command`: runs a shell command in the sandbox, with a time limit and without anyone to answer its questions.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, FailureKind, PreparedCall, Reply, SimpleCommand, ToolOutput, ToolSpec};
use updraft_sandbox::{
    CaptureOptions, ChildResult, Command, LineListener, MovedFile, OutputMode as Streams, Policy, SandboxLevel,
};
use updraft_workspace::Place;

use super::{background, changes, parse, reply, spec, whole};
use crate::background_commands::{BackgroundCommands, BackgroundStart};
use crate::confinement::{Confinement, NO_NETWORK, not_started};
use crate::shell;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

/// The time limit in seconds if the call sets none.
pub const USUAL_TIME: u64 = 120;
/// The longest time limit that a call can set, in seconds.
const LONGEST_TIME: u64 = 3_600;
/// How long a command may wait for other commands, and for being run again because of them, in addition to its own
/// time.
pub(crate) const WAIT_FOR_OTHERS: Duration = Duration::from_hours(1);
/// Bytes kept of the beginning and of the end of each stream. The model gets far less of it; the rest is stored with
/// the run.
const KEPT: usize = 8 << 20;

pub(super) struct RunCommand {
    spec: ToolSpec,
    confinement: Confinement,
    background: BackgroundCommands,
}

#[derive(Deserialize)]
struct Args {
    command: String,
    #[serde(default)]
    folder: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    seconds: Option<u64>,
    #[serde(default)]
    background: bool,
}

impl RunCommand {
    pub(super) fn new(confinement: Confinement, background: BackgroundCommands) -> Self {
        let mut parameters = json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "description": "Passed to `sh -c` in the workspace.", "examples": ["ls -l"] },
                "folder": { "type": "string", "description": "Where to run it, relative to the workspace." },
                "seconds": { "type": "integer", "minimum": 1, "maximum": LONGEST_TIME, "description": format!("Time limit; default {USUAL_TIME}.") }
            },
            "required": ["command"],
            "additionalProperties": false
        });
        if !confinement.only_reads() {
            parameters["properties"]["background"] = json!({
                "type": "boolean",
                "description": "Keep it running (servers, watchers) and go on; see `background`."
            });
        }
        let writes = if confinement.only_reads() {
            "can write in its own /tmp only (this run is read-only: writing in the workspace fails)"
        } else {
            "can write in the workspace and in its own /tmp"
        };
        let network = if confinement.only_reads() { NO_NETWORK.to_owned() } else { confinement.network_in_words() };
        let description = format!(
            "Run a {} command in a sandbox: it sees the workspace and the system's programs, {writes}, and gets no \
             input. {network} When it ends, all processes it started end too. Calls of one turn take effect in the order \
             given, as with `;` and not `&&`: one that fails does not stop those behind it.",
            shell::program()
        );
        Self { spec: spec("run_command", &description, parameters), confinement, background }
    }

    /// The programs of a command that the user has at a place which the sandbox does not show, each in a sentence.
    fn hidden(&self, policy: &Policy, parts: &[SimpleCommand]) -> Vec<String> {
        let variable = self.confinement.environment.iter().find(|(name, _)| name == "PATH");
        let path = variable.map_or("", |(_, path)| path.as_str());
        let names: BTreeSet<&str> = parts.iter().filter_map(|part| part.words.first()?.as_deref()).collect();
        let names = names.into_iter().filter(|name| !name.contains('/'));
        let hidden = policy.hidden_programs(names, path);
        hidden
            .iter()
            .map(|program| format!("{program}; the user can show it with `--read {}`", program.folder.display()))
            .collect()
    }

    async fn run(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let args: Args = parse(&args)?;
        let sandbox = self.confinement.sandbox().await?;
        let root = cx.place.workspace.root();
        let only_reads = self.confinement.only_reads();
        // Commands must be allowed to work in the folder itself, even if they only read it.
        self.confinement
            .policy_for(root)
            .check()
            .map_err(|error| Failure::new(FailureKind::Security, error.to_string()))?;
        // Takes the place of the workspace as the writable folder, so that none of the user's files can be written.
        let empty = only_reads.then(tempfile::tempdir).transpose().map_err(|error| no_folder(&error))?;
        let mut policy = match &empty {
            Some(empty) => self.confinement.policy_for_looking(root, empty.path()),
            None => self.confinement.policy_for(root),
        };
        if args.background && !only_reads {
            let folder = args.folder.as_deref().map(|folder| cx.place.workspace.locate(folder)).transpose()?;
            let folder = folder.map_or_else(|| root.to_owned(), |folder| root.join(folder.as_str()));
            let start = BackgroundStart { command: args.command, folder, policy };
            let started = self.background.start(start, &self.confinement, cx).await?;
            return Ok(background::started(&started, &self.background, &self.confinement, cx).await);
        }
        if !only_reads {
            policy.staged.clone_from(&self.confinement.staged);
        }
        let asked = args.seconds.map(|seconds| Duration::from_secs(seconds.min(LONGEST_TIME)));
        // The time in the settings is both the upper limit and the default.
        let set = policy.limits.time;
        let time = asked.or(set).unwrap_or(Duration::from_secs(USUAL_TIME));
        policy.limits.time = Some(set.map_or(time, |most| time.min(most)));
        let folder = args.folder.as_deref().map(|folder| cx.place.workspace.locate(folder)).transpose()?;
        let parts = shell::parts(&args.command);
        let shown = cx.output.clone();
        let listener = LineListener::to(move |line| shown.line(line));
        let command = Command {
            args: vec!["-c".to_owned(), args.command],
            env: self.confinement.environment.clone(),
            cwd: Some(folder.map_or_else(|| root.to_owned(), |folder| root.join(folder.as_str()))),
            output: Streams::Capture(CaptureOptions { head: KEPT, tail: KEPT, listener, ..CaptureOptions::default() }),
            network: self.background.network(&cx.around),
            ..Command::new(shell::program())
        };
        let began = now();
        let ended = sandbox.run(&policy, command, &[]).await.map_err(|error| not_started(&error))?;
        self.confinement.remember(&ended.moved_aside, &cx.around.run);
        let mut output = output(&ended, more_time(set));
        output.hosts.extend(self.background.reached(&cx.around));
        if output.is_error && ended.level != SandboxLevel::None {
            let hidden = self.hidden(&policy, &parts);
            for program in hidden {
                let _ = writeln!(output.text, "[{program}]");
            }
        }
        if !only_reads {
            changes::tell(&mut output, &ended, &policy.write, began + ended.waited, cx).await;
        }
        Ok(output)
    }
}

impl Tool for RunCommand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        let (group, time) = ("sandbox", Duration::from_secs(LONGEST_TIME + 60) + WAIT_FOR_OTHERS);
        if self.confinement.only_reads() {
            return ToolTraits { class: EffectClass::Pure, group, time, ..ToolTraits::default() };
        }
        ToolTraits { group, time, ..self.confinement.traits() }
    }

    fn prepare(&self, args: &Value, _place: &Place) -> PreparedCall {
        let ToolTraits { class, outside, sends, destroys, .. } = self.traits();
        let command = args["command"].as_str().map(str::to_owned);
        let parts = command.as_deref().map(shell::parts).unwrap_or_default();
        if self.confinement.only_reads() {
            return PreparedCall { class, command, parts, only_reads: true, ..PreparedCall::default() };
        }
        let (hosts, granted) = (self.confinement.hosts(), self.confinement.is_granted());
        let installs = shell::only_installs(&parts);
        let in_background = args["background"] == json!(true);
        let fixed = PreparedCall { class, outside, sends, destroys, granted, installs, ..PreparedCall::default() };
        PreparedCall { command, parts, hosts, lists_changes: self.confinement.gathers() && !in_background, ..fixed }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            tokio::select! {
                ended = self.run(args, cx) => reply(ended),
                // Dropping the child ends everything it started.
                () = cx.cancel.cancelled() => Reply::Cancelled,
            }
        })
    }
}

pub(super) fn tool(confinement: Confinement, background: BackgroundCommands) -> Arc<dyn Tool> {
    Arc::new(RunCommand::new(confinement, background))
}

fn no_folder(error: &std::io::Error) -> Failure {
    Failure::new(
        FailureKind::Security,
        format!("the command was not run: could not create a temporary folder: {error}"),
    )
}

/// The text about a file that was moved aside, for the model.
pub(crate) fn aside_in_words(moved: &MovedFile) -> String {
    let (path, kept, why) = (moved.path.display(), moved.kept_at.display(), &moved.why);
    format!(
        "`{path}` would run later, outside the sandbox ({why}); it was moved to `{kept}` until the user approves it with `updraft aside`"
    )
}

#[expect(clippy::disallowed_methods, reason = "compared with the times of files, which the system's clock gives")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// The text for the model: how the command ended, its output, and what was refused or moved aside.
fn output(ended: &ChildResult, more_time: String) -> ToolOutput {
    let mut lines = vec![head(ended)];
    lines.extend(ended.timed_out().then_some(more_time));
    lines.extend(ended.refused.iter().map(|refusal| format!("[{refusal}]")));
    lines.extend(ended.moved_aside.iter().map(|moved| format!("[{}]", aside_in_words(moved))));
    lines.extend(ended.troubles.iter().map(|trouble| format!("[{trouble}]")));
    for (name, said) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
        let text = said.text();
        if !text.trim().is_empty() {
            lines.push(format!("{name}:\n{}", text.trim_end()));
        }
    }
    let mut value = json!({
        "exit_code": ended.exit_code(),
        "timed_out": ended.timed_out(),
        "level": ended.level.to_string(),
        "milliseconds": ended.elapsed.as_millis() as u64,
    });
    if !ended.run_again_for.is_empty() {
        value["run_again_for"] = json!(ended.run_again_for);
    }
    let (is_error, hosts) = (!ended.succeeded(), ended.reached.clone());
    ToolOutput { text: lines.join("\n") + "\n", value: Some(value), is_error, hosts, ..ToolOutput::default() }
}

/// What a command that hangs does not wait for, and what helps those that ask or never end.
const NO_INPUT: &str = "it did not wait for input, which is empty; what asks needs a flag such as `-y` or `CI=1`, what never ends \
                        `background`";

/// The note that says what a command that took too long did not wait for, and how it can get more time.
fn more_time(set: Option<Duration>) -> String {
    match set {
        Some(most) => {
            let most = most.as_secs_f64();
            format!(
                "[{NO_INPUT}; `seconds` may be up to {most}; the user can allow more with `sandbox.time` in the settings]"
            )
        }
        None => format!("[{NO_INPUT}; `seconds` may be up to {LONGEST_TIME}]"),
    }
}

fn head(ended: &ChildResult) -> String {
    let how = match ended.killed_for {
        Some(limit) => format!("killed: {limit}"),
        None if ended.lost > 0 => format!("not all its changes were applied, exit code {}", ended.exit_code()),
        None => format!("exit code {}", ended.exit_code()),
    };
    let level = match ended.level {
        SandboxLevel::Full => String::new(),
        SandboxLevel::Landlock | SandboxLevel::None => format!(", sandbox level {}", ended.level),
    };
    format!("[{how}, {:.1} s{level}]", ended.elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use updraft_sandbox::ProgramExit;

    use super::*;

    fn ended() -> ChildResult {
        ChildResult {
            exit: Some(ProgramExit::Code(0)),
            killed_for: None,
            refused: Vec::new(),
            reached: Vec::new(),
            moved_aside: Vec::new(),
            troubles: Vec::new(),
            staged: None,
            unstaged: None,
            unlisted: updraft_sandbox::UnlistedChanges::default(),
            lost: 0,
            run_again_for: Vec::new(),
            waited: Duration::ZERO,
            elapsed: Duration::ZERO,
            stdout: updraft_sandbox::CapturedStream::default(),
            stderr: updraft_sandbox::CapturedStream::default(),
            level: SandboxLevel::Full,
        }
    }

    #[test]
    fn a_command_whose_files_did_not_fit_on_the_disk_has_failed() {
        let lost = "the command's change to `big` is lost: No space left on device".to_owned();
        let output = output(&ChildResult { lost: 1, troubles: vec![lost.clone()], ..ended() }, String::new());
        assert_eq!(output.text, format!("[not all its changes were applied, exit code 125, 0.0 s]\n[{lost}]\n"));
        assert!(output.is_error);
    }

    #[test]
    fn that_a_command_was_run_again_is_in_its_result() {
        let again = |run_again_for| output(&ChildResult { run_again_for, ..ended() }, String::new()).value.unwrap();
        assert_eq!(again(vec!["log".to_owned()])["run_again_for"], json!(["log"]));
        assert_eq!(again(Vec::new()).get("run_again_for"), None);
    }
}
