//! Tests that resolving by components and the kernel's `openat2` agree on every path.
#![cfg(target_os = "linux")]

use std::os::unix::fs::{MetadataExt, symlink};

use proptest::prelude::*;

use super::*;

/// Opens a path both ways: the inode that each gives, or the error.
fn both(dir: &File, path: &str, flags: OFlags, links: LinkPolicy) -> [Result<u64, Errno>; 2] {
    type Open = fn(BorrowedFd<'_>, &Path, OFlags, Mode, LinkPolicy) -> Result<std::os::fd::OwnedFd, Errno>;
    let ways: [Open; 2] = [beneath::open, by_component::open];
    ways.map(|open| {
        let opened = open(dir.as_fd(), Path::new(path), flags | OFlags::CLOEXEC, Mode::empty(), links)?;
        Ok(File::from(opened).metadata().map_or(0, |about| about.ino()))
    })
}

/// The same for metadata without opening.
fn both_looks(dir: &File, path: &str, links: LinkPolicy) -> [Result<u64, Errno>; 2] {
    let looks =
        [beneath::stat(dir.as_fd(), Path::new(path), links), by_component::stat(dir.as_fd(), Path::new(path), links)];
    looks.map(|look| look.map(|stat| stat.st_ino))
}

fn tree(links: &[(String, String)]) -> (tempfile::TempDir, File) {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("root");
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    for file in ["f", "a/f", "a/b/f", "../f"] {
        std::fs::write(root.join(file), file).unwrap();
    }
    for (at, target) in links {
        // If two links have the same name, or a link and a folder, the first one counts.
        let _ = symlink(target, root.join(at));
    }
    let dir = File::open(&root).unwrap();
    (outer, dir)
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "f", "l", "m", "."]), 1..5)
        .prop_map(|parts| parts.join("/"))
}

fn target() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "b", "f", "l", "m", "..", "."]);
    let relative = prop::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"));
    prop_oneof![9 => relative, 1 => Just("/etc/passwd".to_owned())]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn both_ways_lead_to_the_same_file_or_are_refused_for_the_same_reason(
        links in prop::collection::vec((prop::sample::select(vec!["l", "m", "a/l", "a/m", "a/b/l"]), target()), 0..5),
        paths in prop::collection::vec(path(), 1..20),
    ) {
        let links: Vec<_> = links.into_iter().map(|(at, target)| (at.to_owned(), target)).collect();
        let (_outer, dir) = tree(&links);
        for path in paths {
            for how in [LinkPolicy::Inside, LinkPolicy::Never] {
                for flags in [OFlags::RDONLY, OFlags::RDONLY | OFlags::DIRECTORY] {
                    let [kernel, parts] = both(&dir, &path, flags, how);
                    prop_assert_eq!(kernel, parts, "{} with {:?}", path, links);
                }
                let [kernel, parts] = both_looks(&dir, &path, how);
                prop_assert_eq!(kernel, parts, "a look at {} with {:?}", path, links);
            }
        }
    }
}

#[test]
fn nothing_outside_is_reached_part_by_part() {
    let links = [("out", "../f"), ("up", "a/../../f"), ("root", "/etc/passwd"), ("round", "round"), ("in", "a/../a/f")];
    let links = links.map(|(at, target)| (at.to_owned(), target.to_owned()));
    let (_outer, dir) = tree(&links);
    let open = |path: &str, links| {
        by_component::open(dir.as_fd(), Path::new(path), OFlags::RDONLY, Mode::empty(), links).err()
    };
    for path in ["out", "up", "root", "../f", "a/../../f", "/etc/passwd"] {
        assert_eq!(open(path, LinkPolicy::Inside), Some(Errno::XDEV), "{path}");
    }
    assert_eq!(open("round", LinkPolicy::Inside), Some(Errno::LOOP));
    assert_eq!(open("in", LinkPolicy::Inside), None);
    assert_eq!(open("in", LinkPolicy::Never), Some(Errno::LOOP));
}

#[test]
fn a_new_file_is_never_made_through_a_link() {
    let links = [("dangling".to_owned(), "a/new".to_owned())];
    let (outer, dir) = tree(&links);
    let flags = OFlags::RDWR | OFlags::CREATE;
    let made = |path: &str, flags| {
        by_component::open(dir.as_fd(), Path::new(path), flags, bits(0o666), LinkPolicy::Never).map(drop)
    };
    assert_eq!(made("dangling", flags), Err(Errno::LOOP));
    assert_eq!(made("dangling", flags | OFlags::EXCL), Err(Errno::EXIST));
    assert_eq!(made("a/made", flags), Ok(()));
    assert!(outer.path().join("root/a/made").exists() && !outer.path().join("root/a/new").exists());
}
