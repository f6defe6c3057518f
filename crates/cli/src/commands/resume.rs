//! `updraft resume`: resumes a run, or follows it if another process is driving it.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use updraft_engine::DriveResult;
use updraft_journal::{Journal, RunFilter, Status};
use updraft_run::{ConversationLimits, Input, Run, RunId};
use updraft_workbench::{Flags, ResumeOutcome, RunCallbacks, StoredRun, Workbench, folder_of};

use super::plan_approval::{self, PlanDecision};
use super::run::follow_up;
use crate::args::ResumeArgs;
use crate::drive_run::DriveOutcome;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::settings::WorkspaceSettings;
use crate::signals::Signals;
use crate::view::{self, RunDisplay};
use crate::{drive_run, journal, log, out, runtime};

/// How often to check whether the followed process still exists: it may end without writing anything.
const LOOK: Duration = Duration::from_millis(500);

pub(crate) fn run(folders: &AppFolders, args: &ResumeArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    if args.all {
        return runtime::block_on(all(folders, journal, args));
    }
    let id = journal::find_run_here(&journal, args.run.as_deref())?;
    let conversation = conversation_in_file(folders, &journal, &id)?;
    runtime::block_on(async {
        let ended = resume_run(folders, &journal, &id, args).await;
        let kept = conversation.map_or(Ok(()), |limits| follow_up::keep(&journal, &id, limits));
        journal.close().await;
        kept.and(ended)
    })
}

/// How the conversation in `MEMORY_FILE` is kept, if the run is a part of it.
fn conversation_in_file(
    folders: &AppFolders,
    journal: &Journal,
    id: &RunId,
) -> Result<Option<ConversationLimits>, CliError> {
    // A damaged run is reported when it is resumed.
    let run = follow_up::memory_file().and_then(|_| journal::load(journal, id).ok());
    let Some(run) = run.filter(|run| !run.is_over()) else { return Ok(None) };
    let folder = folder_of(&run)?;
    let limits = WorkspaceSettings::load(folders, &folder, &Flags::default())?.effective.memory.conversation();
    Ok(follow_up::is_part(folders, journal, id, &folder, limits)?.then_some(limits))
}

/// Resumes every interrupted run, one after another.
async fn all(folders: &AppFolders, journal: Journal, args: &ResumeArgs) -> CliResult {
    let mut runs = journal.list(&RunFilter { status: Some(Status::Running), ..RunFilter::default() })?;
    runs.retain(updraft_journal::RunSummary::was_cut_off);
    // Also runs that waited for a person and have been answered since.
    let waiting = journal.list(&RunFilter { status: Some(Status::Waiting), ..RunFilter::default() })?;
    for run in waiting.into_iter().filter(|run| !run.is_owned()) {
        if !journal.inbox(&run.id)?.is_empty() {
            runs.push(run);
        }
    }
    let mut worst = CliExitCode::Done;
    for damaged in journal.list(&RunFilter::default())?.iter().filter(|run| run.status == Status::Damaged) {
        out::note(&format!("run {} is damaged and was not resumed; `updraft show {0}` shows details", damaged.id));
        worst = CliExitCode::Failed;
    }
    if runs.is_empty() && worst == CliExitCode::Done {
        out::note("no run was interrupted");
    }
    for run in runs.iter().rev() {
        out::note(&format!("resuming {}: {}", run.id, out::short(&run.goal, 80)));
        let code = match resume_run(folders, &journal, &run.id, args).await {
            Ok(code) => code,
            Err(fault) => {
                out::note(&format!("error: {}", out::harmless(&fault.message)));
                fault.code
            }
        };
        if matches!(code, CliExitCode::Interrupted | CliExitCode::Terminated) {
            return Ok(code);
        }
        worst = if worst == CliExitCode::Done { code } else { worst };
    }
    journal.close().await;
    Ok(worst)
}

pub(super) async fn resume_run(folders: &AppFolders, journal: &Journal, id: &RunId, args: &ResumeArgs) -> CliResult {
    let face = RunDisplay::of(&args.output);
    let stop = face.stop.clone();
    let mut signals = Signals::listen(stop.clone())?;
    if args.from_damaged {
        cut_back(journal, id, &face).await?;
    }
    // The followed process may have changed the run's rights, so the workbench is opened again each time.
    let mut has_followed = false;
    let mut edited = args.plan.as_deref();
    loop {
        let (mut bench, adopts) = open(folders, journal, id, args, &face, &stop, has_followed).await?;
        let approval = plan_approval::decide(&bench, id, edited.take(), !args.all, &face, &mut signals).await?;
        let (approves, verdict) = match approval {
            PlanDecision::None => (false, None),
            PlanDecision::Send { input, approves } => (approves, Some(input)),
            PlanDecision::Stop(code) => return Ok(code),
        };
        if approves {
            bench.allow_changes();
        }
        let ended = Box::pin(resume_or_follow(&bench, id, adopts, args, verdict, (&face, &mut signals))).await;
        // Always, because other runs may follow in this process.
        bench.close().await;
        match ended? {
            FollowOutcome::Ended(code) => return Ok(code),
            FollowOutcome::PlanWaits(rested) if !face.can_ask => {
                return Ok(drive_run::conclude(&rested, journal, &face, &signals));
            }
            FollowOutcome::PlanWaits(_) => {}
            FollowOutcome::Left => {
                face.say("its process ended before the run did; continuing the run here");
                has_followed = true;
            }
        }
    }
}

/// How resuming or following a run ended.
enum FollowOutcome {
    /// Nothing more can be done for it here.
    Ended(CliExitCode),
    /// Its plan waits for approval.
    PlanWaits(Box<DriveResult>),
    /// The process that drove it ended before the run did.
    Left,
}

/// Opens the workbench for a run as it is now; also returns whether the run is to be adopted.
async fn open(
    folders: &AppFolders,
    journal: &Journal,
    id: &RunId,
    args: &ResumeArgs,
    face: &RunDisplay,
    stop: &CancellationToken,
    has_followed: bool,
) -> Result<(Workbench, bool), CliError> {
    let run = journal::load(journal, id)?;
    let adopts = run.is_imported() && !run.is_over();
    let folder = match &args.workspace {
        given if adopts => folders::workspace(given.as_deref())?,
        None => folder_of(&run)?,
        // The followed process has adopted it there.
        Some(given) if has_followed && folders::workspace(Some(given))? == folder_of(&run)? => folder_of(&run)?,
        Some(_) => {
            return Err(CliError::usage(format!("run {id} already works in `{}`", run.settings().workspace))
                .hint("`--workspace` is for runs that were imported and not resumed yet"));
        }
    };
    let flags = Flags { approvals: args.permission.approvals(), confine: args.confine.flags(), ..Flags::default() };
    let callbacks =
        RunCallbacks { watch: face.watch.clone(), stop: stop.clone(), tell: face.tell(), ..RunCallbacks::default() };
    let bench = Workbench::open_for(&StoredRun { run: &run, journal, folder }, folders, flags, callbacks)?;
    log::begin(folders, &bench.settings.effective.log.value);
    let was_said = args.workspace.is_some() && args.permission.approvals().is_some();
    if adopts && !was_said {
        confirm(&bench, id, &run, face).await?;
    }
    Ok((bench, adopts))
}

/// Resumes a run, or follows it while another process drives it.
async fn resume_or_follow(
    bench: &Workbench,
    id: &RunId,
    adopts: bool,
    args: &ResumeArgs,
    verdict: Option<Input>,
    (face, signals): (&RunDisplay, &mut Signals),
) -> Result<FollowOutcome, CliError> {
    let model = match &args.model {
        Some(model) => Some(bench.model_change(model).await?),
        None => None,
    };
    let resume = drive_run::resume_input(&args.permission, &args.spending);
    let then = verdict.into_iter().chain(model).chain([resume]).collect();
    let resumed = if adopts { bench.adopt(id, then).await? } else { bench.resume(id, then).await? };
    match resumed {
        ResumeOutcome::Here(handle) => {
            if handle.run().is_over() {
                face.say(&format!("run {id} has already ended; this is its result"));
            }
            let driven = drive_run::drive_until_plan(bench.engine().await?, *handle, face, signals).await?;
            Ok(match driven {
                DriveOutcome::Ended(code) => FollowOutcome::Ended(code),
                DriveOutcome::PlanWaits(rested) => FollowOutcome::PlanWaits(rested),
            })
        }
        ResumeOutcome::Elsewhere { pid } => {
            face.say(&format!("run {id} is being run by process {pid}; following it (Ctrl-C only stops following)"));
            let ended = follow(bench.journal()?, id, face, signals).await?;
            Ok(ended.map_or(FollowOutcome::Left, FollowOutcome::Ended))
        }
    }
}

/// Asks the user whether an imported run may continue here.
async fn confirm(bench: &Workbench, id: &RunId, run: &Run, face: &RunDisplay) -> Result<(), CliError> {
    let about = format!("run {id} was imported, and you have not yet chosen where it may continue");
    let refused = || {
        CliError::usage(about.clone())
            .hint(format!("`updraft resume {id} --workspace DIR --mode workspace` continues it in that folder"))
    };
    let model = &bench.model().await?.spec;
    if !face.can_ask {
        return Err(refused());
    }
    let theirs = out::harmless(&run.settings().workspace);
    out::note(&format!("{about}\n  goal: {}\n  it came from `{theirs}`", out::short(&run.goal().text, 200)));
    if view::confirm(&format!("continue in `{}`, with {model} and your settings?", bench.folder.display())) {
        Ok(())
    } else {
        Err(refused())
    }
}

/// Discards the damaged events of a run, and reports which.
async fn cut_back(journal: &Journal, id: &RunId, face: &RunDisplay) -> Result<(), CliError> {
    match journal.cut_back(id).await? {
        Some((first, last)) if first <= last => face.say(&format!(
            "events {first} to {last} of run {id} were damaged and are discarded; what was done there may be done again"
        )),
        Some(_) => face.say(&format!("the entry of run {id} in the list of runs was damaged; its events are complete")),
        None => face.say(&format!("run {id} is not damaged")),
    }
    Ok(())
}

/// Shows what another process does with a run. Returns `None` if that process ended and the run is not at rest.
async fn follow(
    journal: &Journal,
    id: &RunId,
    face: &RunDisplay,
    signals: &mut Signals,
) -> Result<Option<CliExitCode>, CliError> {
    let mut tail = journal.tail(id, 0);
    let mut run = Run::default();
    // Earlier events are applied without showing them.
    let known = journal.head(id)?.events;
    loop {
        // What the other process wrote before it ended may not have been read yet.
        let is_left = |read: u64| {
            let head = journal.head(id)?;
            Ok::<_, CliError>(!head.is_owned() && read >= head.events)
        };
        if run.events() >= known && (run.is_over() || (run.is_at_rest() && is_left(run.events())?)) {
            face.finish_drawing();
            let rested = DriveResult { id: id.clone(), run, was_stopped: false };
            return Ok(Some(drive_run::conclude(&rested, journal, face, signals)));
        }
        let next = tokio::select! {
            next = tokio::time::timeout(LOOK, tail.next()) => next,
            code = signals.first() => {
                face.say(&format!("no longer following; run {id} continues"));
                return Ok(Some(code));
            }
            never = face.animate() => match never {},
        };
        match next {
            Ok(next) => {
                let gone = || CliError::failed(format!("run {id} was deleted while it was followed"));
                let (first, record) = next?.ok_or_else(gone)?;
                run.record(&record);
                if first > known
                    || record.events.iter().any(|event| matches!(event, updraft_run::Event::Planned { .. }))
                {
                    face.watch.record(id, first, &record, &run);
                }
            }
            Err(_) if is_left(run.events())? && !run.is_at_rest() => {
                face.finish_drawing();
                return Ok(None);
            }
            Err(_) => {}
        }
    }
}
