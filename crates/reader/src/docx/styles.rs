//! Styles of paragraphs: which are headings, which are code, which belong to a list.

use std::collections::BTreeMap;

use crate::tree::TreeNode;

/// The styles of a document by their ids.
#[derive(Debug, Default)]
pub(super) struct Styles(BTreeMap<String, ParagraphStyle>);

#[derive(Debug)]
struct ParagraphStyle {
    /// Its name in small letters.
    name: String,
    parent: Option<String>,
    outline: Option<u8>,
    numbering: Option<(String, Option<u32>)>,
}

/// Styles that are built on each other go no deeper than this; a loop ends here too.
const DEEPEST: usize = 16;

impl Styles {
    pub(super) fn read(root: TreeNode<'_>) -> Self {
        let mut styles = BTreeMap::new();
        for node in root.descendants().filter(|node| node.name() == "style") {
            let Some(id) = node.attribute("styleId") else { continue };
            let properties = node.child("pPr");
            let numbering = properties.and_then(|properties| properties.child("numPr"));
            let style = ParagraphStyle {
                name: node.value("name").unwrap_or(id).to_lowercase(),
                parent: node.value("basedOn").map(str::to_owned),
                outline: properties.and_then(outline_level),
                numbering: numbering.and_then(|list| {
                    let level = list.value("ilvl").and_then(|level| level.parse().ok());
                    Some((list.value("numId")?.to_owned(), level))
                }),
            };
            styles.insert(id.to_owned(), style);
        }
        Self(styles)
    }

    /// A style and those it is built on.
    fn chain(&self, style: Option<&str>) -> impl Iterator<Item = &ParagraphStyle> {
        let first = style.and_then(|id| self.0.get(id));
        std::iter::successors(first, |style| self.0.get(style.parent.as_deref()?)).take(DEEPEST)
    }

    /// The level of a heading, by the paragraph itself, by the name of its style, or by the outline.
    pub(super) fn heading(&self, style: Option<&str>, properties: Option<TreeNode<'_>>) -> Option<u8> {
        let by_name = |style: &ParagraphStyle| match style.name.as_str() {
            "title" => Some(1),
            name => {
                let level = name.strip_prefix("heading ").or_else(|| name.strip_prefix("überschrift "))?;
                level.trim().parse::<u8>().ok().filter(|level| (1..=9).contains(level)).map(|level| level.min(6))
            }
        };
        let own = properties.and_then(outline_level);
        own.or_else(|| self.chain(style).find_map(|style| by_name(style).or(style.outline))).filter(|level| *level <= 6)
    }

    /// Whether paragraphs of this style are code.
    pub(super) fn is_code(&self, style: Option<&str>) -> bool {
        let is_code = |style: &ParagraphStyle| {
            matches!(
                style.name.as_str(),
                "source code" | "code" | "code block" | "html preformatted" | "macro text" | "plain text code"
            )
        };
        self.chain(style).any(is_code)
    }

    /// The list that a style belongs to, and the level in it.
    pub(super) fn numbering(&self, style: Option<&str>) -> Option<(&str, u32)> {
        let mut level = None;
        for style in self.chain(style) {
            if let Some((id, own_level)) = &style.numbering {
                return Some((id, level.or(*own_level).unwrap_or(0)));
            }
            level = level.or(style.outline.map(|level| u32::from(level) - 1));
        }
        None
    }

    pub(super) fn name<'s>(&'s self, style: Option<&'s str>) -> &'s str {
        style.and_then(|id| self.0.get(id)).map_or(style.unwrap_or_default(), |style| &style.name)
    }
}

/// Files count levels from 0; 9 is the text itself.
fn outline_level(properties: TreeNode<'_>) -> Option<u8> {
    let level: u8 = properties.value("outlineLvl")?.parse().ok()?;
    (level < 9).then_some((level + 1).min(6))
}
