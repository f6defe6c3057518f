//! `updraft run`: plans and carries out a goal.

use updraft_run::{AgentRole, RunId, RunMode};
use updraft_workbench::{Flags, NewGoal, RunCallbacks, Workbench};

use super::{detach, goal, plan_table, recipes, resume, stdin};
use crate::args;
use crate::drive_run::{self, DriveOutcome};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::signals::Signals;
use crate::view::RunDisplay;
use crate::{journal, log, out, runtime};

pub(crate) mod follow_up;
mod kept;
mod plan_only;

use follow_up::FollowUp;
pub(crate) use kept::KeptWorkbench;

pub(crate) fn run(folders: &AppFolders, mut args: args::RunArgs) -> CliResult {
    if args.id.is_some() {
        // With a session of its own, the run survives the end of the terminal.
        #[cfg(unix)]
        let _ = rustix::process::setsid();
    }
    let folder = folders::workspace(args.workspace.as_deref())?;
    let typed = args.recipe.is_some().then(|| args.clone());
    let text = match &typed {
        Some(_) => recipes::prepare(folders, &folder, &mut args)?,
        None => goal::text(&args.goal)?,
    };
    stdin::add_stdin(&mut args, &folder)?;
    let follow_up = args.continues.then(|| FollowUp::find(folders, &folder)).transpose()?;
    if args.detach {
        let bench = Workbench::open(folders, &folder, flags(&args), RunCallbacks::default())?;
        check(&bench, &args, &text, None, follow_up)?;
        return detach::detach(folders, typed.as_ref().unwrap_or(&args), &text, &folder);
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
    runtime::block_on(async {
        let mut own = KeptWorkbench::default();
        let ended = Box::pin(start_on(&mut own, folders, args, text, follow_up, id)).await;
        own.close().await;
        ended
    })
}

/// The same, on a workbench that stays open for the runs that follow.
pub(crate) async fn start_on(
    kept: &mut KeptWorkbench,
    folders: &AppFolders,
    args: &args::RunArgs,
    text: &str,
    follow_up: Option<FollowUp>,
    id: &RunId,
) -> CliResult {
    let folder = folders::workspace(args.workspace.as_deref())?;
    let face = RunDisplay::of(&args.output);
    let stop = face.stop.clone();
    let watch = if args.plan_only { plan_only::until_planned(&stop) } else { face.watch.clone() };
    let callbacks = RunCallbacks { watch, stop: stop.clone(), tell: face.tell(), ..RunCallbacks::default() };
    let bench = Box::pin(kept.open(folders, &folder, args, callbacks)).await?;
    if args.plan_first {
        bench.hold_to_reading();
    }
    let converses = follow_up.is_some();
    let usual = usual_agent(bench, args).await?;
    let new = check(bench, args, text, usual, follow_up)?;
    if args.plan_only
        && let Some(graph) = &new.plan
    {
        let outlook = bench.outlook(graph).await?;
        plan_table::print(graph, &new.goal.requirements, &outlook, args.output.json);
        return Ok(CliExitCode::Done);
    }
    for requirement in &new.goal.requirements {
        face.say_dim(&format!("requires {}: {}", out::short(&requirement.text, 200), requirement.how()));
    }
    log::begin(folders, &bench.settings.effective.log.value);
    let mut signals = Signals::listen(stop)?;
    let handle = Box::pin(bench.start(id.clone(), new)).await?;
    let ended = if args.plan_only {
        let rested = plan_only::drive(handle, &mut signals).await?;
        plan_only::conclude(bench, rested, &signals, face.json).await
    } else {
        let driven = drive_run::drive_until_plan(bench.engine().await?, handle, &face, &mut signals).await?;
        match driven {
            DriveOutcome::Ended(code) => Ok(code),
            DriveOutcome::PlanWaits(_) if face.can_ask => {
                // From here on the run is resumed with tools that may change something.
                bench.close().await;
                let ended = Box::pin(resume::resume_run(folders, bench.journal()?, id, &resume_args(args))).await;
                bench.allow_changes();
                ended
            }
            DriveOutcome::PlanWaits(rested) => Ok(drive_run::conclude(&rested, bench.journal()?, &face, &signals)),
        }
    };
    let kept = if converses {
        follow_up::keep(bench.journal()?, id, bench.settings.effective.memory.conversation())
    } else {
        Ok(())
    };
    kept.and(ended)
}

/// The agent that answers if none is named. The built-in model does no agent's work, but plans and looks things up.
async fn usual_agent<'a>(bench: &'a Workbench, args: &args::RunArgs) -> Result<Option<&'a str>, CliError> {
    if args.by_generalist && bench.model().await?.model.name() != "builtin" {
        return Ok(bench.agent_in_role(AgentRole::Generalist)?);
    }
    Ok(None)
}

/// The goal with its plan and the conversation it continues, after everything was checked that can be checked before.
fn check(
    bench: &Workbench,
    args: &args::RunArgs,
    text: &str,
    usual: Option<&str>,
    follow_up: Option<FollowUp>,
) -> Result<NewGoal, CliError> {
    let file = match &args.given_plan {
        Some(plan) => Some(goal::plan_in(plan)),
        None => args.plan.as_deref().map(goal::plan).transpose()?,
    };
    let mut new = goal::goal(args, text.to_owned(), &bench.folder)?;
    if let Some(usual) = usual.filter(|_| new.goal.mode == RunMode::Plan) {
        new.goal.mode = RunMode::Agent(usual.to_owned());
    }
    let mut unread = Vec::new();
    if let Some(plan) = file {
        new.goal.requirements.extend(plan.requirements);
        (new.plan, unread) = (Some(plan.graph), plan.faults);
    }
    if let Some(earlier) = follow_up {
        new.goal = earlier.add_to(new.goal, bench.settings.effective.memory.conversation());
    }
    bench.check(&new, unread)?;
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
        assume: args.assume.then_some(true),
        budget: args.spending.budget(),
        confine: args.confine.flags(),
        ..Flags::default()
    }
}

/// The arguments with which a run continues after its plan was shown.
fn resume_args(args: &args::RunArgs) -> args::ResumeArgs {
    args::ResumeArgs {
        run: None,
        all: false,
        workspace: None,
        from_damaged: false,
        plan: None,
        model: None,
        permission: args.permission.clone(),
        spending: args::SpendingFlags::default(),
        confine: args.confine.clone(),
        output: args.output.clone(),
    }
}
