//! Opens the journal of this machine, and finds runs in it by the names people type.

use std::ops::ControlFlow;
use std::path::Path;

use updraft_journal::{Journal, RunFilter};
use updraft_run::{Run, RunId};

use crate::fault::Fault;
use crate::folders::{self, AppFolders};

/// Opens the journal, creating it if it does not exist.
pub fn open(folders: &AppFolders) -> Result<Journal, Fault> {
    Ok(Journal::open(&folders.journal(), options())?)
}

/// Opens the journal, if it exists.
pub fn open_if_there(folders: &AppFolders) -> Result<Option<Journal>, Fault> {
    Ok(Journal::open_existing(&folders.journal(), options())?)
}

/// Opens the journal for a command that names a run: fails if it does not exist.
pub fn open_with_runs(folders: &AppFolders) -> Result<Journal, Fault> {
    open_if_there(folders)?.ok_or_else(|| {
        Fault::usage(format!("there are no runs yet in `{}`", folders.journal().display()))
            .hint("`updraft run \"GOAL\"` starts one")
    })
}

fn options() -> updraft_journal::JournalOptions {
    updraft_journal::JournalOptions {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..updraft_journal::JournalOptions::default()
    }
}

/// Finds a run by its id, a unique beginning of the id, or `last`.
pub fn find_run(journal: &Journal, name: &str) -> Result<RunId, Fault> {
    if name == "last" {
        let newest = journal.list(&RunFilter { limit: Some(1), ..RunFilter::default() })?;
        return newest
            .into_iter()
            .next()
            .map(|run| run.id)
            .ok_or_else(|| Fault::usage("there are no runs yet").hint("`updraft run \"GOAL\"` starts one"));
    }
    Ok(journal.find(name)?)
}

/// Finds a run by its name; without a name, the newest run of the current folder.
pub fn find_run_here(journal: &Journal, name: Option<&str>) -> Result<RunId, Fault> {
    match name {
        Some(name) => find_run(journal, name),
        None => newest_in(journal, &folders::workspace(None)?),
    }
}

/// The newest run that worked in a folder.
pub fn newest_in(journal: &Journal, folder: &Path) -> Result<RunId, Fault> {
    let runs = journal.list(&RunFilter::default())?;
    let newest = runs.into_iter().find(|run| folder.as_os_str() == run.workspace.as_str());
    newest.map(|run| run.id).ok_or_else(|| {
        Fault::usage(format!("no run has worked in `{}`", folder.display()))
            .hint("name the run; `updraft runs` lists them")
    })
}

/// A new random id for a run; it cannot be guessed.
pub fn new_id() -> Result<RunId, Fault> {
    let mut bits = [0; 10];
    getrandom::fill(&mut bits).map_err(|error| Fault::failed(format!("no random numbers from the system: {error}")))?;
    Ok(RunId::from_bits(bits))
}

/// Loads a run from the journal.
pub fn load(journal: &Journal, id: &RunId) -> Result<Run, Fault> {
    let mut run = Run::default();
    journal.read(id, 0, &mut |_, record| {
        run.record(&record);
        ControlFlow::Continue(())
    })?;
    Ok(run)
}
