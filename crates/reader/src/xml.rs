//! Reads XML into a tree. Entities of the file's own are not expanded, so none can grow.

use quick_xml::XmlVersion;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

use crate::document::DocumentKind;
use crate::error::ReadError;
use crate::options::ReadLimits;
use crate::text;
use crate::tree::Tree;

/// More nodes than any real document has; each costs about 150 bytes.
const MOST_NODES: usize = 4_000_000;

/// Reads a part of a file. What follows a fault in the markup is left out, as long as something stands before it.
pub(crate) fn parse(bytes: &[u8], kind: DocumentKind, limits: &ReadLimits) -> Result<Tree, ReadError> {
    let text = text::decode(bytes, None);
    let mut reader = Reader::from_str(&text);
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_dangling_amp = true;
    reader.config_mut().allow_unmatched_ends = true;
    let mut builder = TreeBuilder { tree: Tree::new(), open: vec![0], kind, limits, line: 1, seen: 0 };
    loop {
        let before = reader.buffer_position() as usize;
        match reader.read_event() {
            Ok(Event::Eof) => break,
            Ok(event) => {
                builder.count_lines(&text, before);
                builder.add(&event)?;
            }
            Err(_) if builder.tree.len() > 1 => break,
            Err(error) => return Err(ReadError::Damaged { kind, why: error.to_string() }),
        }
    }
    Ok(builder.tree)
}

struct TreeBuilder<'l> {
    tree: Tree,
    open: Vec<u32>,
    kind: DocumentKind,
    limits: &'l ReadLimits,
    line: u32,
    /// How far lines have been counted.
    seen: usize,
}

impl TreeBuilder<'_> {
    fn count_lines(&mut self, text: &str, until: usize) {
        let passed = text.as_bytes().get(self.seen..until).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', passed).count() as u32;
        self.seen = until.max(self.seen);
    }

    fn add(&mut self, event: &Event<'_>) -> Result<(), ReadError> {
        match event {
            Event::Start(start) => {
                let node = self.element(start);
                self.open.push(node);
                if self.open.len() > self.limits.nesting as usize {
                    return Err(ReadError::TooDeep { kind: self.kind, limit: self.limits.nesting });
                }
            }
            Event::Empty(start) => {
                self.element(start);
            }
            Event::End(_) => {
                if self.open.len() > 1 {
                    self.open.pop();
                }
            }
            Event::Text(text) => self.text(&text.xml10_content()),
            Event::CData(text) => self.text(&text.xml10_content()),
            Event::GeneralRef(reference) => self.text(&resolve(reference)),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Eof => {}
        }
        if self.tree.len() > MOST_NODES {
            return Err(ReadError::TooLarge { kind: self.kind, limit: MOST_NODES as u64 });
        }
        Ok(())
    }

    fn parent(&self) -> u32 {
        self.open.last().copied().unwrap_or(0)
    }

    fn element(&mut self, start: &BytesStart<'_>) -> u32 {
        let mut attributes = Vec::new();
        for attribute in start.attributes().with_checks(false).flatten() {
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_or_else(|_| attribute.value.to_string(), |value| value.to_string());
            attributes.push((attribute.key.as_ref().into(), value.into_boxed_str()));
        }
        let node = self.tree.create(start.local_name().as_ref(), String::new(), attributes, self.line);
        let parent = self.parent();
        self.tree.append(parent, node);
        node
    }

    fn text(&mut self, text: &str) {
        let parent = self.parent();
        let last = self.tree.last_child_of(parent);
        if let Some(known) = last.and_then(|last| self.tree.text_mut(last)) {
            known.push_str(text);
        } else {
            let node = self.tree.create("", text.to_owned(), Vec::new(), self.line);
            self.tree.append(parent, node);
        }
    }
}

/// What a reference stands for.
pub(crate) fn resolve(reference: &BytesRef<'_>) -> String {
    match reference.resolve_char_ref() {
        Ok(Some(character)) => character.to_string(),
        Ok(None) | Err(_) => entity(reference).to_owned(),
    }
}

/// The five entities of XML, and the one of HTML that others write into XML most.
fn entity(name: &str) -> &'static str {
    match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        "nbsp" => "\u{a0}",
        _ => "",
    }
}
