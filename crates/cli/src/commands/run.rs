//! `updraft run`: plans and carries out a goal.

use tokio_util::sync::CancellationToken;
use updraft_run::RunId;
use updraft_workbench::{Flags, NewGoal, RunCallbacks, Workbench};

use super::{detach, goal, stdin};
use crate::args;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::signals::Signals;
use crate::view::RunDisplay;
use crate::{drive_run, journal, log, runtime};

pub(crate) mod follow_up;
mod plan_only;

use follow_up::FollowUp;

pub(crate) fn run(folders: &AppFolders, mut args: args::RunArgs) -> CliResult {
    if args.id.is_some() {
        // With a session of its own, the run survives the end of the terminal.
        #[cfg(unix)]
        let _ = rustix::process::setsid();
    }
    let text = goal::text(&args.goal)?;
    let folder = folders::workspace(args.workspace.as_deref())?;
    stdin::add_stdin(&mut args, &folder)?;
    let follow_up = args.continues.then(|| FollowUp::find(folders, &folder)).transpose()?;
    if args.detach {
        let bench = Workbench::open(folders, &folder, flags(&args), RunCallbacks::default())?;
        check(&bench, &args, &text, follow_up)?;
        return detach::detach(folders, &args, &text, &folder);
    }
    let id = match &args.id {
        Some(id) => RunId::parse(id).map_err(|bad| CliError::usage(bad.to_string()))?,
        None => journal::new_id()?,
    };
    start(folders, &args, &text, follow_up, &id)
}

/// Starts a run with a goal, drives it, and reports how it ended.
pub(crate) fn start(
    folders: &AppFolders,
    args: &args::RunArgs,
    text: &str,
    follow_up: Option<FollowUp>,
    id: &RunId,
) -> CliResult {
    let folder = folders::workspace(args.workspace.as_deref())?;
    let (face, stop) = (RunDisplay::of(&args.output), CancellationToken::new());
    let watch = if args.plan_only { plan_only::until_planned(&stop) } else { face.watch.clone() };
    let attendance = RunCallbacks { watch, stop: stop.clone(), tell: face.tell() };
    let bench = Workbench::open(folders, &folder, flags(args), attendance)?;
    let converses = follow_up.is_some();
    let new = check(&bench, args, text, follow_up)?;
    if args.plan_only
        && let Some(graph) = &new.plan
    {
        plan_only::print(graph, args.output.json);
        return Ok(CliExitCode::Done);
    }
    log::begin(folders, &bench.settings.effective.log.value);
    runtime::block_on(async {
        let mut signals = Signals::listen(stop)?;
        let handle = Box::pin(bench.start(id.clone(), new)).await?;
        let ended = if args.plan_only {
            plan_only::conclude(Box::pin(handle.drive()).await?, face.json)
        } else {
            drive_run::drive_and_ask(bench.engine().await?, handle, &face, &mut signals).await
        };
        bench.close().await;
        let kept = if converses {
            follow_up::keep(bench.journal()?, id, bench.settings.effective.memory.conversation())
        } else {
            Ok(())
        };
        bench.journal()?.clone().close().await;
        kept.and(ended)
    })
}

/// The goal with its plan and the conversation it continues, after everything was checked that can be checked before.
fn check(
    bench: &Workbench,
    args: &args::RunArgs,
    text: &str,
    follow_up: Option<FollowUp>,
) -> Result<NewGoal, CliError> {
    let (plan, unread) = args.plan.as_deref().map(goal::plan).transpose()?.unzip();
    let mut new = NewGoal { plan, ..goal::goal(args, text.to_owned(), &bench.folder)? };
    if let Some(earlier) = follow_up {
        new.goal = earlier.add_to(new.goal, bench.settings.effective.memory.conversation());
    }
    bench.check(&new, unread.unwrap_or_default())?;
    Ok(new)
}

/// The flags that override settings.
fn flags(args: &args::RunArgs) -> Flags {
    Flags {
        model: args.model.clone(),
        approvals: args.permission.approvals(),
        think: args.think.clone(),
        probe: args.no_probe.then_some(false),
        cache: args.cache.then_some(true),
        budget: args.spending.budget(),
        confine: args.confine.flags(),
        ..Flags::default()
    }
}
