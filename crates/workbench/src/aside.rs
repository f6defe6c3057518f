//! Files that agents' commands wrote, that other programs would run later, and that were moved away: listed, put back or
//! deleted by people.

#[cfg_attr(not(target_os = "linux"), path = "aside/unsupported.rs")]
mod restore;

use std::io;
use std::path::{Path, PathBuf};

use updraft_tools::{MOVED, MovedFileRecord};

use crate::fault::{Fault, Kind};
use crate::folders::AppFolders;
use crate::untrusted;

/// A file that was moved aside, and its name for people.
pub struct AsideEntry {
    /// Its name.
    pub name: String,
    /// Where it is kept.
    pub at: PathBuf,
    /// Where it was, and why it was moved.
    pub moved: MovedFileRecord,
}

/// All files that are still kept, in order of name.
pub fn kept(folders: &AppFolders) -> Vec<AsideEntry> {
    let mut all = Vec::new();
    for folder in std::fs::read_dir(folders.aside()).into_iter().flatten().flatten() {
        let Ok(text) = untrusted::read_text(&folder.path().join(MOVED)) else { continue };
        let of_one = folder.file_name().to_string_lossy().trim_start_matches("updraft-aside-").to_owned();
        let moved: Vec<MovedFileRecord> = serde_json::from_str(&text).unwrap_or_default();
        for moved in moved {
            let at = folder.path().join(&moved.kept);
            // A record that points elsewhere is not ours.
            let is_plain = Path::new(&moved.kept).components().count() == 1;
            if is_plain && at.symlink_metadata().is_ok() {
                all.push(AsideEntry { name: format!("{of_one}/{}", moved.kept), at, moved });
            }
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

impl AsideEntry {
    /// Puts the file back where it was. A file that is there now stays as it is.
    pub fn restore(&self) -> Result<(), Fault> {
        let target = on_one_line(&self.moved.path);
        let cannot = |error: io::Error| Fault::failed(format!("could not restore `{target}`: {error}"));
        match restore::back(&self.at, &self.moved.path, self.moved.restored) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Fault::new(Kind::AlreadyExists, format!("`{target}` exists again"))
                    .hint("look at both, and remove the one you do not want"))
            }
            Err(error) if restore::met_a_link(&error) => {
                let why = format!("a parent folder of `{target}` is now a link, which may lead anywhere");
                Err(Fault::new(Kind::AlreadyExists, why)
                    .hint("replace the link with the folder itself, then try again"))
            }
            other => other.and_then(|is_copy| if is_copy { remove(&self.at) } else { Ok(()) }).map_err(cannot),
        }
    }

    /// Deletes the file for good.
    pub fn delete(&self) -> Result<(), Fault> {
        remove(&self.at).map_err(|error| Fault::file("remove", &self.at, &error))
    }
}

/// A path that a command chose, without line breaks and the like.
fn on_one_line(path: &Path) -> String {
    path.display().to_string().replace(char::is_control, "\u{fffd}")
}

fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
}
