//! `updraft ingest`: brings files into the workspace's index, and keeps it as the files are.

mod work;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use updraft_knowledge::{DocumentEntry, IngestReport};
use updraft_run::ReadRules;
use updraft_tools::{IndexState, WorkspaceIndex};
use updraft_workbench::{Flags, knowledge};

use crate::args::IngestArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out;
use crate::runtime;
use crate::settings::WorkspaceSettings;
use crate::view::count;
pub(crate) use work::{IndexJob, Outcome, fault, vectors_in_words};

/// Files that are named in the report; `--json` names all.
const NAMED: usize = 20;
/// How often a watched tree is looked at, at most.
const LOOKED: Duration = Duration::from_secs(1);
/// How much longer than looking took to wait before looking again.
const RESTED: u32 = 10;

pub(crate) fn run(folders: &AppFolders, args: &IngestArgs) -> CliResult {
    let workspace = folders::workspace(args.place.workspace.as_deref())?;
    let settings = WorkspaceSettings::load(folders, &workspace, &Flags::default())?;
    let paths = args.paths.iter().map(|path| real(path, args.remove)).collect::<Result<Vec<_>, _>>()?;
    let job =
        IndexJob::new(knowledge::index(folders, &workspace, &settings), &workspace, args.place.json, Duration::ZERO)?;
    runtime::block_on(async {
        if args.remove {
            return remove(&job, &paths, args.place.json);
        }
        let given = paths.clone();
        let outcome = job
            .run(move |index, workspace, work| match given.as_slice() {
                [] => index.refresh(workspace, work),
                paths => index.ingest(workspace, paths, work),
            })
            .await?;
        let code = report(&job, &outcome, args.place.json)?;
        if code != CliExitCode::Done || !args.watch {
            return Ok(code);
        }
        watch(&job, args.place.json).await
    })
}

/// The real path of what was named. One that is removed from the index may be gone.
fn real(path: &Path, may_be_gone: bool) -> Result<PathBuf, CliError> {
    match path.canonicalize() {
        Err(_) if may_be_gone => std::path::absolute(path).map_err(|error| CliError::file("find", path, &error)),
        found => found.map_err(|error| CliError::usage(format!("`{}` cannot be read: {error}", path.display()))),
    }
}

fn remove(job: &IndexJob, paths: &[PathBuf], as_json: bool) -> CliResult {
    let removed = job.index.forget(&job.workspace, paths).map_err(|error| fault(&error))?;
    if as_json {
        out::json(&json!({ "removed": removed }));
        return Ok(CliExitCode::Done);
    }
    out::note(&format!("removed {}", count(removed as u64, "document")));
    if paths.iter().any(|path| path.starts_with(job.workspace.root())) {
        out::note("  hint: files of the workspace come back unless .gitignore or .ignore leaves them out");
    }
    Ok(CliExitCode::Done)
}

/// Looks at the files again and again: that works on every file system and needs no limits of the system raised, and a
/// look costs little.
async fn watch(job: &IndexJob, as_json: bool) -> CliResult {
    if !as_json {
        out::note("watching; Ctrl-C stops");
    }
    let mut wait = LOOKED;
    loop {
        if let Some(code) = job.rest(wait).await {
            return Ok(code);
        }
        let begun = Instant::now();
        let outcome = job.run(WorkspaceIndex::refresh).await?;
        wait = LOOKED.max(begun.elapsed() * RESTED);
        let is_news = |report: &IngestReport| report.written + report.removed > 0 || !report.failed.is_empty();
        let code = match &outcome.value.report {
            Some(report) if !is_news(report) => outcome.code,
            Some(_) | None => report(job, &outcome, as_json)?,
        };
        if code != CliExitCode::Done {
            return Ok(code);
        }
    }
}

/// Prints what a pass did.
fn report(job: &IndexJob, outcome: &Outcome<IndexState>, as_json: bool) -> CliResult {
    let state = &outcome.value;
    let unread = unread(&job.index)?;
    let totals = job.index.totals().map_err(|error| fault(&error))?;
    if as_json {
        let pass = state.report.as_ref();
        let failed = pass.map(|pass| pass.failed.as_slice()).unwrap_or_default();
        let named = |path: &str, why: &str| json!({ "path": path, "why": why });
        let failed: Vec<_> = failed.iter().map(|(path, why)| named(path, why)).collect();
        let unread: Vec<_> = unread.iter().map(|entry| named(&entry.path, why(entry))).collect();
        out::json(&json!({
            "stopped": pass.is_none(),
            "files": pass.map(|pass| pass.files),
            "written": pass.map_or(state.progress.files, |pass| pass.written),
            "unchanged": pass.map(|pass| pass.unchanged + pass.same),
            "removed": pass.map(|pass| pass.removed),
            "passages": pass.map(|pass| pass.chunks),
            "failed": failed,
            "unread": unread,
            "documents": totals.documents,
            "all_passages": totals.chunks,
            "vectors": totals.vectors,
            "vector_fault": state.vector_fault,
            "replaced": state.replaced,
        }));
        return Ok(outcome.code);
    }
    if let Some(aside) = &state.replaced {
        out::note(&format!("the index was damaged and has been made again; the old one is `{}`", aside.display()));
    }
    let Some(pass) = &state.report else {
        let (done, all) = (state.progress.files, state.progress.all_files);
        out::note(&format!("stopped: {done} of {} indexed; the next `updraft ingest` goes on", count(all, "file")));
        return Ok(outcome.code);
    };
    out::note(&knowledge::pass_in_words(pass));
    let failed = pass.failed.iter().map(|(path, why)| (path.as_str(), why.as_str()));
    let all: Vec<(&str, &str)> = failed.chain(unread.iter().map(|entry| (entry.path.as_str(), why(entry)))).collect();
    for (path, why) in all.iter().take(NAMED) {
        out::note(&format!("  not read: {}: {}", out::on_one_line(path), out::short(why, 200)));
    }
    if all.len() > NAMED {
        out::note(&format!("  and {} more that were not read; --json names all", all.len() - NAMED));
    }
    if let Some(why) = &state.vector_fault {
        out::note(&format!("no vectors: {}", out::harmless(why)));
    }
    Ok(outcome.code)
}

/// The documents that could not be read at all.
fn unread(index: &WorkspaceIndex) -> Result<Vec<DocumentEntry>, CliError> {
    let mut documents = index.documents(&ReadRules::default()).map_err(|error| fault(&error))?;
    documents.retain(|document| document.kind == "unknown" && document.problem.is_some());
    Ok(documents)
}

fn why(document: &DocumentEntry) -> &str {
    document.problem.as_deref().unwrap_or_default()
}
