//! Finds the files that the settings of repositories name as hooks, programs or further settings.
//!
//! Every value that is not known to be mere data is treated as a program: new versions of git add settings, and
//! aliases can run anything.

use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType};
use updraft_workspace::guarded_names;

use super::harmless::{self, setting_is_harmless};
use super::links::{self, LinkTrail};
use super::watch::WatchedPath;
use crate::git_config::{self, GitConfigEntry};

const NAMED: &str = "the settings of the git repository name it as a program to run";
const FILE: WatchedPath = WatchedPath { why: NAMED, is_file: true };
const FILE_OR_FOLDER: WatchedPath = WatchedPath { why: NAMED, is_file: false };

/// Most levels of settings files that include each other; git has the same limit.
const MOST_INCLUDED: usize = 10;

/// Paths below the root that are guarded because a repository names them.
pub(super) fn named(root: &OwnedFd, folder: &Path, repositories: &[PathBuf]) -> Vec<(PathBuf, WatchedPath)> {
    let reader = RepoConfigReader { root, folder };
    repositories.iter().flat_map(|repository| reader.named_by(repository, repositories)).collect()
}

struct RepoConfigReader<'a> {
    root: &'a OwnedFd,
    folder: &'a Path,
}

impl RepoConfigReader<'_> {
    fn named_by(&self, repository: &Path, all: &[PathBuf]) -> Vec<(PathBuf, WatchedPath)> {
        let mut named = Vec::new();
        let mut settings = Vec::new();
        for file in ["config", "config.worktree"] {
            self.read(&repository.join(file), MOST_INCLUDED, &mut settings, &mut named);
        }
        let mut trees = self.work_trees(repository, &settings);
        // Linked worktrees use the settings of the repository that they belong to.
        let linked = all.iter().filter(|other| other.parent() == Some(&repository.join("worktrees")));
        trees.extend(linked.flat_map(|other| self.work_trees(other, &[])));
        for setting in settings.iter().filter(|setting| !is_data(setting)) {
            match setting.key.as_str() {
                "hookspath" | "templatedir" => {
                    let bases = trees.iter().map(PathBuf::as_path).chain([repository]);
                    let paths = bases.filter_map(|base| self.path(base, &setting.value));
                    named.extend(paths.map(|path| (path, FILE_OR_FOLDER)));
                }
                _ if trees.is_empty() => {
                    let words = words(&setting.value).filter(|word| !is_gits_own(word));
                    named.extend(words.filter_map(|word| self.file(repository, word)).map(|path| (path, FILE)));
                }
                _ => {
                    let paths = trees.iter().flat_map(|tree| {
                        words(&setting.value).filter_map(|word| self.file(tree, word)).collect::<Vec<_>>()
                    });
                    named.extend(paths.map(|path| (path, FILE)));
                }
            }
        }
        named
    }

    /// The settings of a file and of the files that it includes, which also count as named.
    fn read(
        &self,
        file: &Path,
        left: usize,
        settings: &mut Vec<GitConfigEntry>,
        named: &mut Vec<(PathBuf, WatchedPath)>,
    ) {
        let Some(end) = LinkTrail::of(self.root, self.folder, file).end else { return };
        let Some(text) = harmless::text(self.root, &end) else { return };
        for setting in git_config::settings(&text).unwrap_or_default() {
            let is_include = matches!(setting.section.as_str(), "include" | "includeif") && setting.key == "path";
            if !is_include {
                settings.push(setting);
                continue;
            }
            let above = file.parent().unwrap_or(Path::new(""));
            let Some(path) = self.path(above, &setting.value) else { continue };
            if left > 0 {
                self.read(&path, left - 1, settings, named);
            }
            named.push((path, FILE));
        }
    }

    /// The folders in which git runs the named programs: the working trees.
    fn work_trees(&self, repository: &Path, settings: &[GitConfigEntry]) -> Vec<PathBuf> {
        let is_named_so =
            repository.file_name().is_some_and(|name| guarded_names::is_repository_name(&name.to_string_lossy()));
        let around = repository.parent().filter(|_| is_named_so).map(Path::to_owned);
        let set = settings.iter().filter(|one| one.section == "core" && one.key == "worktree");
        let set = set.filter_map(|one| self.join(repository, &one.value));
        // A linked working tree, which is known by the path of its `.git`.
        let linked = harmless::text(self.root, &repository.join("gitdir"))
            .and_then(|text| self.join(repository, text.trim_end())?.parent().map(Path::to_owned));
        around.into_iter().chain(set).chain(linked).collect()
    }

    /// A path that is a whole value; never the root itself.
    fn path(&self, base: &Path, value: &str) -> Option<PathBuf> {
        self.join(base, value).filter(|path| !path.as_os_str().is_empty())
    }

    /// A path that may be one of several words. A word that does not look like a path counts only if it is a file.
    fn file(&self, base: &Path, word: &str) -> Option<PathBuf> {
        let path = self.path(base, word)?;
        let is_file = || {
            let stat = rustix::fs::statat(self.root, &path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some(FileType::from_raw_mode(stat.st_mode) != FileType::Directory)
        };
        (word.contains(['/', '.']) || is_file() == Some(true)).then_some(path)
    }

    fn join(&self, base: &Path, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        let (mut whole, within) = if path.is_absolute() {
            (PathBuf::new(), links::below(self.folder, path)?)
        } else {
            (base.to_owned(), path.to_owned())
        };
        for part in within.components() {
            match part {
                Component::Normal(name) => whole.push(name),
                Component::CurDir => {}
                Component::ParentDir => whole.pop().then_some(())?,
                Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        Some(whole)
    }
}

/// The whole value, in case it has spaces, and the words that a shell would split it into.
fn words(value: &str) -> impl Iterator<Item = &str> {
    let parts = value.split(|letter: char| letter.is_whitespace() || "\"'!;=(){}&|`$<>,".contains(letter));
    parts.chain([value]).filter(|word| !word.is_empty() && !word.contains("://") && word.len() < 1_000)
}

/// Files that git itself writes frequently.
fn is_gits_own(word: &str) -> bool {
    let first = word.trim_start_matches("./").split('/').next().unwrap_or_default();
    let names = ["index", "refs", "objects", "logs", "packed-refs"];
    let is_a_head = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    names.contains(&first) || is_a_head
}

/// Settings that run nothing, although they may name files.
fn is_data(setting: &GitConfigEntry) -> bool {
    let data = [
        ("blame", "ignorerevsfile"),
        ("branch", "description"),
        ("branch", "vscode-merge-base"),
        ("commit", "template"),
        ("core", "autocrlf"),
        ("core", "eol"),
        ("core", "excludesfile"),
        ("core", "safecrlf"),
        ("core", "worktree"),
        ("gpg", "allowedsignersfile"),
        ("mailmap", "file"),
        ("merge", "conflictstyle"),
        ("pull", "rebase"),
        ("push", "default"),
        ("safe", "directory"),
        ("user", "signingkey"),
    ];
    setting_is_harmless(setting) || data.contains(&(setting.section.as_str(), setting.key.as_str()))
}
