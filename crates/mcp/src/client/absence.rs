//! Servers that did not come when they were waited for: remembered for a while, so that the next run does not wait again.

use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::error::cut;

/// How long a server that did not come is not waited for.
const REMEMBERED: Duration = Duration::from_mins(10);

/// That a server did not come, and why.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Absence {
    /// Of the configuration it did not come with: with another it may.
    fingerprint: String,
    pub(super) why: String,
}

impl Absence {
    pub(super) fn new(fingerprint: &str, why: &str) -> Self {
        Self { fingerprint: fingerprint.to_owned(), why: cut(why, 500) }
    }

    /// What is remembered beside the file with the server's tools, while it is fresh.
    #[expect(clippy::disallowed_methods, reason = "how old a file is, only the clock can tell")]
    pub(super) fn load(path: &Path, fingerprint: &str) -> Option<Self> {
        let path = path.with_extension("absent");
        let age = SystemTime::now().duration_since(std::fs::metadata(&path).ok()?.modified().ok()?);
        let kept: Self = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        // A clock that was set back makes it no older.
        let is_fresh = age.is_ok_and(|age| age < REMEMBERED);
        (is_fresh && kept.fingerprint == fingerprint).then_some(kept)
    }

    /// Remembers it. Losing it costs only time.
    pub(super) fn save(&self, path: &Path) {
        if let (Some(folder), Ok(bytes)) = (path.parent(), serde_json::to_vec(self)) {
            let _ = std::fs::create_dir_all(folder);
            let _ = std::fs::write(path.with_extension("absent"), bytes);
        }
    }

    /// It came.
    pub(super) fn forget(path: &Path) {
        let _ = std::fs::remove_file(path.with_extension("absent"));
    }
}
