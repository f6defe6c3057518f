//! Scans everything in a workspace. Changes are found by comparing two scans, or by times later than a given one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{LinkPolicy, Stamp, Workspace, bytes_of};

/// File systems take the time from the kernel's last clock tick, at most 10 ms ago. A file that changed within this
/// time before a scan may have changed again since with the same times.
pub const GRAIN: Duration = Duration::from_millis(20);

/// The stamps of everything in a folder, at any depth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// By the path below the folder, as bytes, since not every name is UTF-8. A folder comes before its entries.
    pub stamps: BTreeMap<Vec<u8>, Stamp>,
    /// Whether there is more than was scanned.
    pub is_cut: bool,
    /// Whether some folders could not be read.
    pub is_partial: bool,
}

/// A time before now, in the form of file times: nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "compared with the times of files, which the system's clock gives")]
pub fn ago(length: Duration) -> i64 {
    in_nanoseconds(SystemTime::now().checked_sub(length).unwrap_or(UNIX_EPOCH))
}

/// A time in the form of file times: nanoseconds since 1970.
pub fn in_nanoseconds(moment: SystemTime) -> i64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

impl Workspace {
    /// Scans up to `most` files and folders. Only stamps are read, and no link is followed.
    pub fn survey(&self, most: usize) -> Survey {
        let mut survey = Survey::default();
        let mut left = vec![(PathBuf::new(), Vec::new())];
        while let Some((path, within)) = left.pop() {
            let here = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
            let Ok(folder) = self.folder().folder(here, LinkPolicy::Never) else {
                survey.is_partial = true;
                continue;
            };
            let Ok(entries) = folder.entries() else {
                survey.is_partial = true;
                continue;
            };
            for entry in entries {
                let Ok((name, _)) = entry else {
                    survey.is_partial = true;
                    continue;
                };
                if survey.stamps.len() >= most {
                    survey.is_cut = true;
                    return survey;
                }
                // It may have been removed meanwhile.
                let Ok(stamp) = folder.look(&name) else { continue };
                // Joined with `/` on every system.
                let mut bytes = within.clone();
                bytes.extend(bytes_of(name.clone()));
                if stamp.is_folder() {
                    left.push((path.join(name), [&bytes[..], b"/"].concat()));
                }
                survey.stamps.insert(bytes, stamp);
            }
        }
        survey
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_seen_with_folders_before_what_is_in_them_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/deep")).unwrap();
        for name in ["a/deep/x", "a-file", "z"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let survey = workspace.survey(100);
        let paths: Vec<&str> = survey.stamps.keys().map(|path| std::str::from_utf8(path).unwrap()).collect();
        let links: &[&str] = if cfg!(unix) { &["link"] } else { &[] };
        assert_eq!(paths, [&["a", "a-file", "a/deep", "a/deep/x"][..], links, &["z"]].concat());
        assert!(!survey.is_cut && !survey.is_partial);
        assert_eq!(workspace.survey(100), survey);
        assert!(workspace.survey(3).is_cut);
    }
}
