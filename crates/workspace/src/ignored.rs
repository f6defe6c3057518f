//! Decides which files listings leave out: those that `.gitignore` matches, hidden ones, and git's own storage.

use std::io::Read;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::LinkPolicy;
use super::stamp::PathKind;
use super::{Folder, OpenMode, disk};

/// Hidden folders that are shown nevertheless: context, our own files, and continuous integration.
const SHOWN: [&str; 3] = [".context", ".updraft", ".github"];
/// Files with ignore rules; later ones override earlier ones. Read in every folder.
const RULES: [&str; 3] = [".git/info/exclude", ".gitignore", ".ignore"];
/// Most bytes read of a file with rules; real ones are not larger.
const LONGEST: u64 = 256 << 10;

/// Whether files whose names begin with a dot are shown. Models see few of them; programs need a complete list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HiddenFiles {
    /// They are left out, except those that are meant to be read.
    #[default]
    LeftOut,
    /// They are shown, unless git ignores them.
    Shown,
}

/// The rules of one folder and of the folders above it.
#[derive(Clone, Default)]
pub(super) struct IgnoreRules {
    /// From the outermost folder to the innermost: the number of path components before the folder, and its rules.
    levels: Vec<(usize, Arc<Gitignore>)>,
    hidden: HiddenFiles,
}

impl IgnoreRules {
    /// No rules yet.
    pub(super) fn new(hidden: HiddenFiles) -> Self {
        Self { levels: Vec::new(), hidden }
    }

    /// These rules together with those of a folder `depth` levels below the workspace.
    pub(super) fn within(&self, folder: &Folder, depth: usize) -> Self {
        let mut builder = GitignoreBuilder::new("");
        let mut any = false;
        for name in RULES {
            // A line that is not a valid rule is ignored, as git does.
            for line in rules(folder, name).lines() {
                any |= builder.add_line(None, line).is_ok();
            }
        }
        let mut levels = self.levels.clone();
        if let Some(rules) = any.then(|| builder.build().ok()).flatten().filter(|rules| !rules.is_empty()) {
            levels.push((depth, Arc::new(rules)));
        }
        Self { levels, hidden: self.hidden }
    }

    /// Whether an entry is left out. `path` is relative to the workspace.
    pub(super) fn covers(&self, path: &str, is_folder: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_hidden = self.hidden == HiddenFiles::LeftOut && name.starts_with('.') && !SHOWN.contains(&name);
        if name == ".git" || is_hidden {
            return true;
        }
        for (depth, rules) in self.levels.iter().rev() {
            let relative = path.splitn(depth + 1, '/').last().unwrap_or(path);
            match rules.matched(relative, is_folder) {
                ignore::Match::None => {}
                ignore::Match::Ignore(_) => return true,
                ignore::Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

fn rules(folder: &Folder, name: &str) -> String {
    let Ok(file) = folder.file(name, OpenMode::Read, LinkPolicy::Never) else { return String::new() };
    let is_file = disk::stamp_of(&file).is_ok_and(|about| about.kind == PathKind::File);
    let mut bytes = Vec::new();
    if is_file {
        let _ = file.take(LONGEST).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
