//! Recognizes new guarded files that run nothing: those that `git init`, `git clone` and `git worktree add` write
//! themselves.
//!
//! It is an allow list of settings known to be harmless, not a deny list, because new versions of git add settings.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use updraft_workspace::guarded_names;

use super::links::LinkTrail;
use crate::git_config::{self, GitConfigEntry};

/// Most bytes of a settings file that is read. A longer one is not known to be harmless.
const LONGEST: u64 = 1 << 20;

/// Whether the file at this path, guarded for this reason, contains only what git itself would write.
pub(super) fn is_harmless(root: &OwnedFd, folder: &Path, path: &Path, why: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match name {
        // Other programs interpret files with these names differently.
        "config" | "config.worktree" if why == guarded_names::GIT_SETTINGS => {
            text(root, path).is_some_and(|text| config_is_harmless(&text))
        }
        "commondir" => text(root, path).is_some_and(|text| text.trim_end() == "../.."),
        ".git" => text(root, path)
            .is_some_and(|text| gitdir_is_harmless(&text, folder) && leads_straight(root, folder, path, &text)),
        _ => false,
    }
}

/// The text of a regular file, if it is not too long.
pub(super) fn text(root: &OwnedFd, path: &Path) -> Option<String> {
    String::from_utf8(bytes(root, path, LONGEST)?).ok()
}

/// The content of a regular file of at most this length.
pub(super) fn bytes(root: &OwnedFd, path: &Path, longest: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let file = rustix::fs::openat2(root, path, flags, Mode::empty(), resolve).ok()?;
    // A pipe could be empty now and contain something else when git reads it.
    if FileType::from_raw_mode(rustix::fs::fstat(&file).ok()?.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    let length = std::fs::File::from(file).take(longest + 1).read_to_end(&mut bytes).ok()?;
    (length as u64 <= longest).then_some(bytes)
}

/// A `.git` file of a worktree or submodule that points into a git folder inside the folder that we walk.
fn gitdir_is_harmless(text: &str, folder: &Path) -> bool {
    let Some(target) = text.trim_end().strip_prefix("gitdir: ") else { return false };
    let parts: Vec<&str> = target.split('/').collect();
    let Some(at) = parts.iter().position(|part| *part == ".git") else { return false };
    let (before, kept) = parts.split_at(at);
    let is_kept_by_git = matches!(kept, [_, "worktrees" | "modules", _, ..]) && !kept.contains(&"..");
    let is_inside = !target.starts_with('/') || (Path::new(target).starts_with(folder) && !before.contains(&".."));
    is_kept_by_git && is_inside && !target.contains('\n')
}

/// Whether no link is on the path, so that it leads where its text says.
fn leads_straight(root: &OwnedFd, folder: &Path, path: &Path, text: &str) -> bool {
    let target = Path::new(text.trim_end().trim_start_matches("gitdir: "));
    let whole = match target.strip_prefix(folder) {
        Ok(within) => within.to_owned(),
        Err(_) => path.parent().unwrap_or(Path::new("")).join(target),
    };
    let trail = LinkTrail::of(root, folder, &whole);
    trail.links.is_empty() && trail.end.is_some()
}

fn config_is_harmless(text: &str) -> bool {
    // Git writes no backslash itself, and escapes have been used to confuse other parsers.
    !text.contains('\\') && git_config::settings(text).is_some_and(|all| all.iter().all(setting_is_harmless))
}

pub(super) fn setting_is_harmless(setting: &GitConfigEntry) -> bool {
    let value = &setting.value;
    match (setting.section.as_str(), setting.key.as_str()) {
        ("core", "repositoryformatversion" | "filemode" | "bare" | "logallrefupdates" | "ignorecase" | "symlinks") => {
            true
        }
        ("core", "precomposeunicode" | "sparsecheckout" | "sparsecheckoutcone") => true,
        // The file that this makes git read, `config.worktree`, is judged separately.
        ("extensions", "objectformat" | "refstorage" | "worktreeconfig") => true,
        ("user", "name" | "email") | ("init", "defaultbranch") | ("submodule", "active") => true,
        ("branch", "merge") | ("remote", "fetch" | "tagopt" | "mirror") => true,
        // The value may be an address instead of a name.
        ("branch", "remote") => !value.contains(':'),
        // Other transports run programs: `ext::`, or any `git-remote-` on the path.
        ("remote" | "submodule", "url") => {
            ["https://", "http://", "git://"].iter().any(|known| value.starts_with(known)) || is_local(value)
        }
        _ => false,
    }
}

/// Whether an address is a plain path on this machine.
///
/// To fetch from such a path, git runs its own programs in that repository, and to push, also the hooks there. A
/// repository in the workspace is guarded itself, whatever its name: its hooks are read-only, and its settings are
/// judged like these. A repository elsewhere cannot have been written by a command. A file instead of a folder is a
/// bundle, which is data, or points to a repository, for which the same holds.
fn is_local(value: &str) -> bool {
    let path = value.strip_prefix("file://").unwrap_or(value);
    // A colon makes it a host or a transport, and a leading dash makes it an option.
    !path.is_empty() && !path.starts_with('-') && !path.contains(|letter: char| letter == ':' || letter.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_init_and_clone_write_is_harmless() {
        let config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
                      [remote \"origin\"]\n\turl = https://example.com/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                      [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";
        assert!(config_is_harmless(config));
    }

    #[test]
    fn a_local_address_is_harmless_if_it_is_a_path_and_nothing_else() {
        let of = |url: &str| config_is_harmless(&format!("[remote \"o\"]\n\turl = {url}\n\tmirror = true\n"));
        for url in ["/srv/a b/c.git", "../c", "c", "file:///srv/c", "\"x;y\""] {
            assert!(of(url), "{url}");
        }
        let others =
            ["", "-c", "--upload-pack=evil", "ext::evil", "file://-x", "file://ext::evil", "host:path", "ssh://h/p"];
        for url in others.into_iter().chain(["fd::17", "./a:b", "\"a\u{1}b\"", "\"a\tb\"", "evil::/srv/c", "file://"]) {
            assert!(!of(url), "{url}");
        }
    }

    #[test]
    fn settings_that_run_programs_are_not() {
        let risky = [
            "[core]\n\tfsmonitor = ./evil\n",
            "[core]\n\thooksPath = x\n",
            "[CORE]\nsshCommand = evil",
            "[alias]\n\tst = !evil\n",
            "[include]\n\tpath = ../evil\n",
            "[includeIf \"gitdir:x\"]\n\tpath = evil\n",
            "[remote \"o\"]\n\turl = ext::sh -c evil\n",
            "[remote \"o\"]\n\tuploadpack = evil\n",
            "[filter \"x\"]\n\tclean = evil\n",
            "[core]\n\tbare = false\\\n\tfsmonitor = evil\n",
            "[core] fsmonitor = evil\n",
            "[core] fsmonitor = ./evil.sh # ]\n",
            "[core] # ]\nfsmonitor = evil",
            "[branch \"m\"]\n\tremote = ext::sh -c evil\n",
            "[credential]\n\thelper = !evil\n",
        ];
        let passed: Vec<&str> = risky.into_iter().filter(|text| config_is_harmless(text)).collect();
        assert_eq!(passed, [""; 0]);
    }

    #[test]
    fn a_gitdir_file_may_point_to_gits_own_place_inside_only() {
        let folder = Path::new("/srv/project");
        assert!(gitdir_is_harmless("gitdir: /srv/project/.git/worktrees/x\n", folder));
        assert!(gitdir_is_harmless("gitdir: ../.git/modules/x\n", folder));
        for text in [
            "gitdir: evil",
            "gitdir: /srv/other/.git/worktrees/x",
            "gitdir: /srv/project/x/../../o/.git/modules/x",
            "gitdir: ../.git/worktrees/../objects/x",
            "gitdir: ../.git/modules",
            "",
        ] {
            assert!(!gitdir_is_harmless(text, folder), "{text}");
        }
    }
}
