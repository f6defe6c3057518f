//! `updraft undo`: undoes what a run changed in its workspace, after showing it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::json;
use updraft_engine::{
    ChangeFilter, RecordedChange, Undo, UndoMove, UndoPlan, UndoResult, UndoSkipReason, UnlistedCall, WorkspaceMarks,
};
use updraft_journal::{Journal, RunFilter};
use updraft_run::{FileChange, FileKind, Run, RunId, StepId};
use updraft_workbench::folder_of;
use updraft_workbench::undo::{UndoDirection, UndoneRun, carry_out, records};

use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::{args, journal, runtime, time_format, tools, view};

/// Most lines that are shown before asking.
const SHOWN: usize = 40;

pub(crate) fn run(folders: &AppFolders, args: &args::UndoArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let id = match &args.run {
        Some(name) => journal::find_run(&journal, name)?,
        None => last_here(&journal)?,
    };
    let which = which(args)?;
    let run = journal::load(&journal, &id)?;
    was_at_work_here(&run, &id)?;
    let workspace = folder_of(&run)?;
    let undo = Undo::open(&journal, &id, &workspace, &records(folders))?;
    if args.list {
        let (made, plan) = (undo.recorded_changes(&which)?, undo.plan(&which, args.force)?);
        let unlisted = undo.unlisted(&which)?;
        list(&id, &made, &plan, &unlisted, args.json);
        if !args.json {
            say_unlisted(folders, &unlisted);
        }
        return Ok(CliExitCode::Done);
    }
    runtime::block_on(async {
        // A process that drives the run holds this lease, and none can start to while we hold it.
        let lease =
            if args.dry_run { None } else { Some(journal.acquire(&id).await.map_err(|error| busy(&id, error))?) };
        let book = tools::marks(folders).book(&workspace.display().to_string());
        let outcome = take_back(folders, &undo, (&journal, &id), &which, args, &book);
        if let Some(lease) = lease {
            journal.release(lease).await?;
        }
        journal.close().await;
        outcome
    })
}

fn busy(id: &RunId, error: updraft_journal::Error) -> CliError {
    match error {
        updraft_journal::Error::Owned { pid, .. } => {
            CliError::failed(format!("run {id} is being run by process {pid}, and would keep changing files"))
                .hint(format!("wait until it ends, or stop it first with `updraft cancel {id}`"))
        }
        other => other.into(),
    }
}

/// The last run that worked in the current folder.
fn last_here(journal: &Journal) -> Result<RunId, CliError> {
    let here = folders::workspace(None)?;
    let runs = journal.list(&RunFilter::default())?;
    for run in runs.into_iter().filter(|run| here.as_os_str() == run.workspace.as_str()) {
        if !journal::load(journal, &run.id)?.is_imported() {
            return Ok(run.id);
        }
    }
    Err(CliError::usage(format!("no run has worked in `{}`", here.display()))
        .hint("name the run; `updraft runs` lists them"))
}

fn which(args: &args::UndoArgs) -> Result<ChangeFilter, CliError> {
    let bad = |bad: updraft_run::BadId| CliError::usage(bad.to_string());
    let step = args.step.as_deref().map(StepId::parse).transpose().map_err(bad)?;
    let call = args.call.as_deref().map(str::parse).transpose().map_err(bad)?;
    Ok(ChangeFilter { step, call, path: args.path.clone() })
}

/// Reports which calls changed more than is listed, or may have.
fn say_unlisted(folders: &AppFolders, unlisted: &[UnlistedCall]) {
    for one in unlisted {
        let verb = if one.more.is_some() { "changed" } else { "may have changed" };
        out::note(&format!("{} {verb} more: {}", one.call, out::harmless(&one.why)));
    }
    let staged = folders.state.join("staged");
    let has_folders = || std::fs::read_dir(&staged).is_ok_and(|mut all| all.next().is_some());
    if unlisted.iter().any(|one| one.more.is_none()) && has_folders() {
        out::note(&format!(
            "  hint: if a command was interrupted while its changes were applied to the workspace, they are listed in `{}`",
            staged.display()
        ));
    }
}

fn take_back(
    folders: &AppFolders,
    undo: &Undo,
    (journal, id): (&Journal, &RunId),
    which: &ChangeFilter,
    args: &args::UndoArgs,
    book: &WorkspaceMarks,
) -> CliResult {
    let unlisted = if args.redo { Vec::new() } else { undo.unlisted(which)? };
    let done = |undone: &UndoResult, what: &str| {
        say(id, undone, &unlisted, args.json, what);
        if !args.json {
            say_unlisted(folders, &unlisted);
        }
        Ok(code(undone, &unlisted))
    };
    if !args.dry_run
        && let Some(finished) = undo.finish()?
    {
        return done(&finished, "finished the interrupted undo");
    }
    let plan = if args.redo {
        undo.plan_redo()?.ok_or_else(|| CliError::failed(format!("there is no undo of run {id} to revert")))?
    } else {
        undo.plan(which, args.force)?
    };
    if args.dry_run {
        if args.json {
            out::pretty(&json!({ "run": id, "plan": plan, "unlisted": unlisted }));
        } else {
            out::print(&in_words(&plan, usize::MAX));
            say_unlisted(folders, &unlisted);
        }
        return Ok(CliExitCode::Done);
    }
    if plan.moves.is_empty() {
        let undone = UndoResult { left: plan.left, ..UndoResult::default() };
        return done(&undone, "nothing to undo");
    }
    if !args.yes {
        if !out::can_ask() {
            return Err(CliError::new(CliExitCode::NeedsPerson, "confirmation needed, but there is no terminal")
                .hint("`updraft undo --dry-run` shows what would be done; `--yes` does it"));
        }
        out::draw(&in_words(&plan, SHOWN));
        say_unlisted(folders, &unlisted);
        if !view::confirm("Do this?") {
            out::note("nothing changed");
            return Ok(CliExitCode::Failed);
        }
    }
    let direction = if args.redo { UndoDirection::Redo } else { UndoDirection::Undo };
    let undone = carry_out(undo, UndoneRun { journal, id, book }, plan, which, direction)?;
    let what = match (undone.restored.is_empty(), args.redo) {
        (true, _) => "nothing was restored",
        (false, true) => "reverted the undo",
        (false, false) => "undone",
    };
    done(&undone, what)
}

/// The exit code: not everything was undone if something is left, or was changed without being listed.
fn code(undone: &UndoResult, unlisted: &[UnlistedCall]) -> CliExitCode {
    let is_whole = undone.left.is_empty() && unlisted.iter().all(|one| one.more.is_none());
    if is_whole { CliExitCode::Done } else { CliExitCode::Failed }
}

fn say(id: &RunId, undone: &UndoResult, unlisted: &[UnlistedCall], as_json: bool, what: &str) {
    if as_json {
        let (restored, left) = (&undone.restored, &undone.left);
        out::pretty(&json!({ "run": id, "restored": restored, "left": left, "unlisted": unlisted }));
        return;
    }
    let count = undone.restored.len();
    if count == 0 {
        out::note(what);
    } else {
        out::note(&format!("{what}: {} restored", view::count(count as u64, "path")));
    }
    for left in undone.left.iter().take(SHOWN) {
        out::note(&format!("  left unchanged: {}: {}", out::on_one_line(&left.path), left.why));
    }
    if undone.left.len() > SHOWN {
        out::note(&format!("  … and {} more", undone.left.len() - SHOWN));
    }
    if undone.left.iter().any(|left| matches!(left.why, UndoSkipReason::Conflict | UndoSkipReason::Repository(_))) {
        out::note(
            "  hint: `updraft undo --force` also restores files that were changed since, and keeps a copy of them",
        );
    }
}

fn in_words(plan: &UndoPlan, most: usize) -> String {
    let mut lines: Vec<String> = plan.moves.iter().take(most).map(move_words).collect();
    if plan.moves.len() > most {
        lines.push(format!("… and {} more", plan.moves.len() - most));
    }
    lines.extend(
        plan.left.iter().take(most).map(|left| format!("leave    {}: {}", out::on_one_line(&left.path), left.why)),
    );
    if lines.is_empty() {
        lines.push("nothing to undo".to_owned());
    }
    lines.join("\n") + "\n"
}

fn move_words(one: &UndoMove) -> String {
    let verb = match (&one.from, &one.to) {
        (_, None) => "remove ",
        (None, Some(_)) => "bring back",
        (Some(_), Some(_)) => "restore",
    };
    let kind = one.to.or(one.from).map_or(FileKind::File, |side| side.form.kind);
    let slash = if kind == FileKind::Folder { "/" } else { "" };
    format!("{verb:8} {}{slash}", out::on_one_line(&one.path))
}

fn list(id: &RunId, made: &[RecordedChange], plan: &UndoPlan, unlisted: &[UnlistedCall], as_json: bool) {
    if as_json {
        let made: Vec<&RecordedChange> = made.iter().rev().collect();
        out::pretty(&json!({ "run": id, "changes": made, "left": plan.left, "unlisted": unlisted }));
        return;
    }
    let paint = Paint::for_stdout();
    let mut text = String::new();
    let lefts: BTreeMap<&str, &UndoSkipReason> =
        plan.left.iter().rev().map(|left| (left.path.as_str(), &left.why)).collect();
    for one in made.iter().rev() {
        let why = lefts.get(one.change.path.as_str()).map(ToString::to_string);
        let why = why.map(|why| paint.yellow(&format!("  not undoable: {why}"))).unwrap_or_default();
        let (path, verb) = (out::on_one_line(&one.change.path), verb(&one.change));
        let _ = writeln!(text, "{}  {}  {verb:8} {path}{why}", time_format::clock(one.at), one.call);
    }
    let nothing = if unlisted.is_empty() { "the run changed no files\n" } else { "the run lists no changes\n" };
    out::print(if text.is_empty() { nothing } else { &text });
}

/// The verb for a change.
pub(crate) fn verb(change: &FileChange) -> &'static str {
    change.verb()
}

/// Refuses to undo an imported run: its changes were made elsewhere, if at all.
fn was_at_work_here(run: &Run, id: &RunId) -> Result<(), CliError> {
    if run.is_imported() {
        return Err(CliError::usage(format!("run {id} was imported: its changes were made elsewhere"))
            .hint(format!("`updraft audit {id}` lists them")));
    }
    Ok(())
}
