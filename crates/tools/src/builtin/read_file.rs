//! `read_file`: reads a text file, or some of its lines, a document as Markdown, or a picture.

mod document;
mod window;

use std::io::Read;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use updraft_reader::ReadOptions;
use updraft_run::{EffectClass, Failure, PictureRef, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::{
    LinkPolicy, Place, WorkspacePath,
    text::{self, Encoding},
};

use super::{failed, parse, reply, spec, whole, write_plan};
use crate::document_reader::DocumentReader;
use crate::limits::ToolLimits;
use crate::picture::{LARGEST_PICTURE, mime_of};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};
use window::{Window, WindowText};

/// How much longer than a document may take the whole call may take.
const MARGIN: Duration = Duration::from_secs(10);

pub(super) struct ReadFile {
    spec: ToolSpec,
    read: usize,
    file: usize,
    counted: u64,
    time: Duration,
    /// Reads files that have to be unpacked; without one they are refused.
    documents: Option<DocumentReader>,
}

#[derive(Deserialize)]
struct Args {
    path: String,
    #[serde(default)]
    pages: Option<String>,
    #[serde(default)]
    sheet: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    start_line: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    end_line: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    max_bytes: Option<u64>,
}

impl Args {
    fn start(&self) -> u64 {
        self.start_line.unwrap_or(1)
    }

    /// Refuses a choice of pages or sheet for a file that is text.
    fn wants_text(&self, path: &WorkspacePath) -> Result<(), Failure> {
        if self.pages.is_some() || self.sheet.is_some() {
            return failed(format!("`{path}` is text, which has no pages and sheets; choose lines with start_line"));
        }
        Ok(())
    }
}

impl ReadFile {
    pub(super) fn new(limits: &ToolLimits, documents: Option<DocumentReader>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Relative to the workspace." },
                "start_line": { "type": "integer", "minimum": 1, "description": "The first line to read; default 1." },
                "end_line": { "type": "integer", "minimum": 1, "description": "The last line to read; default: the end." },
                "max_bytes": { "type": "integer", "minimum": 1, "description": "Read no more than this." },
                "pages": { "type": "string", "description": "Of a PDF, Word or PowerPoint file: pages such as 3, 1-4 or 10-." },
                "sheet": { "type": "string", "description": "Of an Excel file: the sheet, by name or by number from 1." }
            },
            "required": ["path"],
            "additionalProperties": false
        });
        let description = "Read a file of the workspace: text, or some of its lines. PDF, Word, Excel, PowerPoint, EPUB \
             and mail files become Markdown with places such as [page 3]. Long files are cut; read on with start_line or \
             pages. A picture (PNG, JPEG, GIF, WebP) is shown.";
        Self {
            spec: spec("read_file", description, parameters),
            read: limits.read,
            file: limits.file,
            counted: limits.searched,
            // A document that takes too long gets a message of its own.
            time: documents.as_ref().map_or(limits.time, |reader| limits.time.max(reader.limits().time + MARGIN)),
            documents,
        }
    }

    async fn read(&self, args: &Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let (place, cancel) = (&cx.place, &cx.cancel);
        let args: Args = parse(args)?;
        let start = args.start();
        let end = args.end_line.unwrap_or(u64::MAX);
        if end < start {
            return failed(format!("end_line {end} is before start_line {start}"));
        }
        let path = place.workspace.locate(&args.path)?;
        let most = args.max_bytes.map_or(self.read, |most| self.read.min(most as usize));
        let window = || Window::new(start..=end, most);
        let Some(seen) = self.look(&path, place, window(), cancel)? else {
            return match picture(&path, cx)? {
                Some(picture) => Ok(picture),
                None => self.document(&path, &args, window(), cx).await,
            };
        };
        args.wants_text(&path)?;
        beyond_end(&path, start, &seen)?;
        Ok(output(&path, start, seen))
    }

    /// The lines of a file in UTF-8, or UTF-16 with a byte order mark; nothing if it is something else.
    fn look(
        &self,
        path: &WorkspacePath,
        place: &Place,
        mut window: Window,
        cancel: &CancellationToken,
    ) -> Result<Option<WindowText>, Failure> {
        let (mut file, about) = place.workspace.open_file(path, LinkPolicy::Inside)?;
        let io = |error: std::io::Error| io_failure(path, &error);
        let mut chunk = vec![0; 64 << 10];
        let mut filled = fill(&mut file, &mut chunk).map_err(io)?;
        if updraft_reader::is_packed(&chunk[..filled], path.as_str(), &ReadOptions::default()) {
            return Ok(None);
        }
        let encoding = Encoding::of(&chunk[..filled]);
        if matches!(encoding, Encoding::Utf16Little | Encoding::Utf16Big) {
            if about.len > self.file as u64 {
                return failed(format!("`{path}` is UTF-16 and larger than {} bytes", self.file));
            }
            let mut bytes = chunk[..filled].to_vec();
            file.take(self.file as u64).read_to_end(&mut bytes).map_err(io)?;
            let Some((text, _)) = text::decode(&bytes) else { return Ok(None) };
            window.feed(text.as_bytes());
            return Ok(window.finish(true));
        }
        if chunk[..filled].contains(&0) {
            return Ok(None);
        }
        window.feed(&chunk[encoding.mark().len()..filled]);
        let mut counted = filled as u64;
        while filled > 0 && counted < self.counted && !cancel.is_cancelled() {
            filled = fill(&mut file, &mut chunk).map_err(io)?;
            window.feed(&chunk[..filled]);
            counted += filled as u64;
        }
        Ok(window.finish(filled == 0))
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        // A thread costs some microseconds. Without one, a disk that hangs would stop everything, including the time
        // limit.
        ToolTraits {
            class: EffectClass::Pure,
            group: "files",
            time: self.time,
            blocking: true,
            ..ToolTraits::default()
        }
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        write_plan::reading(args, place)
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.read(&args, cx).await) })
    }
}

/// The file as a picture, if it is one.
fn picture(path: &WorkspacePath, cx: &CallContext) -> Result<Option<ToolOutput>, Failure> {
    let (mut file, about) = cx.place.workspace.open_file(path, LinkPolicy::Inside)?;
    let io = |error: std::io::Error| io_failure(path, &error);
    let mut bytes = vec![0; 16];
    let filled = fill(&mut file, &mut bytes).map_err(io)?;
    bytes.truncate(filled);
    let Some(mime) = mime_of(&bytes) else { return Ok(None) };
    if about.len > LARGEST_PICTURE {
        return failed(format!(
            "`{path}` is a picture of {} bytes; models are shown at most {LARGEST_PICTURE}",
            about.len
        ));
    }
    file.take(LARGEST_PICTURE).read_to_end(&mut bytes).map_err(io)?;
    let text = format!("[`{path}` is a picture ({mime}, {} bytes); it is shown next]\n", bytes.len());
    let shown = PictureRef { name: path.as_str().to_owned(), mime: mime.to_owned(), blob: cx.keep(bytes) };
    Ok(Some(ToolOutput { text, pictures: vec![shown], ..ToolOutput::default() }))
}

fn output(path: &WorkspacePath, start: u64, seen: WindowText) -> ToolOutput {
    let WindowText { text, end_line, lines_total, truncated } = seen;
    let of = lines_total.map_or_else(String::new, |total| format!(" of {total}"));
    let note = match (truncated, text.is_empty()) {
        (true, _) if text.ends_with('\n') => {
            format!("[lines {start} to {end_line}{of}; read on with start_line {}]\n", end_line + 1)
        }
        (true, _) => format!("\n[line {end_line}{of} is cut after {} bytes]\n", text.len()),
        (false, true) => format!("[`{path}` is empty]\n"),
        (false, false) => String::new(),
    };
    ToolOutput {
        text: text + &note,
        value: Some(json!({
            "path": path.as_str(),
            "start_line": start,
            "end_line": end_line,
            "lines_total": lines_total,
            "truncated": truncated,
        })),
        ..ToolOutput::default()
    }
}

/// Refuses a first line that the file does not have.
fn beyond_end(path: &WorkspacePath, start: u64, seen: &WindowText) -> Result<(), Failure> {
    match seen.lines_total {
        Some(total) if total > 0 && start > total => {
            failed(format!("`{path}` has {total} lines; start_line {start} is beyond its end"))
        }
        Some(_) | None => Ok(()),
    }
}

fn io_failure(path: &WorkspacePath, error: &std::io::Error) -> Failure {
    Failure::new(updraft_run::FailureKind::Tool, format!("`{path}`: {error}"))
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
