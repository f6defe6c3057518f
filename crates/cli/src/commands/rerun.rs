//! `updraft rerun`: repeats a run, and carries out only what has changed.

use tokio_util::sync::CancellationToken;
use updraft_engine::WebResults;
use updraft_journal::Journal;
use updraft_run::{RunId, StepId};
use updraft_workbench::{
    Flags, RepeatChange, RepeatVerdict, Repetition, RunCallbacks, StepVerdict, StoredRun, Workbench,
};

use super::goal;
use crate::args::RerunArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::signals::Signals;
use crate::view::{self, RunDisplay};
use crate::{drive_run, journal, log, out, runtime};

pub(crate) fn run(folders: &AppFolders, args: RerunArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let of = journal::find_run_here(&journal, args.run.run.as_deref())?;
    if args.goal.as_ref().is_some_and(|goal| goal.trim().is_empty()) {
        return Err(CliError::usage("the goal is empty; leave --goal out to keep the old one"));
    }
    runtime::block_on(async {
        let ended = Box::pin(rerun(folders, &journal, &of, args)).await;
        journal.close().await;
        ended
    })
}

async fn rerun(folders: &AppFolders, journal: &Journal, of: &RunId, args: RerunArgs) -> CliResult {
    let old = journal::load(journal, of)?;
    if !old.is_over() {
        return Err(CliError::usage(format!("run {of} has not ended; it is {}", old.status()))
            .hint(format!("`updraft resume {of}` continues it")));
    }
    if old.is_imported() {
        return Err(CliError::usage(format!("run {of} was imported; its model, folder and commands are not yours"))
            .hint("`updraft run` with its goal starts a run of your own"));
    }
    let stop = CancellationToken::new();
    let mut signals = Signals::listen(stop.clone())?;
    let face = RunDisplay::of(&args.output);
    let model = args.model.clone().unwrap_or_else(|| old.settings().model.clone());
    let flags = Flags {
        model: Some(model),
        approvals: args.permission.approvals(),
        budget: args.spending.budget(),
        confine: args.confine.flags(),
        ..Flags::default()
    };
    let callbacks = RunCallbacks { watch: face.watch.clone(), stop, tell: face.tell(), ..RunCallbacks::default() };
    let mut bench = Workbench::open_for(&StoredRun::new(&old, journal)?, folders, flags, callbacks)?;
    log::begin(folders, &bench.settings.effective.log.value);
    if args.goal.is_some() && args.plan.is_none() && bench.is_plan_first(&old) {
        bench.hold_to_reading();
    }
    let repeat = Box::pin(bench.repeat(of, change(&args)?)).await?;
    bench.check(&repeat.new, Vec::new())?;
    if args.dry_run {
        if args.output.json {
            out::pretty(&in_json(&repeat));
        } else {
            for line in lines(&repeat) {
                out::line(&line);
            }
        }
        bench.close().await;
        return Ok(CliExitCode::Done);
    }
    let id = journal::new_id()?;
    if args.output.json {
        let mut told = in_json(&repeat);
        (told["schema"], told["type"]) = (view::SCHEMA.into(), "run.repeats".into());
        (told["run"], told["of"]) = (id.to_string().into(), of.to_string().into());
        out::json(&told);
    } else {
        for line in lines(&repeat) {
            face.say(&line);
        }
    }
    face.say(&format!("run {id} repeats {of}"));
    let handle = Box::pin(bench.start(id, repeat.new)).await?;
    let ended = Box::pin(drive_run::drive_and_ask(bench.engine().await?, handle, &face, &mut signals)).await;
    bench.close().await;
    ended
}

fn change(args: &RerunArgs) -> Result<RepeatChange, CliError> {
    let plan = match &args.plan {
        None => None,
        Some(file) => {
            let plan = goal::plan(file)?;
            if !plan.faults.is_empty() {
                return Err(updraft_engine::Error::Plan(plan.faults).into());
            }
            Some((plan.graph, plan.requirements))
        }
    };
    let again = args.again.iter().map(|step| StepId::parse(step)).collect::<Result<_, _>>();
    let again = again.map_err(|bad| CliError::usage(bad.to_string()))?;
    let web = if args.keep_web { WebResults::Kept } else { WebResults::Renewed };
    Ok(RepeatChange { goal: args.goal.clone(), plan, again, web })
}

fn in_json(repeat: &Repetition) -> serde_json::Value {
    serde_json::json!({ "steps": repeat.verdicts, "new_files": repeat.new_files })
}

/// One line for each step: what becomes of it, and why.
fn lines(repeat: &Repetition) -> Vec<String> {
    let names = repeat.verdicts.iter().map(|verdict| view::width(verdict.step.as_str()));
    let wide = names.max().unwrap_or_default();
    let line = |StepVerdict { step, agent, verdict, why }: &StepVerdict| {
        let word = match verdict {
            RepeatVerdict::Kept => "kept ",
            RepeatVerdict::Again => "again",
            RepeatVerdict::Open => "open ",
        };
        format!("{word}  {} ({agent}): {}", view::column(step.as_str(), wide), out::harmless(why))
    };
    let mut lines: Vec<String> = repeat.verdicts.iter().map(line).collect();
    if let Some(first) = repeat.new_files.first() {
        let more = match repeat.new_files.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let first = out::harmless(first);
        lines.push(format!("new since then, and unknown to the plan: `{first}`{more}; `--goal` plans again"));
    }
    lines
}
