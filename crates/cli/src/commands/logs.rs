//! `updraft logs`: prints a run's `general.log` or `reasoning.log`, made from the journal, or writes its prompts and
//! responses to files.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use updraft_journal::Journal;
use updraft_run::{Record, RunId};
use updraft_workbench::observe::{LogFormat, LogKind, PromptFiles, read_log};

use crate::args::LogsArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::{journal, out};

pub(crate) fn run(folders: &AppFolders, args: &LogsArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let id = journal::find_run_here(&journal, args.run.run.as_deref())?;
    if let Some(folder) = &args.prompts {
        return prompts(&journal, &id, folder);
    }
    let kind = if args.reasoning { LogKind::Reasoning } else { LogKind::General };
    let format = if args.json { LogFormat::Json } else { LogFormat::Text };
    let mut out = out::many();
    read_log(&journal, &id, kind, &mut |line| match out.write_all(line.written(format).as_bytes()) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    })?;
    Ok(CliExitCode::Done)
}

fn prompts(journal: &Journal, id: &RunId, folder: &Path) -> CliResult {
    let mut files = PromptFiles::in_folder(folder.to_owned());
    let mut failure = None;
    journal.read(id, 0, &mut |_, record: Record| match files.take(journal, id, &record) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failure = Some(CliError::file("write", folder, &error));
            ControlFlow::Break(())
        }
    })?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    out::note(&format!("prompts and responses of {id} are in {}", folder.display()));
    Ok(CliExitCode::Done)
}
