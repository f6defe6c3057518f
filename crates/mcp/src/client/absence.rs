//! Servers that are not there yet: what is known of their start, and that they did not come when they were waited for, so
//! that the next run does not wait again.

use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use updraft_tools::replace_private;

use super::server::Server;
use crate::error::cut;

/// How long a server that did not come is not waited for.
const REMEMBERED: Duration = Duration::from_mins(10);

/// Of a server that has not failed, but is not there yet either.
const SLOW: &str = "it is slow to start";

/// That a server did not come, and why.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FailedStart {
    /// Of the configuration it did not come with: with another it may.
    fingerprint: String,
    pub(super) why: String,
}

impl FailedStart {
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
        let _ = replace_private(&path.with_extension("absent"), &serde_json::to_vec(self).unwrap_or_default());
    }

    /// It came.
    pub(super) fn forget(path: &Path) {
        let _ = std::fs::remove_file(path.with_extension("absent"));
    }
}

/// Its start.
impl Server {
    /// Whether it is being started or connected to just now.
    pub fn is_starting(&self) -> bool {
        self.connecting.try_lock().is_err()
    }

    /// The last line that its process wrote to its log.
    pub fn last_words(&self) -> Option<String> {
        self.host.last_words_of(&self.config.name).map(|words| self.config.hide(&words))
    }

    /// Why nothing is known of its tools yet.
    pub fn why_absent(&self) -> String {
        let last = self.health().last.map(|error| error.to_string());
        let before = || self.absence().map(|absence| format!("as a short while ago, {}", absence.why));
        last.or_else(before).unwrap_or_else(|| SLOW.to_owned())
    }

    /// That it did not come when it was waited for a short while ago.
    pub(super) fn absence(&self) -> Option<FailedStart> {
        FailedStart::load(&self.host.memory_of(&self.config)?, &self.config.fingerprint)
    }

    /// Remembers that it was waited for in vain.
    pub(super) fn note_absence(&self) {
        let why = self.health().last.map_or_else(|| SLOW.to_owned(), |error| error.to_string());
        if let Some(path) = self.host.memory_of(&self.config) {
            FailedStart::new(&self.config.fingerprint, &why).save(&path);
        }
    }
}
