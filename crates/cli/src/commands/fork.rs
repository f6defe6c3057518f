//! `updraft fork`: a new run that begins with the first events of another.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use updraft_journal::Journal;
use updraft_models::choose;
use updraft_run::{ForkChange, Input, Mode, Role, Run, RunId, Settings as Rules};

use super::import::UNKNOWN;
use super::{adopt, resume, tighten};
use crate::args::{Confine, Fork};
use crate::fault::{Code, Fault, Outcome};
use crate::places::Places;
use crate::settings::{Settings, Written};
use crate::signals::Signals;
use crate::view::Face;
use crate::{confine, out, reach, steer, wire};

pub(crate) fn run(places: &Places, args: Fork) -> Outcome {
    let journal = wire::journal_with_runs(places)?;
    let from = wire::find_run(&journal, &args.run.run)?;
    if args.goal.as_ref().is_some_and(|goal| goal.trim().is_empty()) {
        return Err(Fault::usage("the goal is empty; leave --goal out to keep the old one"));
    }
    wire::block_on(async {
        let ended = fork(places, &journal, &from, args).await;
        journal.close().await;
        ended
    })
}

async fn fork(places: &Places, journal: &Journal, from: &RunId, args: Fork) -> Outcome {
    let events = journal.head(from)?.events;
    if args.at == 0 || args.at > events {
        return Err(Fault::usage(format!("run {from} has {events} events; --at {} is not among them", args.at))
            .hint(format!("`updraft events {from}` numbers them")));
    }
    adopt::may_be_cut(journal, from, args.at)?;
    let source = adopt::load(journal, from)?;
    let workspace = adopt::workspace_of(&source)?;
    // Nobody here has said yet where and how that one may go on.
    let is_held = source.is_imported();
    let is_left = args.stay || is_held;
    let stop = CancellationToken::new();
    let mut signals = Signals::listen(stop.clone())?;
    let face = Face::of(&args.output);
    let copied = first_events(journal, from, args.at)?;
    let (confine, remarks) = resume::confine_of(journal, from, &args.confine)?;
    for remark in remarks {
        face.say(&out::harmless(&remark));
    }
    // A copy that only stays is confined when someone goes on with it.
    let confined = if is_left { None } else { confined(places, &copied, &workspace, &confine, &face).await? };
    let (dispatcher, servers) =
        resume::tools(places, (journal, from), &workspace, &face, (Some(&confine), None)).await?;
    let tightened = tighten::by(&Settings::load(places, &workspace, Written::default())?, &dispatcher, &servers);
    let engine = resume::engine(places, journal, &workspace, &args.output, dispatcher, Some((&face, stop.clone())))?;
    counts(&engine.as_it_stood(from, args.at)?, &args)?;
    let model = match args.model.clone() {
        None if copied.settings().model == UNKNOWN => {
            Some(Settings::load(places, &workspace, Written::default())?.meant.model.value)
        }
        said => said,
    };
    let settings = match &model {
        Some(model) => Some(Arc::new(with_model(places, &copied, &workspace, model).await?)),
        None => None,
    };
    let change = ForkChange { settings, goal: args.goal.clone(), variables: args.variables.into_iter().collect() };
    let to = wire::new_id()?;
    if is_left {
        // An engine that is told to stop writes down what it is handed, and begins nothing.
        stop.cancel();
    }
    let mut handle = engine.fork(from, args.at, to.clone(), change).await?;
    if is_left {
        Box::pin(handle.drive()).await?;
        servers.close().await;
        out::line(to.as_str());
        let how = if is_held { " --workspace DIR --mode workspace" } else { "" };
        let and = if is_held { ", which was imported" } else { "" };
        let hint = format!("`updraft resume {to}{how}` goes on with it");
        out::note(&format!("forked from {from}{and} at event {}\n  hint: {hint}", args.at));
        return Ok(Code::Done);
    }
    face.say(&format!("run {to}, forked from {from} at event {}", args.at));
    if let Some(confined) = confined {
        handle.send(confined);
    }
    handle.send(tightened);
    handle.send(steer::resume_input(&args.permission, &args.spending));
    let ended = steer::steer(&engine, handle, &face, &mut signals).await;
    servers.close().await;
    ended
}

/// The run as it stood after its first events.
fn first_events(journal: &Journal, from: &RunId, at: u64) -> Result<Run, Fault> {
    let mut run = Run::default();
    journal.read(from, 0, &mut |first, record| {
        if first > at {
            return ControlFlow::Break(());
        }
        run.record(&record);
        ControlFlow::Continue(())
    })?;
    Ok(run)
}

/// Refuses a variable that nobody would read, or that is written again before anyone does.
fn counts(copied: &Run, args: &Fork) -> Result<(), Fault> {
    let earlier = || format!("fork earlier: `updraft events {}` numbers the events", args.run.run);
    let is_planned = copied.steps().any(|step| step.role == Role::Work);
    for name in args.variables.iter().map(|(name, _)| name).filter(|_| is_planned) {
        let to_come = || copied.steps().filter(|step| !step.has_begun() && !step.has_ended());
        let reads_all = matches!(copied.goal().mode, Mode::Agent(_));
        if !to_come().any(|step| reads_all || step.spec.reads.contains(name)) {
            let read = copied.steps().any(|step| step.spec.reads.contains(name));
            let why = if read { "the steps that read it have begun by then" } else { "no step of the plan reads it" };
            let fault = Fault::usage(format!("--set {name} would change nothing: {why}"));
            return Err(if read { fault.hint(earlier()) } else { fault.hint(variables_read(copied)) });
        }
        if let Some(writer) = copied.steps().find(|step| !step.has_ended() && step.spec.writes.contains(name)) {
            let id = &writer.spec.id;
            return Err(Fault::usage(format!("--set {name} would be overwritten: step `{id}` has yet to write it"))
                .hint(format!(
                    "fork after step `{id}` is done: `updraft events {}` numbers the events",
                    args.run.run
                )));
        }
    }
    Ok(())
}

fn variables_read(copied: &Run) -> String {
    let names: BTreeSet<&str> = copied.steps().flat_map(|step| &step.spec.reads).map(String::as_str).collect();
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() { "its steps read no variables".to_owned() } else { format!("they read: {}", names.join(", ")) }
}

/// What the copy is told of its sandbox; refused where that is less than the run had and nobody said so.
async fn confined(
    places: &Places,
    copied: &Run,
    workspace: &Path,
    args: &Confine,
    face: &Face,
) -> Result<Option<Input>, Fault> {
    let level = resume::level_now(places, workspace, args).await?;
    confine::warn(&level, face);
    // The record that is cut may end the run that is copied, and not the copy.
    confine::going_on(places, &copied.settings().sandbox, &level, args).await
}

/// The rules the copied events end with, with another model for everyone.
async fn with_model(places: &Places, copied: &Run, workspace: &Path, model: &str) -> Result<Rules, Fault> {
    let settings = Settings::load(places, workspace, Written::default())?;
    let access = reach::access(places, &settings, workspace);
    let spec = choose(&wire::model_spec(model), &access).await?.spec;
    Ok(Rules { model: spec, same_model: true, ..(**copied.settings()).clone() })
}
