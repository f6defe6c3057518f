//! Completion of run ids, where the shell asks us (`COMPLETE=bash updraft`).

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use updraft_journal::RunFilter;

use crate::folders::AppFolders;
use crate::{journal, out};

/// Most runs offered to the shell: more would not help to choose.
const MOST: usize = 50;

/// Completes a run id.
pub(crate) fn runs() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &std::ffi::OsStr| {
        let typed = typed.to_string_lossy();
        let Ok(folders) = AppFolders::find() else { return Vec::new() };
        let Ok(Some(journal)) = journal::open_if_there(&folders) else { return Vec::new() };
        let filter = RunFilter { limit: Some(MOST), ..RunFilter::default() };
        let runs = journal.list(&filter).unwrap_or_default().into_iter();
        runs.filter(|run| run.id.as_str().starts_with(&*typed))
            .map(|run| {
                let help = format!("{} · {}", run.status, out::short(&run.goal, 50));
                CompletionCandidate::new(run.id.as_str()).help(Some(help.into()))
            })
            .collect()
    })
}
