//! Servers that have not started yet: the state of their start, and a record of failed starts, so that the next run
//! does not wait for them again.

use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use updraft_tools::replace_private;

use super::server::Server;
use crate::error::cut;

/// For how long a server that failed to start is not waited for.
const REMEMBERED: Duration = Duration::from_mins(10);

/// The reason given for a server that has not failed, but is not ready either.
const SLOW: &str = "it is slow to start";

/// A record that a server failed to start, and why.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FailedStart {
    /// Fingerprint of the configuration that was used: with another configuration the server may start.
    fingerprint: String,
    pub(super) why: String,
}

impl FailedStart {
    pub(super) fn new(fingerprint: &str, why: &str) -> Self {
        Self { fingerprint: fingerprint.to_owned(), why: cut(why, 500) }
    }

    /// Reads the record stored beside the file with the server's tools, if it is recent enough.
    #[expect(clippy::disallowed_methods, reason = "how old a file is, only the clock can tell")]
    pub(super) fn load(path: &Path, fingerprint: &str) -> Option<Self> {
        let path = path.with_extension("absent");
        let age = SystemTime::now().duration_since(std::fs::metadata(&path).ok()?.modified().ok()?);
        let kept: Self = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        // If the clock was set back, the age is an error, and the record counts as old.
        let is_fresh = age.is_ok_and(|age| age < REMEMBERED);
        (is_fresh && kept.fingerprint == fingerprint).then_some(kept)
    }

    /// Stores the record. If it is lost, that costs only time.
    pub(super) fn save(&self, path: &Path) {
        let _ = replace_private(&path.with_extension("absent"), &serde_json::to_vec(self).unwrap_or_default());
    }

    /// Removes the record, because the server has started.
    pub(super) fn forget(path: &Path) {
        let _ = std::fs::remove_file(path.with_extension("absent"));
    }
}

/// The state of the server's start.
impl Server {
    /// Whether it is being started or connected to at the moment.
    pub fn is_starting(&self) -> bool {
        self.connecting.try_lock().is_err()
    }

    /// The last line that its process wrote to its log.
    pub fn last_words(&self) -> Option<String> {
        self.host.last_words_of(&self.config.name).map(|words| self.config.hide(&words))
    }

    /// Why its tools are not known yet.
    pub fn why_absent(&self) -> String {
        let last = self.health().last.map(|error| error.to_string());
        let before = || self.absence().map(|absence| format!("as a short while ago, {}", absence.why));
        last.or_else(before).unwrap_or_else(|| SLOW.to_owned())
    }

    /// The record of its last failed start, if that was recent.
    pub(super) fn absence(&self) -> Option<FailedStart> {
        FailedStart::load(&self.host.memory_of(&self.config)?, &self.config.fingerprint)
    }

    /// Records that it was waited for and did not start.
    pub(super) fn note_absence(&self) {
        let why = self.health().last.map_or_else(|| SLOW.to_owned(), |error| error.to_string());
        if let Some(path) = self.host.memory_of(&self.config) {
            FailedStart::new(&self.config.fingerprint, &why).save(&path);
        }
    }
}
