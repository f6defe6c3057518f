//! PDF: glyphs with their positions become lines, lines become columns, paragraphs, headings, lists and tables.
//!
//! Files and fonts are parsed by `hayro-syntax` and `hayro-font`; everything after that is ours, since the order in which
//! people read a page is not in the file.

mod bidi;
mod content;
mod layout;
mod lines;
mod paragraphs;
mod tables;
mod unpack_budget;

use std::collections::BTreeMap;

use content::PageContent;
use hayro_font::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use lines::TextLine;

use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::error::ReadError;
use crate::options::ReadOptions;
use crate::text;

const KIND: DocumentKind = DocumentKind::Pdf;
/// A page with fewer characters than this, and a picture over most of it, is a scan with a stamp on it.
const FEW_CHARACTERS: usize = 16;

/// Reads a document.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Blocks, ReadError> {
    unpack_budget::check_objects(bytes, options.limits.decompressed)?;
    let pdf = Pdf::new(bytes.to_vec()).map_err(fault)?;
    let pages = pdf.pages();
    let count = pages.len() as u32;
    let mut blocks = Blocks::new(KIND, &options.limits);
    if let Some(title) = &pdf.metadata().title {
        blocks.title(&text::decode(title, None));
    }
    let fonts = content::FontShelf::new();
    let mut budget = unpack_budget::UnpackBudget::new(options.limits.decompressed);
    let mut read_pages: Vec<(u32, Vec<layout::PageBlock>)> = Vec::new();
    let (mut scanned, mut wanted, mut unknown, mut size) = (Vec::new(), 0, 0, 0);
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    for (page, number) in pages.iter().zip(1..=options.limits.pages) {
        if !options.wants_page(number) {
            continue;
        }
        wanted += 1;
        let content = PageContent::read(page, &fonts, &mut budget)?;
        unknown += content.unknown;
        if content.is_scan(FEW_CHARACTERS) {
            scanned.push(number);
        }
        for glyph in &content.glyphs {
            *sizes.entry(size_class(glyph.size)).or_default() += 1;
        }
        let lines = lines::lines(content.glyphs);
        size += lines.iter().map(|line| line.text.len()).sum::<usize>();
        read_pages.push((number, layout::order(&lines)));
        // Enough to fill the output; what is left is cut there, with a warning.
        if size > options.limits.output {
            break;
        }
    }
    if wanted == 0 && count > 0 {
        return Err(ReadError::NoSuchPage { pages: count });
    }
    if !scanned.is_empty() && scanned.len() == read_pages.len() {
        return Err(ReadError::Scanned { pages: count });
    }
    let body = sizes.iter().max_by_key(|(_, count)| **count).map_or(10.0, |(size, _)| f64::from(*size) / 2.0);
    let styles = paragraphs::PageStyles::of(&read_pages, body);
    for (number, page_blocks) in read_pages {
        add_page(&mut blocks, number, &page_blocks, &styles);
    }
    add_warnings(&mut blocks, &scanned, unknown, count, options);
    Ok(blocks)
}

/// Sizes in steps of half a point.
fn size_class(size: f64) -> u32 {
    (size * 2.0).round().clamp(0.0, 1_000.0) as u32
}

fn fault(error: LoadPdfError) -> ReadError {
    let damaged = |why: &str| ReadError::Damaged { kind: KIND, why: why.to_owned() };
    match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => ReadError::Encrypted(KIND),
        LoadPdfError::Decryption(_) => damaged("its encryption is not known here"),
        LoadPdfError::Invalid => damaged("it has no list of objects, and no pages were found without it"),
    }
}

fn add_page(blocks: &mut Blocks, number: u32, page: &[layout::PageBlock], styles: &paragraphs::PageStyles) {
    let place = SourcePlace::page(number);
    for block in page {
        match block {
            layout::PageBlock::Table(rows) => {
                blocks.push(place.clone(), BlockKind::Table, crate::table::table(rows));
            }
            layout::PageBlock::Lines(lines) => {
                for (kind, text) in paragraphs::paragraphs(lines, styles) {
                    if kind == BlockKind::Heading(1) {
                        blocks.title(text.trim_start_matches('#'));
                    }
                    blocks.push(place.clone(), kind, text);
                }
            }
        }
    }
}

fn add_warnings(blocks: &mut Blocks, scanned: &[u32], unknown: usize, count: u32, options: &ReadOptions) {
    if !scanned.is_empty() {
        let pages: Vec<String> = scanned.iter().take(20).map(u32::to_string).collect();
        let more = if scanned.len() > 20 { ", …" } else { "" };
        blocks.warn(format!("pages without text, which are pictures: {}{more}", pages.join(", ")));
    }
    if unknown > 0 {
        blocks.warn(format!("{unknown} characters could not be read: their font does not say what they are"));
    }
    if count > options.limits.pages {
        blocks.warn(format!("only the first {} of {count} pages are read", options.limits.pages));
    }
    if blocks.is_empty() && scanned.is_empty() {
        blocks.warn("the pages have no text");
    }
}

/// The text of lines, with spaces between them.
fn joined(lines: &[TextLine]) -> String {
    lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join(" ")
}
