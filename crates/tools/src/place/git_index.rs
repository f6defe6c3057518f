//! What git's index says, without what it remembers of files: a `git status` writes their times anew, and says nothing else
//! by that.

use updraft_run::Hash;

use crate::dispatch::hash;

/// Bytes of an entry before its object: times, device, mode, owner and size.
const ABOUT: usize = 40;
const MODE: std::ops::Range<usize> = 24..28;
const EXTENDED: u16 = 0x4000;
/// How long the name is. The name itself says that too.
const LENGTH: u16 = 0x0fff;
/// Bytes of an object's name, by the two ways in which a repository may name them. The file ends with one.
const OBJECTS: [usize; 2] = [20, 32];
/// Extensions that only make git faster.
const CACHES: [&[u8; 4]; 5] = [b"TREE", b"UNTR", b"FSMN", b"EOIE", b"IEOT"];
/// What became of conflicts.
const RESOLVED: &[u8; 4] = b"REUC";
/// A larger one is compared byte by byte.
pub(super) const LARGEST: usize = 64 << 20;

/// Whether a path is that of an index: of a repository, of one of its further folders, or of one inside it.
pub(super) fn is_index(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    parts.next() == Some("index") && parts.any(|part| part.eq_ignore_ascii_case(".git"))
}

/// The hash of all that an index says: of each entry the path, mode, object, stage and flags. Nothing if it is not an index,
/// or holds what we do not know.
pub fn index_entries(path: &str, bytes: &[u8]) -> Option<Hash> {
    if !is_index(path) || bytes.len() > LARGEST {
        return None;
    }
    OBJECTS.iter().find_map(|object| said(bytes, *object)).map(|said| hash(&said))
}

/// What an index says, in a form of our own.
fn said(bytes: &[u8], object: usize) -> Option<Vec<u8>> {
    let end = bytes.len().checked_sub(object)?;
    let mut rest = Rest(bytes.get(..end)?);
    let magic = rest.take(4)?;
    let (version, count) = (rest.number()?, rest.number()?);
    if magic != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let mut said = vec![u8::try_from(object).ok()?];
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..count {
        let length = rest.0.len();
        let about = rest.take(ABOUT)?;
        let object = rest.take(object)?;
        let flags = rest.short()?;
        let more = if flags & EXTENDED == 0 { 0 } else { rest.short()? };
        if version == 4 {
            let kept = name.len().checked_sub(rest.varying()?)?;
            name.truncate(kept);
            name.extend_from_slice(rest.until_zero()?);
        } else {
            name.clear();
            name.extend_from_slice(rest.until_zero()?);
            // Zeros up to the next multiple of eight; the first of them is read.
            let padding = (length - rest.0.len()).next_multiple_of(8) - (length - rest.0.len());
            if rest.take(padding)?.iter().any(|byte| *byte != 0) {
                return None;
            }
        }
        if name.is_empty() || (version == 2 && flags & EXTENDED != 0) {
            return None;
        }
        said.extend_from_slice(about.get(MODE)?);
        said.extend_from_slice(object);
        said.extend_from_slice(&(flags & !LENGTH & !EXTENDED).to_be_bytes());
        said.extend_from_slice(&more.to_be_bytes());
        said.extend_from_slice(&name);
        said.push(0);
    }
    while !rest.0.is_empty() {
        let kind = rest.take(4)?;
        let length = usize::try_from(rest.number()?).ok()?;
        let content = rest.take(length)?;
        if kind == RESOLVED {
            said.extend_from_slice(kind);
            said.extend_from_slice(content);
        } else if !CACHES.iter().any(|cache| kind == *cache) {
            return None;
        }
    }
    Some(said)
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn short(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    /// Up to a zero, which is read too.
    fn until_zero(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let taken = self.take(end)?;
        self.take(1)?;
        Some(taken)
    }

    /// A number of as many bytes as it needs, as git writes offsets.
    fn varying(&mut self) -> Option<usize> {
        let mut number = 0usize;
        for at in 0..4 {
            let byte = *self.take(1)?.first()?;
            number = (number + usize::from(at > 0)) << 7 | usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "git itself says what an index looks like")]
    fn git(folder: &Path, args: &[&str]) -> bool {
        let mut command = Command::new("git");
        let who = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "core.fsmonitor=false"];
        let ran = command.args(who).args(args).current_dir(folder).env("HOME", folder).output();
        ran.is_ok_and(|ran| ran.status.success())
    }

    fn entries(folder: &Path) -> (Vec<u8>, Option<Hash>) {
        let bytes = std::fs::read(folder.join(".git/index")).unwrap();
        let entries = index_entries(".git/index", &bytes);
        (bytes, entries)
    }

    fn touch(file: &Path, seconds: u64) {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        std::fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn times_do_not_count_and_everything_else_does() {
        for (format, version) in [("sha1", "2"), ("sha1", "4"), ("sha256", "2"), ("sha256", "4")] {
            let place = tempfile::tempdir().unwrap();
            let folder = place.path();
            if !git(folder, &["init", "-q", "--object-format", format, "."]) {
                return;
            }
            for name in ["a", "folder/b", "folder/bc", "folder/longer-name"] {
                std::fs::create_dir_all(folder.join("folder")).unwrap();
                std::fs::write(folder.join(name), name).unwrap();
            }
            assert!(git(folder, &["update-index", "--index-version", version]));
            assert!(git(folder, &["add", "-A"]) && git(folder, &["commit", "-qm", "first"]));
            let (old, first) = entries(folder);
            assert!(first.is_some(), "{format} {version}");
            touch(&folder.join("folder/b"), 1_000_000_000);
            assert!(git(folder, &["status"]));
            let (new, second) = entries(folder);
            assert_ne!(old, new, "git wrote the time down");
            assert_eq!(first, second, "{format} {version}");

            let mut seen = vec![first];
            for change in [
                &["update-index", "--chmod=+x", "a"][..],
                &["update-index", "--assume-unchanged", "folder/b"],
                &["update-index", "--skip-worktree", "folder/bc"],
                &["rm", "-q", "--cached", "folder/longer-name"],
                &["add", "-N", "folder/longer-name"],
            ] {
                assert!(git(folder, change), "{change:?}");
                let (_, now) = entries(folder);
                assert!(now.is_some() && !seen.contains(&now), "{format} {version} {change:?}");
                seen.push(now);
            }
        }
    }

    #[test]
    fn what_is_odd_says_nothing() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        std::fs::write(folder.join("a"), "a").unwrap();
        if !git(folder, &["init", "-q", "."]) || !git(folder, &["add", "-A"]) {
            return;
        }
        let (bytes, whole) = entries(folder);
        assert!(whole.is_some());
        for length in 0..bytes.len() {
            assert_eq!(index_entries(".git/index", &bytes[..length]), None, "{length} bytes");
        }
        let mut split = bytes[..bytes.len() - 20].to_vec();
        split.extend_from_slice(b"link\0\0\0\0");
        split.extend_from_slice(&bytes[bytes.len() - 20..]);
        assert_eq!(index_entries(".git/index", &split), None, "its entries lie in another file");
        assert_eq!(index_entries("src/index", &bytes), None);
        assert!(index_entries("sub/.git/modules/x/index", &bytes).is_some());
    }
}
