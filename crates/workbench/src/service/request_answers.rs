//! Requests that start no run and that a client may send again: what came of one is stored with its key, and given again
//! instead of doing it twice.
//!
//! A claim is stored before anything is done. If the process ends in between, the next who sends the request does it
//! again, and is told since when it may have been done already.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use updraft_journal::{Change, StoredValue};
use updraft_run::Timestamp;

use super::request_keys::{KEPT_FOR, MOST_KEPT};
use super::runs::LiveRuns;
use crate::fault::Fault;
use crate::time_format;

/// Where answers are stored.
const SCOPE: &str = "request answers ";
/// How long another service may take for a request before it counts as gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request with a key, and who carries it out.
#[derive(Clone, Debug)]
pub struct AnswerClaim {
    /// The key and whose it is, as a hash.
    pub key: String,
    /// What is asked for, as a hash.
    pub request: String,
    /// The service that carries it out. It does nothing else with this key in the meantime.
    pub by: String,
}

/// What a request with a key leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyedAnswer {
    /// It is to be carried out.
    ToDo {
        /// When it was begun before, if whoever did it did not get to the end.
        begun: Option<Timestamp>,
    },
    /// What came of it before.
    Known(Value),
    /// Another service is carrying it out.
    UnderWay,
    /// The key was used for another request.
    OtherRequest,
}

/// What is stored with a key.
#[derive(Serialize, Deserialize)]
struct StoredAnswer {
    request: String,
    by: String,
    begun: Timestamp,
    /// As text, since `null` is an answer too; absent until it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
}

impl AnswerClaim {
    /// What to do about the request, and what to store.
    fn decide(&self, known: Option<&StoredValue>, now: Timestamp) -> (Change, KeyedAnswer) {
        let parsed = known.and_then(|known| serde_json::from_str::<StoredAnswer>(&known.value).ok());
        let begun = match (parsed, known) {
            (Some(stored), _) if stored.request != self.request => return (Change::Nothing, KeyedAnswer::OtherRequest),
            (Some(StoredAnswer { answer: Some(answer), .. }), _) => {
                return (Change::Nothing, KeyedAnswer::Known(serde_json::from_str(&answer).unwrap_or_default()));
            }
            (Some(stored), Some(known)) if stored.by != self.by && known.age < PATIENCE => {
                return (Change::Nothing, KeyedAnswer::UnderWay);
            }
            (stored, _) => stored.map(|stored| stored.begun),
        };
        (self.stored(begun.unwrap_or(now), None), KeyedAnswer::ToDo { begun })
    }

    /// A change of what is stored, unless another service has taken the request over.
    fn if_own(&self, known: Option<&StoredValue>, change: Change) -> Change {
        let stored = known.and_then(|known| serde_json::from_str::<StoredAnswer>(&known.value).ok());
        if stored.is_some_and(|stored| stored.by != self.by) { Change::Nothing } else { change }
    }

    fn stored(&self, begun: Timestamp, answer: Option<&Value>) -> Change {
        let answer = answer.map(ToString::to_string);
        let stored = StoredAnswer { request: self.request.clone(), by: self.by.clone(), begun, answer };
        Change::Set(serde_json::to_string(&stored).unwrap_or_default())
    }
}

impl LiveRuns {
    fn answers(&self) -> String {
        format!("{SCOPE}{}", self.workspace())
    }

    /// Whether a key was used for a request that starts no run.
    pub(super) fn has_answer(&self, key: &str) -> Result<bool, Fault> {
        Ok(self.journal().stored(&self.answers(), key)?.is_some())
    }

    /// Claims a request: what came of it before, or that it is to be carried out now.
    pub async fn claim_answer(&self, claim: &AnswerClaim) -> Result<KeyedAnswer, Fault> {
        if self.has_run(&claim.key)? {
            return Ok(KeyedAnswer::OtherRequest);
        }
        let (scope, own, now) = (self.answers(), claim.clone(), time_format::now());
        let decided = move |known: Option<StoredValue>| own.decide(known.as_ref(), now);
        let decided = self.journal().change_stored(&scope, &claim.key, decided).await?;
        if decided == (KeyedAnswer::ToDo { begun: None }) {
            self.journal().sweep_stored(&scope, KEPT_FOR, MOST_KEPT).await?;
        }
        Ok(decided)
    }

    /// Stores what came of a request that was claimed.
    pub async fn keep_answer(&self, claim: &AnswerClaim, answer: &Value) -> Result<(), Fault> {
        let (own, answer, now) = (claim.clone(), answer.clone(), time_format::now());
        let change = move |known: Option<StoredValue>| (own.if_own(known.as_ref(), own.stored(now, Some(&answer))), ());
        Ok(self.journal().change_stored(&self.answers(), &claim.key, change).await?)
    }

    /// Gives a key free again, because nothing came of the request.
    pub async fn release_answer(&self, claim: &AnswerClaim) -> Result<(), Fault> {
        let own = claim.clone();
        let change = move |known: Option<StoredValue>| (own.if_own(known.as_ref(), Change::Remove), ());
        Ok(self.journal().change_stored(&self.answers(), &claim.key, change).await?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_is_taken_over_only_if_whoever_made_it_is_gone() {
        let claim = |by: &str| AnswerClaim { key: "k".into(), request: "r".into(), by: by.into() };
        let stored = |change: Change, age: u64| match change {
            Change::Set(value) => Some(StoredValue { value, age: Duration::from_secs(age) }),
            Change::Nothing | Change::Remove => None,
        };
        let (first, other) = (claim("one"), claim("two"));
        let (change, decided) = first.decide(None, Timestamp(1));
        assert_eq!(decided, KeyedAnswer::ToDo { begun: None });
        let fresh = stored(change.clone(), 1);
        assert_eq!(other.decide(fresh.as_ref(), Timestamp(2)), (Change::Nothing, KeyedAnswer::UnderWay));
        assert_eq!(first.decide(fresh.as_ref(), Timestamp(2)).1, KeyedAnswer::ToDo { begun: Some(Timestamp(1)) });
        let old = stored(change, 31);
        assert_eq!(other.decide(old.as_ref(), Timestamp(2)).1, KeyedAnswer::ToDo { begun: Some(Timestamp(1)) });
        // Whoever was taken for gone, and comes to its end after all, leaves the other's claim alone.
        let taken = stored(other.decide(old.as_ref(), Timestamp(2)).0, 1);
        assert_eq!(first.if_own(taken.as_ref(), Change::Remove), Change::Nothing);
        assert_eq!(other.if_own(taken.as_ref(), Change::Remove), Change::Remove);
        let mut done = None;
        for answer in [json!({ "paths": ["a"] }), Value::Null] {
            done = stored(first.stored(Timestamp(3), Some(&answer)), 1);
            assert_eq!(other.decide(done.as_ref(), Timestamp(4)), (Change::Nothing, KeyedAnswer::Known(answer)));
        }
        let another = AnswerClaim { request: "s".into(), ..claim("one") };
        assert_eq!(another.decide(done.as_ref(), Timestamp(4)), (Change::Nothing, KeyedAnswer::OtherRequest));
    }
}
