//! What cells show: shared texts, numbers, dates by their format, truth values and errors.

use std::collections::BTreeMap;

use crate::error::ReadError;
use crate::office::{Package, Relation};
use crate::tree::TreeNode;

/// What all sheets of a workbook share.
#[derive(Debug, Default)]
pub(super) struct Values {
    texts: Vec<String>,
    /// By the number of a style: whether it shows a date, a time, or both.
    moments: Vec<Option<Moment>>,
    is_1904: bool,
}

/// What of a moment a format shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    date: bool,
    time: bool,
}

impl Values {
    pub(super) fn read(
        package: &Package<'_>,
        relations: &BTreeMap<String, Relation>,
        is_1904: bool,
    ) -> Result<Self, ReadError> {
        let path =
            |kind: &str| relations.values().find(|relation| relation.kind == kind).map(|relation| &relation.target);
        let mut values = Self { is_1904, ..Self::default() };
        if let Some(path) = path("sharedStrings")
            && let Some(tree) = package.tree(path)?
        {
            let items = tree.root().descendants().filter(|node| node.name() == "si");
            values.texts = items.map(shared_text).collect();
        }
        if let Some(path) = path("styles")
            && let Some(tree) = package.tree(path)?
        {
            values.moments = moments(tree.root());
        }
        Ok(values)
    }

    /// The text of a cell by its stored value, its type and its style.
    pub(super) fn shown(&self, value: &str, kind: &str, style: usize) -> String {
        match kind {
            "s" => {
                let index = value.trim().parse::<usize>().ok();
                index.and_then(|index| self.texts.get(index)).cloned().unwrap_or_default()
            }
            "b" => if value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
            "str" | "inlineStr" | "e" | "d" => value.to_owned(),
            _ => {
                let number = value.trim().parse::<f64>().ok();
                let moment = self.moments.get(style).copied().flatten();
                match (number, moment) {
                    (Some(number), Some(moment)) => self.moment(number, moment).unwrap_or_else(|| plain(number)),
                    (Some(number), None) => plain(number),
                    (None, _) => value.to_owned(),
                }
            }
        }
    }

    /// Days since the end of 1899, or since 1904, as people write them.
    fn moment(&self, number: f64, shown: Moment) -> Option<String> {
        if !(0.0..3_000_000.0).contains(&number) {
            return None;
        }
        let seconds = (number * 86_400.0).round() as i64;
        let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // Excel counts a 29 February 1900 that never was.
        let since_1970 = if self.is_1904 { days - 24_107 } else { days - 25_569 + i64::from(days < 60) };
        let (year, month, day) = civil(since_1970);
        let clock = format!("{:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60);
        Some(match shown {
            Moment { date: true, time: false } => format!("{year:04}-{month:02}-{day:02}"),
            Moment { date: false, .. } if days == 0 => clock,
            // A duration of more than a day.
            Moment { date: false, .. } => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
            Moment { .. } => format!("{year:04}-{month:02}-{day:02} {clock}"),
        })
    }
}

/// A number without the noise of its binary form.
fn plain(number: f64) -> String {
    let rounded = format!("{number:.15e}").parse::<f64>().unwrap_or(number);
    // Fifteen digits are what Excel keeps.
    let digits = format!("{rounded:.14e}").parse::<f64>().unwrap_or(rounded);
    if digits.abs() >= 1e21 || (digits != 0.0 && digits.abs() < 1e-9) {
        format!("{digits:e}")
    } else {
        format!("{digits}")
    }
}

/// Year, month and day of a number of days since 1970 (by Howard Hinnant).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The text of a shared item: all its runs, without the reading aids of Japanese.
fn shared_text(item: TreeNode<'_>) -> String {
    let texts = item.elements().filter(|node| node.name() != "rPh");
    texts
        .map(|node| {
            if node.name() == "t" {
                node.all_text()
            } else {
                node.child("t").map(TreeNode::all_text).unwrap_or_default()
            }
        })
        .collect()
}

/// For each cell style what of a moment it shows.
fn moments(root: TreeNode<'_>) -> Vec<Option<Moment>> {
    let mut formats: BTreeMap<u32, Option<Moment>> = BTreeMap::new();
    for node in root.descendants().filter(|node| node.name() == "numFmt") {
        let id = node.attribute("numFmtId").and_then(|id| id.parse().ok());
        if let (Some(id), Some(code)) = (id, node.attribute("formatCode")) {
            formats.insert(id, by_code(code));
        }
    }
    let cell_styles = root.find("cellXfs").into_iter().flat_map(TreeNode::elements);
    let ids = cell_styles.map(|node| node.attribute("numFmtId").and_then(|id| id.parse::<u32>().ok()).unwrap_or(0));
    ids.map(|id| formats.get(&id).copied().unwrap_or_else(|| built_in(id))).collect()
}

fn built_in(id: u32) -> Option<Moment> {
    match id {
        14..=17 | 27..=31 | 36 | 50..=58 => Some(Moment { date: true, time: false }),
        18..=21 | 32..=35 | 45..=47 => Some(Moment { date: false, time: true }),
        22 => Some(Moment { date: true, time: true }),
        _ => None,
    }
}

/// By the letters of a format that are not quoted text or a colour.
fn by_code(code: &str) -> Option<Moment> {
    let mut letters = String::new();
    let (mut in_quotes, mut in_brackets, mut is_escaped) = (false, false, false);
    for character in code.split(';').next().unwrap_or_default().chars() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' | '_' | '*' => is_escaped = true,
            '"' => in_quotes = !in_quotes,
            '[' if !in_quotes => in_brackets = true,
            ']' if !in_quotes => in_brackets = false,
            // `[h]` counts hours beyond a day; `[Red]` is a colour.
            'h' | 'H' if in_brackets => letters.push('h'),
            other if !in_quotes && !in_brackets => letters.push(other.to_ascii_lowercase()),
            _ => {}
        }
    }
    if letters.contains("general") {
        return None;
    }
    let (date, time) = (letters.contains(['y', 'd']), letters.contains(['h', 's']));
    let is_month = letters.contains('m') && !time;
    (date || time || is_month).then_some(Moment { date: date || is_month, time })
}
