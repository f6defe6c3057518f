//! What a file says: blocks of Markdown, each with its exact place in the file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// What kind of file it is.
    pub kind: DocumentKind,
    /// Its title, where the file itself names one.
    pub title: Option<String>,
    /// What it says, in reading order.
    pub blocks: Vec<Block>,
    /// What could not be read, or was cut off, in sentences for people.
    pub warnings: Vec<String>,
}

/// A piece of a document that stands for itself: a heading, a paragraph, a row of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Where it is in the file.
    pub place: SourcePlace,
    /// What it is.
    pub kind: BlockKind,
    /// What it says, as Markdown.
    pub text: String,
}

/// What kind of file a document was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DocumentKind {
    /// Plain text.
    Text,
    /// Markdown.
    Markdown,
    /// The source of a program, or a settings file.
    Code,
    /// Values separated by commas, tabs or another character.
    Csv,
    /// One JSON value.
    Json,
    /// One JSON value a line.
    JsonLines,
    /// A web page.
    Html,
    /// An RSS or Atom feed.
    Feed,
    /// PDF.
    Pdf,
    /// A Word document.
    Docx,
    /// An Excel workbook.
    Xlsx,
    /// A PowerPoint presentation.
    Pptx,
    /// A book.
    Epub,
    /// A Jupyter notebook.
    Notebook,
    /// A mail message.
    Mail,
    /// A ZIP archive; only its list of files is read.
    Zip,
    /// A picture; only its form and size are read.
    Image,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// A heading of level 1 to 6.
    Heading(u8),
    /// A paragraph.
    Paragraph,
    /// An item of a list; the text has its marker and is indented by its level.
    ListItem,
    /// A small table, whole.
    Table,
    /// A row of a table: `| a | b |`. The first row of a table is followed by the line of dashes in the same block.
    Row,
    /// Lines to be taken literally, in a fence; in a document of the kind `Code` or `Text` without one.
    Code,
    /// A picture: `![description](name)`.
    Image,
    /// What the file says about itself: sender, author, number of rows.
    Metadata,
}

/// Where in a file something is. Lines, pages and slides are counted from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourcePlace {
    /// The page of a PDF, or the slide of a presentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// The sheet of a workbook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
    /// The cells of a sheet, such as `A2:D9`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<String>,
    /// The first and the last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// The part of a file that has parts: a chapter of a book, an attachment of a mail, a cell of a notebook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

impl DocumentKind {
    /// The name people know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "Markdown",
            Self::Code => "source code",
            Self::Csv => "CSV",
            Self::Json => "JSON",
            Self::JsonLines => "JSON Lines",
            Self::Html => "HTML",
            Self::Feed => "feed",
            Self::Pdf => "PDF",
            Self::Docx => "DOCX",
            Self::Xlsx => "XLSX",
            Self::Pptx => "PPTX",
            Self::Epub => "EPUB",
            Self::Notebook => "notebook",
            Self::Mail => "mail",
            Self::Zip => "ZIP",
            Self::Image => "image",
        }
    }
}

impl fmt::Display for DocumentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Document {
    /// An empty document.
    pub(crate) fn new(kind: DocumentKind) -> Self {
        Self { kind, title: None, blocks: Vec::new(), warnings: Vec::new() }
    }

    /// The whole document as Markdown. Rows of a table and items of a list follow each other without an empty line;
    /// files that are text already keep their own empty lines.
    pub fn to_markdown(&self) -> String {
        let mut markdown = String::new();
        let mut previous: Option<&Block> = None;
        for block in &self.blocks {
            if let Some(previous) = previous {
                let gap = if self.is_verbatim() { gap(previous, block) } else { None };
                match gap {
                    Some(lines) => markdown.extend(std::iter::repeat_n('\n', lines)),
                    None => markdown.push_str(separator(previous, block)),
                }
            }
            markdown.push_str(&block.text);
            previous = Some(block);
        }
        if !markdown.is_empty() && !markdown.ends_with('\n') {
            markdown.push('\n');
        }
        markdown
    }

    /// Whether its blocks stand in the file as they are.
    fn is_verbatim(&self) -> bool {
        match self.kind {
            DocumentKind::Text
            | DocumentKind::Markdown
            | DocumentKind::Code
            | DocumentKind::Json
            | DocumentKind::JsonLines => true,
            DocumentKind::Csv
            | DocumentKind::Html
            | DocumentKind::Feed
            | DocumentKind::Pdf
            | DocumentKind::Docx
            | DocumentKind::Xlsx
            | DocumentKind::Pptx
            | DocumentKind::Epub
            | DocumentKind::Notebook
            | DocumentKind::Mail
            | DocumentKind::Zip
            | DocumentKind::Image => false,
        }
    }
}

/// How many line ends there are between two blocks of the same text.
fn gap(previous: &Block, block: &Block) -> Option<usize> {
    let ((_, last), (first, _)) = (previous.place.lines?, block.place.lines?);
    first.checked_sub(last).map(|lines| lines.clamp(1, 100) as usize)
}

/// What stands between two blocks.
pub(crate) fn separator(previous: &Block, block: &Block) -> &'static str {
    let is_next_row = block.kind == BlockKind::Row && !block.text.contains("\n|");
    let is_next_line = match previous.kind {
        BlockKind::Row => is_next_row,
        BlockKind::ListItem => block.kind == BlockKind::ListItem,
        BlockKind::Metadata => block.kind == BlockKind::Metadata,
        BlockKind::Heading(_) | BlockKind::Paragraph | BlockKind::Table | BlockKind::Code | BlockKind::Image => false,
    };
    if is_next_line { "\n" } else { "\n\n" }
}

impl SourcePlace {
    /// Lines of a text file, the first and the last.
    pub fn lines(first: u32, last: u32) -> Self {
        Self { lines: Some((first, last)), ..Self::default() }
    }

    /// A page of a PDF or a slide of a presentation.
    pub fn page(page: u32) -> Self {
        Self { page: Some(page), ..Self::default() }
    }

    /// A part of a file that has parts.
    pub fn part(part: impl Into<String>) -> Self {
        Self { part: Some(part.into()), ..Self::default() }
    }
}

/// `page 3`, `sheet Sales!A2:D9`, `lines 10-24`, `chapter2.xhtml, lines 3-4`; empty for a whole file.
impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        if let Some(part) = &self.part {
            write!(f, "{part}")?;
            comma = ", ";
        }
        if let Some(page) = self.page {
            write!(f, "{comma}page {page}")?;
            comma = ", ";
        }
        match (&self.sheet, &self.cells) {
            (Some(sheet), Some(cells)) => write!(f, "{comma}sheet {sheet}!{cells}")?,
            (Some(sheet), None) => write!(f, "{comma}sheet {sheet}")?,
            (None, Some(cells)) => write!(f, "{comma}cells {cells}")?,
            (None, None) => {}
        }
        if self.sheet.is_some() || self.cells.is_some() {
            comma = ", ";
        }
        match self.lines {
            Some((first, last)) if first == last => write!(f, "{comma}line {first}"),
            Some((first, last)) => write!(f, "{comma}lines {first}-{last}"),
            None => Ok(()),
        }
    }
}
