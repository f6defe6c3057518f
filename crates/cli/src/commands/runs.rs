//! `updraft runs`: lists runs, newest first.

use std::io::Write as _;
use std::ops::ControlFlow;

use serde_json::json;
use updraft_journal::{Filter, Journal, Status, Summary};
use updraft_run::{Input, RunId};

use crate::args::{Runs, StatusWord};
use crate::fault::{Code, Outcome};
use crate::out::{self, Paint};
use crate::places::Places;
use crate::view::SCHEMA;
use crate::{moment, wire};

pub(crate) fn run(places: &Places, args: &Runs) -> Outcome {
    let interrupted = args.status == Some(StatusWord::Interrupted);
    let running = args.status == Some(StatusWord::Running);
    // Whether a run was cut off is known only after looking at its owner.
    let limit = (!interrupted && !running).then_some(args.limit);
    let filter =
        Filter { since: args.since, until: args.until, status: args.status.map(status), limit, ..Filter::default() };
    let journal = wire::journal_if_there(places)?;
    let mut runs = match &journal {
        Some(journal) => journal.list(&filter)?,
        None => Vec::new(),
    };
    runs.retain(|run| (!interrupted || run.was_cut_off()) && (!running || !run.was_cut_off()));
    runs.truncate(args.limit);
    if args.json {
        let mut out = out::many();
        for run in &runs {
            let mut line = as_json(run);
            line["sandbox"] = journal.as_ref().and_then(|journal| level_of(journal, &run.id)).into();
            let _ = writeln!(out, "{line}");
        }
        return Ok(Code::Done);
    }
    if runs.is_empty() {
        out::note("no runs\n  hint: `updraft run \"GOAL\"` starts one");
        return Ok(Code::Done);
    }
    let (paint, now) = (Paint::for_stdout(), moment::now());
    let mut out = out::many();
    for run in &runs {
        let word = word(run);
        let shown = format!("{word:11}");
        let shown = match word {
            "done" => paint.green(&shown),
            "failed" | "interrupted" => paint.red(&shown),
            "running" => paint.cyan(&shown),
            "waiting" | "paused" | "exhausted" => paint.yellow(&shown),
            _ => paint.dim(&shown),
        };
        let when = moment::since(run.created, now);
        let line = format!("{}  {shown}  {when:>10}  {}", run.id, out::short(&run.goal, 80));
        // Whoever reads may stop reading.
        if writeln!(out, "{}", line.trim_end()).is_err() {
            break;
        }
    }
    Ok(Code::Done)
}

fn status(word: StatusWord) -> Status {
    match word {
        StatusWord::Running | StatusWord::Interrupted => Status::Running,
        StatusWord::Waiting => Status::Waiting,
        StatusWord::Paused => Status::Paused,
        StatusWord::Exhausted => Status::Exhausted,
        StatusWord::Cancelled => Status::Cancelled,
        StatusWord::Failed => Status::Failed,
        StatusWord::Done => Status::Done,
    }
}

/// How a run stands, also where its process ended without saying so.
pub(crate) fn word(run: &Summary) -> &'static str {
    if run.was_cut_off() { "interrupted" } else { run.status.as_str() }
}

/// The level that a run's commands were confined to when it began.
fn level_of(journal: &Journal, id: &RunId) -> Option<String> {
    let mut level = None;
    let read = journal.read(id, 0, &mut |_, record| {
        if let Input::Start(start) = &record.input {
            level = Some(start.settings.sandbox.clone()).filter(|level| !level.is_empty());
        }
        ControlFlow::Break(())
    });
    level.filter(|_| read.is_ok())
}

fn as_json(run: &Summary) -> serde_json::Value {
    json!({
        "schema": SCHEMA, "run": run.id, "status": word(run), "goal": run.goal, "workspace": run.workspace, "model": run.model,
        "created": moment::iso(run.created), "updated": moment::iso(run.updated), "events": run.events,
        "parent": run.parent, "version": run.version,
        "process": run.owner.filter(|owner| owner.alive).map(|owner| owner.pid),
    })
}
