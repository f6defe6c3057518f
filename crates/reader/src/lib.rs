//! Reads every kind of file into Markdown, and says of each piece where in the file it is.
//!
//! ```
//! use updraft_reader::{ReadOptions, read};
//!
//! let document = read(b"city;people\nOslo;717710\n", "cities.csv", &ReadOptions::default())?;
//! assert_eq!(document.to_markdown(), "| city | people |\n| --- | --- |\n| Oslo | 717710 |\n");
//! assert_eq!(document.blocks[1].place.to_string(), "line 2");
//! # Ok::<(), updraft_reader::ReadError>(())
//! ```
//!
//! A pure function of bytes: no file, clock or network. Its time and memory are bounded by [`ReadLimits`] and the size
//! of the file, whatever the file contains, and [`Document`] can be sent from the process that parses to the one that asked.
//!
//! | to read | file |
//! |---|---|
//! | which kind a file is | `detect.rs` |
//! | text, Markdown, tables, JSON | `text.rs`, `plain.rs`, `markdown.rs`, `csv.rs`, `json.rs` |
//! | web pages, feeds, books, mail, notebooks | `html.rs`, `feed.rs`, `epub.rs`, `mail.rs`, `notebook.rs` |
//! | PDF | `pdf.rs` |
//! | Office files | `docx.rs`, `xlsx.rs`, `pptx.rs`, and what they share in `office.rs` |
//! | Markdown that says its places | `placed.rs` |
//! | archives and XML underneath | `archive.rs`, `xml.rs`, `tree.rs` |

#![deny(clippy::wildcard_enum_match_arm)]

mod archive;
mod blocks;
mod chart;
mod comments;
mod csv;
mod detect;
mod document;
mod docx;
mod epub;
mod error;
mod feed;
mod html;
mod image;
mod json;
mod listing;
mod mail;
mod markdown;
mod notebook;
mod office;
mod options;
mod pdf;
mod placed;
mod plain;
mod pptx;
mod table;
mod text;
mod tree;
mod xlsx;
mod xml;

pub use document::{Block, BlockKind, Document, DocumentKind, SourcePlace};
pub use error::ReadError;
pub use options::{PageSelection, ReadLimits, ReadOptions};

use std::panic::{AssertUnwindSafe, catch_unwind};

use blocks::Blocks;

/// Reads a file. `name` is its name or path; its ending decides where the content alone leaves a doubt.
pub fn read(bytes: &[u8], name: &str, options: &ReadOptions) -> Result<Document, ReadError> {
    let kind = detect::kind_of(bytes, name, options).ok_or_else(|| ReadError::Unknown(detect::describe(bytes)))?;
    read_as(kind, bytes, name, options).map(Blocks::finish)
}

/// The kind that [`read`] takes a file for; nothing if it cannot be read.
pub fn kind_of(bytes: &[u8], name: &str) -> Option<DocumentKind> {
    detect::kind_of(bytes, name, &ReadOptions::default())
}

/// Whether a file has to be unpacked or parsed as something else than text, so that it should be read in a process of its
/// own. Looks at the beginning only.
pub fn is_packed(bytes: &[u8], name: &str, options: &ReadOptions) -> bool {
    if detect::is_archive(bytes) {
        return true;
    }
    match detect::kind_of(bytes, name, options) {
        Some(DocumentKind::Pdf | DocumentKind::Mail) => true,
        Some(
            DocumentKind::Text
            | DocumentKind::Markdown
            | DocumentKind::Code
            | DocumentKind::Csv
            | DocumentKind::Json
            | DocumentKind::JsonLines
            | DocumentKind::Html
            | DocumentKind::Feed
            | DocumentKind::Notebook
            | DocumentKind::Image,
        )
        | None => false,
        Some(DocumentKind::Docx | DocumentKind::Xlsx | DocumentKind::Pptx | DocumentKind::Epub | DocumentKind::Zip) => {
            true
        }
    }
}

/// Text in any encoding, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedText {
    /// The text; bytes that are not valid are replaced by `\u{fffd}`.
    pub text: String,
    /// The name of the encoding.
    pub encoding: &'static str,
}

/// Decodes a file that is text; nothing if it is something else.
pub fn decode_text(bytes: &[u8], name: &str) -> Option<DecodedText> {
    let kind = detect::kind_of(bytes, name, &ReadOptions::default())?;
    let is_text = is_decoded(kind) || matches!(kind, DocumentKind::Feed | DocumentKind::Mail);
    is_text.then(|| {
        let (text, encoding) = text::decode_named(bytes, None);
        DecodedText { text, encoding }
    })
}

fn read_as(kind: DocumentKind, bytes: &[u8], name: &str, options: &ReadOptions) -> Result<Blocks, ReadError> {
    let limits = &options.limits;
    let decoded = || decode(bytes, options);
    let mut blocks = match kind {
        DocumentKind::Text | DocumentKind::Code => plain::read(&decoded(), kind, limits),
        DocumentKind::Markdown => markdown::read(&decoded(), limits),
        DocumentKind::Csv => csv::read(&decoded(), matches!(detect::ending(name).as_str(), "tsv" | "tab"), limits),
        DocumentKind::Json => json::read(&decoded(), limits),
        DocumentKind::JsonLines => json::read_lines(&decoded(), limits),
        DocumentKind::Html => html::read(&decoded(), limits),
        DocumentKind::Notebook => notebook::read(&decoded(), limits)?,
        DocumentKind::Feed => feed::read(bytes, limits)?,
        DocumentKind::Epub => epub::read(bytes, options)?,
        DocumentKind::Mail => mail::read(bytes, options)?,
        DocumentKind::Zip => listing::read(bytes, limits)?,
        DocumentKind::Image => image::read(bytes, name, limits),
        DocumentKind::Docx => docx::read(bytes, limits)?,
        DocumentKind::Xlsx => xlsx::read(bytes, options)?,
        DocumentKind::Pptx => pptx::read(bytes, options)?,
        DocumentKind::Pdf => guarded(kind, || pdf::read(bytes, options))?,
    };
    if is_decoded(kind) && bytes.len() > most_decoded(limits) {
        blocks.warn(format!("only the first {} of {} bytes are read", most_decoded(limits), bytes.len()));
    }
    Ok(blocks)
}

/// Reads with a parser that is not ours: should it panic, the file is called damaged.
fn guarded(kind: DocumentKind, read: impl FnOnce() -> Result<Blocks, ReadError>) -> Result<Blocks, ReadError> {
    let why = || "the parser failed on it".to_owned();
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(ReadError::Damaged { kind, why: why() }))
}

/// Whether a file is text, of which the beginning can be read alone.
fn is_decoded(kind: DocumentKind) -> bool {
    match kind {
        DocumentKind::Text
        | DocumentKind::Markdown
        | DocumentKind::Code
        | DocumentKind::Csv
        | DocumentKind::Json
        | DocumentKind::JsonLines
        | DocumentKind::Html
        | DocumentKind::Notebook => true,
        DocumentKind::Feed
        | DocumentKind::Pdf
        | DocumentKind::Docx
        | DocumentKind::Xlsx
        | DocumentKind::Pptx
        | DocumentKind::Epub
        | DocumentKind::Mail
        | DocumentKind::Zip
        | DocumentKind::Image => false,
    }
}

/// Every byte of the output comes from at least one of the file; UTF-16 needs two.
fn most_decoded(limits: &ReadLimits) -> usize {
    limits.output.saturating_mul(2)
}

/// The text of a file, as much of it as the output can hold.
fn decode(bytes: &[u8], options: &ReadOptions) -> String {
    let most = most_decoded(&options.limits);
    let declared = options.media_type.as_deref().and_then(text::charset_of);
    text::decode(&bytes[..bytes.len().min(most)], declared)
}
