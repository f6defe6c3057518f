//! `updraft sandbox`: one command under the policy that agents' commands run under; and what this machine offers.

use std::path::{Path, PathBuf};

use serde_json::json;
use updraft_sandbox::{Command, Ended, Level, Output, Policy, Probe, Stdin, Toolchain};

use crate::args::{Exec, Sandbox, SandboxCommand};
use crate::fault::{Code, Fault, Outcome};
use crate::out;
use crate::{places, wire};

/// This very program, even after an update has replaced its file.
pub(crate) const LAUNCHER: &str = "/proc/self/exe";

pub(crate) fn run(args: Sandbox) -> Outcome {
    match args.command {
        SandboxCommand::Exec(args) => wire::block_on(exec(*args)),
        SandboxCommand::Probe(args) => wire::block_on(async move { Ok(print(&probe().await?, args.json)) }),
    }
}

/// What the sandbox can do here.
pub(crate) async fn probe() -> Result<Probe, Fault> {
    updraft_sandbox::Sandbox::probe(LAUNCHER).await.map_err(|error| Fault::failed(error.to_string()))
}

/// What every command may do: read the toolchains in the user's home, write the workspace, reach nothing.
pub(crate) fn policy(workspace: &Path) -> Policy {
    let mut policy = Policy::strict(workspace);
    if let Some(home) = places::home().and_then(|home| home.canonicalize().ok()).filter(|home| home != workspace) {
        policy.read = Toolchain::ALL.iter().flat_map(|toolchain| toolchain.read(&home)).collect();
        policy.home = home;
    }
    policy
}

async fn exec(args: Exec) -> Outcome {
    let workspace = wire::workspace(args.workspace.as_deref())?;
    let mut policy = policy(&workspace);
    policy.network = args.network;
    policy.read.extend(real(args.read)?);
    policy.write.extend(real(args.write)?);
    policy.environment.extend(args.env);
    policy.limits.time = Some(args.time);
    let offered = probe().await?;
    let level = args.level.unwrap_or(offered.level);
    if level > offered.level || (level == Level::None && args.level.is_none()) {
        let why = offered.missing.first().map_or_else(String::new, |missing| format!(": {}", missing.cause));
        return Err(Fault {
            code: Code::NoSandbox,
            ..Fault::failed(format!("the sandbox is not to be had here{why}"))
        }
        .hint("`updraft sandbox probe` says what is missing; `--level none` runs it without"));
    }
    let mut words = args.command.into_iter();
    let program = words.next().unwrap_or_default();
    let command = Command {
        args: words.collect(),
        env: places::all(),
        stdin: Stdin::Inherit,
        output: Output::Inherit,
        ..Command::new(program)
    };
    let not_run = |error: updraft_sandbox::Error| {
        let code = match error.exit_code() {
            126 => Code::NotExecutable,
            127 => Code::NotFound,
            _ => Code::NoSandbox,
        };
        Fault { code, ..Fault::failed(error.to_string()) }
    };
    let sandbox = updraft_sandbox::Sandbox::new(LAUNCHER, level).map_err(not_run)?;
    let ended = sandbox.spawn(&policy, command).await.map_err(not_run)?.wait().await.map_err(not_run)?;
    say(&ended);
    // The command's own code; nothing is left to be written after it.
    std::process::exit(ended.exit_code())
}

fn say(ended: &Ended) {
    if let Some(limit) = ended.killed_for {
        out::note(&format!("ended by its limit: {limit:?}").to_lowercase());
    }
    for refusal in &ended.refused {
        out::note(&refusal.to_string());
    }
    for moved in &ended.moved_aside {
        let (path, kept) = (moved.path.display(), moved.kept_at.display());
        out::note(&format!("`{path}` would run later ({}); it is now at `{kept}`", moved.why));
    }
    for trouble in &ended.troubles {
        out::note(trouble);
    }
}

fn real(paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, Fault> {
    let real = |path: PathBuf| {
        path.canonicalize().map_err(|error| Fault::usage(format!("`{}` cannot be granted: {error}", path.display())))
    };
    paths.into_iter().map(real).collect()
}

fn print(probe: &Probe, as_json: bool) -> Code {
    if as_json {
        out::json(&json!(probe));
    } else {
        out::line(&format!("level     {}", probe.level));
        out::line(&format!("landlock  {}", abi(probe)));
        for missing in &probe.missing {
            out::line(&format!("missing   {}: {}\n          → {}", missing.what, missing.cause, missing.remedy));
        }
    }
    if probe.level == Level::None { Code::Failed } else { Code::Done }
}

/// The version of Landlock's interface, in words.
fn abi(probe: &Probe) -> String {
    if probe.landlock_abi == 0 { "none".to_owned() } else { format!("version {}", probe.landlock_abi) }
}
