//! Finds the hunks of a patch in a text and changes it. White space and typographic characters may differ.

use super::parse::{Hunk, HunkLine};
use crate::truncate;

/// Most lines of a file that are compared to find the nearest ones: comparing costs far more than searching.
const COMPARED: usize = 5_000;
/// Most lines of a file that are shown in an error.
const SHOWN_LINES: usize = 6;
/// Most bytes of a line that are shown.
const SHOWN: usize = 200;

/// A text as lines, each with its own line ending.
struct Source<'a> {
    lines: Vec<&'a str>,
    endings: Vec<&'a str>,
    /// The ending of the first line, which new lines get.
    ending: &'a str,
}

/// Lines of the source that are replaced.
struct Replacement<'a> {
    start: usize,
    len: usize,
    lines: Vec<&'a str>,
}

/// Returns the text with all hunks applied. As in codex, the last line gets a line ending if it has none. The error
/// names the hunk and is written for a model.
pub(super) fn apply(text: &str, hunks: &[Hunk]) -> Result<String, String> {
    let source = Source::of(text);
    let mut replacements = Vec::new();
    let mut from = 0;
    for (hunk, number) in hunks.iter().zip(1..) {
        from = source
            .place(hunk, from, &mut replacements)
            .map_err(|why| format!("hunk {number} (line {} of the patch) does not fit: {why}", hunk.line))?;
    }
    replacements.sort_by_key(|replacement| replacement.start);
    Ok(source.replaced(&replacements))
}

impl<'a> Source<'a> {
    fn of(text: &'a str) -> Self {
        let (mut lines, mut endings) = (Vec::new(), Vec::new());
        let mut rest = text;
        while !rest.is_empty() {
            // Old files end their lines with a carriage return alone.
            let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
            let ending = if rest[end..].starts_with("\r\n") { 2 } else { 1.min(rest.len() - end) };
            lines.push(&rest[..end]);
            endings.push(&rest[end..end + ending]);
            rest = &rest[end + ending..];
        }
        let ending = endings.first().filter(|ending| !ending.is_empty()).copied().unwrap_or("\n");
        Self { lines, endings, ending }
    }

    /// Finds the place of a hunk at or after the line `from`, and returns the line after it.
    fn place(&self, hunk: &'a Hunk, mut from: usize, into: &mut Vec<Replacement<'a>>) -> Result<usize, String> {
        for above in &hunk.above {
            let found = self.find(&[above.as_str()], from);
            from = found.ok_or_else(|| format!("the line after `@@` {}", self.why_not_found(&[above], from)))? + 1;
        }
        let mut old: Vec<&str> = hunk.lines.iter().filter_map(HunkLine::old).collect();
        if old.is_empty() {
            // Without a line to go by, lines are added at the end.
            let start = if hunk.above.is_empty() || hunk.is_last { self.lines.len() } else { from };
            let lines = hunk.lines.iter().filter_map(HunkLine::new).collect();
            into.push(Replacement { start, len: 0, lines });
            return Ok(from);
        }
        let search = |old: &[&str]| {
            let at_end = || self.find(old, self.lines.len().saturating_sub(old.len()).max(from));
            if hunk.is_last { at_end() } else { self.find(old, from) }
        };
        let mut found = search(&old);
        // An empty line at the end of a hunk often stands for the line ending of the file's last line.
        if found.is_none() && old.last() == Some(&"") && matches!(hunk.lines.last(), Some(HunkLine::Keep(_))) {
            old.pop();
            found = search(&old);
        }
        let start = found.ok_or_else(|| self.why_not_found(&old, from))?;
        let mut at = start;
        for line in &hunk.lines {
            match line {
                HunkLine::Keep(_) => at += 1,
                HunkLine::Remove(_) => {
                    into.push(Replacement { start: at, len: 1, lines: Vec::new() });
                    at += 1;
                }
                HunkLine::Add(line) => into.push(Replacement { start: at, len: 0, lines: vec![line] }),
            }
        }
        Ok(start + old.len())
    }

    /// Where these lines are, at or after `from`: exactly, else with other white space around, else with other dashes,
    /// quotation marks and spaces.
    fn find(&self, wanted: &[&str], from: usize) -> Option<usize> {
        let alike: [fn(&str, &str) -> bool; 4] = [
            |a, b| a == b,
            |a, b| a.trim_end() == b.trim_end(),
            |a, b| a.trim() == b.trim(),
            |a, b| a.trim().chars().map(plain).eq(b.trim().chars().map(plain)),
        ];
        let last = self.lines.len().checked_sub(wanted.len())?;
        let is_at = |at: usize, alike: fn(&str, &str) -> bool| {
            self.lines[at..].iter().zip(wanted).all(|(line, wanted)| alike(line, wanted))
        };
        alike.into_iter().find_map(|alike| (from..=last).find(|at| is_at(*at, alike)))
    }

    /// Why lines were not found, with the lines that are most like them.
    fn why_not_found(&self, wanted: &[&str], from: usize) -> String {
        if let Some(at) = self.find(wanted, 0).filter(|_| from > 0) {
            let line = at + 1;
            return format!(
                "it is in line {line} of the file, before the end of the previous hunk (line {from}); hunks come in the order of the file"
            );
        }
        let first = wanted.iter().find(|line| !line.trim().is_empty()).copied().unwrap_or_default();
        let first = truncate::line(first, SHOWN);
        match self.nearest(wanted) {
            Some(place) => format!(
                "`{first}` and what follows is not in the file like that. The nearest lines:\n{}",
                self.shown(place, wanted.len())
            ),
            None => format!("`{first}` is not in the file, nor anything like it"),
        }
    }

    /// The line where most of the wanted lines are found, or the one that is most like the first.
    fn nearest(&self, wanted: &[&str]) -> Option<usize> {
        let lines = &self.lines[..self.lines.len().min(COMPARED)];
        let matches = |at: usize| {
            let pairs = lines[at..].iter().zip(wanted);
            pairs.filter(|(line, wanted)| !wanted.trim().is_empty() && line.trim() == wanted.trim()).count()
        };
        let best = (0..lines.len()).map(|at| (matches(at), at)).max_by_key(|(count, at)| (*count, usize::MAX - at));
        if let Some((_, at)) = best.filter(|(count, _)| *count > 0) {
            return Some(at);
        }
        let first = wanted.iter().map(|line| line.trim()).find(|line| !line.is_empty())?;
        let cut = |line: &'a str| &line[..line.floor_char_boundary(SHOWN)];
        let lines: Vec<&str> = lines.iter().map(|line| cut(line)).collect();
        let close = similar::get_close_matches(&first[..first.floor_char_boundary(SHOWN)], &lines, 1, 0.5);
        close.first().and_then(|close| lines.iter().position(|line| line == close))
    }

    /// Lines of the file with their numbers.
    fn shown(&self, start: usize, len: usize) -> String {
        let lines = self.lines.iter().enumerate().skip(start).take(len.clamp(1, SHOWN_LINES));
        let lines: Vec<String> =
            lines.map(|(at, line)| format!("{}: {}", at + 1, truncate::line(line, SHOWN))).collect();
        lines.join("\n")
    }

    /// The text with these replacements, which are in the order of the file and do not overlap.
    fn replaced(&self, replacements: &[Replacement<'_>]) -> String {
        let mut text = String::new();
        let mut at = 0;
        let copy = |text: &mut String, range: std::ops::Range<usize>| {
            for (line, ending) in self.lines[range.clone()].iter().zip(&self.endings[range]) {
                text.push_str(line);
                text.push_str(if ending.is_empty() { self.ending } else { ending });
            }
        };
        for Replacement { start, len, lines } in replacements {
            copy(&mut text, at..(*start).max(at));
            for line in lines {
                text.push_str(line);
                text.push_str(self.ending);
            }
            at = at.max(start + len);
        }
        copy(&mut text, at..self.lines.len());
        text
    }
}

impl HunkLine {
    /// The line in the file before the change.
    fn old(&self) -> Option<&str> {
        match self {
            HunkLine::Keep(line) | HunkLine::Remove(line) => Some(line),
            HunkLine::Add(_) => None,
        }
    }

    /// The line in the file after the change.
    fn new(&self) -> Option<&str> {
        match self {
            HunkLine::Keep(line) | HunkLine::Add(line) => Some(line),
            HunkLine::Remove(_) => None,
        }
    }
}

/// A character as models write it: plain dashes, quotation marks and spaces.
fn plain(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{00A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::{Patch, SectionChange};
    use super::*;

    fn applied(text: &str, hunks: &str) -> Result<String, String> {
        let patch = Patch::parse(&format!("*** Begin Patch\n*** Update File: f\n{hunks}\n*** End Patch")).unwrap();
        let SectionChange::Update { hunks, .. } = &patch.sections[0].change else { panic!("an update") };
        apply(text, hunks)
    }

    #[test]
    fn lines_are_replaced_where_the_context_says() {
        let text = "class A:\n    def f():\n        pass\nclass B:\n    def f():\n        pass\n";
        let changed = applied(text, "@@ class B:\n@@ def f():\n-        pass\n+        return 1").unwrap();
        assert_eq!(changed, "class A:\n    def f():\n        pass\nclass B:\n    def f():\n        return 1\n");
        let added = applied(text, "@@ class A:\n+    x = 1").unwrap();
        assert!(added.starts_with("class A:\n    x = 1\n    def f():\n"), "{added}");
    }

    #[test]
    fn white_space_and_typography_may_differ_and_kept_lines_stay_as_they_are() {
        assert_eq!(
            applied("\tone  \ntwo – “x”\nthree\n", "@@\n one\n-two - \"x\"\n+2").unwrap(),
            "\tone  \n2\nthree\n"
        );
        assert_eq!(applied("a\r\nb\nc\r\n", "@@\n a\n b\n-c\n+C\n+D").unwrap(), "a\r\nb\nC\r\nD\r\n");
    }

    #[test]
    fn the_end_of_the_file_is_found() {
        assert_eq!(applied("x\ny\nx\n", "@@\n-x\n+z\n*** End of File").unwrap(), "x\ny\nz\n");
        assert_eq!(applied("a\nb", "@@\n+c").unwrap(), "a\nb\nc\n");
        assert_eq!(applied("a\nb\n", "@@\n-b\n+c\n").unwrap(), "a\nc\n");
        assert_eq!(applied("", "@@\n+c").unwrap(), "c\n");
    }

    #[test]
    fn a_hunk_that_does_not_fit_says_which_and_why() {
        let text = "fn main() {\n    let a = 1;\n    let b = 2;\n}\n";
        let refused = |hunks: &str| applied(text, hunks).unwrap_err();
        assert_eq!(
            refused("@@\n-    let a = 1;\n+    let a = 3;\n@@\n     let b = 7;\n-}\n+};"),
            "hunk 2 (line 6 of the patch) does not fit: `    let b = 7;` and what follows is not in the file like that. The nearest lines:\n3:     let b = 2;\n4: }"
        );
        assert_eq!(
            refused("@@\n-    let b = 2;\n+    let b = 3;\n@@\n-    let a = 1;"),
            "hunk 2 (line 6 of the patch) does not fit: it is in line 2 of the file, before the end of the previous hunk (line 3); hunks come in the order of the file"
        );
        assert!(refused("@@ impl Nothing\n+x").contains("the line after `@@` `impl Nothing` is not in the file"));
    }
}
