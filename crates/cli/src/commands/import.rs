//! `updraft import`: takes over what other coding agents have; or imports a run that `export` wrote, node-link data of another tool,
//! or the configuration of a project.

mod other_tools;
mod project;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use updraft_run::RunId;
use updraft_workbench::import::{ImportFile, ImportNext, ImportOrder, ImportReport};
use updraft_workbench::{Flags, Kind};

use crate::args::ImportArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::{journal, out, runtime};

pub(crate) fn run(folders: &AppFolders, args: &ImportArgs) -> CliResult {
    let Some(path) = &args.file else {
        return other_tools::import(folders, args);
    };
    if path.is_dir() {
        return project::import(folders, path);
    }
    let shown = path.display().to_string();
    let cannot = |error: std::io::Error| CliError::usage(format!("`{shown}` cannot be read: {error}"));
    let mut lines: Box<dyn BufRead> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).map_err(cannot)?))
    };
    let file = ImportFile::read(&mut *lines, &shown)?;
    let id = args.id.as_deref().map(RunId::parse).transpose().map_err(|bad| CliError::usage(bad.to_string()))?;
    let flags = Flags { model: args.model.clone(), ..Flags::default() };
    let folder = if file.is_graph() { folders::workspace(args.workspace.as_deref())? } else { PathBuf::new() };
    let order = ImportOrder { shown, id, folder, flags, ..ImportOrder::default() };
    let journal = journal::open(folders)?;
    let report = runtime::block_on(async {
        let imported = file.import(folders, &journal, &order).await;
        journal.close().await;
        imported.map_err(|fault| match fault.kind {
            Kind::AlreadyExists => CliError::failed(fault.message).hint("`--id NAME` imports it under another name"),
            _ => fault.into(),
        })
    })?;
    tell(&report);
    Ok(CliExitCode::Done)
}

fn tell(ImportReport { id, next, notes }: &ImportReport) {
    for note in notes {
        out::note(&out::harmless(note));
    }
    match next {
        ImportNext::Nothing => {}
        ImportNext::Adopt => out::note(&format!(
            "the run is not finished\n  hint: `updraft resume {id} --workspace DIR --mode workspace` continues it"
        )),
        ImportNext::Resume { model } => {
            out::note(&format!("the run is not finished\n  hint: `updraft resume {id}` continues it with {model}"));
        }
    }
    out::line(id.as_str());
}
