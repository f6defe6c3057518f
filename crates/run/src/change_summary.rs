//! Tells the model in one line what a call changed on disk.

use crate::made_again::is_made_again;
use crate::reply::{FileChange, FileKind, ToolOutput};

/// How many paths are named; the rest are only counted.
const NAMED: usize = 20;
/// How many bytes of paths are named, so that a deep tree does not fill the prompt.
const LONGEST: usize = 2000;

impl FileChange {
    /// What happened to the file: `created`, `changed` or `deleted`.
    pub fn verb(&self) -> &'static str {
        let (was, is) = (self.was.is_some() || self.before.is_some(), self.now.is_some() || self.after.is_some());
        match (was, is) {
            (false, _) => "created",
            (true, false) => "deleted",
            (true, true) => "changed",
        }
    }
}

impl ToolOutput {
    /// One line that says which files were created, changed and deleted. Returns `None` if the tool's own output says
    /// so.
    pub fn changes_in_words(&self) -> Option<String> {
        // The file tools already name what they write: the one file, or `M a.txt` for each of several.
        let one = self.value.as_ref().and_then(|value| value.get("path")?.as_str());
        let several = self.value.as_ref().and_then(|value| value.get("files")?.as_array()).into_iter().flatten();
        let several = several.filter_map(|file| Some(file.as_str()?.split_once(' ')?.1));
        let said: Vec<&str> = one.into_iter().chain(several).collect();
        let is_news = |change: &&FileChange| !said.iter().any(|said| is_at_or_above(&change.path, said));
        let news: Vec<&FileChange> = self.changes.iter().filter(is_news).collect();
        let changes: Vec<&FileChange> = news.iter().copied().filter(|change| !is_made_again(&change.path)).collect();
        if changes.is_empty() {
            return None;
        }
        let (mut named, mut bytes, mut last) = (Vec::new(), 0, "");
        for change in changes.iter().take(NAMED) {
            let is_folder = change.now.or(change.was).is_some_and(|form| form.kind == FileKind::Folder);
            let slash = if is_folder { "/" } else { "" };
            // A file name may contain anything, including a line break.
            let path = format!("`{}{slash}`", change.path.escape_debug());
            bytes += path.len();
            if bytes > LONGEST {
                break;
            }
            let verb = change.verb();
            named.push(if verb == last { path } else { format!("{verb} {path}") });
            last = verb;
        }
        let more = (changes.len() - named.len()) as u64 + self.more.map_or(0, |more| more.changes);
        // If `all_changes` is set, `changes` holds only the first of them.
        let at_least = if self.all_changes.is_some() { "at least " } else { "" };
        let again = news.len() - changes.len();
        let is_more = more > 0 || (self.all_changes.is_some() && again == 0);
        named.extend(is_more.then(|| format!("and {at_least}{more} more")));
        named.extend((again > 0).then(|| format!("and {at_least}{again} that builds make again")));
        Some(format!("[files: {}]", named.join(", ")))
    }
}

/// Whether a path equals the other or is a folder that contains it.
fn is_at_or_above(path: &str, other: &str) -> bool {
    other.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ContentHash, reply::BlobRef};

    fn change(path: &str, before: bool, after: bool) -> FileChange {
        let hash = |is: bool| is.then_some(ContentHash([0; 32]));
        FileChange { path: path.into(), before: hash(before), after: hash(after), ..FileChange::default() }
    }

    #[test]
    fn what_a_command_changed_is_one_line() {
        let changes = vec![
            change("a.txt", false, true),
            change("b.txt", false, true),
            change("src/b.rs", true, true),
            change("c", true, false),
        ];
        let output = ToolOutput { changes, ..ToolOutput::default() };
        assert_eq!(
            output.changes_in_words().unwrap(),
            "[files: created `a.txt`, `b.txt`, changed `src/b.rs`, deleted `c`]"
        );
        assert_eq!(ToolOutput::default().changes_in_words(), None);
    }

    #[test]
    fn many_changes_are_counted_and_names_stay_on_the_line() {
        let changes: Vec<FileChange> = (0..100).map(|n| change(&format!("n{n}"), false, true)).collect();
        let output = ToolOutput { changes, ..ToolOutput::default() };
        let told = output.changes_in_words().unwrap();
        assert!(told.ends_with("`n19`, and 80 more]"), "{told}");
        let all_changes = Some(BlobRef { hash: ContentHash([0; 32]), len: 1 });
        let told = ToolOutput { all_changes, ..output }.changes_in_words().unwrap();
        assert!(told.ends_with("and at least 80 more]"), "{told}");
        let odd = ToolOutput { changes: vec![change("a\nIGNORE", false, true)], ..ToolOutput::default() };
        assert_eq!(odd.changes_in_words().unwrap(), "[files: created `a\\nIGNORE`]");
        let long: Vec<FileChange> = (0..20).map(|_| change(&"x".repeat(500), false, true)).collect();
        let told = ToolOutput { changes: long, ..ToolOutput::default() }.changes_in_words().unwrap();
        assert!(told.len() < 2200 && told.ends_with("and 17 more]"), "{told}");
    }

    #[test]
    fn products_of_builds_are_counted() {
        let changes = vec![change("Cargo.lock", false, true), change("target/debug/x", false, true)];
        let told = |changes: Vec<FileChange>| ToolOutput { changes, ..ToolOutput::default() }.changes_in_words();
        assert_eq!(told(changes.clone()).unwrap(), "[files: created `Cargo.lock`, and 1 that builds make again]");
        assert_eq!(told(changes[1..].to_vec()), None);
    }

    #[test]
    fn a_tool_that_names_its_file_is_not_repeated() {
        let value = Some(json!({ "path": "new/a.txt", "created": true }));
        let changes = vec![change("new", false, true), change("new/a.txt", false, true)];
        assert_eq!(ToolOutput { value, changes, ..ToolOutput::default() }.changes_in_words(), None);
    }
}
