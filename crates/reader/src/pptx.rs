//! Presentations: slide by slide the title, the text of all shapes, tables, charts, notes and comments.

mod text;

use crate::blocks::Blocks;
use crate::chart;
use crate::comments;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::error::ReadError;
use crate::office::{Package, Relation};
use crate::options::ReadOptions;
use crate::table;
use crate::tree::TreeNode;

use std::collections::BTreeMap;

const KIND: DocumentKind = DocumentKind::Pptx;

/// Reads a presentation.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Blocks, ReadError> {
    let limits = &options.limits;
    let package = Package::open(bytes, KIND, limits)?;
    let path = package.main_part("ppt/presentation.xml")?;
    let relations = package.relations(&path)?;
    let tree = package.tree(&path)?;
    let ids = tree.iter().flat_map(|tree| tree.root().descendants().filter(|node| node.name() == "sldId"));
    let slides: Vec<&str> = ids.filter_map(|id| Some(relations.get(id.attribute("r:id")?)?.target.as_str())).collect();
    let mut blocks = Blocks::new(KIND, limits);
    if let Some(title) = package.title()? {
        blocks.title(&title);
    }
    let mut has_wanted = false;
    for (slide, number) in slides.iter().zip(1..) {
        if blocks.is_full() || number > limits.pages {
            break;
        }
        if options.wants_page(number) {
            has_wanted = true;
            read_slide(&mut blocks, &package, slide, number, limits.nesting)?;
        }
    }
    if !has_wanted && !slides.is_empty() {
        return Err(ReadError::NoSuchPage { pages: slides.len() as u32 });
    }
    Ok(blocks)
}

fn read_slide(
    blocks: &mut Blocks,
    package: &Package<'_>,
    path: &str,
    number: u32,
    nesting: u32,
) -> Result<(), ReadError> {
    let place = SourcePlace::page(number);
    let Some(tree) = package.tree(path)? else {
        blocks.warn(format!("slide {number} is missing"));
        return Ok(());
    };
    let relations = package.relations(path)?;
    let mut slide = Slide { blocks, package, relations: &relations, place: &place, nesting };
    if let Some(shapes) = tree.root().find("spTree") {
        // The title is read first, wherever it stands among the shapes.
        let mut titles = shapes.elements().filter(|shape| text::is_title(*shape));
        if let Some(title) = titles.next() {
            slide.title(title);
        }
        slide.shapes(shapes, 0)?;
    }
    for relation in relations.values() {
        match relation.kind.as_str() {
            "notesSlide" => slide.notes(&relation.target)?,
            "comments" => comments::add_of_slide(slide.blocks, package, &relation.target, &place)?,
            _ => {}
        }
    }
    Ok(())
}

struct Slide<'s> {
    blocks: &'s mut Blocks,
    package: &'s Package<'s>,
    relations: &'s BTreeMap<String, Relation>,
    place: &'s SourcePlace,
    nesting: u32,
}

impl Slide<'_> {
    fn push(&mut self, kind: BlockKind, text: impl Into<String>) {
        self.blocks.push(self.place.clone(), kind, text);
    }

    fn title(&mut self, shape: TreeNode<'_>) {
        let lines = shape.child("txBody").map(|body| text::paragraphs(body, self.relations)).unwrap_or_default();
        let text = lines.iter().map(|line| line.text.trim()).collect::<Vec<_>>().join(" ").replace('\n', " ");
        let text = text.trim();
        if !text.is_empty() {
            self.blocks.title(text);
            self.push(BlockKind::Heading(1), format!("# {text}"));
        }
    }

    fn shapes(&mut self, parent: TreeNode<'_>, depth: u32) -> Result<(), ReadError> {
        if depth > self.nesting {
            return Ok(());
        }
        let mut has_title = depth > 0;
        for shape in parent.elements() {
            match shape.name() {
                "sp" if !has_title && text::is_title(shape) => has_title = true,
                "sp" => self.text(shape),
                "pic" => self.picture(shape),
                "graphicFrame" => self.frame(shape)?,
                "grpSp" => self.shapes(shape, depth + 1)?,
                "AlternateContent" => {
                    if let Some(choice) = shape.child("Choice").or_else(|| shape.child("Fallback")) {
                        self.shapes(choice, depth + 1)?;
                    }
                }
                // Shapes of newer programs still hold text in the same form.
                _ => self.text(shape),
            }
        }
        Ok(())
    }

    fn text(&mut self, shape: TreeNode<'_>) {
        let Some(body) = shape.child("txBody") else { return };
        if text::is_decoration(shape) {
            return;
        }
        let is_body = text::is_body(shape);
        let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
        for line in text::paragraphs(body, self.relations) {
            let text = line.text.trim();
            numbers.retain(|level, _| *level <= line.level);
            if text.is_empty() {
                continue;
            }
            let indent = "    ".repeat(line.level as usize);
            match line.bullet {
                text::Bullet::Number => {
                    let number = numbers.entry(line.level).and_modify(|number| *number += 1).or_insert(1);
                    let text = format!("{indent}{number}. {text}");
                    self.push(BlockKind::ListItem, text);
                }
                text::Bullet::Sign => self.push(BlockKind::ListItem, format!("{indent}- {text}")),
                text::Bullet::Inherited if is_body => self.push(BlockKind::ListItem, format!("{indent}- {text}")),
                text::Bullet::Inherited | text::Bullet::None => self.push(BlockKind::Paragraph, text),
            }
        }
    }

    fn picture(&mut self, shape: TreeNode<'_>) {
        let description = shape.find("cNvPr").and_then(|properties| properties.attribute("descr")).unwrap_or_default();
        let id = shape.find("blip").and_then(|blip| blip.attribute("r:embed"));
        if let Some(relation) = id.and_then(|id| self.relations.get(id)) {
            let text = crate::office::picture(description, &relation.target);
            self.push(BlockKind::Image, text);
        }
    }

    fn frame(&mut self, shape: TreeNode<'_>) -> Result<(), ReadError> {
        if let Some(rows) = shape.find("tbl").map(|table| text::table_rows(table, self.relations)) {
            self.push(BlockKind::Table, table::table(&rows));
        }
        let id = shape.find("chart").and_then(|chart| chart.attribute("r:id"));
        if let Some(relation) = id.and_then(|id| self.relations.get(id)) {
            return chart::add(self.blocks, self.package, &relation.target, self.place);
        }
        self.diagram(shape)
    }

    /// Drawn diagrams keep their text in a part of their own.
    fn diagram(&mut self, shape: TreeNode<'_>) -> Result<(), ReadError> {
        let id = shape.find("relIds").and_then(|ids| ids.attribute("r:dm"));
        let Some(relation) = id.and_then(|id| self.relations.get(id)) else { return Ok(()) };
        let Some(tree) = self.package.tree(&relation.target)? else { return Ok(()) };
        for body in tree.root().descendants().filter(|node| node.name() == "t" && node.find("p").is_some()) {
            for line in text::paragraphs(body, self.relations) {
                self.push(BlockKind::ListItem, text::prefixed("- ", line.text.trim()));
            }
        }
        Ok(())
    }

    fn notes(&mut self, path: &str) -> Result<(), ReadError> {
        let Some(tree) = self.package.tree(path)? else { return Ok(()) };
        for shape in tree.root().descendants().filter(|node| node.name() == "sp" && text::is_body(*node)) {
            let lines = shape.child("txBody").map(|body| text::paragraphs(body, self.relations)).unwrap_or_default();
            let text = lines.iter().map(|line| line.text.trim()).filter(|line| !line.is_empty()).collect::<Vec<_>>();
            self.push(BlockKind::Paragraph, text::prefixed("Notes: ", &text.join("\n")));
        }
        Ok(())
    }
}
