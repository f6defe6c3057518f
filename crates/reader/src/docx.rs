//! Word documents: paragraphs, headings, lists, tables, formulas, text boxes and notes, in the order of the text.

mod formula;
mod formula_symbols;
mod numbering;
mod paragraph;
mod styles;
mod table;

use std::collections::BTreeMap;

use numbering::Numbering;
use paragraph::{Paragraph, ParagraphReader};
use styles::Styles;

use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::error::ReadError;
use crate::notebook::fence;
use crate::office::{Package, Relation};
use crate::options::ReadLimits;
use crate::tree::TreeNode;
use crate::{chart, comments, table as markdown_table};

const KIND: DocumentKind = DocumentKind::Docx;

/// Reads a document.
pub(crate) fn read(bytes: &[u8], limits: &ReadLimits) -> Result<Blocks, ReadError> {
    let package = Package::open(bytes, KIND, limits)?;
    let path = package.main_part("word/document.xml")?;
    let Some(tree) = package.tree(&path)? else {
        return Err(ReadError::Damaged { kind: KIND, why: "it has no text".to_owned() });
    };
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let styles = package.tree(&format!("{folder}/styles.xml"))?;
    let numbering = package.tree(&format!("{folder}/numbering.xml"))?;
    let mut reader = DocxReader {
        blocks: Blocks::new(KIND, limits),
        styles: styles.as_ref().map(|tree| Styles::read(tree.root())).unwrap_or_default(),
        numbering: numbering.as_ref().map(|tree| Numbering::read(tree.root())).unwrap_or_default(),
        relations: package.relations(&path)?,
        package: &package,
        paragraphs: 0,
        tables: 0,
        page: tree.root().find("lastRenderedPageBreak").map(|_| 1),
        code: Vec::new(),
        nesting: limits.nesting,
    };
    if let Some(title) = package.title()? {
        reader.blocks.title(&title);
    }
    let body = tree.root().find("body").unwrap_or(tree.root());
    reader.content(body, 0)?;
    reader.flush_code();
    reader.notes(folder)?;
    comments::add_of_document(&mut reader.blocks, &package, &format!("{folder}/comments.xml"))?;
    Ok(reader.blocks)
}

struct DocxReader<'p> {
    blocks: Blocks,
    styles: Styles,
    numbering: Numbering,
    relations: BTreeMap<String, Relation>,
    package: &'p Package<'p>,
    paragraphs: u32,
    tables: u32,
    /// The page as Word last showed it; unknown if the file was not saved by a program that lays out pages.
    page: Option<u32>,
    /// Lines of code that belong together.
    code: Vec<String>,
    nesting: u32,
}

impl DocxReader<'_> {
    /// Reads paragraphs and tables, through whatever only groups them.
    fn content(&mut self, parent: TreeNode<'_>, depth: u32) -> Result<(), ReadError> {
        if depth > self.nesting {
            return Err(ReadError::TooDeep { kind: KIND, limit: self.nesting });
        }
        for node in parent.elements() {
            if self.blocks.is_full() {
                return Ok(());
            }
            match node.name() {
                "p" => self.paragraph(node, depth)?,
                "tbl" => self.table(node, depth)?,
                "sdt" => {
                    if let Some(content) = node.child("sdtContent") {
                        self.content(content, depth + 1)?;
                    }
                }
                "AlternateContent" => {
                    if let Some(choice) = node.child("Choice").or_else(|| node.child("Fallback")) {
                        self.content(choice, depth + 1)?;
                    }
                }
                "ins" | "moveTo" | "customXml" | "smartTag" => self.content(node, depth + 1)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn place(&self, part: String) -> SourcePlace {
        SourcePlace { page: self.page, part: Some(part), ..SourcePlace::default() }
    }

    fn read_paragraph<'t>(&self, node: TreeNode<'t>) -> Paragraph<'t> {
        ParagraphReader::new(&self.relations, self.nesting).read(node)
    }

    fn paragraph(&mut self, node: TreeNode<'_>, depth: u32) -> Result<(), ReadError> {
        self.paragraphs += 1;
        let place = self.place(format!("paragraph {}", self.paragraphs));
        let paragraph = self.read_paragraph(node);
        let properties = node.child("pPr");
        let style = properties.and_then(|properties| properties.value("pStyle"));
        if !paragraph.text.trim().is_empty() {
            if self.styles.is_code(style) {
                self.code.push(paragraph.plain.clone());
            } else {
                self.flush_code();
                self.text(place, &paragraph, style, properties);
            }
        }
        if let (Some(page), breaks) = (self.page, paragraph.page_breaks) {
            self.page = Some(page + breaks);
        }
        for picture in &paragraph.pictures {
            self.blocks.push(self.place(format!("paragraph {}", self.paragraphs)), BlockKind::Image, picture.clone());
        }
        for id in &paragraph.charts {
            if let Some(relation) = self.relations.get(*id).cloned() {
                let place = self.place(relation.target.clone());
                chart::add(&mut self.blocks, self.package, &relation.target, &place)?;
            }
        }
        for text_box in paragraph.text_boxes {
            self.content(text_box, depth + 1)?;
        }
        Ok(())
    }

    fn text(
        &mut self,
        place: SourcePlace,
        paragraph: &Paragraph<'_>,
        style: Option<&str>,
        properties: Option<TreeNode<'_>>,
    ) {
        let list = self.numbering.item(&self.styles, style, properties);
        let text = paragraph.text.trim();
        if let Some(level) = self.styles.heading(style, properties) {
            let label = list.and_then(|item| item.label).map(|label| format!("{} ", label.trim_end_matches('.')));
            let text = text.trim_matches('*').replace('\n', " ");
            if level == 1 {
                self.blocks.title(&text);
            }
            let hashes = "#".repeat(level.into());
            let text = format!("{hashes} {}{text}", label.unwrap_or_default());
            self.blocks.push(place, BlockKind::Heading(level), text);
        } else if let Some(item) = list {
            let indent = "    ".repeat(item.level as usize);
            let text = text.replace('\n', &format!("\n{indent}  "));
            let marker = match item.label {
                Some(label) if item.level == 0 && label.ends_with('.') => label,
                Some(label) => format!("- {label}"),
                None => "-".to_owned(),
            };
            self.blocks.push(place, BlockKind::ListItem, format!("{indent}{marker} {text}"));
        } else if text.starts_with("[x] ") || text.starts_with("[ ] ") {
            self.blocks.push(place, BlockKind::ListItem, format!("- {text}"));
        } else {
            self.blocks.push(place, BlockKind::Paragraph, text);
        }
    }

    fn flush_code(&mut self) {
        if !self.code.is_empty() {
            let place = self.place(format!("paragraph {}", self.paragraphs));
            let code = std::mem::take(&mut self.code).join("\n");
            self.blocks.push(place, BlockKind::Code, fence(&code, ""));
        }
    }

    fn table(&mut self, node: TreeNode<'_>, depth: u32) -> Result<(), ReadError> {
        self.flush_code();
        // A table of one cell is a frame around something.
        if let Some(cell) = table::only_cell(node) {
            return self.content(cell, depth + 1);
        }
        self.tables += 1;
        let place = self.place(format!("table {}", self.tables));
        let rows = table::rows(node, |cell| self.cell_text(cell, depth + 1));
        self.blocks.push(place, BlockKind::Table, markdown_table::table(&rows));
        Ok(())
    }

    /// What a cell says, on one line.
    fn cell_text(&mut self, cell: TreeNode<'_>, depth: u32) -> String {
        let mut lines = Vec::new();
        if depth > self.nesting {
            return String::new();
        }
        for node in cell.elements() {
            match node.name() {
                "p" => {
                    let paragraph = self.read_paragraph(node);
                    let properties = node.child("pPr");
                    let style = properties.and_then(|properties| properties.value("pStyle"));
                    let list = self.numbering.item(&self.styles, style, properties);
                    let marker =
                        list.map(|item| item.label.map_or_else(|| "- ".to_owned(), |label| format!("{label} ")));
                    lines.push(format!("{}{}", marker.unwrap_or_default(), paragraph.text.trim()));
                    lines.extend(paragraph.pictures);
                    lines.extend(paragraph.text_boxes.into_iter().map(|text_box| self.cell_text(text_box, depth + 1)));
                }
                "tbl" => {
                    let rows = table::rows(node, |cell| self.cell_text(cell, depth + 1));
                    lines.extend(rows.into_iter().flatten());
                }
                "sdt" => lines.extend(node.child("sdtContent").map(|content| self.cell_text(content, depth + 1))),
                "ins" | "customXml" | "smartTag" => lines.push(self.cell_text(node, depth + 1)),
                _ => {}
            }
        }
        lines.retain(|line| !line.trim().is_empty());
        lines.join(" ")
    }

    /// Adds the notes that the text refers to as `[^n]`.
    fn notes(&mut self, folder: &str) -> Result<(), ReadError> {
        for (file, element) in [("footnotes", "footnote"), ("endnotes", "endnote")] {
            let path = format!("{folder}/{file}.xml");
            let Some(tree) = self.package.tree(&path)? else { continue };
            self.relations = self.package.relations(&path)?;
            for note in tree.root().descendants().filter(|node| node.name() == element) {
                let id = note.attribute("id").unwrap_or_default();
                let text = self.cell_text(note, 0);
                if note.attribute("type").is_none() && !text.is_empty() {
                    let place = SourcePlace::part(format!("{element} {id}"));
                    self.blocks.push(place, BlockKind::Paragraph, format!("[^{id}]: {text}"));
                }
            }
        }
        Ok(())
    }
}
