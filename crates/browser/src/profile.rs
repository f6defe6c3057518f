//! The throw-away profile folder, and clearing up those that killed processes left.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

const PREFIX: &str = "updraft-browser-";
const LOCK: &str = "in-use";
/// What only a setting turns off: signing in, warnings and suggestions that ask somebody else about each page.
const SETTINGS: &str = r#"{"signin":{"allowed":false},"safebrowsing":{"enabled":false},"search":{"suggest_enabled":false},
"alternate_error_pages":{"enabled":false},"credentials_enable_service":false,"profile":{"password_manager_enabled":false}}"#;

/// A profile in use. It is removed when this is dropped.
pub(crate) struct Profile {
    folder: TempDir,
    /// Held as long as the profile is in use: the system lets go of it when we are killed.
    _lock: File,
}

impl Profile {
    /// Makes a new one in `parent`, after removing those that nobody uses any more.
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        // What cannot be removed today is removed next time.
        let _ = sweep(parent);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = File::create(folder.path().join(LOCK))?;
        lock.lock()?;
        fs::create_dir(folder.path().join("downloads"))?;
        fs::create_dir(folder.path().join("Default"))?;
        fs::write(folder.path().join("Default/Preferences"), SETTINGS)?;
        Ok(Self { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        // Processes of a browser that was just killed may still be writing for a moment.
        for _ in 0..20 {
            if fs::remove_dir_all(self.folder.path()).is_ok() || !self.folder.path().exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(25));
        }
    }
}

fn sweep(parent: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // One without a lock is being made at this moment.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_of_the_dead_are_removed_and_those_in_use_are_not() {
        let parent = tempfile::tempdir().unwrap();
        let dead = parent.path().join(format!("{PREFIX}dead"));
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        let used = Profile::create(parent.path()).unwrap();
        let other = Profile::create(parent.path()).unwrap();
        assert!(used.path().is_dir() && other.path().is_dir() && !dead.exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
