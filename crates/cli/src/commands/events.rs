//! `updraft events`: prints a run's events, and new ones as they are written.

use std::io::Write;
use std::ops::ControlFlow;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use updraft_journal::Journal;
use updraft_run::{Record, Run, RunId};

use crate::args::EventsArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::signals::Signals;
use crate::view::{SCHEMA, event_words};
use crate::{journal, out, runtime, time_format};

pub(crate) fn run(folders: &AppFolders, args: &EventsArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let id = journal::find_run_here(&journal, args.run.run.as_deref())?;
    if args.follow {
        return runtime::block_on(follow(journal, id, args));
    }
    let mut out = out::many();
    journal.read(&id, args.from, &mut |first, record| match print(&mut out, &id, first, &record, args) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    })?;
    Ok(CliExitCode::Done)
}

/// Prints the events so far, then new ones, until the run is over and no process works on it.
async fn follow(journal: Journal, id: RunId, args: &EventsArgs) -> CliResult {
    let mut signals = Signals::listen(CancellationToken::new())?;
    let mut tail = journal.tail(&id, 0);
    let mut run = Run::default();
    loop {
        let next = tokio::select! {
            next = tail.next() => next?,
            code = signals.first() => return Ok(code),
        };
        let Some((first, record)) = next else {
            return Err(CliError::failed(format!("run {id} was deleted while it was followed")));
        };
        run.record(&record);
        if first + record.events.len() as u64 > args.from {
            let mut out = out::many();
            if print(&mut out, &id, first, &record, args).and_then(|()| out.flush()).is_err() {
                return Ok(CliExitCode::Done);
            }
        }
        if run.is_over() {
            return Ok(CliExitCode::Done);
        }
    }
}

fn print(out: &mut impl Write, id: &RunId, first: u64, record: &Record, args: &EventsArgs) -> std::io::Result<()> {
    for (seq, event) in (first..).zip(&record.events).filter(|(seq, _)| *seq >= args.from) {
        if args.json {
            let line = json!({ "schema": SCHEMA, "run": id, "seq": seq, "type": event.name(), "at": time_format::iso(record.at), "event": event });
            writeln!(out, "{line}")?;
        } else {
            let words = event_words(event);
            let line =
                format!("{seq:>5}  {}  {:14} {}", time_format::clock(record.at), event.name(), out::harmless(&words));
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    Ok(())
}
