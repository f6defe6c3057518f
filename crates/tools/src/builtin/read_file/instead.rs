//! What is there in place of the file that was asked for: what a folder holds, or the file with the nearest path.

use updraft_run::Failure;
use updraft_workspace::WalkEntry;

use super::super::read_target::{PathOutside, ReadPath, ReadTarget};
use crate::tool::CallContext;

/// Most files and folders that are looked at.
const LOOKED_AT: usize = 5_000;
/// Most entries of a folder that are named.
const NAMED: usize = 40;
/// Longer paths are not compared, in bytes.
const COMPARED: usize = 200;
/// How the failure begins if nothing is there.
const MISSING: &str = "there is no ";

/// The failure of reading a path, with what is there instead.
pub(super) fn with_instead(mut failure: Failure, path: &ReadPath, outside: &PathOutside, cx: &CallContext) -> Failure {
    if path.is_outside() {
        return failure;
    }
    if let Some(entries) = entries(path, cx) {
        failure.message = format!("`{path}` is a folder. {entries}");
    } else if failure.message.starts_with(MISSING)
        && let Some(nearest) = nearest(path, outside, cx)
    {
        failure.message = format!("{}; the nearest is `{nearest}`", failure.message);
    }
    failure
}

/// What a folder holds, in words; nothing if it is no folder.
fn entries(path: &ReadPath, cx: &CallContext) -> Option<String> {
    let walk = path.walk(false, LOOKED_AT).ok()?;
    let mut names: Vec<String> = walk.filter_map(|entry| shown(path, &entry, cx)).collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let rest = if more > 0 { format!(", and {more} more: list_files lists them") } else { String::new() };
    Some(if names.is_empty() { "It has no files.".to_owned() } else { format!("It has {}{rest}", names.join(", ")) })
}

/// Its name, unless a rule forbids to read it.
fn shown(folder: &ReadPath, entry: &WalkEntry, cx: &CallContext) -> Option<String> {
    let (path, end) = match entry {
        WalkEntry::File { path, .. } => (path, ""),
        WalkEntry::Folder(path) => (path, "/"),
    };
    if cx.around.read_rules.forbid(path.as_str()) {
        return None;
    }
    let name = folder.name_of(path.as_str());
    Some(format!("{}{end}", name.rsplit('/').next()?))
}

/// The file of the workspace whose path is most like one that is not there: the same name elsewhere, or nearly the same path.
fn nearest(path: &ReadPath, outside: &PathOutside, cx: &CallContext) -> Option<String> {
    let Ok(ReadTarget::Path(root)) = outside.target(".", cx) else { return None };
    let files: Vec<String> = root
        .walk(true, LOOKED_AT)
        .ok()?
        .filter_map(|entry| match entry {
            WalkEntry::File { path, .. } if !cx.around.read_rules.forbid(path.as_str()) => {
                Some(path.as_str().to_owned())
            }
            WalkEntry::File { .. } | WalkEntry::Folder(_) => None,
        })
        .filter(|path| path.len() <= COMPARED)
        .collect();
    let wanted = path.path.as_str();
    let same_name = files.iter().filter(|file| equal_parts(file, wanted) > 0);
    if let Some(close) = same_name.max_by_key(|file| equal_parts(file, wanted)) {
        return Some(root.name_of(close));
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let close = if wanted.len() > COMPARED { Vec::new() } else { similar::get_close_matches(wanted, &files, 1, 0.7) };
    close.first().map(|close| root.name_of(close))
}

/// How many parts of two paths are equal, from the end.
fn equal_parts(one: &str, other: &str) -> usize {
    one.rsplit('/').zip(other.rsplit('/')).take_while(|(one, other)| one == other).count()
}
