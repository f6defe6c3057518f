//! What reviewers wrote beside documents, slides and sheets: `[author: NAME, time: TIME]: text`.

use std::collections::{BTreeMap, BTreeSet};

use crate::blocks::Blocks;
use crate::document::{BlockKind, SourcePlace};
use crate::error::ReadError;
use crate::office::Package;
use crate::tree::TreeNode;

/// Adds the comments of a Word document.
pub(crate) fn add_of_document(blocks: &mut Blocks, package: &Package<'_>, path: &str) -> Result<(), ReadError> {
    let Some(tree) = package.tree(path)? else { return Ok(()) };
    for (comment, number) in tree.root().descendants().filter(|node| node.name() == "comment").zip(1..) {
        let author = comment.attribute("author").unwrap_or_default();
        let texts = comment.descendants().filter(|node| node.name() == "t").map(TreeNode::all_text);
        let place = SourcePlace::part(format!("comment {number}"));
        add(blocks, place, author, comment.attribute("date"), &texts.collect::<String>());
    }
    Ok(())
}

/// Adds the comments of a slide, of older and newer programs.
pub(crate) fn add_of_slide(
    blocks: &mut Blocks,
    package: &Package<'_>,
    path: &str,
    place: &SourcePlace,
) -> Result<(), ReadError> {
    let Some(tree) = package.tree(path)? else { return Ok(()) };
    let mut authors: BTreeMap<String, String> = BTreeMap::new();
    for path in ["ppt/commentAuthors.xml", "ppt/authors.xml"] {
        if let Some(tree) = package.tree(path)? {
            authors.extend(people(tree.root()));
        }
    }
    for comment in tree.root().descendants().filter(|node| matches!(node.name(), "cm" | "reply")) {
        let author = comment.attribute("authorId").and_then(|id| authors.get(id)).map_or("", String::as_str);
        let time = comment.attribute("dt").or(comment.attribute("created"));
        let body = comment.child("text").or_else(|| comment.child("txBody"));
        add(blocks, place.clone(), author, time, &body.map(TreeNode::all_text).unwrap_or_default());
    }
    Ok(())
}

/// Adds the notes at cells of a sheet. What people wrote to each other is stored twice: as a conversation, and as a note
/// for older programs, which is then left out.
pub(crate) fn add_of_sheet(
    blocks: &mut Blocks,
    package: &Package<'_>,
    paths: &[&str],
    sheet: &str,
) -> Result<(), ReadError> {
    let place = |cell: Option<&str>| SourcePlace {
        sheet: Some(sheet.to_owned()),
        cells: cell.map(str::to_owned),
        ..SourcePlace::default()
    };
    let mut talked_about: BTreeSet<String> = BTreeSet::new();
    for path in paths.iter().filter(|path| path.contains("threadedComment")) {
        let Some(tree) = package.tree(path)? else { continue };
        let people = match package.tree("xl/persons/person.xml")? {
            Some(tree) => people(tree.root()),
            None => BTreeMap::new(),
        };
        for comment in tree.root().descendants().filter(|node| node.name() == "threadedComment") {
            let author = comment.attribute("personId").and_then(|id| people.get(id)).map_or("", String::as_str);
            let text = comment.child("text").map(TreeNode::all_text).unwrap_or_default();
            talked_about.extend(comment.attribute("ref").map(str::to_owned));
            add(blocks, place(comment.attribute("ref")), author, comment.attribute("dT"), &text);
        }
    }
    for path in paths.iter().filter(|path| !path.contains("threadedComment")) {
        let Some(tree) = package.tree(path)? else { continue };
        let authors: Vec<String> =
            tree.root().descendants().filter(|node| node.name() == "author").map(TreeNode::all_text).collect();
        for comment in tree.root().descendants().filter(|node| node.name() == "comment") {
            let cell = comment.attribute("ref");
            if cell.is_some_and(|cell| talked_about.contains(cell)) {
                continue;
            }
            let author = comment.attribute("authorId").and_then(|id| authors.get(id.parse::<usize>().ok()?));
            let text = comment.child("text").map(TreeNode::all_text).unwrap_or_default();
            add(blocks, place(cell), author.map_or("", String::as_str), None, &text);
        }
    }
    Ok(())
}

fn add(blocks: &mut Blocks, place: SourcePlace, author: &str, time: Option<&str>, text: &str) {
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    let time = time.map(|time| format!(", time: {time}")).unwrap_or_default();
    blocks.push(place, BlockKind::Paragraph, format!("[author: {author}{time}]: {text}"));
}

/// Names of people by their ids, with their initials where given.
fn people(root: TreeNode<'_>) -> BTreeMap<String, String> {
    let people = root.descendants().filter(|node| matches!(node.name(), "cmAuthor" | "author" | "person"));
    let named = people.filter_map(|node| {
        let name = node.attribute("name").or(node.attribute("displayName"))?;
        let initials = node.attribute("initials").map(|initials| format!(" ({initials})")).unwrap_or_default();
        Some((node.attribute("id")?.to_owned(), format!("{name}{initials}")))
    });
    named.collect()
}
