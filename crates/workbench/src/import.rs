//! Brings in runs from elsewhere: those that `export` wrote, and node-link data of other tools.
//!
//! A file may contain anything. A run with its journal continues only after somebody here has adopted it; one from
//! node-link data has the rules of this machine from its beginning, and is paused.

mod graph;
mod session;

use std::io::{BufRead, Read};
use std::path::PathBuf;

use updraft_journal::{Export, Journal, Status, parse_export};
use updraft_run::{Input, Run, RunId};

use crate::fault::Fault;
use crate::flags::Flags;
use crate::folders::AppFolders;
use crate::time_format;

/// A larger graph could not be carried out.
const LONGEST_GRAPH: u64 = 1 << 30;

/// A file with a run, parsed as far as that needs nothing else.
pub struct ImportFile(FileContent);

enum FileContent {
    Journal(Box<Export>),
    Graph(String),
}

/// How a file is brought in.
#[derive(Clone, Debug, Default)]
pub struct ImportOrder {
    /// What the file is called in messages.
    pub shown: String,
    /// The id of the run, if it shall have another than in the file.
    pub id: Option<RunId>,
    /// The folder that a run from node-link data may work in.
    pub folder: PathBuf,
    /// Whether a run with its journal is listed with the runs of that folder too, instead of those of the folder it
    /// worked in elsewhere.
    pub listed_in_folder: bool,
    /// The settings that hold for the run.
    pub flags: Flags,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportReport {
    /// The run.
    pub id: RunId,
    /// What it needs to continue.
    pub next: ImportNext,
    /// What is different from the file.
    pub notes: Vec<String>,
}

/// What a run that was brought in needs to continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportNext {
    /// Nothing: it has ended.
    Nothing,
    /// Somebody adopts it.
    Adopt,
    /// It is resumed.
    Resume {
        /// The model that continues it.
        model: String,
    },
}

impl ImportFile {
    /// Parses a file. Blocks while it is read.
    pub fn read(lines: &mut dyn BufRead, shown: &str) -> Result<Self, Fault> {
        let cannot = |error: std::io::Error| Fault::usage(format!("`{shown}` cannot be read: {error}"));
        let begins = lines.fill_buf().map_err(cannot)?.trim_ascii_start();
        if begins.starts_with(b"{") && !begins.starts_with(b"{\"updraft\"") {
            let mut text = String::new();
            lines.take(LONGEST_GRAPH).read_to_string(&mut text).map_err(cannot)?;
            return Ok(Self(FileContent::Graph(text)));
        }
        Ok(Self(FileContent::Journal(Box::new(parse_export(lines)?))))
    }

    /// Whether it is node-link data: then the folder, the model and the settings count.
    pub fn is_graph(&self) -> bool {
        matches!(self.0, FileContent::Graph(_))
    }

    /// Writes the run to the journal, all or nothing.
    pub async fn import(
        self,
        folders: &AppFolders,
        journal: &Journal,
        order: &ImportOrder,
    ) -> Result<ImportReport, Fault> {
        let mut export = match self.0 {
            FileContent::Graph(text) => return Box::pin(graph::import(folders, journal, order, &text)).await,
            FileContent::Journal(export) => *export,
        };
        if let Some(id) = &order.id {
            export.head.id = id.clone();
        }
        if order.listed_in_folder {
            export.head.workspace = order.folder.display().to_string();
        }
        let next = hold(&mut export);
        let id = keep(journal, export).await?;
        Ok(ImportReport { id, next, notes: Vec::new() })
    }
}

/// Holds a run that is unfinished until it is adopted.
fn hold(export: &mut Export) -> ImportNext {
    let mut run = Run::default();
    for record in &export.records {
        run.record(record);
    }
    let record = run.advance(Input::Import, time_format::now());
    if !record.events.is_empty() {
        export.records.push(record);
        if !run.is_over() {
            export.head.status = Status::from_word(run.status_word());
        }
    }
    if run.is_over() { ImportNext::Nothing } else { ImportNext::Adopt }
}

/// Writes a run to the journal.
async fn keep(journal: &Journal, Export { head, records, blobs }: Export) -> Result<RunId, Fault> {
    let id = head.id.clone();
    journal.import(head, records, blobs).await?;
    Ok(id)
}
