//! `read_file`: reads a text file, or some of its lines, a document as Markdown, or a picture.

mod document;
mod instead;
mod shown;
mod window;

use std::io::Read;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use updraft_reader::ReadOptions;
use updraft_run::{EffectClass, Failure, PictureRef, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::{
    Place,
    text::{self, Encoding},
};

use super::read_target::{PathOutside, ReadPath, ReadTarget};
use super::{failed, in_own_words, parse, reply, spec, whole};
use crate::dispatch::MAX_CODE_OUTPUT_BYTES;
use crate::document_reader::DocumentReader;
use crate::limits::ToolLimits;
use crate::picture::{LARGEST_PICTURE, mime_of};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};
use instead::with_instead;
use shown::{LineNumbers, beyond_end, output};
use window::{Window, WindowBounds, WindowText};

/// How much longer than a document may take the whole call may take.
const MARGIN: Duration = Duration::from_secs(10);
/// Most lines that a model is shown at once.
const MAX_LINES: u64 = 2_000;
/// Longer lines are cut for a model, which cannot do much with them.
const MAX_LINE_CHARACTERS: u64 = 2_000;
/// What numbers and remarks add to the text of a file, in bytes.
const MAX_ADDED_BYTES: usize = 64 << 10;
/// What remarks leave of the output that code gets, in bytes.
const MAX_CODE_BYTES: usize = MAX_CODE_OUTPUT_BYTES - (4 << 10);

pub(super) struct ReadFile {
    spec: ToolSpec,
    read: usize,
    file: usize,
    counted: u64,
    time: Duration,
    outside: PathOutside,
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
    offset: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    limit: Option<u64>,
}

impl Args {
    /// The first line; some count from 0.
    fn first(&self) -> u64 {
        self.offset.unwrap_or(1).max(1)
    }

    /// Refuses a choice of pages or sheet for what is text.
    fn wants_text(&self, name: &str) -> Result<(), Failure> {
        if self.pages.is_some() || self.sheet.is_some() {
            return failed(format!("`{name}` is text, which has no pages and sheets; choose lines with offset"));
        }
        Ok(())
    }
}

impl ReadFile {
    pub(super) fn new(limits: &ToolLimits, documents: Option<DocumentReader>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "offset": { "type": "integer", "description": "The first line, from 1." },
                "limit": { "type": "integer", "description": "How many lines." },
                "pages": { "type": "string", "description": "Of a PDF, Word or PowerPoint file: 3, 1-4 or 10-." },
                "sheet": { "type": "string", "description": "Of an Excel file: name or number." }
            },
            "required": ["path"],
            "additionalProperties": false
        });
        let description = "Read a file, at most 2,000 lines or 48 KiB at once. Each line begins with its number and a tab, \
             which are not part of the file. PDF, Office, EPUB and mail files become Markdown; pictures are shown. Paths \
             are relative to the workspace; @out/3 is the whole of an earlier output.";
        Self {
            spec: spec("read_file", description, parameters),
            read: limits.read,
            file: limits.file,
            counted: limits.searched,
            // A document that takes too long gets a message of its own.
            time: documents.as_ref().map_or(limits.time, |reader| limits.time.max(reader.limits().time + MARGIN)),
            outside: PathOutside::of(limits),
            documents,
        }
    }

    /// What is kept of a text: for code as it is, for a model no more than it can use.
    fn bounds(&self, args: &Args, cx: &CallContext) -> WindowBounds {
        let (first, limit) = (args.first(), args.limit.map(|limit| limit.max(1)));
        if cx.around.by_code {
            let lines = limit.unwrap_or(u64::MAX);
            return WindowBounds { first, lines, bytes: MAX_CODE_BYTES, line_characters: None };
        }
        let lines = limit.unwrap_or(MAX_LINES).min(MAX_LINES);
        // Who wants one line wants all of it.
        let line_characters = (limit != Some(1)).then_some(MAX_LINE_CHARACTERS);
        WindowBounds { first, lines, bytes: self.read, line_characters }
    }

    async fn read(&self, args: &Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let args: Args = parse(args)?;
        let mut window = Window::new(self.bounds(&args, cx));
        let numbers = if cx.around.by_code { LineNumbers::Left } else { LineNumbers::Added };
        let path = match self.outside.target(&args.path, cx)? {
            ReadTarget::Path(path) => path,
            ReadTarget::Output { name, text } => {
                args.wants_text(&name)?;
                window.feed(text.replace('\0', "␀").as_bytes());
                return shown::whole_text(&name, window, &args, numbers);
            }
        };
        let seen = self.look(&path, window, &cx.cancel);
        let Some(seen) = seen.map_err(|failure| with_instead(failure, &path, &self.outside, cx))? else {
            let window = Window::new(self.bounds(&args, cx));
            return match picture(&path, cx)? {
                Some(picture) => Ok(picture),
                None => self.document(&path, &args, window, cx).await,
            };
        };
        let name = path.to_string();
        args.wants_text(&name)?;
        beyond_end(&name, &args, &seen)?;
        Ok(output(&name, &args, &seen, numbers))
    }

    /// The lines of a file in UTF-8, or UTF-16 with a byte order mark; nothing if it is something else.
    fn look(
        &self,
        path: &ReadPath,
        mut window: Window,
        cancel: &CancellationToken,
    ) -> Result<Option<WindowText>, Failure> {
        let (mut file, about) = path.open_file()?;
        let io = |error: std::io::Error| io_failure(path, &error);
        let mut chunk = vec![0; 64 << 10];
        let mut filled = fill(&mut file, &mut chunk).map_err(io)?;
        if updraft_reader::is_packed(&chunk[..filled], path.name(), &ReadOptions::default()) {
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
        self.outside.prepare(args, place)
    }

    fn output_limit(&self) -> Option<usize> {
        Some(self.read + MAX_ADDED_BYTES)
    }

    /// Other models were trained with other names.
    fn otherwise(&self, args: &Value) -> Option<(String, Value)> {
        let mut args = in_own_words(args, &[("file_path", "path"), ("start_line", "offset")]);
        let last = args.as_object_mut()?.remove("end_line");
        if let Some(last) = last.and_then(|last| last.as_u64()) {
            let first = args["offset"].as_u64().unwrap_or(1).max(1);
            args["limit"] = json!((last + 1).checked_sub(first)?);
        }
        Some((self.spec.name.clone(), args))
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.read(&args, cx).await) })
    }
}

/// The file as a picture, if it is one.
fn picture(path: &ReadPath, cx: &CallContext) -> Result<Option<ToolOutput>, Failure> {
    let (mut file, about) = path.open_file()?;
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
    let shown = PictureRef { name: path.to_string(), mime: mime.to_owned(), blob: cx.keep(bytes) };
    Ok(Some(ToolOutput { text, pictures: vec![shown], ..ToolOutput::default() }))
}

fn io_failure(path: &ReadPath, error: &std::io::Error) -> Failure {
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
