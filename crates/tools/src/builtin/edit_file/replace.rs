//! Replaces text that matches exactly, and shows the nearest line if nothing matches.

use std::fmt::Write as _;

use updraft_workspace::text::LineEndings;

use crate::truncate;

/// Most lines that are compared to find the nearest one: comparing costs far more than searching.
const COMPARED: usize = 5_000;
/// Most bytes of a line that are compared or shown.
const SHOWN: usize = 200;
/// Most line numbers named if a text occurs more than once.
const NAMED: usize = 5;
/// Of so many places the lines around them are shown.
const SURROUNDED: usize = 3;
/// Most lines that are shown of one place.
const MOST_AROUND: usize = 8;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct EditedText {
    pub(super) text: String,
    pub(super) count: usize,
}

/// Returns `text` with `new` in place of `old`, which must occur once unless `all` is set. The error is written for a
/// model.
pub(super) fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<EditedText, String> {
    if old.is_empty() {
        return Err("`old` is empty".into());
    }
    // Models write `\n` even if the file has other line endings.
    let endings = LineEndings::of(text);
    let (mut wanted, mut put) = (endings.apply(old), endings.apply(new));
    if endings == LineEndings::Mixed && !text.contains(&wanted) {
        (wanted, put) = (LineEndings::CrLf.apply(old), LineEndings::CrLf.apply(new));
    }
    if wanted == put {
        return Err("`old` and `new` are the same".into());
    }
    let starts = occurrences(text, &wanted);
    match starts.as_slice() {
        [] if let Some(told) = numbered(text, old) => Err(told),
        [] => Err(format!("`old` does not occur in it{}", nearest(text, old))),
        [_] => Ok(EditedText { text: text.replacen(&wanted, &put, 1), count: 1 }),
        several if all => {
            let count = text.matches(&wanted).count().min(several.len());
            Ok(EditedText { text: text.replace(&wanted, &put), count })
        }
        several => Err(format!(
            "`old` occurs {} times, on lines {}; give more of the lines around it so that it occurs once, or set replace_all{}",
            several.len(),
            line_numbers(text, several),
            surroundings(text, several, wanted.len())
        )),
    }
}

/// What is told of a text whose lines begin with the numbers that `read_file` adds.
fn numbered(text: &str, old: &str) -> Option<String> {
    let plain = |line| {
        let (number, rest) = str::split_once(line, '\t')?;
        number.trim().parse::<u64>().ok().map(|_| rest)
    };
    let plain: Option<String> = old.split_inclusive('\n').map(plain).collect();
    let plain = LineEndings::of(text).apply(&plain?);
    let told = "the lines of `old` begin with the line numbers that read_file adds, which are not part of the file; leave \
                out each number and the tab after it";
    let number = text.find(&plain).map(|at| line_numbers(text, &[at]));
    Some(number.map_or_else(|| told.to_owned(), |number| format!("{told} (without them it is at line {number})")))
}

/// Where a text occurs, including overlaps: `aa` is in `aaa` twice, so it is not clear which one was meant.
fn occurrences(text: &str, wanted: &str) -> Vec<usize> {
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    let mut starts = Vec::new();
    let mut from = 0;
    while let Some(offset) = text[from..].find(wanted) {
        starts.push(from + offset);
        from += offset + step;
    }
    starts
}

fn line_numbers(text: &str, starts: &[usize]) -> String {
    let number = |start: &usize| (text[..*start].matches('\n').count() + 1).to_string();
    let mut numbers: Vec<String> = starts.iter().take(NAMED).map(number).collect();
    if starts.len() > NAMED {
        numbers.push("…".into());
    }
    numbers.join(", ")
}

/// The lines around the first places, numbered as `read_file` does, so that they need not be read.
fn surroundings(text: &str, starts: &[usize], length: usize) -> String {
    let (mut shown, mut last) = (":".to_owned(), 0);
    for start in starts.iter().take(SURROUNDED) {
        let from = text[..*start].matches('\n').count().saturating_sub(1);
        let until = text[..start + length].matches('\n').count() + 2;
        if until - from > MOST_AROUND {
            return String::new();
        }
        shown.push_str(if last > 0 && from > last { "\n--" } else { "" });
        for (at, line) in text.lines().enumerate().take(until).skip(from.max(last)) {
            let _ = write!(shown, "\n{}\t{}", at + 1, truncate::line(line, SHOWN));
        }
        last = until;
    }
    shown
}

/// A note with the line that is most like the first line of `old`.
fn nearest(text: &str, old: &str) -> String {
    let Some(wanted) = old.lines().map(str::trim).find(|line| !line.is_empty()) else { return String::new() };
    let told = |index: usize, line: &str, what: &str| {
        format!("; {what} line {}: `{}`", index + 1, truncate::line(line, SHOWN))
    };
    let same = text.lines().enumerate().find(|(_, line)| line.trim() == wanted);
    if let Some((index, line)) = same {
        let is_short = old.trim().lines().count() == 1;
        let what = if is_short {
            "it differs in white space only from"
        } else {
            "its first line is there, but what follows differs from"
        };
        return told(index, line, what);
    }
    let lines: Vec<&str> = text.lines().take(COMPARED).map(|line| &line[..line.floor_char_boundary(SHOWN)]).collect();
    let wanted = &wanted[..wanted.floor_char_boundary(SHOWN)];
    let close = similar::get_close_matches(wanted, &lines, 1, 0.5);
    let found = close.first().and_then(|close| lines.iter().position(|line| line == close));
    found.map_or_else(String::new, |index| told(index, lines[index], "the nearest is"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_occurrences_are_not_taken_for_one() {
        assert!(replace("aaa", "aa", "b", false).unwrap_err().contains("2 times"));
        assert_eq!(replace("aaa", "aa", "b", true), Ok(EditedText { text: "ba".into(), count: 1 }));
    }

    #[test]
    fn a_file_with_both_line_endings_is_matched_either_way() {
        let text = "a\r\nb\nc\n";
        assert_eq!(replace(text, "b\nc", "x\ny", false).unwrap().text, "a\r\nx\ny\n");
        assert_eq!(replace(text, "a\nb", "x\ny", false).unwrap().text, "x\r\ny\nc\n");
    }

    #[test]
    fn numbers_of_lines_are_no_part_of_the_text() {
        let why = |old| replace("a\nif x {\n\treturn 1;\n}\n", old, "y", false).unwrap_err();
        let told = "the lines of `old` begin with the line numbers that read_file adds, which are not part of the file; \
                    leave out each number and the tab after it";
        assert_eq!(why("2\tif x {\n3\t\treturn 1;"), format!("{told} (without them it is at line 2)"));
        assert_eq!(why("2\tif y {"), told);
        assert_eq!(replace("2\tif x {\n", "2\tif x {", "y", false).unwrap().text, "y\n");
    }

    #[test]
    fn what_differs_in_white_space_is_pointed_out() {
        let why = replace("if x {\n\treturn 1;\n}\n", "    return 1;", "return 2;", false).unwrap_err();
        assert_eq!(why, "`old` does not occur in it; it differs in white space only from line 2: `\treturn 1;`");
    }
}
