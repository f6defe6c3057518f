//! `updraft fork`: a new run that begins with the first events of another.

use std::ops::ControlFlow;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use updraft_journal::Journal;
use updraft_run::{ForkChange, Run, RunId, Settings as Rules};

use super::resume;
use crate::args::Fork;
use crate::fault::{Code, Fault, Outcome};
use crate::places::Places;
use crate::signals::Signals;
use crate::view::Face;
use crate::{out, steer, wire};

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
    let stop = CancellationToken::new();
    let mut signals = Signals::listen(stop.clone())?;
    let face = Face::of(&args.output);
    let engine = resume::engine(places, journal, from, &args.output, Some((&face, stop.clone())))?;
    let settings = match &args.model {
        Some(model) => Some(Arc::new(with_model(journal, from, args.at, model)?)),
        None => None,
    };
    let change = ForkChange { settings, goal: args.goal.clone(), variables: args.variables.into_iter().collect() };
    let to = wire::new_id()?;
    if args.stay {
        // An engine that is told to stop writes down what it is handed, and begins nothing.
        stop.cancel();
    }
    let mut handle = engine.fork(from, args.at, to.clone(), change).await?;
    if args.stay {
        Box::pin(handle.drive()).await?;
        out::line(to.as_str());
        out::note(&format!("forked from {from} at event {}\n  hint: `updraft resume {to}` goes on with it", args.at));
        return Ok(Code::Done);
    }
    face.say(&format!("run {to}, forked from {from} at event {}", args.at));
    handle.send(steer::resume_input(&args.permission, &args.spending));
    steer::steer(&engine, handle, &face, &mut signals).await
}

/// The rules the copied events end with, with another model.
fn with_model(journal: &Journal, from: &RunId, at: u64, model: &str) -> Result<Rules, Fault> {
    let spec = wire::model_spec(model);
    updraft_models::resolve(&spec, &updraft_models::Access::default()).map(drop).or_else(|error| match error {
        // What is missing may be in the environment; only a name nobody knows is refused here.
        unknown @ updraft_models::Error::Unknown { .. } => Err(Fault::from(unknown)),
        _ => Ok(()),
    })?;
    let mut run = Run::default();
    journal.read(from, 0, &mut |first, record| {
        if first > at {
            return ControlFlow::Break(());
        }
        run.record(&record);
        ControlFlow::Continue(())
    })?;
    Ok(Rules { model: spec, ..(**run.settings()).clone() })
}
