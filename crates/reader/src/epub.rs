//! Books: the chapters in the order of the spine, each read as a web page.

use crate::archive::Archive;
use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::error::ReadError;
use crate::options::ReadOptions;
use crate::tree::TreeNode;
use crate::{html, text, xml};

const KIND: DocumentKind = DocumentKind::Epub;

/// Reads a book.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Blocks, ReadError> {
    let limits = &options.limits;
    let archive = Archive::open(bytes, KIND, limits)?;
    let fault = |why: &str| ReadError::Damaged { kind: KIND, why: why.to_owned() };
    let container = archive.file("META-INF/container.xml")?.ok_or_else(|| fault("it has no container"))?;
    let container = xml::parse(&container, KIND, limits)?;
    let package_path = container.root().find("rootfile").and_then(|file| file.attribute("full-path"));
    let package_path = package_path.ok_or_else(|| fault("its container names no package"))?;
    let package = archive.file(package_path)?.ok_or_else(|| fault("its package is missing"))?;
    let package = xml::parse(&package, KIND, limits)?;
    let mut blocks = Blocks::new(KIND, limits);
    if let Some(metadata) = package.root().find("metadata") {
        add_metadata(&mut blocks, metadata);
    }
    let chapters = chapters(package.root(), package_path);
    for (path, number) in chapters.iter().zip(1..) {
        if blocks.is_full() || number > limits.pages {
            break;
        }
        if !options.wants_page(number) {
            continue;
        }
        let Some(chapter) = archive.file(path)? else {
            blocks.warn(format!("the chapter `{path}` is missing"));
            continue;
        };
        let place = SourcePlace::part(path.rsplit('/').next().unwrap_or(path));
        html::add(&mut blocks, &text::decode(&chapter, None), &place, limits);
    }
    Ok(blocks)
}

fn add_metadata(blocks: &mut Blocks, metadata: TreeNode<'_>) {
    for (element, label) in [
        ("title", "title"),
        ("creator", "author"),
        ("publisher", "publisher"),
        ("date", "date"),
        ("language", "language"),
    ] {
        for node in metadata.elements().filter(|node| node.name() == element) {
            let text = node.all_text();
            if element == "title" {
                blocks.title(&text);
            }
            if !text.trim().is_empty() {
                blocks.push(SourcePlace::default(), BlockKind::Metadata, format!("{label}: {}", text.trim()));
            }
        }
    }
}

/// Paths of the chapters, in reading order.
fn chapters(package: TreeNode<'_>, package_path: &str) -> Vec<String> {
    let folder = package_path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let Some((manifest, spine)) = package.find("manifest").zip(package.find("spine")) else { return Vec::new() };
    let by_id: std::collections::BTreeMap<&str, &str> =
        manifest.elements().filter_map(|item| Some((item.attribute("id")?, item.attribute("href")?))).collect();
    let paths = spine.elements().filter_map(|item| by_id.get(item.attribute("idref")?));
    paths.map(|href| crate::office::resolve(folder, &percent_decoded(href))).collect()
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let code = if byte == b'%' { tail.get(..2).and_then(|two| std::str::from_utf8(two).ok()) } else { None };
        if let Some(value) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            bytes.push(value);
            rest = &tail[2..];
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
