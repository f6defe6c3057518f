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
            "search_files" => self.passages.extend(search_hits(text)),
            "read_file" => self.passages.extend(whole_file(&exchange.call.args, text)),
            _ => {}
        }
    }

    fn add_retrieved(&mut self, text: &str) {
        let mut number = 0;
        let mut current: Option<Passage> = None;
        // An empty line ends each passage; other lines with a number are part of one.
        let mut is_apart = true;
        for line in text.lines() {
            let next =
                Some(line).filter(|_| is_apart).and_then(|line| line.strip_prefix(&format!("[{}] ", number + 1)));
            is_apart = line.is_empty();
            if let Some(passage) = next.and_then(head) {
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

/// Reads `docs/a.md:12-24 (Tides › Brest)`, `report.pdf, page 3`, or a path alone.
fn head(text: &str) -> Option<Passage> {
    let ends: Vec<usize> = text.match_indices(" (").map(|(at, _)| at).chain([text.len()]).collect();
    let trail = |end: usize| text[end..].trim_start_matches(" (").trim_end_matches(')').to_owned();
    for end in &ends {
        let lines = text[..*end].rsplit_once(':').and_then(|(path, lines)| Some((path, line_range(lines)?)));
        if let Some((path, lines)) = lines.filter(|(path, _)| has_extension(path) || !path.contains([',', '.'])) {
            return Some(Passage {
                path: path.to_owned(),
                lines: Some(lines),
                trail: trail(*end),
                ..Passage::default()
            });
        }
        if let Some((path, place)) = text[..*end].rsplit_once(", ").filter(|(path, _)| has_extension(path)) {
            let (path, place) = (path.to_owned(), place.to_owned());
            return Some(Passage { path, place, trail: trail(*end), ..Passage::default() });
        }
    }
    let end = ends.into_iter().find(|end| has_extension(&text[..*end]))?;
    Some(Passage { path: text[..end].to_owned(), trail: trail(end), ..Passage::default() })
}

/// Whether the text ends as the name of a file or an address does; `Smith, J. Nature 3` does not.
fn has_extension(text: &str) -> bool {
    let is_extension = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let name = text.rsplit('/').next().unwrap_or(text);
    (text.contains('/') && !text.contains(' ')) || name.rsplit_once('.').is_some_and(|(_, end)| is_extension(end))
}

/// Reads `12-24` or `12`.
fn line_range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?)).filter(|(first, last)| first <= last)
}

/// Reads lines such as `12: text` below the path of their file; an empty line ends each file.
fn search_hits(text: &str) -> Vec<Passage> {
    let mut hits = Vec::new();
    for group in text.split("\n\n") {
        let Some((path, lines)) = group.split_once('\n') else { continue };
        hits.extend(lines.lines().filter_map(|line| {
            let (number, text) = line.split_once(": ")?;
            let number = number.parse().ok()?;
            let lines = Some((number, number));
            Some(Passage { path: path.to_owned(), lines, text: text.to_owned(), ..Passage::default() })
        }));
    }
    hits
}

fn whole_file(args: &Value, text: &str) -> Option<Passage> {
    let path = args.get("path")?.as_str()?.trim_start_matches("./").to_owned();
    // Remarks of the tool about what is left out.
    let text = without_numbers(text)
        .lines()
        .filter(|line| !(line.starts_with('[') && line.ends_with(']') && line.contains(" line")))
        .collect::<Vec<_>>()
        .join("\n");
    let last = text.lines().count().max(1) as u32;
    Some(Passage { path, lines: Some((1, last)), text, ..Passage::default() })
}

/// A text that `read_file` gave, without the number and the tab before each line. A text with other lines, except for
/// remarks in brackets, has no numbers.
pub(super) fn without_numbers(text: &str) -> String {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = |line| match str::split_once(line, '\t') {
        Some((number, rest)) if is_number(number) => Some(rest),
        _ => line.starts_with('[').then_some(line),
    };
    let lines: Option<String> = text.split_inclusive('\n').map(plain).collect();
    lines.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retrieved(text: &str) -> Vec<Passage> {
        let mut findings = Findings::default();
        findings.add_retrieved(text);
        findings.passages
    }

    #[test]
    fn a_numbered_line_inside_a_passage_is_part_of_it() {
        for inside in [
            "text\n[2] Smith, J. Nature 3:145-49",
            "text\n\n[2] Smith, J. Nature 3:145-49",
            "text\n\n[2] Smith, J. Nature 3:145-149",
            "text\n[2] b.md:1-2",
            "text\n\n[3] b.md:1-2",
            "text\n\n[2] Tides of Brest, page 3",
        ] {
            let found = retrieved(&format!("[1] a.md:1-9 (Tides)\n{inside}\n\n[2] my report.pdf, page 3\nmore\n\n"));
            let first = Passage {
                path: "a.md".into(),
                lines: Some((1, 9)),
                trail: "Tides".into(),
                text: inside.into(),
                ..Passage::default()
            };
            let second = Passage {
                path: "my report.pdf".into(),
                place: "page 3".into(),
                text: "more".into(),
                ..Passage::default()
            };
            assert_eq!(found, [first, second], "{inside}");
        }
    }

    #[test]
    fn the_heads_that_the_tool_writes_are_read() {
        for (written, path, trail) in [
            ("docs/a (1).md:3 (Tides › Brest (high))", "docs/a (1).md", "Tides › Brest (high"),
            ("Makefile:1-4", "Makefile", ""),
            ("Meeting notes:1-4", "Meeting notes", ""),
            ("https://example.org/tides, part 2", "https://example.org/tides", ""),
            ("book.epub (Title)", "book.epub", "Title"),
        ] {
            let read = head(written).map(|one| (one.path, one.trail));
            assert_eq!(read, Some((path.to_owned(), trail.to_owned())), "{written}");
        }
    }
}
