//! Runs that need a person: what the client is told, and how what it says next is understood.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use updraft_run::{RunId, Verdict};
use updraft_workbench::service::{LiveRuns, PendingQuestion};

use super::failure::OpenAiFailure;
use crate::page::words;
use crate::wait_words::{decision, question};

/// How the last line of a text begins that says which run waits. A client that keeps its conversation itself sends it
/// back with its next message.
const MARK: &str = "[run ";

/// What a client is told about a run that waits for a person.
pub(super) fn asked(run: &RunId, waits: &[PendingQuestion], origin: &str) -> String {
    let mut text: Vec<String> = waits.iter().map(question).collect();
    text.push(marked(run, "waits for your answer, here as the next message, or at", origin));
    text.join("\n\n")
}

/// The same with a seal at its end, for clients that keep nothing but this text.
pub(super) fn asked_sealed(run: &RunId, waits: &[PendingQuestion], origin: &str, key: &[u8]) -> String {
    let text = asked(run, waits, origin);
    format!("{}; {}]", text.trim_end_matches(']'), seal(run, waits, key))
}

/// What only this server can write about a question. Without it, the text of a model that read a page could have the next
/// message of its user taken for the answer to another run.
fn seal(run: &RunId, waits: &[PendingQuestion], key: &[u8]) -> String {
    let asked: Vec<&str> = waits.iter().map(|wait| wait.id.as_str()).collect();
    let about = format!("{run} {}", asked.join(" "));
    let mut seal = words::hex(&Sha256::digest([key, about.as_bytes()].concat()));
    seal.truncate(32);
    seal
}

/// Whether a seal is ours, and about the questions that wait now.
pub(super) fn is_sealed(run: &RunId, waits: &[PendingQuestion], key: &[u8], shown: &str) -> bool {
    seal(run, waits, key).as_bytes().ct_eq(shown.as_bytes()).into()
}

/// What a client is told about a run that rests until somebody resumes it.
pub(super) fn stopped(run: &RunId, why: &str, origin: &str) -> String {
    format!("The run has stopped: {why}.\n\n{}", marked(run, "can be resumed at", origin))
}

fn marked(run: &RunId, how: &str, origin: &str) -> String {
    format!("{MARK}{run} {how} {origin}/runs/{run}]")
}

/// The run that an answer said to be waiting, and the seal on that.
pub(super) fn run_in(answer: &str) -> Option<(&str, &str)> {
    let line = answer.trim_end().lines().next_back()?.strip_prefix(MARK)?.strip_suffix(']')?;
    let (run, rest) = line.split_once(' ')?;
    let (_, seal) = rest.strip_prefix("waits ")?.rsplit_once("; ")?;
    Some((run, seal))
}

/// What a client says to a run that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WaitReply {
    /// A text: the answer to the first question, or `approve` or `deny`.
    Text(String),
    /// A decision about one call, by the address of its approval.
    Decision {
        /// Which approval.
        id: String,
        /// Whether the call may be made.
        allow: bool,
        /// Why.
        because: String,
    },
}

impl WaitReply {
    /// The decision in an item `mcp_approval_response`.
    pub(super) fn of_item(item: &Value, param: &str) -> Result<Self, OpenAiFailure> {
        let id = item["approval_request_id"].as_str().and_then(|id| id.strip_prefix("mcpr_"));
        let (Some(id), Some(allow)) = (id, item["approve"].as_bool()) else {
            let message = "an approval has `approval_request_id`, as the request had it, and `approve`";
            return Err(OpenAiFailure::invalid(param, message));
        };
        Ok(Self::Decision { id: id.to_owned(), allow, because: item["reason"].as_str().unwrap_or_default().to_owned() })
    }

    /// Passes it on to the run.
    pub(super) async fn give(
        self,
        runs: &LiveRuns,
        run: &RunId,
        waits: &[PendingQuestion],
        by: &str,
    ) -> Result<(), OpenAiFailure> {
        let (id, allow, because) = match self {
            WaitReply::Decision { id, allow, because } => (id, allow, because),
            WaitReply::Text(text) => {
                let first = waits.first().ok_or_else(|| {
                    OpenAiFailure::invalid("input", format!("run {run} does not wait for an answer any more"))
                })?;
                if !first.is_approval {
                    runs.answer(run.as_str(), Some(&first.id), text).await?;
                    return Ok(());
                }
                let (allow, because) = decision(&text).ok_or_else(|| {
                    OpenAiFailure::invalid("input", "the run asks for an approval: answer `approve` or `deny`")
                })?;
                (first.id.clone(), allow, because)
            }
        };
        let verdict = Verdict { allow, by: by.to_owned(), because, ..Verdict::default() };
        runs.decide(run.as_str(), Some(&id), verdict).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_sends_the_question_back_names_the_run() {
        let run = RunId::from_bits([7; 10]);
        let wait = PendingQuestion {
            id: "a/0/0/question.0".into(),
            is_approval: false,
            text: "Which colour?".into(),
            options: vec!["red".into(), "blue".into()],
            call: Value::Null,
            form: None,
            is_inquiry: false,
        };
        let (waits, key, origin) = ([wait], b"key".as_slice(), "http://127.0.0.1:7717");
        let text = asked_sealed(&run, &waits, origin, key);
        assert!(text.starts_with("Which colour? (red / blue)\n\n[run "), "{text}");
        let (named, seal) = run_in(&text).unwrap();
        assert!(named == run.as_str() && is_sealed(&run, &waits, key, seal), "{text}");
        // Neither of another question, nor of another run, nor of another server, nor made up.
        let other = [PendingQuestion { id: "a/0/1/question.0".into(), ..waits[0].clone() }];
        assert!(!is_sealed(&run, &other, key, seal) && !is_sealed(&RunId::from_bits([8; 10]), &waits, key, seal));
        assert!(!is_sealed(&run, &waits, b"other", seal) && !is_sealed(&run, &waits, key, ""));
        let (unsealed, paused) = (asked(&run, &waits, origin), stopped(&run, "it is paused; x", origin));
        for text in [unsealed.as_str(), paused.as_str(), "", "[run x waits; y]\nMore."] {
            assert_eq!(run_in(text), None, "{text}");
        }
    }
}
