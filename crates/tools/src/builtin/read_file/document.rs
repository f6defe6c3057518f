//! Files that are not UTF-8: text in other encodings, and documents (PDF, Office files, books, mail) as Markdown.

use std::fmt::Write as _;
use std::io::Read;

use serde_json::json;
use updraft_reader::{Document, DocumentKind, PageSelection, ReadOptions, decode_text, is_packed};
use updraft_run::{Failure, FailureKind, ToolOutput};

use super::super::failed;
use super::super::read_target::ReadPath;
use super::shown::{LineNumbers, whole_text};
use super::window::Window;
use super::{Args, ReadFile, io_failure};
use crate::tool::CallContext;

/// Most bytes of a file that is read as a whole.
const LARGEST: u64 = 64 << 20;
/// Most warnings of a document that are shown.
const WARNINGS: usize = 5;

impl ReadFile {
    /// Reads a file that is not UTF-8, and not a picture that models are shown.
    pub(super) async fn document(
        &self,
        path: &ReadPath,
        args: &Args,
        window: Window,
        cx: &CallContext,
    ) -> Result<ToolOutput, Failure> {
        let (file, about) = path.open_file()?;
        if about.len > LARGEST {
            return failed(format!(
                "`{path}` was not read: it has {} bytes, and files other than UTF-8 text are read up to {LARGEST}",
                about.len
            ));
        }
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes).map_err(|error| io_failure(path, &error))?;
        let options = options(args)?;
        let is_packed = is_packed(&bytes, path.name(), &options);
        if !is_packed && let Some(decoded) = decode_text(&bytes, path.name()) {
            args.wants_text(&path.to_string())?;
            let note = format!("[`{path}` is {}; shown as UTF-8]\n", decoded.encoding);
            let numbers = if cx.around.by_code { LineNumbers::Left } else { LineNumbers::Added };
            return within(path, &decoded.text, window, args, (&note, numbers));
        }
        let was_not_read = |why: &dyn std::fmt::Display| format!("`{path}` was not read: {why}");
        let read = match &self.documents {
            Some(reader) => tokio::select! {
                biased;
                () = cx.cancel.cancelled() => return failed(was_not_read(&"the call was stopped")),
                read = reader.read(bytes, path.name(), &options) => read,
            },
            None if is_packed => return failed(was_not_read(&"files that have to be unpacked are not read here")),
            None => updraft_reader::read(&bytes, path.name(), &options),
        };
        let mut document = read.or_else(|error| failed(was_not_read(&error)))?;
        choose(&mut document, &options).or_else(|why| failed(was_not_read(&why)))?;
        shown(path, &document, window, args)
    }
}

fn options(args: &Args) -> Result<ReadOptions, Failure> {
    let pages = args.pages.as_deref().map(PageSelection::parse).transpose();
    let pages = pages.map_err(|error| Failure::new(FailureKind::Tool, error.to_string()))?;
    Ok(ReadOptions { pages, sheet: args.sheet.clone(), ..ReadOptions::default() })
}

/// Keeps the wanted pages of a Word document, whose reader does not choose, and refuses choices that mean nothing.
fn choose(document: &mut Document, options: &ReadOptions) -> Result<(), String> {
    if options.sheet.is_some() && document.kind != DocumentKind::Xlsx {
        return Err(format!("{} files have no sheets; leave out `sheet`", document.kind));
    }
    let Some(pages) = &options.pages else { return Ok(()) };
    match document.kind {
        DocumentKind::Pdf | DocumentKind::Pptx => Ok(()),
        DocumentKind::Docx if document.blocks.iter().any(|block| block.place.page.is_some()) => {
            let last = document.blocks.iter().filter_map(|block| block.place.page).max().unwrap_or(0);
            document.blocks.retain(|block| block.place.page.is_some_and(|page| pages.contains(page)));
            let none = || format!("none of the wanted pages: the document has {last}");
            if document.blocks.is_empty() { Err(none()) } else { Ok(()) }
        }
        _ => Err(format!("the pages of this {} file are not known; leave out `pages`", document.kind)),
    }
}

/// A document as Markdown, cut like any other long file.
fn shown(path: &ReadPath, document: &Document, window: Window, args: &Args) -> Result<ToolOutput, Failure> {
    let markdown = document.to_placed_markdown();
    let title = document.title.as_ref().map_or_else(String::new, |title| format!(" “{title}”"));
    let head = format!("[`{path}`: {} file{title}, as Markdown]\n", document.kind);
    let mut seen = within(path, &markdown, window, args, (&head, LineNumbers::Left))?;
    let truncated = seen.value.as_ref().is_some_and(|value| value["truncated"] == true);
    if truncated && let Some(page) = last_page(&seen.text) {
        let _ = writeln!(seen.text, "[this ends on page {page}; pages `{page}-` begins there]");
    }
    for warning in document.warnings.iter().take(WARNINGS) {
        let _ = writeln!(seen.text, "[{warning}]");
    }
    if let Some(value) = &mut seen.value {
        value["kind"] = json!(document.kind.name());
        value["title"] = json!(document.title);
        value["pages"] = json!(document.blocks.iter().filter_map(|block| block.place.page).max());
    }
    Ok(seen)
}

/// The wanted lines of a text that is whole, below a line about it.
fn within(
    path: &ReadPath,
    text: &str,
    mut window: Window,
    args: &Args,
    (head, numbers): (&str, LineNumbers),
) -> Result<ToolOutput, Failure> {
    window.feed(text.as_bytes());
    // What was cut within a character is trimmed, so this is text.
    let mut output = whole_text(&path.to_string(), window, args, numbers)?;
    output.text.insert_str(0, head);
    Ok(output)
}

/// The page of the last line such as `[page 3]`.
fn last_page(text: &str) -> Option<u32> {
    let page_in = |line: &str| line.strip_prefix("[page ")?.strip_suffix(']')?.parse().ok();
    text.lines().rev().find_map(page_in)
}
