//! `updraft import`: imports a run that `export` wrote, node-link data of another tool, or the configuration of a project.

mod graph;
mod project;
mod session;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use updraft_journal::{Export, Journal, Status, parse_export};
use updraft_run::{Input, Run, RunId};

use crate::args::ImportArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::{journal, out, runtime, time_format};

/// A larger graph could not be carried out.
const LONGEST_GRAPH: u64 = 1 << 30;

pub(crate) fn run(folders: &AppFolders, args: &ImportArgs) -> CliResult {
    if args.file.is_dir() {
        return project::import(folders, &args.file);
    }
    let cannot = |error: std::io::Error| CliError::usage(format!("`{}` cannot be read: {error}", args.file.display()));
    let mut lines: Box<dyn BufRead> = if args.file.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(&args.file).map_err(cannot)?))
    };
    let begins = lines.fill_buf().map_err(cannot)?.trim_ascii_start();
    if begins.starts_with(b"{") && !begins.starts_with(b"{\"updraft\"") {
        let mut text = String::new();
        lines.take(LONGEST_GRAPH).read_to_string(&mut text).map_err(cannot)?;
        return runtime::block_on(graph::import(folders, args, &text));
    }
    let mut export = parse_export(&mut *lines)?;
    if let Some(id) = &args.id {
        export.head.id = RunId::parse(id).map_err(|bad| CliError::usage(bad.to_string()))?;
    }
    hold(&mut export);
    let journal = journal::open(folders)?;
    runtime::block_on(keep(journal, export))
}

/// An imported file may contain anything, so an unfinished run continues only after the user has said where.
fn hold(export: &mut Export) {
    let mut run = Run::default();
    for record in &export.records {
        run.record(record);
    }
    let record = run.advance(Input::Import, time_format::now());
    if record.events.is_empty() {
        return;
    }
    export.records.push(record);
    if run.is_over() {
        return;
    }
    export.head.status = Status::from_word(run.status_word());
    let id = &export.head.id;
    out::note(&format!(
        "the run is not finished\n  hint: `updraft resume {id} --workspace DIR --mode workspace` continues it"
    ));
}

/// Writes a run to the journal.
async fn keep(journal: Journal, Export { head, records, blobs }: Export) -> CliResult {
    let id = head.id.clone();
    let imported = journal.import(head, records, blobs).await;
    journal.close().await;
    imported.map_err(|error| match error {
        updraft_journal::Error::Exists(id) => CliError::failed(format!("a run named `{id}` already exists"))
            .hint("`--id NAME` imports it under another name"),
        other => other.into(),
    })?;
    out::line(id.as_str());
    Ok(CliExitCode::Done)
}
