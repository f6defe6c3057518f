//! Follows a path link by link, as far as it stays inside the folder that we walk.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The most links that the kernel follows.
const MOST_LINKS: usize = 40;

/// Everything that determines where a path leads.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LinkTrail {
    /// Every link on the way, by its own path.
    pub(super) links: Vec<PathBuf>,
    /// The final path, without links; it need not exist. `None` if it is outside.
    pub(super) end: Option<PathBuf>,
}

impl LinkTrail {
    /// Follows a path below `folder`, which is the root of the walk.
    pub(super) fn of(root: &OwnedFd, folder: &Path, path: &Path) -> LinkTrail {
        let mut trail = LinkTrail::default();
        let mut left: VecDeque<OsString> = parts(path).collect();
        let mut at = PathBuf::new();
        while let Some(part) = left.pop_front() {
            if part == ".." {
                if !at.pop() {
                    return trail;
                }
                continue;
            }
            let next = at.join(part);
            let Ok(target) = rustix::fs::readlinkat(root, &next, Vec::new()) else {
                at = next;
                continue;
            };
            if trail.links.len() == MOST_LINKS {
                return trail;
            }
            trail.links.push(next);
            let target = Path::new(OsStr::from_bytes(target.as_bytes()));
            let mut onward = target.to_owned();
            if target.is_absolute() {
                let Some(within) = below(folder, target) else { return trail };
                (at, onward) = (PathBuf::new(), within);
            }
            for part in parts(&onward).collect::<Vec<_>>().into_iter().rev() {
                left.push_front(part);
            }
        }
        trail.end = Some(at);
        trail
    }
}

/// Converts an absolute path to one relative to the root of the walk, even if it reaches the root through links.
pub(super) fn below(folder: &Path, path: &Path) -> Option<PathBuf> {
    if let Ok(within) = path.strip_prefix(folder) {
        return Some(within.to_owned());
    }
    let folder = std::fs::canonicalize(folder).ok()?;
    // A path that does not exist yet leads to the same place as its folder.
    path.ancestors().find_map(|above| {
        let real = std::fs::canonicalize(above).ok()?;
        let whole = path.strip_prefix(above).ok().filter(|rest| !rest.as_os_str().is_empty());
        let whole = whole.map_or(real.clone(), |rest| real.join(rest));
        Some(whole.strip_prefix(&folder).ok().map(Path::to_owned))
    })?
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode, OFlags};

    use super::*;

    #[test]
    fn every_link_on_the_way_is_told() {
        let world = tempfile::tempdir().unwrap();
        let folder = world.path();
        std::fs::create_dir_all(folder.join("real/deep")).unwrap();
        for (target, link) in [
            ("missing", "gone"),
            ("chain/b", "first"),
            ("../c", "real/b"),
            ("real", "chain"),
            ("../..", "real/deep/out"),
            ("around", "around"),
            ("/etc", "etc"),
        ] {
            symlink(target, folder.join(link)).unwrap();
        }
        symlink(folder.join("chain/deep"), folder.join("whole")).unwrap();
        let root = rustix::fs::openat(CWD, folder, OFlags::RDONLY, Mode::empty()).unwrap();
        let leads = |path: &str, links: &[&str], end: Option<&str>| {
            let wanted = LinkTrail { links: links.iter().map(PathBuf::from).collect(), end: end.map(PathBuf::from) };
            assert_eq!(LinkTrail::of(&root, folder, Path::new(path)), wanted, "{path}");
        };
        leads("real/deep", &[], Some("real/deep"));
        leads("gone", &["gone"], Some("missing"));
        leads("first", &["first", "chain", "real/b"], Some("c"));
        leads("whole/x", &["whole", "chain"], Some("real/deep/x"));
        leads("real/deep/out/gone", &["real/deep/out", "gone"], Some("missing"));
        leads("etc/passwd", &["etc"], None);
        leads("around", &["around"; MOST_LINKS], None);
        leads("../x", &[], None);
    }
}
