//! Reads patches: `*** Begin Patch`, a section for each file, `*** End Patch`.

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";
const MOVE: &str = "*** Move to: ";
const HEADERS: &str = "expected `*** Add File: PATH`, `*** Delete File: PATH` or `*** Update File: PATH`";
const MARKS: &str = "expected a line that begins with a space, `+`, `-` or `@@`";

/// A patch that was read. Has at least one section.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Patch {
    pub(super) sections: Vec<Section>,
}

/// What a patch does to one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) path: String,
    /// The line of the patch that names the file.
    pub(super) line: usize,
    pub(super) change: SectionChange,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum SectionChange {
    Add { content: String },
    Delete,
    Update { moved_to: Option<String>, hunks: Vec<Hunk> },
}

/// Lines that follow each other in the file, and what becomes of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// The line of the patch that it begins in.
    pub(super) line: usize,
    /// Lines that come before it in the file, in this order: the class, then the function.
    pub(super) above: Vec<String>,
    pub(super) lines: Vec<HunkLine>,
    /// It is at the end of the file.
    pub(super) is_last: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum HunkLine {
    Keep(String),
    Remove(String),
    Add(String),
}

impl Patch {
    /// The error is written for a model.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let lines: Vec<&str> = text.trim().lines().collect();
        let (lines, skipped) = unwrapped(&lines);
        let inner = match lines {
            [first, ..] if first.trim() != BEGIN => {
                return Err(format!("its first line is `{}`; expected `{BEGIN}`", first.trim()));
            }
            [_, inner @ .., last] if last.trim() == END => inner,
            _ => return Err(format!("its last line is not `{END}`, so the end may be missing")),
        };
        let mut sections: Vec<Section> = Vec::new();
        for (line, number) in inner.iter().zip(skipped + 2..) {
            let is_update = matches!(sections.last(), Some(Section { change: SectionChange::Update { .. }, .. }));
            // In an update, a line that begins with a space is a line of the file, whatever it says.
            let header = if is_update { line.trim_end() } else { line.trim() };
            if let Some(section) = Section::named(header, number) {
                sections.last().map_or(Ok(()), Section::check)?;
                sections.push(section);
                continue;
            }
            match sections.last_mut() {
                Some(section) => section.take(line, number)?,
                None if header.is_empty() || header.starts_with("*** Environment ID:") => {}
                None => return Err(format!("line {number} is `{header}`; {HEADERS}")),
            }
        }
        sections.last().ok_or_else(|| "it names no file".to_owned())?.check()?;
        Ok(Self { sections })
    }
}

impl Section {
    fn named(header: &str, line: usize) -> Option<Self> {
        let section = |path: &str, change| Some(Self { path: path.trim().to_owned(), line, change });
        if let Some(path) = header.strip_prefix("*** Add File: ") {
            return section(path, SectionChange::Add { content: String::new() });
        }
        if let Some(path) = header.strip_prefix("*** Delete File: ") {
            return section(path, SectionChange::Delete);
        }
        let path = header.strip_prefix("*** Update File: ")?;
        section(path, SectionChange::Update { moved_to: None, hunks: Vec::new() })
    }

    /// Whether it is complete.
    fn check(&self) -> Result<(), String> {
        let SectionChange::Update { moved_to, hunks } = &self.change else { return Ok(()) };
        if moved_to.is_none() && hunks.is_empty() {
            return Err(format!("the update of `{}` in line {} has no hunk", self.path, self.line));
        }
        match hunks.last() {
            Some(hunk) if hunk.lines.is_empty() => Err(format!("the hunk in line {} has no lines", hunk.line)),
            _ => Ok(()),
        }
    }

    fn take(&mut self, line: &str, number: usize) -> Result<(), String> {
        match &mut self.change {
            SectionChange::Add { content } => {
                let added = line.strip_prefix('+').ok_or_else(|| {
                    format!("line {number} is `{}`; a line of a new file begins with `+`", line.trim_end())
                })?;
                content.push_str(added);
                content.push('\n');
                Ok(())
            }
            SectionChange::Delete if line.trim().is_empty() => Ok(()),
            SectionChange::Delete => Err(format!("line {number} is `{}`; {HEADERS}", line.trim_end())),
            SectionChange::Update { moved_to, hunks } => {
                if let Some(path) =
                    line.trim_end().strip_prefix(MOVE).filter(|_| hunks.is_empty() && moved_to.is_none())
                {
                    *moved_to = Some(path.trim().to_owned());
                    return Ok(());
                }
                take_in_update(hunks, line, number)
            }
        }
    }
}

fn take_in_update(hunks: &mut Vec<Hunk>, line: &str, number: usize) -> Result<(), String> {
    let trimmed = line.trim_end();
    if trimmed == "@@" || trimmed.starts_with("@@ ") {
        // Several such lines before the first line of a hunk narrow its place down.
        if !hunks.last().is_some_and(|hunk| hunk.lines.is_empty()) {
            hunks.push(Hunk { line: number, ..Hunk::default() });
        }
        let above = trimmed.strip_prefix("@@ ").and_then(line_above);
        if let (Some(above), Some(hunk)) = (above, hunks.last_mut()) {
            hunk.above.push(above.to_owned());
        }
        return Ok(());
    }
    if trimmed == END_OF_FILE {
        let hunk = hunks.last_mut().filter(|hunk| !hunk.lines.is_empty());
        hunk.ok_or_else(|| format!("line {number} is `{END_OF_FILE}`, but no lines of a hunk come before it"))?
            .is_last = true;
        return Ok(());
    }
    if hunks.last().is_some_and(|hunk| hunk.is_last) {
        let why =
            || format!("line {number} is `{trimmed}`; after `{END_OF_FILE}` only `@@` or another file may follow");
        return if trimmed.is_empty() { Ok(()) } else { Err(why()) };
    }
    let part = match line.chars().next() {
        None => HunkLine::Keep(String::new()),
        Some(' ') => HunkLine::Keep(line[1..].to_owned()),
        Some('+') => HunkLine::Add(line[1..].to_owned()),
        Some('-') => HunkLine::Remove(line[1..].to_owned()),
        Some(_) => return Err(format!("line {number} is `{trimmed}`; {MARKS}")),
    };
    if hunks.is_empty() {
        hunks.push(Hunk { line: number, ..Hunk::default() });
    }
    if let Some(hunk) = hunks.last_mut() {
        hunk.lines.push(part);
    }
    Ok(())
}

/// The line that a hunk's first line names. Line numbers of a unified diff (`-1,4 +1,5 @@ fn main()`) are left out.
fn line_above(text: &str) -> Option<&str> {
    let numbers = text.split_once(" @@").filter(|(numbers, _)| {
        numbers.starts_with('-') && numbers.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '+' | ',' | ' '))
    });
    let line = numbers.map_or(text, |(_, after)| after.strip_prefix(' ').unwrap_or(after));
    Some(line).filter(|line| !line.trim().is_empty())
}

/// The lines without a shell's here-document or a Markdown fence around them, and how many were left out before them.
fn unwrapped<'a, 'b>(lines: &'b [&'a str]) -> (&'b [&'a str], usize) {
    match lines {
        [first, inner @ .., last] if is_wrapping(first.trim(), last.trim()) => (inner, 1),
        _ => (lines, 0),
    }
}

fn is_wrapping(first: &str, last: &str) -> bool {
    let is_document = first.strip_prefix("<<").is_some_and(|word| word.trim_matches(['\'', '"']) == last);
    is_document || (first.starts_with("```") && last == "```")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(body: &str) -> Result<Vec<Section>, String> {
        Patch::parse(&format!("*** Begin Patch\n{body}\n*** End Patch")).map(|patch| patch.sections)
    }

    #[test]
    fn every_kind_of_section_is_read() {
        let body = "*** Add File: a.txt\n+one\n+\n*** Delete File: b.txt\n*** Update File: c.txt\n*** Move to: d.txt\n\
                    @@ class A:\n@@ def f():\n kept\n-old\n+new\n\n*** End of File";
        let hunk = Hunk {
            line: 8,
            above: vec!["class A:".into(), "def f():".into()],
            lines: vec![
                HunkLine::Keep("kept".into()),
                HunkLine::Remove("old".into()),
                HunkLine::Add("new".into()),
                HunkLine::Keep(String::new()),
            ],
            is_last: true,
        };
        let update = SectionChange::Update { moved_to: Some("d.txt".into()), hunks: vec![hunk] };
        assert_eq!(
            sections(body).unwrap(),
            [
                Section { path: "a.txt".into(), line: 2, change: SectionChange::Add { content: "one\n\n".into() } },
                Section { path: "b.txt".into(), line: 5, change: SectionChange::Delete },
                Section { path: "c.txt".into(), line: 6, change: update },
            ]
        );
    }

    #[test]
    fn a_patch_that_cannot_be_read_is_refused_with_the_line() {
        let refused = |body: &str| sections(body).unwrap_err();
        assert_eq!(refused(""), "it names no file");
        assert_eq!(refused("*** Rename File: x"), format!("line 2 is `*** Rename File: x`; {HEADERS}"));
        assert_eq!(refused("*** Update File: x"), "the update of `x` in line 2 has no hunk");
        assert_eq!(refused("*** Update File: x\n@@"), "the hunk in line 3 has no lines");
        assert_eq!(refused("*** Update File: x\n@@\n?"), format!("line 4 is `?`; {MARKS}"));
        assert_eq!(refused("*** Add File: x\none"), "line 3 is `one`; a line of a new file begins with `+`");
        assert!(Patch::parse("bad").unwrap_err().contains("first line"));
        assert!(Patch::parse("*** Begin Patch\n*** Add File: x\n+1").unwrap_err().contains("last line"));
    }

    #[test]
    fn the_line_numbers_of_a_unified_diff_are_no_context() {
        assert_eq!(line_above("-1,4 +1,5 @@ fn main()"), Some("fn main()"));
        assert_eq!(line_above("-1,4 +1,5 @@"), None);
        assert_eq!(line_above("- item @@ x"), Some("- item @@ x"));
    }

    #[test]
    fn what_stands_around_a_patch_is_left_out() {
        for (before, after) in [("<<'EOF'", "EOF"), ("```diff", "```"), ("", "")] {
            let text = format!("{before}\n*** Begin Patch\n*** Delete File: x\n*** End Patch\n{after}\n");
            assert_eq!(Patch::parse(&text).unwrap().sections.len(), 1, "{before}");
        }
    }
}
