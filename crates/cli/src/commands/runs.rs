//! `updraft runs`: lists runs, newest first.

use std::io::{IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::json;
use updraft_journal::{Journal, RunFilter, RunSummary, Status};
use updraft_run::{Input, RunId};

use crate::args::{RunsArgs, StatusWord};
use crate::fault::{CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::view::{self, SCHEMA};
use crate::{journal, time_format};

/// The sign for the current folder.
const HERE: &str = ".";
/// Most columns for folders.
const FOLDER: usize = 30;

pub(crate) fn run(folders: &AppFolders, args: &RunsArgs) -> CliResult {
    let interrupted = args.status == Some(StatusWord::Interrupted);
    let running = args.status == Some(StatusWord::Recorded(Status::Running));
    // Whether a run was interrupted is known only after checking its owner.
    let limit = (!interrupted && !running).then_some(args.limit);
    let filter = RunFilter {
        since: args.since,
        until: args.until,
        status: args.status.map(StatusWord::recorded),
        limit,
        ..RunFilter::default()
    };
    let journal = journal::open_if_there(folders)?;
    let mut runs = match &journal {
        Some(journal) => journal.list(&filter)?,
        None => Vec::new(),
    };
    runs.retain(|run| (!interrupted || run.was_cut_off()) && (!running || !run.was_cut_off()));
    // Lost runs come last, and are always listed.
    let mut place = 0;
    runs.retain(|run| {
        place += 1;
        place <= args.limit || run.status == Status::Damaged
    });
    if args.json {
        let mut out = out::many();
        for run in &runs {
            let mut line = as_json(run);
            line["sandbox"] = journal.as_ref().and_then(|journal| level_of(journal, &run.id)).into();
            let _ = writeln!(out, "{line}");
        }
        return Ok(CliExitCode::Done);
    }
    if runs.is_empty() {
        out::note("no runs\n  hint: `updraft run \"GOAL\"` starts one");
        return Ok(CliExitCode::Done);
    }
    let (paint, now) = (Paint::for_stdout(), time_format::now());
    let columns = std::io::stdout().is_terminal().then(|| view::size().1);
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    let folders = |run: &RunSummary| folder(&run.workspace, &here);
    let folder_width = runs.iter().map(|run| view::width(&folders(run))).max().unwrap_or_default().min(FOLDER);
    let mut out = out::many();
    let word_width = runs.iter().map(|run| in_words(run).len()).max().unwrap_or_default().max(11);
    for run in &runs {
        let shown = format!("{:word_width$}", in_words(run));
        let shown = match word(run) {
            "done" => paint.green(&shown),
            "failed" | "not_done" | "interrupted" | "damaged" => paint.red(&shown),
            "running" => paint.cyan(&shown),
            "waiting" | "paused" | "exhausted" | "unproved" => paint.yellow(&shown),
            _ => paint.dim(&shown),
        };
        let when = time_format::since(run.created, now);
        let folder = view::column(&folders(run), folder_width);
        let folder = if folders(run) == HERE { paint.bold(&folder) } else { paint.dim(&folder) };
        let used = run.id.as_str().len() + word_width + 10 + folder_width + 8;
        let goal =
            view::cut(&out::short(&run.goal, 200), columns.map_or(80, |columns| columns.saturating_sub(used).max(12)));
        let line = format!("{}  {shown}  {when:>10}  {folder}  {goal}", run.id);
        // The reader may have closed the pipe.
        if writeln!(out, "{}", line.trim_end()).is_err() {
            break;
        }
    }
    Ok(CliExitCode::Done)
}

/// The folder of a run in short form: the current one, or relative to the home folder.
fn folder(workspace: &str, here: &Path) -> String {
    if Path::new(workspace) == here {
        return HERE.to_owned();
    }
    let home = folders::home().and_then(|home| home.canonicalize().ok());
    match home.as_deref().and_then(|home| Path::new(workspace).strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => workspace.to_owned(),
    }
}

/// The status of a run, also if its process ended without recording one.
pub(crate) fn word(run: &RunSummary) -> &'static str {
    if run.was_cut_off() { "interrupted" } else { run.status.as_str() }
}

/// The same in words for people.
pub(crate) fn in_words(run: &RunSummary) -> &'static str {
    if run.was_cut_off() { "interrupted" } else { run.status.in_words() }
}

/// The sandbox level that a run began with.
fn level_of(journal: &Journal, id: &RunId) -> Option<&'static str> {
    let mut level = None;
    let read = journal.read(id, 0, &mut |_, record| {
        if let Input::Start(start) = &record.input {
            level = Some(start.settings.sandbox.as_str()).filter(|level| !level.is_empty());
        }
        ControlFlow::Break(())
    });
    level.filter(|_| read.is_ok())
}

fn as_json(run: &RunSummary) -> serde_json::Value {
    json!({
        "schema": SCHEMA, "run": run.id, "status": word(run), "goal": run.goal, "workspace": run.workspace, "model": run.model,
        "created": time_format::iso(run.created), "updated": time_format::iso(run.updated), "events": run.events,
        "parent": run.parent, "version": run.version,
        "process": run.owner.filter(|owner| owner.alive).map(|owner| owner.pid),
    })
}
