//! `updraft export`: writes runs to files: for import, for NetworkX, or for people.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use updraft_engine::{EdgeList, RunReport, node_link};
use updraft_journal::{Journal, RunFilter};
use updraft_run::{ConversationLimits, RunId, Timestamp};
use updraft_serve::run_as_html;
use updraft_workbench::Flags;
use updraft_workbench::history::RunArchive;

use super::markdown;
use super::run::follow_up::FollowUp;
use crate::args::{EdgeNames, ExportArgs, ExportFormat};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::settings::WorkspaceSettings;
use crate::{journal, out, time_format};

pub(crate) fn run(folders: &AppFolders, args: &ExportArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let runs = if args.all {
        journal.list(&RunFilter::default())?.into_iter().map(|run| (run.id, run.created)).collect()
    } else {
        let id = journal::find_run(&journal, args.run.as_deref().unwrap_or("last"))?;
        let created = journal.head(&id)?.created;
        vec![(id, created)]
    };
    if let (Some(file), [(id, _)]) = (&args.html, runs.as_slice()) {
        let page = run_as_html(&RunArchive::read(&journal, id)?);
        std::fs::write(file, page).map_err(|error| CliError::file("write", file, &error))?;
        out::line(&file.display().to_string());
        return Ok(CliExitCode::Done);
    }
    let Some(folder) = &args.out else {
        let mut out = out::many();
        return runs.iter().try_for_each(|(id, _)| write(&journal, id, args, &mut out)).map(|()| CliExitCode::Done);
    };
    for (id, created) in &runs {
        let file = file_of(folder, id, *created, args.format);
        let cannot = |error: &std::io::Error| CliError::file("write", &file, error);
        if let Some(day) = file.parent() {
            std::fs::create_dir_all(day).map_err(|error| cannot(&error))?;
        }
        let mut writer = BufWriter::new(File::create(&file).map_err(|error| cannot(&error))?);
        write(&journal, id, args, &mut writer)?;
        writer.flush().map_err(|error| cannot(&error))?;
        out::line(&file.display().to_string());
    }
    Ok(CliExitCode::Done)
}

/// The limits of conversations in the current folder.
fn limits() -> Result<ConversationLimits, CliError> {
    let folder = folders::workspace(None)?;
    let settings = WorkspaceSettings::load(&AppFolders::find()?, &folder, &Flags::default())?;
    Ok(settings.effective.memory.conversation())
}

fn file_of(folder: &Path, id: &RunId, created: Timestamp, format: ExportFormat) -> PathBuf {
    let extension = match format {
        ExportFormat::Jsonl => "jsonl",
        ExportFormat::NodeLink | ExportFormat::Memory => "json",
        ExportFormat::Markdown => "md",
        ExportFormat::Html => "html",
    };
    folder.join(time_format::day(created)).join(format!("session_{id}.{extension}"))
}

fn write(journal: &Journal, id: &RunId, args: &ExportArgs, to: &mut dyn Write) -> Result<(), CliError> {
    let written = match args.format {
        ExportFormat::Jsonl => match journal.export_jsonl(id, to) {
            Err(updraft_journal::Error::Unsent { source }) => Err(source.kind().into()),
            other => return Ok(other?),
        },
        ExportFormat::NodeLink => {
            let edges = match args.edges {
                EdgeNames::Edges => EdgeList::Edges,
                EdgeNames::Links => EdgeList::Links,
                EdgeNames::Both => EdgeList::Both,
            };
            let whole = node_link(&RunReport::of(journal, id)?, edges);
            serde_json::to_writer_pretty(&mut *to, &whole)
                .map_err(std::io::Error::from)
                .and_then(|()| to.write_all(b"\n"))
        }
        ExportFormat::Memory => to.write_all(FollowUp::after(journal, id).in_json(limits()?).as_bytes()),
        ExportFormat::Html => to.write_all(run_as_html(&RunArchive::read(journal, id)?).as_bytes()),
        ExportFormat::Markdown => to.write_all(markdown::of(&RunReport::of(journal, id)?).as_bytes()),
    };
    match written.and_then(|()| to.flush()) {
        // A failure of standard output is reported at the end.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe && out::loss().is_none() => {
            Err(CliError::failed(format!("could not write the export: {error}")))
        }
        _ => Ok(()),
    }
}
