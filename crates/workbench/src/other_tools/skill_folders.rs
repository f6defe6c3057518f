//! Skills in other tools' folders. The format is the same, so they are copied as they are, without links.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use updraft_engine::find_skills;
use updraft_mcp::config::known_key_in;

use super::collector::{ImportCollector, occupied};
use super::{ImportContent, ImportFate, ImportKind};
use crate::skills::SKILL_FOLDERS;
use crate::untrusted;

/// Most files of a skill, and most bytes of one.
const MOST: usize = 500;
const LARGEST: u64 = 8 << 20;
/// How deep its folders may be.
const DEEPEST: usize = 8;

pub(super) fn collect(found: &mut ImportCollector, folder: &str) {
    let (root, kind) = (found.place.root.join(folder), ImportKind::Skill);
    for one in find_skills(&[root]) {
        let (from, name) = (one.folder, one.skill.as_ref().map(|skill| skill.name.clone()).ok());
        let name = name.unwrap_or_else(|| from.file_name().unwrap_or_default().to_string_lossy().into_owned());
        if found.place.documents.is_some() && SKILL_FOLDERS.contains(&folder) {
            let fate = ImportFate::Used("agents use it where it is, once the workspace is trusted".to_owned());
            found.add(kind, &name, &from, fate);
            continue;
        }
        let refused = one.skill.err().map(|faults| faults.join("; ")).or_else(|| found.place.objection(&from));
        let files = match refused {
            Some(why) => Err(why),
            None => files_of(&from),
        };
        match files {
            Err(why) => _ = found.leave_out(kind, &name, &from, why),
            Ok((files, links)) => {
                let to = found.place.own.join("skills").join(&name);
                let fate = fate_of(&from, &to, &files);
                let item = found.take(kind, &name, &from, to, ImportContent::Folder(files), fate);
                item.remarks = one.remarks;
                if links > 0 {
                    item.remarks.push(format!("{links} links in it are not copied"));
                }
            }
        }
    }
}

/// What becomes of a skill whose place is taken.
fn fate_of(from: &Path, to: &Path, files: &[PathBuf]) -> Option<ImportFate> {
    if to.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return None;
    }
    let read = |folder: &Path, file: &Path| untrusted::read(&folder.join(file), LARGEST).ok();
    let is_same = files_of(to).is_ok_and(|(there, _)| there == files)
        && files.iter().all(|file| read(from, file) == read(to, file));
    Some(if is_same { ImportFate::Present(to.to_owned()) } else { occupied(to) })
}

/// The files of a skill, relative to its folder and in path order, and how many links were left out.
fn files_of(folder: &Path) -> Result<(Vec<PathBuf>, usize), String> {
    let (mut files, mut links, mut waiting) = (Vec::new(), 0, vec![(PathBuf::new(), 0)]);
    while let Some((within, depth)) = waiting.pop() {
        let entries = std::fs::read_dir(folder.join(&within)).map_err(|error| format!("it cannot be read: {error}"))?;
        for entry in entries.flatten() {
            let path = within.join(entry.file_name());
            let kind = entry.file_type().map_err(|error| error.to_string())?;
            if kind.is_symlink() {
                links += 1;
            } else if kind.is_dir() {
                if depth == DEEPEST {
                    return Err("its folders are too deep".to_owned());
                }
                waiting.push((path, depth + 1));
            } else {
                files.push(path);
            }
            if files.len() + waiting.len() > MOST {
                return Err(format!("it has more than {MOST} files"));
            }
        }
    }
    files.sort();
    for file in &files {
        let bytes =
            untrusted::read(&folder.join(file), LARGEST).map_err(|error| format!("`{}`: {error}", file.display()))?;
        if known_key_in(&String::from_utf8_lossy(&bytes)).is_some() {
            return Err(format!("`{}` in it contains what looks like a key", file.display()));
        }
    }
    Ok((files, links))
}
