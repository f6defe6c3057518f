//! The throw-away folder of a browser, and clearing up those that killed processes left.
//!
//! | in it | for |
//! |---|---|
//! | `in-use` | our lock |
//! | `profile` | all that the browser writes; downloads arrive in `profile/downloads` |
//! | `uploads` | files for the browser to read |
//! | `held` | downloads that are complete |

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
    downloads: Arc<File>,
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
        let profile = folder.path().join("profile");
        fs::create_dir_all(profile.join("downloads"))?;
        fs::create_dir(profile.join("Default"))?;
        fs::write(profile.join("Default/Preferences"), SETTINGS)?;
        fs::create_dir(folder.path().join("uploads"))?;
        fs::create_dir(folder.path().join("held"))?;
        // Opened before the browser runs: whatever it puts in the place of the folder later, this is the real one.
        let downloads = Arc::new(File::open(profile.join("downloads"))?);
        Ok(Self { folder, downloads, _lock: lock })
    }

    /// The folder that the browser writes to.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("profile")
    }

    /// The folder that only we write to.
    pub(crate) fn uploads(&self) -> PathBuf {
        self.folder.path().join("uploads")
    }

    /// The folder that downloads are held in, which the browser does not see.
    pub(crate) fn held(&self) -> PathBuf {
        self.folder.path().join("held")
    }

    /// The folder that downloads arrive in.
    pub(crate) fn downloads(&self) -> Arc<File> {
        self.downloads.clone()
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
        let path = used.path();
        drop(used);
        assert!(!path.exists());
    }
}
