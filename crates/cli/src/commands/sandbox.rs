//! `updraft sandbox`: runs one command under the same policy as agents' commands, or shows what this machine supports.

use std::time::Duration;

use serde_json::json;
use updraft_sandbox::{ChildResult, Command, OutputMode, SandboxLevel, StdinMode};
use updraft_workbench::Flags;
use updraft_workbench::confinement::PolicyRow;

use crate::args::{BoundsFlags, ConfineFlags, ExecArgs, ProbeArgs, SandboxArgs, SandboxCommand};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::sandbox_probe::LAUNCHER;
use crate::settings::WorkspaceSettings;
use crate::{confinement, runtime, sandbox_probe};

pub(crate) fn run(folders: &AppFolders, args: SandboxArgs) -> CliResult {
    match args.command {
        SandboxCommand::Exec(args) => runtime::block_on(exec(folders, *args)),
        SandboxCommand::Probe(args) => runtime::block_on(probe(folders, &args)),
    }
}

/// The settings of a workspace with these flags.
fn settings(
    folders: &AppFolders,
    workspace: Option<&std::path::Path>,
    confine: &ConfineFlags,
    bounds: &BoundsFlags,
) -> Result<(std::path::PathBuf, WorkspaceSettings), CliError> {
    let workspace = folders::workspace(workspace)?;
    let flags = Flags { confine: confine.flags(), bounds: bounds.flags(), ..Flags::default() };
    let settings = WorkspaceSettings::load(folders, &workspace, &flags)?;
    Ok((workspace, settings))
}

async fn exec(folders: &AppFolders, args: ExecArgs) -> CliResult {
    let (workspace, settings) = settings(folders, args.workspace.as_deref(), &args.confine, &args.bounds)?;
    if let Some(remark) = settings.notice() {
        out::note(&remark);
    }
    let wanted = settings.effective.sandbox.level.value;
    let level = if wanted == Some(SandboxLevel::None) {
        SandboxLevel::None
    } else {
        let offered = sandbox_probe::probe(folders).await?;
        confinement::level_at(wanted.or(Some(SandboxLevel::Landlock)), &offered)
            .map_err(|fault| fault.hint("`--no-sandbox` runs it without a sandbox"))?;
        wanted.unwrap_or(offered.level)
    };
    let confinement = confinement::confinement(folders, &settings);
    let mut policy = confinement.policy_for(&workspace);
    policy.limits.time.get_or_insert(Duration::from_secs(updraft_tools::USUAL_TIME));
    let mut words = args.command.into_iter();
    let program = words.next().unwrap_or_default();
    let command = Command {
        args: words.collect(),
        env: folders::all(),
        stdin: StdinMode::Inherit,
        output: OutputMode::Inherit,
        ..Command::new(program)
    };
    let not_run = |error: updraft_sandbox::Error| {
        let code = match error.exit_code() {
            126 => CliExitCode::NotExecutable,
            127 => CliExitCode::NotFound,
            _ => CliExitCode::NoSandbox,
        };
        CliError { code, ..CliError::failed(error.to_string()) }
    };
    let sandbox = updraft_sandbox::Sandbox::new(LAUNCHER, level).map_err(not_run)?;
    let ended = sandbox.spawn(&policy, command).await.map_err(not_run)?.wait().await.map_err(not_run)?;
    confinement.remember(&ended.moved_aside, "of `sandbox exec`");
    say(&ended);
    // Exits with the command's own code; nothing may be written after it.
    std::process::exit(ended.exit_code())
}

fn say(ended: &ChildResult) {
    if let Some(limit) = ended.killed_for {
        out::note(&format!("killed: {limit}"));
        if ended.timed_out() {
            out::note("`--time`, or `sandbox.time` in the settings, allows more");
        }
    }
    for refusal in &ended.refused {
        out::note(&out::on_one_line(&refusal.to_string()));
    }
    for moved in &ended.moved_aside {
        let (path, kept) = (moved.path.display(), moved.kept_at.display());
        // The command chose the name, so it is escaped.
        out::note(&out::on_one_line(&format!(
            "`{path}` would run later, outside the sandbox ({}); it was moved to `{kept}`",
            moved.why
        )));
    }
    for trouble in &ended.troubles {
        out::note(&out::on_one_line(trouble));
    }
}

/// Probes the sandbox again, and prints what it supports and what the settings give a run.
async fn probe(folders: &AppFolders, args: &ProbeArgs) -> CliResult {
    let offered = sandbox_probe::anew(folders).await?;
    let paint = Paint::for_stdout();
    if !args.place.json {
        out::line(&format!("level     {}", offered.level));
        let abi = offered.landlock_abi;
        let landlock = if abi == 0 { "none".to_owned() } else { format!("version {abi}") };
        out::line(&format!("landlock  {landlock}"));
        for missing in &offered.missing {
            out::line(&format!("missing   {}: {}\n          → {}", missing.what, missing.cause, missing.remedy));
        }
    }
    let given = settings(folders, args.place.workspace.as_deref(), &args.confine, &args.bounds);
    let given =
        given.map(|(workspace, settings)| (confinement::given_to_a_run(&settings, &offered), workspace, settings));
    if args.place.json {
        let mut whole = json!(offered);
        whole["run"] = match &given {
            Ok((rows, workspace, _)) => {
                json!({ "workspace": workspace, "settings": rows })
            }
            Err(fault) => json!({ "error": fault.message }),
        };
        out::json(&whole);
    }
    let (rows, workspace, settings) = given?;
    if !args.place.json {
        out::line(&format!("\na run in {} gets", workspace.display()));
        let widest = rows.iter().map(|row| row.value.chars().count()).max().unwrap_or_default().min(40);
        for PolicyRow { name, value, from } in &rows {
            out::line(&format!("  {name:11}  {:widest$}  {}", out::harmless(value), paint.dim(&format!("# {from}"))));
        }
        for program in confinement::hidden_programs(folders, &settings, &workspace) {
            let folder = &program.folder;
            out::line(&format!("hidden    {}", out::harmless(&program.to_string())));
            out::line(&format!("          → `--read {}` shows it", out::harmless(&folder.display().to_string())));
        }
        if let Some(remark) = settings.notice() {
            out::note(&remark);
        }
    }
    let is_to_be_had = confinement::level_at(settings.effective.sandbox.level.value, &offered).is_ok();
    Ok(if offered.level == SandboxLevel::None || !is_to_be_had { CliExitCode::Failed } else { CliExitCode::Done })
}
