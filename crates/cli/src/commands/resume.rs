//! `updraft resume`: goes on with a run; or follows it, where another process is at work on it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use updraft_engine::{Engine, Hands, Rested, outlives_its_process};
use updraft_journal::{Filter, Journal, Status};
use updraft_mcp::Servers;
use updraft_run::{Approvals, GrantFlags, Grants, Input, Phase, Run, RunId};
use updraft_tools::Dispatcher;

use super::{adopt, tighten};
use crate::args::{Confine, ModeWord, Output, Resume};
use crate::fault::{Code, Fault, Outcome};
use crate::places::Places;
use crate::settings::{Consent, Settings, Written};
use crate::signals::Signals;
use crate::view::Face;
use crate::{confine, log, out, reach, servers, steer, wire};

/// How often we look whether a process that we follow is still there: its end writes nothing.
const LOOK: Duration = Duration::from_millis(500);

pub(crate) fn run(places: &Places, args: &Resume) -> Outcome {
    let journal = wire::journal_with_runs(places)?;
    if args.all {
        return wire::block_on(all(places, journal, args));
    }
    let id = wire::find_run_here(&journal, args.run.as_deref())?;
    wire::block_on(async {
        let ended = one(places, &journal, &id, args).await;
        journal.close().await;
        ended
    })
}

/// Every run that was cut off, one after another.
async fn all(places: &Places, journal: Journal, args: &Resume) -> Outcome {
    let mut runs = journal.list(&Filter { status: Some(Status::Running), ..Filter::default() })?;
    runs.retain(updraft_journal::Summary::was_cut_off);
    // Those that waited for a person who has meanwhile answered.
    let waiting = journal.list(&Filter { status: Some(Status::Waiting), ..Filter::default() })?;
    for run in waiting.into_iter().filter(|run| !run.is_owned()) {
        if !journal.inbox(&run.id)?.is_empty() {
            runs.push(run);
        }
    }
    let mut worst = Code::Done;
    for damaged in journal.list(&Filter::default())?.iter().filter(|run| run.status == Status::Damaged) {
        out::note(&format!("run {} is damaged and left as it is; `updraft show {0}` says more", damaged.id));
        worst = Code::Failed;
    }
    if runs.is_empty() && worst == Code::Done {
        out::note("no run was cut off");
    }
    for run in runs.iter().rev() {
        out::note(&format!("resuming {}: {}", run.id, out::short(&run.goal, 80)));
        let code = match one(places, &journal, &run.id, args).await {
            Ok(code) => code,
            Err(fault) => {
                out::note(&format!("error: {}", out::harmless(&fault.message)));
                fault.code
            }
        };
        if matches!(code, Code::Interrupted | Code::Terminated) {
            return Ok(code);
        }
        worst = if worst == Code::Done { code } else { worst };
    }
    journal.close().await;
    Ok(worst)
}

async fn one(places: &Places, journal: &Journal, id: &RunId, args: &Resume) -> Outcome {
    let stop = CancellationToken::new();
    let mut signals = Signals::listen(stop.clone())?;
    let face = Face::of(&args.output);
    if args.from_damaged {
        cut_back(journal, id, &face).await?;
    }
    let adopting = adopt::adopt(places, journal, id, args, &face).await?;
    let (workspace, adopting) = match adopting {
        Some((workspace, input)) => (workspace, Some(input)),
        None => (still_there(&adopt::load(journal, id)?, id)?, None),
    };
    let (confine, remarks) = match &adopting {
        Some(_) => (args.confine.clone(), Vec::new()),
        None => confine_of(journal, id, &args.confine)?,
    };
    for remark in remarks {
        face.say(&out::harmless(&remark));
    }
    let level = level_now(places, &workspace, &confine).await?;
    confine::warn(&level, &face);
    let said = match &adopting {
        Some(Input::Adopt { settings }) => Some(settings.approvals == Approvals::ReadOnly),
        _ => args.permission.mode().map(|mode| mode == ModeWord::ReadOnly),
    };
    let (dispatcher, servers) = tools(places, (journal, id), &workspace, &face, (Some(&confine), said)).await?;
    let told = match adopting {
        Some(input) => adopt::with_tools(input, &dispatcher, &servers),
        None => tighten::by(&settings(places, &workspace, None)?, &dispatcher, &servers),
    };
    let ended = match engine(places, journal, &workspace, &args.output, dispatcher, Some((&face, stop))) {
        Ok(engine) => {
            // What is said now is remembered, together with what was kept.
            let said = !confine::grant_flags(&args.confine).is_empty();
            let flags = said.then(|| confine::grant_flags(&confine));
            let args = Resume { confine, ..args.clone() };
            go_on(places, (&engine, journal, id), (&args, &level, told, flags), &face, &mut signals).await
        }
        Err(fault) => Err(fault),
    };
    // In any case: others may go on in this process.
    servers.close().await;
    ended
}

/// Gives up what cannot be trusted of a run, and says what that is.
async fn cut_back(journal: &Journal, id: &RunId, face: &Face) -> Result<(), Fault> {
    match journal.cut_back(id).await? {
        Some((first, last)) if first <= last => face.say(&format!(
            "events {first} to {last} of run {id} were damaged and are given up; what was done there may be done again"
        )),
        Some(_) => face.say(&format!("the list of runs was damaged where run {id} stands; its events are whole")),
        None => face.say(&format!("run {id} is not damaged")),
    }
    Ok(())
}

/// The folder of a run. Where there is more to do, it must be there: a run that finds nothing would come to a wrong end.
fn still_there(run: &Run, id: &RunId) -> Result<PathBuf, Fault> {
    let workspace = adopt::workspace_of(run)?;
    if run.is_over() || workspace.is_dir() {
        return Ok(workspace);
    }
    Err(Fault::usage(format!("the folder of run {id} is not there: `{}`", workspace.display()))
        .hint("put it back where it was, and resume; nothing was done"))
}

async fn go_on(
    places: &Places,
    (engine, journal, id): (&Engine, &Journal, &RunId),
    (args, level, told, flags): (&Resume, &str, Input, Option<GrantFlags>),
    face: &Face,
    signals: &mut Signals,
) -> Outcome {
    loop {
        match engine.open(id).await {
            Ok(mut handle) => {
                if let Phase::Over { .. } = handle.run().phase() {
                    face.say(&format!("run {id} is over already; this is what it came to"));
                }
                for unused in unused_words(journal, id, handle.run())? {
                    face.say(&out::harmless(&unused));
                }
                if !matches!(told, Input::Adopt { .. }) {
                    let confined = confine::on_resume(places, handle.run(), level, &args.confine).await?;
                    let confined = match flags.filter(|_| !handle.run().is_over()) {
                        Some(flags) => Some(confine::remembering(handle.run(), confined, flags)),
                        None => confined,
                    };
                    if let Some(confined) = confined {
                        handle.send(confined);
                    }
                }
                handle.send(told);
                handle.send(steer::resume_input(&args.permission, &args.spending));
                return steer::steer(engine, handle, face, signals).await;
            }
            Err(updraft_engine::Error::Journal(updraft_journal::Error::Owned { pid, .. })) => {
                face.say(&format!(
                    "run {id} is being run by process {pid}; following it (Ctrl-C ends only the following)"
                ));
                if let Some(code) = follow(journal, id, face, signals).await? {
                    return Ok(code);
                }
                face.say("its process ended before the run did; going on in its place");
            }
            Err(other) => return Err(other.into()),
        }
    }
}

/// Answers that were sent to the process before and came too late: it ended before it took them, and with it the call that
/// had asked.
fn unused_words(journal: &Journal, id: &RunId, run: &Run) -> Result<Vec<String>, Fault> {
    let inbox = journal.inbox(id)?;
    let asked = inbox.iter().filter_map(|waiting| waiting.input.question());
    let lost = asked.filter(|at| run.open().contains_key(at) && !outlives_its_process(run, at));
    let words = |at: &updraft_run::Address| {
        format!("the answer to {at} is not used: the call that had asked was cut off, and is not made again")
    };
    Ok(lost.map(words).collect())
}

/// The flags on commands' rights that a run goes on with, and what to say about them.
pub(super) fn confine_of(journal: &Journal, id: &RunId, said: &Confine) -> Result<(Confine, Vec<String>), Fault> {
    let began = began_with(journal, id)?.0.unwrap_or_default();
    Ok(confine::kept(&began.flags, said))
}

/// The level that commands run at from now on.
pub(super) async fn level_now(places: &Places, workspace: &Path, args: &Confine) -> Result<String, Fault> {
    confine::level_of(places, &settings(places, workspace, Some(args))?).await
}

/// The settings of a workspace under these flags.
fn settings(places: &Places, workspace: &Path, confined: Option<&Confine>) -> Result<Settings, Fault> {
    let sandbox = confined.map(confine::flags).transpose()?.unwrap_or_default();
    Settings::load(places, workspace, Written { sandbox, ..Written::default() })
}

/// The tools of a run in its workspace, without those of servers.
pub(super) async fn own_tools(
    places: &Places,
    (journal, id): (&Journal, &RunId),
    workspace: &Path,
) -> Result<Dispatcher, Fault> {
    let (settings, _) = held(places, (journal, id), workspace, (None, None))?;
    wire::dispatcher(places, workspace, &settings).await
}

/// All tools of a run in its workspace, and the servers that have some of them.
pub(super) async fn tools(
    places: &Places,
    (journal, id): (&Journal, &RunId),
    workspace: &Path,
    face: &Face,
    said: (Option<&Confine>, Option<bool>),
) -> Result<(Dispatcher, Servers), Fault> {
    let (settings, taken) = held(places, (journal, id), workspace, said)?;
    let (dispatcher, servers, remarks) =
        servers::dispatcher(places, &settings, workspace, servers::Wanted::All).await?;
    for remark in taken.iter().chain(&remarks) {
        face.say(&out::harmless(remark));
    }
    Ok((dispatcher, servers))
}

/// The settings of a workspace, held to what the run began with or was told since, unless something else is said now of how it
/// is confined or whether it only reads; and what was taken back for that.
fn held(
    places: &Places,
    (journal, id): (&Journal, &RunId),
    workspace: &Path,
    (confined, only_reads): (Option<&Confine>, Option<bool>),
) -> Result<(Settings, Vec<String>), Fault> {
    let mut settings = settings(places, workspace, confined)?;
    let (began, approvals) = began_with(journal, id)?;
    let taken = began.map(|began| {
        let lost = confine::lost(&began, &settings.meant.sandbox, confined);
        let taken = confine::hold_to(&began, &mut settings.meant.sandbox, confined);
        lost.into_iter().chain(taken).collect()
    });
    let taken = taken.unwrap_or_default();
    if only_reads.unwrap_or(approvals == Some(Approvals::ReadOnly)) {
        settings.meant.approvals.value = Consent::ReadOnly;
    }
    Ok((settings, taken))
}

/// An engine for a run that is there, in the run's own workspace.
pub(super) fn engine(
    places: &Places,
    journal: &Journal,
    workspace: &Path,
    output: &Output,
    dispatcher: Dispatcher,
    shown: Option<(&Face, CancellationToken)>,
) -> Result<Engine, Fault> {
    let settings = settings(places, workspace, None)?;
    log::begin(places, &settings.meant.log.value);
    let hands = Hands::new(reach::access(places, &settings, workspace), dispatcher);
    let (watch, stop) = match shown {
        Some((face, stop)) => (face.watch.clone(), stop),
        None => (Face::of(output).watch, CancellationToken::new()),
    };
    Ok(wire::engine(places, journal.clone(), hands, watch, stop))
}

/// What the run's commands were granted when it began, and who decides about its calls; nothing where that was not kept.
fn began_with(journal: &Journal, id: &RunId) -> Result<(Option<Grants>, Option<Approvals>), Fault> {
    let (mut granted, mut approvals) = (None, None);
    journal.read(id, 0, &mut |_, record| {
        match &record.input {
            Input::Start(start) => {
                granted.clone_from(&start.settings.grants);
                approvals = Some(start.settings.approvals);
            }
            // What a file says was granted, nobody here has granted.
            Input::Import => granted.iter_mut().for_each(|granted: &mut Grants| granted.flags = GrantFlags::default()),
            Input::Adopt { settings } => {
                approvals = Some(settings.approvals);
                let flags = settings.grants.as_ref().map(|grants| grants.flags.clone()).unwrap_or_default();
                if let Some(granted) = &mut granted {
                    granted.flags.clone_from(&flags);
                }
            }
            // What was said later counts in the place of what it began with.
            Input::Confine { flags: Some(flags), .. } => {
                if let Some(granted) = &mut granted {
                    granted.flags.clone_from(flags);
                }
            }
            Input::Confine { level, flags: None } => {
                if let Some(granted) = granted.as_mut().filter(|granted| granted.flags.level.is_some()) {
                    granted.flags.level = Some(level.clone());
                }
            }
            Input::Resume { approvals: Some(said), .. } => approvals = Some(*said),
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    Ok((granted, approvals))
}

/// Shows what another process does with a run. `None` if that process ended and the run is not at rest.
async fn follow(journal: &Journal, id: &RunId, face: &Face, signals: &mut Signals) -> Result<Option<Code>, Fault> {
    let mut tail = journal.tail(id, 0);
    let mut run = Run::default();
    // What happened before is folded in silence.
    let known = journal.head(id)?.events;
    loop {
        let is_left = || Ok::<_, Fault>(!journal.head(id)?.is_owned());
        if run.events() >= known && (run.is_over() || (run.is_at_rest() && is_left()?)) {
            face.settle();
            let rested = Rested { id: id.clone(), run, was_stopped: false };
            return Ok(Some(steer::conclude(&rested, journal, face, signals)));
        }
        let next = tokio::select! {
            next = tokio::time::timeout(LOOK, tail.next()) => next,
            code = signals.first() => {
                face.say(&format!("no longer following; run {id} goes on"));
                return Ok(Some(code));
            }
            never = face.animate() => match never {},
        };
        match next {
            Ok(next) => {
                let gone = || Fault::failed(format!("run {id} was deleted while it was followed"));
                let (first, record) = next?.ok_or_else(gone)?;
                run.record(&record);
                if first > known
                    || record.events.iter().any(|event| matches!(event, updraft_run::Event::Planned { .. }))
                {
                    face.watch.record(id, first, &record, &run);
                }
            }
            Err(_) if is_left()? && !run.is_at_rest() => {
                face.settle();
                return Ok(None);
            }
            Err(_) => {}
        }
    }
}
