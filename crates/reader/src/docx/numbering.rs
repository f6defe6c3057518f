//! Lists: counts their items and writes the labels that Word shows.

use std::collections::BTreeMap;

use super::styles::Styles;
use crate::tree::TreeNode;

/// The lists of a document, and how far each has counted.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    /// By the id that paragraphs use: the definition of the list, and where its levels start anew.
    lists: BTreeMap<String, (String, BTreeMap<u32, u32>)>,
    definitions: BTreeMap<String, BTreeMap<u32, ListLevel>>,
    /// By definition: the last number of each level.
    counters: BTreeMap<String, BTreeMap<u32, u32>>,
    /// Lists that have started with numbers of their own.
    restarted: Vec<(String, u32)>,
}

#[derive(Clone, Debug)]
struct ListLevel {
    format: String,
    /// Such as `%1.%2.`.
    text: String,
    start: u32,
    /// The style whose paragraphs are on this level.
    style: Option<String>,
}

/// An item of a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ListItem {
    pub(super) level: u32,
    /// Its number as text; none if it has a bullet.
    pub(super) label: Option<String>,
}

const DEEPEST: u32 = 8;

impl Numbering {
    pub(super) fn read(root: TreeNode<'_>) -> Self {
        let mut numbering = Self::default();
        for node in root.descendants().filter(|node| node.name() == "abstractNum") {
            let Some(id) = node.attribute("abstractNumId") else { continue };
            let levels = node.elements().filter(|level| level.name() == "lvl");
            let levels = levels.filter_map(|level| Some((level.attribute("ilvl")?.parse().ok()?, read_level(level))));
            numbering.definitions.insert(id.to_owned(), levels.collect());
        }
        for node in root.descendants().filter(|node| node.name() == "num") {
            let (Some(id), Some(definition)) = (node.attribute("numId"), node.value("abstractNumId")) else { continue };
            let overrides = node.elements().filter(|node| node.name() == "lvlOverride");
            let starts = overrides.filter_map(|change| {
                Some((change.attribute("ilvl")?.parse().ok()?, change.value("startOverride")?.parse().ok()?))
            });
            numbering.lists.insert(id.to_owned(), (definition.to_owned(), starts.collect()));
        }
        numbering
    }

    /// Counts a paragraph, if it is an item of a list.
    pub(super) fn item(
        &mut self,
        styles: &Styles,
        style: Option<&str>,
        properties: Option<TreeNode<'_>>,
    ) -> Option<ListItem> {
        let own = properties.and_then(|properties| properties.child("numPr"));
        let own_list = own.and_then(|list| list.value("numId"));
        let own_level = own.and_then(|list| list.value("ilvl")).and_then(|level| level.parse().ok());
        let by_style = styles.numbering(style);
        let list = own_list.or(by_style.map(|(list, _)| list));
        let Some(list) = list.filter(|list| *list != "0") else {
            let name = styles.name(style);
            let is_list = name.starts_with("list bullet") || name.starts_with("list number");
            return (is_list && own_list.is_none()).then_some(ListItem { level: 0, label: None });
        };
        let level = own_level
            .or_else(|| self.level_of_style(list, style))
            .or(by_style.map(|(_, level)| level))
            .unwrap_or(0)
            .min(DEEPEST);
        Some(ListItem { level, label: self.count(list, level) })
    }

    fn level_of_style(&self, list: &str, style: Option<&str>) -> Option<u32> {
        let (definition, _) = self.lists.get(list)?;
        let levels = self.definitions.get(definition)?;
        levels.iter().find(|(_, level)| level.style.as_deref() == style && style.is_some()).map(|(number, _)| *number)
    }

    /// Moves a list on by one and writes the label.
    fn count(&mut self, list: &str, level: u32) -> Option<String> {
        let (definition, starts) = self.lists.get(list)?;
        let levels = self.definitions.get(definition)?;
        let counters = self.counters.entry(definition.clone()).or_default();
        let start = |level: u32| {
            starts.get(&level).copied().or_else(|| levels.get(&level).map(|level| level.start)).unwrap_or(1)
        };
        if starts.contains_key(&level)
            && !self.restarted.iter().any(|(known, known_level)| known == list && *known_level == level)
        {
            self.restarted.push((list.to_owned(), level));
            counters.remove(&level);
        }
        let number = counters.get(&level).map_or_else(|| start(level), |number| number.saturating_add(1));
        counters.retain(|deeper, _| *deeper < level);
        for above in 0..level {
            counters.entry(above).or_insert_with(|| start(above));
        }
        counters.insert(level, number);
        let shape = levels.get(&level)?;
        if matches!(shape.format.as_str(), "bullet" | "none") {
            return None;
        }
        let mut label = shape.text.clone();
        for (number, count) in counters.iter() {
            let format = levels.get(number).map_or("decimal", |level| level.format.as_str());
            label = label.replace(&format!("%{}", number + 1), &written(*count, format));
        }
        Some(label.trim().to_owned()).filter(|label| !label.is_empty())
    }
}

fn read_level(node: TreeNode<'_>) -> ListLevel {
    ListLevel {
        format: node.value("numFmt").unwrap_or("decimal").to_owned(),
        text: node.value("lvlText").unwrap_or_default().to_owned(),
        start: node.value("start").and_then(|start| start.parse().ok()).unwrap_or(1),
        style: node.value("pStyle").map(str::to_owned),
    }
}

/// A number as a list writes it.
fn written(number: u32, format: &str) -> String {
    match format {
        "lowerLetter" => letters(number, b'a'),
        "upperLetter" => letters(number, b'A'),
        "lowerRoman" => roman(number).to_lowercase(),
        "upperRoman" => roman(number),
        _ => number.to_string(),
    }
}

/// a, b, …, z, aa, bb, …
fn letters(number: u32, first: u8) -> String {
    let index = number.saturating_sub(1);
    let letter = char::from(first + (index % 26) as u8);
    letter.to_string().repeat((index / 26 + 1).min(10) as usize)
}

fn roman(number: u32) -> String {
    const DIGITS: [(u32, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if number == 0 || number > 3999 {
        return number.to_string();
    }
    let mut rest = number;
    let mut text = String::new();
    for (value, digit) in DIGITS {
        while rest >= value {
            text.push_str(digit);
            rest -= value;
        }
    }
    text
}
