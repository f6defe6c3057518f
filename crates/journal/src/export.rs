//! Exports and imports a run as lines of JSON: its header, its records, and the values they refer to.

use std::io::{BufRead, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use updraft_run::{ContentHash, Record, RunId, Timestamp};

use crate::batch::Blob;
use crate::journal::Journal;
use crate::records::Cursor;
use crate::run_header::{RunHeader, Status};
use crate::{Error, blobs};

/// The version of the format. A reader refuses a higher one.
const FORM: u32 = 1;

/// The content of an export, ready for [`Journal::import`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The run's header. Change its `id` to import it under another name.
    pub head: RunHeader,
    /// Its records.
    pub records: Vec<Record>,
    /// The values they refer to.
    pub blobs: Vec<Blob>,
}

#[derive(Serialize, Deserialize)]
struct ExportHeader {
    updraft: u32,
    run: RunId,
    goal: String,
    workspace: String,
    model: String,
    status: String,
    created: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<RunId>,
    version: String,
}

#[derive(Serialize, Deserialize)]
struct ExportedBlob {
    blob: ContentHash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl Journal {
    /// Writes a run as lines of JSON: its header, its records exactly as they are in the journal, and the values they
    /// refer to.
    pub fn export_jsonl(&self, run: &RunId, out: &mut dyn Write) -> Result<(), Error> {
        let about = self.head(run)?;
        let first = ExportHeader {
            updraft: FORM,
            run: about.id,
            goal: about.goal,
            workspace: about.workspace,
            model: about.model,
            status: about.status.as_str().to_owned(),
            created: about.created,
            parent: about.parent,
            version: about.version,
        };
        write_line(out, &first)?;
        let mut cursor = Cursor::new(run, 0);
        loop {
            let page = cursor.raw(&self.0)?;
            if page.is_empty() {
                break;
            }
            for raw in page {
                let (seq, at) = (raw.place.seq, raw.at);
                let text = raw.text(&self.0, run)?;
                // The record's own text without its first brace: exported byte for byte.
                write!(out, "{{\"seq\":{seq},\"at\":{at},").map_err(unsent)?;
                out.write_all(text.get(1..).unwrap_or_default()).map_err(unsent)?;
                out.write_all(b"\n").map_err(unsent)?;
            }
        }
        for hash in self.named_values(run)? {
            let Some(bytes) = blobs::read(&self.0, &hash)? else { continue };
            let value = match String::from_utf8(bytes) {
                Ok(text) => ExportedBlob { blob: hash, text: Some(text), base64: None },
                Err(other) => ExportedBlob { blob: hash, text: None, base64: Some(STANDARD.encode(other.as_bytes())) },
            };
            write_line(out, &value)?;
        }
        out.flush().map_err(unsent)
    }

    /// The values stored for a run, except the texts of its own large records, which are in their lines.
    pub fn named_values(&self, run: &RunId) -> Result<Vec<ContentHash>, Error> {
        self.0.read(|connection| {
            let row = crate::records::row_of(connection, run)?;
            let mut statement = connection.prepare_cached(
                "SELECT hash FROM refs WHERE run = ?1
                 AND hash NOT IN (SELECT blob FROM records WHERE id >= ?1 << 40 AND id < (?1 + 1) << 40 AND blob IS NOT NULL) ORDER BY hash",
            )?;
            statement.query_map([row], |row| Ok(ContentHash(row.get(0)?)))?.collect()
        })
    }
}

fn write_line(out: &mut dyn Write, line: &impl Serialize) -> Result<(), Error> {
    let mut text = serde_json::to_vec(line).map_err(|source| Error::Unwritable { source: source.into() })?;
    text.push(b'\n');
    out.write_all(&text).map_err(unsent)
}

fn unsent(source: std::io::Error) -> Error {
    Error::Unsent { source: source.into() }
}

/// Reads what [`Journal::export_jsonl`] wrote, and checks the numbers of the records and the hashes of the values.
pub fn parse_export(lines: &mut dyn BufRead) -> Result<Export, Error> {
    let mut head = None;
    let mut export = (Vec::new(), Vec::new());
    let mut next = 1;
    let mut text = String::new();
    for line in 1.. {
        text.clear();
        let bad = |why: String| Error::BadExport { line, why };
        if lines.read_line(&mut text).map_err(|error| bad(error.to_string()))? == 0 {
            break;
        }
        let value = text.trim();
        if value.is_empty() {
            continue;
        }
        if head.is_none() {
            head = Some(first(value).map_err(bad)?);
        } else if value.starts_with("{\"blob\"") {
            export.1.push(blob(value).map_err(bad)?);
        } else {
            let record = record(value, next).map_err(bad)?;
            next += record.events.len() as u64;
            export.0.push(record);
        }
    }
    let head = head.ok_or_else(|| Error::BadExport { line: 1, why: "it is empty".into() })?;
    Ok(Export { head, records: export.0, blobs: export.1 })
}

fn first(line: &str) -> Result<RunHeader, String> {
    let first: ExportHeader =
        serde_json::from_str(line).map_err(|error| format!("it does not begin an export: {error}"))?;
    if first.updraft > FORM {
        return Err(format!("it has form {} of Updraft {}; known here: {FORM}", first.updraft, first.version));
    }
    Ok(RunHeader {
        id: first.run,
        goal: first.goal,
        workspace: first.workspace,
        model: first.model,
        created: first.created,
        parent: first.parent,
        status: Status::from_word(&first.status),
    })
}

fn record(line: &str, expected: u64) -> Result<Record, String> {
    #[derive(Deserialize)]
    struct RecordPlace {
        seq: u64,
        at: Timestamp,
    }
    let place: RecordPlace = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if place.seq != expected {
        return Err(format!("it should begin with event {expected} and begins with {}", place.seq));
    }
    Record::from_json(place.at, line.as_bytes()).map_err(|error| error.to_string())
}

fn blob(line: &str) -> Result<Blob, String> {
    let value: ExportedBlob = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let bytes = match (value.text, value.base64) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(text)) => STANDARD.decode(&text).map_err(|_| "its `base64` cannot be decoded")?,
        _ => return Err("it has neither `text` nor `base64`, or both".into()),
    };
    let blob = Blob::new(bytes);
    if blob.hash() == value.blob { Ok(blob) } else { Err(format!("its content has the hash {}", blob.hash())) }
}
