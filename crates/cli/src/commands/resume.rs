//! `updraft resume`: goes on with a run; or follows it, where another process is at work on it.

use std::ops::ControlFlow;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use updraft_engine::{Engine, Hands, Rested};
use updraft_journal::{Filter, Journal, Status};
use updraft_run::{Grants, Input, Phase, Run, RunId};

use crate::args::{Confine, Output, Resume};
use crate::fault::{Code, Fault, Outcome};
use crate::places::Places;
use crate::settings::{Settings, Written};
use crate::signals::Signals;
use crate::view::Face;
use crate::{confine, log, out, reach, steer, wire};

/// How often we look whether a process that we follow is still there: its end writes nothing.
const LOOK: Duration = Duration::from_millis(500);

pub(crate) fn run(places: &Places, args: &Resume) -> Outcome {
    let journal = wire::journal_with_runs(places)?;
    if args.all {
        return wire::block_on(all(places, journal, args));
    }
    let id = wire::find_run(&journal, args.run.as_deref().unwrap_or("last"))?;
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
    if runs.is_empty() {
        out::note("no run was cut off");
    }
    let mut worst = Code::Done;
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
    let engine = engine(places, journal, id, &args.output, Some((&face, stop)), Some(&args.confine)).await?;
    let level = level_now(places, journal, id, args).await?;
    confine::warn(&level, &face);
    loop {
        match engine.open(id).await {
            Ok(mut handle) => {
                if let Phase::Over { .. } = handle.run().phase() {
                    face.say(&format!("run {id} is over already; this is what it came to"));
                }
                if let Some(confine) = confine::on_resume(handle.run(), &level, &args.confine).await? {
                    handle.send(confine);
                }
                handle.send(steer::resume_input(&args.permission, &args.spending));
                return steer::steer(&engine, handle, &face, &mut signals).await;
            }
            Err(updraft_engine::Error::Journal(updraft_journal::Error::Owned { pid, .. })) => {
                face.say(&format!(
                    "run {id} is being run by process {pid}; following it (Ctrl-C ends only the following)"
                ));
                if let Some(code) = follow(journal, id, &face, &mut signals).await? {
                    return Ok(code);
                }
                face.say("its process ended before the run did; going on in its place");
            }
            Err(other) => return Err(other.into()),
        }
    }
}

/// The level that commands run at from now on.
async fn level_now(places: &Places, journal: &Journal, id: &RunId, args: &Resume) -> Result<String, Fault> {
    let workspace = std::path::PathBuf::from(journal.head(id)?.workspace);
    let flags = Written { sandbox: confine::flags(&args.confine)?, ..Written::default() };
    let settings = Settings::load(places, &workspace, flags)?;
    confine::level_of(&confine::confinement(places, &settings)).await
}

/// An engine for a run that is there, in the run's own workspace.
pub(super) async fn engine(
    places: &Places,
    journal: &Journal,
    id: &RunId,
    output: &Output,
    shown: Option<(&Face, CancellationToken)>,
    confined: Option<&Confine>,
) -> Result<Engine, Fault> {
    let workspace = std::path::PathBuf::from(journal.head(id)?.workspace);
    let flags =
        Written { sandbox: confined.map(confine::flags).transpose()?.unwrap_or_default(), ..Written::default() };
    let mut settings = Settings::load(places, &workspace, flags)?;
    log::begin(places, &settings.meant.log.value);
    if let Some(began) = granted(journal, id)? {
        let taken = confine::hold_to(&began, &mut settings, confined);
        if let Some((face, _)) = &shown {
            for line in &taken {
                face.say(line);
            }
        }
    }
    let dispatcher = wire::dispatcher(places, &workspace, &settings).await?;
    let hands = Hands::new(reach::access(places, &settings, &workspace), dispatcher);
    let (watch, stop) = match shown {
        Some((face, stop)) => (face.watch.clone(), stop),
        None => (Face::of(output).watch, CancellationToken::new()),
    };
    Ok(wire::engine(journal.clone(), hands, watch, stop))
}

/// What the run's commands were granted when it began; nothing where that was not kept.
fn granted(journal: &Journal, id: &RunId) -> Result<Option<Grants>, Fault> {
    let mut granted = None;
    journal.read(id, 0, &mut |_, record| {
        if let Input::Start(start) = &record.input {
            granted.clone_from(&start.settings.grants);
        }
        ControlFlow::Break(())
    })?;
    Ok(granted)
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
            return Ok(Some(steer::conclude(&rested, face, signals)));
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
