//! What Office files share: parts of a package, and how they refer to each other.

use std::collections::BTreeMap;

use crate::archive::Archive;
use crate::document::DocumentKind;
use crate::error::ReadError;
use crate::options::ReadLimits;
use crate::tree::{Tree, TreeNode};
use crate::xml;

/// A package of parts.
pub(crate) struct Package<'b> {
    pub(crate) archive: Archive<'b>,
    kind: DocumentKind,
    limits: ReadLimits,
}

/// A reference from one part to another, or to somewhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    /// The last word of its type, such as `image` or `hyperlink`.
    pub(crate) kind: String,
    /// The path of the part, or an address outside.
    pub(crate) target: String,
}

impl<'b> Package<'b> {
    pub(crate) fn open(bytes: &'b [u8], kind: DocumentKind, limits: &ReadLimits) -> Result<Self, ReadError> {
        Ok(Self { archive: Archive::open(bytes, kind, limits)?, kind, limits: *limits })
    }

    /// A part as a tree, if there is one.
    pub(crate) fn tree(&self, path: &str) -> Result<Option<Tree>, ReadError> {
        let Some(bytes) = self.archive.file(path)? else { return Ok(None) };
        xml::parse(&bytes, self.kind, &self.limits).map(Some)
    }

    /// The part that the package is about.
    pub(crate) fn main_part(&self, default: &str) -> Result<String, ReadError> {
        let relations = self.relations("")?;
        let main = relations.into_values().find(|relation| relation.kind == "officeDocument");
        let path = main.map_or_else(|| default.to_owned(), |relation| relation.target);
        if !self.archive.has(&path) {
            return Err(ReadError::Damaged { kind: self.kind, why: format!("`{path}` is missing") });
        }
        Ok(path)
    }

    /// What a part refers to, by the id of the reference.
    pub(crate) fn relations(&self, part: &str) -> Result<BTreeMap<String, Relation>, ReadError> {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let path = if folder.is_empty() { format!("_rels/{name}.rels") } else { format!("{folder}/_rels/{name}.rels") };
        let Some(tree) = self.tree(&path)? else { return Ok(BTreeMap::new()) };
        let mut relations = BTreeMap::new();
        for node in tree.root().descendants().filter(|node| node.name() == "Relationship") {
            let (Some(id), Some(target)) = (node.attribute("Id"), node.attribute("Target")) else { continue };
            let kind = node.attribute("Type").unwrap_or_default().rsplit('/').next().unwrap_or_default().to_owned();
            let is_outside = node.attribute("TargetMode").is_some_and(|mode| mode.eq_ignore_ascii_case("external"));
            let target = if is_outside { target.to_owned() } else { resolve(folder, target) };
            relations.insert(id.to_owned(), Relation { kind, target });
        }
        Ok(relations)
    }

    /// The title in the package's own description.
    pub(crate) fn title(&self) -> Result<Option<String>, ReadError> {
        let tree = self.tree("docProps/core.xml")?;
        Ok(tree.and_then(|tree| tree.root().find("title").map(TreeNode::all_text)))
    }
}

/// A path relative to a folder, without `.` and `..`.
pub(crate) fn resolve(folder: &str, path: &str) -> String {
    let path = path.split('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = Vec::new();
    if !path.starts_with('/') {
        parts.extend(folder.split('/').filter(|part| !part.is_empty()));
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A picture as Markdown. Without a description it is a comment: there is nothing to read.
pub(crate) fn picture(description: &str, target: &str) -> String {
    let name = target.rsplit('/').next().unwrap_or(target);
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    if description.is_empty() { format!("<!-- image: {name} -->") } else { format!("![{description}]({name})") }
}
