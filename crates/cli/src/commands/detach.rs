//! `--detach`: starts the run in a background process with its own session, logged to a file.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use updraft_journal::Journal;
use updraft_run::RunId;

use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::{args, journal, model_access, out, runtime};

/// How long the process may take to write its run to the journal.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts the process and returns once its run is in the journal.
pub(super) fn detach(folders: &AppFolders, args: &args::RunArgs, text: &str, workspace: &Path) -> CliResult {
    let id = journal::new_id()?;
    let file = folders.run_log(&id);
    let cannot = |error: &std::io::Error| CliError::file("write", &file, error);
    let mut how = std::fs::OpenOptions::new();
    let log = folders::private_file(&file, how.write(true).truncate(true)).map_err(|error| cannot(&error))?;
    let errors = log.try_clone().map_err(|error| cannot(&error))?;
    // Opened before the process starts, so that none of its events is missed.
    let journal = journal::open(folders)?;
    let mut child = command(&id, args, workspace)?
        .stdin(Stdio::piped())
        .stdout(log)
        .stderr(errors)
        .spawn()
        .map_err(|error| CliError::failed(format!("could not start a background process: {error}")))?;
    if let Some(mut stdin) = child.stdin.take().filter(|_| args.recipe.is_none()) {
        // If the process ended at once, its log says why.
        let _ = stdin.write_all(text.as_bytes());
    }
    if runtime::block_on(begun(&journal, &id, &mut child))? {
        out::line(id.as_str());
        out::note(&format!(
            "running in process {}\n  hint: `updraft events {id} --follow` follows it; log: {}",
            child.id(),
            file.display()
        ));
        return Ok(CliExitCode::Done);
    }
    let said = std::fs::read_to_string(&file).unwrap_or_default();
    Err(CliError::failed(format!("the run did not start; its process printed:\n{}", said.trim_end())))
}

#[expect(clippy::disallowed_methods, reason = "the one process we start is ourselves, with what was typed")]
fn command(id: &RunId, args: &args::RunArgs, workspace: &Path) -> Result<Command, CliError> {
    let program = std::env::current_exe()
        .map_err(|error| CliError::failed(format!("could not find this program's executable: {error}")))?;
    let mut command = Command::new(program);
    command.args(["run", "--id", id.as_str()]).arg("--workspace").arg(workspace);
    match &args.recipe {
        Some(recipe) => _ = command.arg("--recipe").arg(recipe),
        None => _ = command.arg("-"),
    }
    for (name, value) in &args.parameters {
        command.arg(format!("--param={name}={value}"));
    }
    for file in &args.file {
        command.arg("--file").arg(file);
    }
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            command.arg(name).arg(value);
        }
    };
    flag("--model", args.model.as_deref().map(model_access::model_spec));
    flag("--think", args.think.clone());
    flag("--agent", args.agent.clone());
    flag("--candidates", args.candidates.map(|n| n.to_string()));
    flag("--models", Some(args.models.join(",")).filter(|models| !models.is_empty()));
    flag("--tests", args.tests.clone());
    flag("--mode", args.permission.mode.map(|mode| mode.mode().to_owned()));
    flag("--budget", args.spending.budget.map(|cost| (cost.0 as f64 / 1e9).to_string()));
    flag("--max-tokens", args.spending.max_tokens.map(|n| n.to_string()));
    flag("--max-time", args.spending.max_time.map(|time| format!("{}ms", time.as_millis())));
    flag("--max-turns", args.spending.max_turns.map(|n| n.to_string()));
    flag("--max-calls", args.spending.max_calls.map(|n| n.to_string()));
    for (name, value) in &args.variables {
        flag("--var", Some(format!("{name}={value}")));
    }
    for requirement in &args.require {
        flag("--require", Some(requirement.clone()));
    }
    flag("--network", args.confine.network.as_ref().map(ToString::to_string));
    flag("--level", args.confine.level.clone());
    for (name, paths) in [("--read", &args.confine.readable), ("--write", &args.confine.writable)] {
        for path in paths {
            command.arg(name).arg(path);
        }
    }
    if let Some(plan) = &args.plan {
        command.arg("--plan").arg(plan);
    }
    let switches = [
        ("--swarm", args.swarm),
        ("--plan-first", args.plan_first),
        ("--continue", args.continues),
        ("--assume", args.assume),
        ("--read-only", args.permission.read_only),
        ("--yes", args.permission.yes),
        ("--no-probe", args.no_probe),
        ("--cache", args.cache),
        ("--no-sandbox", args.confine.no_sandbox),
    ];
    let switches = switches.into_iter().chain([("--json", args.output.json), ("--quiet", args.output.quiet)]);
    command.args(switches.filter(|(_, on)| *on).map(|(name, _)| name));
    Ok(command)
}

/// Waits until the run is in the journal; returns false if the process ended first.
async fn begun(journal: &Journal, id: &RunId, child: &mut Child) -> Result<bool, CliError> {
    let mut changes = journal.changes();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if journal.head(id).is_ok() {
            return Ok(true);
        }
        let ended = child.try_wait().ok().flatten().is_some();
        if ended || tokio::time::Instant::now() > deadline {
            return Ok(journal.head(id).is_ok());
        }
        // A process that ends writes nothing, so it is checked regularly.
        let _ = tokio::time::timeout(Duration::from_millis(100), changes.next()).await;
    }
}
