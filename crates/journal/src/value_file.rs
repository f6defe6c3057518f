//! Writes a large value to a file whose name is the value's hash.

use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::location;

/// Who can read the file and the folders made for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileReaders {
    /// Its owner alone.
    Owner,
    /// Whoever can read other new files of this user: several machines and users may share the folder.
    Usual,
}

/// Writes a value under the name of its hash, somewhere below the folder `top`, and returns once it is on disk there.
///
/// It is written to a temporary name, synced and renamed, and the folders are synced, so that the name appears with the
/// whole content or not at all, even after a power cut. A file of the same length that is there already is left alone.
pub fn write_value_file(target: &Path, bytes: &[u8], top: &Path, readers: FileReaders) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let folder = target.parent().unwrap_or(top);
    match readers {
        FileReaders::Owner => location::make_folder(folder)?,
        FileReaders::Usual => fs::create_dir_all(folder)?,
    }
    if !target.metadata().is_ok_and(|about| about.len() == bytes.len() as u64) {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Others may write the same value at the same time, from other machines.
        let draft = target.with_extension(format!("{}.{}.{count}.part", process_number(), std::process::id()));
        let written = write_synced(&draft, bytes, readers).and_then(|()| fs::rename(&draft, target));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written?;
    }
    // Also if the file and folders existed: the process that made them may not have synced them yet, or never will.
    folder.ancestors().take_while(|above| above.starts_with(top)).try_for_each(location::sync_folder)
}

/// A random number of this process: processes on several machines could have the same id.
pub fn process_number() -> u64 {
    static OWN: LazyLock<u64> = LazyLock::new(|| std::hash::RandomState::new().build_hasher().finish());
    *OWN
}

/// Writes a new file. A file or link that is there already is an error.
fn write_synced(path: &Path, bytes: &[u8], readers: FileReaders) -> io::Result<()> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    if readers == FileReaders::Owner {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = readers;
    let mut file = options.write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_appears_whole_under_its_name_and_nothing_is_left_beside_it() {
        let top = tempfile::tempdir().unwrap();
        for (readers, name) in [(FileReaders::Owner, "ab/abcd"), (FileReaders::Usual, "cd/cdef")] {
            let target = top.path().join(name);
            for _ in 0..2 {
                write_value_file(&target, b"content", top.path(), readers).unwrap();
            }
            assert_eq!(fs::read(&target).unwrap(), b"content");
            assert_eq!(fs::read_dir(target.parent().unwrap()).unwrap().count(), 1);
            // One that was cut off is written again.
            fs::write(&target, b"con").unwrap();
            write_value_file(&target, b"content", top.path(), readers).unwrap();
            assert_eq!(fs::read(&target).unwrap(), b"content");
        }
        #[cfg(unix)]
        {
            let rights = |name: &str| {
                let about = top.path().join(name).metadata().unwrap();
                std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o777
            };
            assert_eq!((rights("ab"), rights("ab/abcd")), (0o700, 0o600));
        }
        // A folder in the place of the file.
        fs::create_dir(top.path().join("ab/taken")).unwrap();
        assert!(write_value_file(&top.path().join("ab/taken"), b"x", top.path(), FileReaders::Owner).is_err());
        assert_eq!(fs::read_dir(top.path().join("ab")).unwrap().count(), 2, "nothing is left of what failed");
    }
}
