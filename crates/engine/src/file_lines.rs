//! The names of a workspace's files as lines of a prompt.

use std::collections::BTreeMap;

use updraft_tools::OutlineEntry;

use crate::context::WorkspaceContext;

/// Up to so many files and folders have a line each, with its whole path, which models copy best.
const MOST_LINES: usize = 30;

/// The names of the files and folders that a context names: one a line, or a line for each folder if they are many. Large
/// files have their size, folders that are not opened the number of their files.
pub(crate) fn file_lines(context: &WorkspaceContext) -> String {
    let sized =
        |path: &String| context.large.get(path).map_or(OutlineEntry::File(0), |bytes| OutlineEntry::File(*bytes));
    let files = context.files.iter().map(|path| (path, sized(path)));
    let folders = context.folders.iter().map(|(path, count)| (path, OutlineEntry::Folder(*count)));
    let entries: BTreeMap<&String, OutlineEntry> = files.chain(folders).collect();
    let mut lines = if entries.len() <= MOST_LINES {
        entries.iter().map(|(path, entry)| format!("{}  {entry}", in_one_line(path)).trim_end().to_owned()).collect()
    } else {
        by_folder(&entries)
    };
    lines.extend(context.more.then(|| "…".to_owned()));
    lines.join("\n")
}

/// A line for each folder with the names of its files, and one for each folder that is not opened.
fn by_folder(entries: &BTreeMap<&String, OutlineEntry>) -> Vec<String> {
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, entry) in entries {
        let (folder, name) = path
            .trim_end_matches('/')
            .rsplit_once('/')
            .map_or(("", path.as_str()), |(folder, name)| (&path[..=folder.len()], name));
        match entry {
            OutlineEntry::Folder(_) => {
                files.insert(path.as_str(), vec![format!("({entry})")]);
            }
            OutlineEntry::File(_) => {
                let size = entry.to_string();
                let size = if size.is_empty() { size } else { format!(" ({size})") };
                files.entry(folder).or_default().push(format!("{}{size}", in_one_word(name)));
            }
        }
    }
    let line = |(folder, names): (&str, Vec<String>)| {
        let folder = if folder.is_empty() { "./".to_owned() } else { in_one_word(folder) };
        format!("{folder}: {}", names.join(" "))
    };
    files.into_iter().map(line).collect()
}

/// A path; in quotes if it could be taken for several lines, or for a heading.
fn in_one_line(path: &str) -> String {
    let is_plain = !path.starts_with('#') && path.chars().all(|c| c == ' ' || !(c.is_control() || c.is_whitespace()));
    if is_plain { path.to_owned() } else { format!("\"{}\"", path.escape_debug()) }
}

/// A name; in quotes if it could be taken for several.
fn in_one_word(name: &str) -> String {
    if name.contains(' ') { format!("\"{}\"", name.escape_debug()) } else { in_one_line(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_files_have_a_line_each_and_many_one_for_each_folder() {
        let files = |count: usize| (0..count).map(|n| format!("src/{n}.rs"));
        let context = |count: usize| WorkspaceContext {
            files: ["README.md".to_owned()]
                .into_iter()
                .chain(files(count))
                .chain(["web/my page.html".to_owned()])
                .collect(),
            large: BTreeMap::from([("README.md".to_owned(), 3_400_000)]),
            folders: BTreeMap::from([("tests/".to_owned(), 124)]),
            ..WorkspaceContext::default()
        };
        assert_eq!(file_lines(&context(1)), "README.md  3.4 MB\nsrc/0.rs\ntests/  124 files\nweb/my page.html");
        let many = file_lines(&context(31));
        let lines: Vec<&str> = many.lines().collect();
        assert_eq!((lines[0], lines[2]), ("./: README.md (3.4 MB)", "tests/: (124 files)"));
        assert!(lines[1].starts_with("src/: 0.rs 1.rs 10.rs"), "{}", lines[1]);
        assert_eq!(lines[3], r#"web/: "my page.html""#);
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn a_name_stays_on_its_line_and_is_no_heading() {
        let files = vec!["# Goal".to_owned(), "a\nb".to_owned(), "c\u{2028}d".to_owned()];
        let context = WorkspaceContext { files, ..WorkspaceContext::default() };
        let lines = file_lines(&context);
        assert_eq!(lines.lines().collect::<Vec<_>>(), [r##""# Goal""##, r#""a\nb""#, r#""c\u{2028}d""#]);
    }
}
