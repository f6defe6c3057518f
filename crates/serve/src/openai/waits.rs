//! Runs that need a person: what the client is told, and how what it says next is understood.

use serde_json::Value;
use updraft_run::{RunId, Verdict};
use updraft_workbench::service::{LiveRuns, PendingQuestion};

use super::failure::OpenAiFailure;

/// How the last line of a text begins that says which run waits. A client that keeps its conversation itself sends it
/// back with its next message.
const MARK: &str = "[run ";

/// What a client is told about a run that waits for a person.
pub(super) fn asked(run: &RunId, waits: &[PendingQuestion], origin: &str) -> String {
    let mut text: Vec<String> = waits.iter().map(question).collect();
    text.push(marked(run, "waits for your answer, here as the next message, or at", origin));
    text.join("\n\n")
}

/// What a client is told about a run that rests until somebody resumes it.
pub(super) fn stopped(run: &RunId, why: &str, origin: &str) -> String {
    format!("The run has stopped: {why}.\n\n{}", marked(run, "can be resumed at", origin))
}

fn marked(run: &RunId, how: &str, origin: &str) -> String {
    format!("{MARK}{run} {how} {origin}/runs/{run}]")
}

fn question(wait: &PendingQuestion) -> String {
    if wait.is_approval {
        let (name, arguments) = (tool(wait), &wait.call["args"]);
        return format!(
            "May the run call `{name}` with `{arguments}`? It asks because {}. Answer `approve` or `deny`.",
            wait.text.trim_end_matches('.')
        );
    }
    match wait.options.as_slice() {
        [] => wait.text.clone(),
        options => format!("{} ({})", wait.text, options.join(" / ")),
    }
}

/// The tool that is to be called.
pub(super) fn tool(wait: &PendingQuestion) -> &str {
    wait.call["name"].as_str().unwrap_or("a tool")
}

/// The run that an answer of ours said to be waiting.
pub(super) fn run_in(answer: &str) -> Option<&str> {
    let line = answer.trim_end().lines().next_back()?.strip_prefix(MARK)?.strip_suffix(']')?;
    let (run, rest) = line.split_once(' ')?;
    rest.starts_with("waits ").then_some(run)
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

/// Whether a text approves or denies, and what it adds to that.
fn decision(text: &str) -> Option<(bool, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let allow = match word.to_lowercase().as_str() {
        "approve" | "approved" | "allow" | "yes" => true,
        "deny" | "denied" | "no" => false,
        _ => return None,
    };
    Some((allow, rest.trim_start_matches(|c: char| !c.is_alphanumeric()).to_owned()))
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
        let text = asked(&run, &[wait], "http://127.0.0.1:7717");
        assert!(text.starts_with("Which colour? (red / blue)\n\n[run "), "{text}");
        assert_eq!(run_in(&text), Some(run.as_str()));
        assert_eq!(run_in(&stopped(&run, "a person paused it", "http://x")), None);
        assert_eq!(run_in("[run x waits for your answer]\nAnd more."), None);
        assert_eq!(run_in(""), None);
    }

    #[test]
    fn an_approval_is_given_by_its_first_word() {
        assert_eq!(decision("Approve"), Some((true, String::new())));
        assert_eq!(decision(" no: it is too large "), Some((false, "it is too large".to_owned())));
        assert_eq!(decision("perhaps"), None);
        assert_eq!(decision("notable"), None);
    }
}
