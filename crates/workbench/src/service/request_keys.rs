//! Requests that a client may send again: a key leads to the same run each time, also after a restart.
//!
//! The run's id is stored with the key before the run begins. If the process ends in between, the same request starts the
//! run under that id.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use updraft_journal::{Change, StoredValue};
use updraft_run::RunId;

use super::runs::LiveRuns;
use crate::fault::Fault;
use crate::journal::new_id;

/// Where keys are stored, for how long, and how many.
const SCOPE: &str = "request keys ";
pub(super) const KEPT_FOR: Duration = Duration::from_hours(7 * 24);
pub(super) const MOST_KEPT: usize = 10_000;

/// What a request with a key leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyedRun {
    /// A run that is to be started under this id.
    ToStart(RunId),
    /// The run that the same request has started before.
    Known(RunId),
    /// The key was used for another request.
    OtherRequest,
}

/// What is stored with a key.
#[derive(Serialize, Deserialize)]
struct StoredRequest {
    /// What the request was, as a hash.
    request: String,
    run: RunId,
}

impl LiveRuns {
    /// The run of a request with a key. The caller starts no other run with the same key in the meantime.
    pub async fn keyed_run(&self, key: &str, request: &str) -> Result<KeyedRun, Fault> {
        if self.has_answer(key)? {
            return Ok(KeyedRun::OtherRequest);
        }
        let new = StoredRequest { request: request.to_owned(), run: new_id()? };
        let text = serde_json::to_string(&new).map_err(|error| Fault::failed(error.to_string()))?;
        let first = move |known: Option<StoredValue>| match known {
            Some(known) => (Change::Nothing, known.value),
            None => (Change::Set(text.clone()), text.clone()),
        };
        let scope = format!("{SCOPE}{}", self.workspace());
        let known = self.journal().change_stored(&scope, key, first).await?;
        let stored: StoredRequest =
            serde_json::from_str(&known).map_err(|error| Fault::failed(format!("a key cannot be read: {error}")))?;
        if stored.request != request {
            if self.journal().head(&stored.run).is_ok() {
                return Ok(KeyedRun::OtherRequest);
            }
            // Nothing came of the other request, because it was refused: the one that is right now has the key.
            let text = serde_json::to_string(&new).map_err(|error| Fault::failed(error.to_string()))?;
            let instead = move |now: Option<StoredValue>| match now {
                Some(now) if now.value != known => (Change::Nothing, KeyedRun::OtherRequest),
                _ => (Change::Set(text.clone()), KeyedRun::ToStart(new.run.clone())),
            };
            return Ok(self.journal().change_stored(&scope, key, instead).await?);
        }
        if stored.run == new.run {
            self.journal().sweep_stored(&scope, KEPT_FOR, MOST_KEPT).await?;
        }
        let is_known = self.journal().head(&stored.run).is_ok();
        Ok(if is_known { KeyedRun::Known(stored.run) } else { KeyedRun::ToStart(stored.run) })
    }

    /// Whether a key was used for a request that starts a run.
    pub(super) fn has_run(&self, key: &str) -> Result<bool, Fault> {
        Ok(self.journal().stored(&format!("{SCOPE}{}", self.workspace()), key)?.is_some())
    }
}
