//! `updraft fork`: a new run that begins with the first events of another.

use updraft_journal::Journal;
use updraft_run::RunId;
use updraft_workbench::{Flags, RunCallbacks, StoredRun, Workbench, may_fork};

use crate::args::ForkArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::signals::Signals;
use crate::view::RunDisplay;
use crate::{drive_run, journal, log, out, runtime};

pub(crate) fn run(folders: &AppFolders, args: ForkArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let from = journal::find_run(&journal, &args.run.run)?;
    if args.goal.as_ref().is_some_and(|goal| goal.trim().is_empty()) {
        return Err(CliError::usage("the goal is empty; leave --goal out to keep the old one"));
    }
    runtime::block_on(async {
        let ended = Box::pin(fork(folders, &journal, &from, args)).await;
        journal.close().await;
        ended
    })
}

async fn fork(folders: &AppFolders, journal: &Journal, from: &RunId, args: ForkArgs) -> CliResult {
    may_fork(journal, from, args.at)?;
    let source = journal::load(journal, from)?;
    // The user has not yet said where and how an imported run may continue.
    let is_held = source.is_imported();
    let stays = args.stay || is_held;
    let face = RunDisplay::of(&args.output);
    let stop = face.stop.clone();
    let mut signals = Signals::listen(stop.clone())?;
    let flags = Flags { approvals: args.permission.approvals(), confine: args.confine.flags(), ..Flags::default() };
    let callbacks = RunCallbacks { watch: face.watch.clone(), stop, tell: face.tell(), ..RunCallbacks::default() };
    let bench = Workbench::open_for(&StoredRun::new(&source, journal)?, folders, flags, callbacks)?;
    log::begin(folders, &bench.settings.effective.log.value);
    let then = vec![drive_run::resume_input(&args.permission, &args.spending)];
    let (at, to) = (args.at, journal::new_id()?);
    let fork = updraft_workbench::Fork {
        from: from.clone(),
        at,
        to: to.clone(),
        model: args.model,
        goal: args.goal,
        variables: args.variables,
        stays,
    };
    let handle = Box::pin(bench.fork(fork, then)).await?;
    if stays {
        Box::pin(handle.drive()).await?;
        bench.close().await;
        out::line(to.as_str());
        let how = if is_held { " --workspace DIR --mode workspace" } else { "" };
        let and = if is_held { ", which was imported" } else { "" };
        let hint = format!("`updraft resume {to}{how}` continues it");
        out::note(&format!("forked from {from}{and} at event {at}\n  hint: {hint}"));
        return Ok(CliExitCode::Done);
    }
    face.say(&format!("run {to}, forked from {from} at event {at}"));
    let ended = Box::pin(drive_run::drive_and_ask(bench.engine().await?, handle, &face, &mut signals)).await;
    bench.close().await;
    ended
}
