//! Reads what tools returned: passages of `retrieve`, files, and lines of a search.

use serde_json::Value;

use super::conversation::ToolExchange;

/// A piece of a file, as a tool returned it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) path: String,
    /// The first and the last line in the file.
    pub(super) lines: Option<(u32, u32)>,
    /// The place if it has no lines: `page 3`, `sheet Sales!A2:C9`.
    pub(super) place: String,
    /// The headings above it.
    pub(super) trail: String,
    pub(super) text: String,
}

/// Everything that was found, best first.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    pub(super) passages: Vec<Passage>,
    /// Words that stand in no file, in lower case.
    pub(super) unknown: Vec<String>,
}

impl Findings {
    /// Adds the result of a call.
    pub(super) fn add(&mut self, exchange: &ToolExchange<'_>) {
        let text = &exchange.result.text;
        match exchange.call.name.as_str() {
            _ if exchange.result.is_error => {}
            "retrieve" => self.add_retrieved(text),
            "search_files" => self.passages.extend(text.lines().filter_map(search_hit)),
            "read_file" => self.passages.extend(whole_file(&exchange.call.args, text)),
            _ => {}
        }
    }

    fn add_retrieved(&mut self, text: &str) {
        let mut number = 0;
        let mut current: Option<Passage> = None;
        for line in text.lines() {
            if let Some(passage) = line.strip_prefix(&format!("[{}] ", number + 1)).map(head) {
                number += 1;
                self.passages.extend(current.replace(passage));
            } else if let Some(words) = line.strip_prefix("[these words occur nowhere: ") {
                self.unknown.extend(words.trim_end_matches(']').split(", ").map(str::to_owned));
            } else if let Some((word, _)) =
                line.strip_prefix("[`").and_then(|rest| rest.split_once("` occurs nowhere; "))
            {
                self.unknown.push(word.to_owned());
            } else if let Some(passage) = &mut current {
                passage.text.extend([line, "\n"]);
            }
        }
        self.passages.extend(current);
        for passage in &mut self.passages {
            passage.text.truncate(passage.text.trim_end().len());
        }
    }
}

/// Reads `docs/a.md:12-24 (Tides › Brest)`, or `report.pdf, page 3`.
fn head(text: &str) -> Passage {
    let ends = text.match_indices(" (").map(|(at, _)| at).chain([text.len()]);
    for end in ends {
        let trail = text[end..].trim_start_matches(" (").trim_end_matches(')').to_owned();
        if let Some((path, lines)) =
            text[..end].rsplit_once(':').and_then(|(path, lines)| Some((path, line_range(lines)?)))
        {
            return Passage { path: path.to_owned(), lines: Some(lines), trail, ..Passage::default() };
        }
        if let Some((path, place)) = text[..end].rsplit_once(", ").filter(|(path, _)| path.contains('.')) {
            return Passage { path: path.to_owned(), place: place.to_owned(), trail, ..Passage::default() };
        }
    }
    Passage { path: text.to_owned(), ..Passage::default() }
}

fn line_range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// Reads `path:12: text`.
fn search_hit(line: &str) -> Option<Passage> {
    let (path, rest) = line.split_once(':')?;
    let (number, text) = rest.split_once(": ")?;
    let number = number.parse().ok()?;
    Some(Passage { path: path.to_owned(), lines: Some((number, number)), text: text.to_owned(), ..Passage::default() })
}

fn whole_file(args: &Value, text: &str) -> Option<Passage> {
    let path = args.get("path")?.as_str()?.trim_start_matches("./").to_owned();
    // Remarks of the tool about what is left out.
    let text = text
        .lines()
        .filter(|line| !(line.starts_with('[') && line.ends_with(']') && line.contains(" line")))
        .collect::<Vec<_>>()
        .join("\n");
    let last = text.lines().count().max(1) as u32;
    Some(Passage { path, lines: Some((1, last)), text, ..Passage::default() })
}
