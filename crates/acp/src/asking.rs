//! Questions of runs to the person at the editor: approvals of calls, choices, and forms.

use std::path::Path;

use serde_json::{Value, json};
use updraft_run::{ApprovalScope, Verdict};
use updraft_workbench::Fault;
use updraft_workbench::history::QuestionEntry;
use updraft_workbench::service::LiveRuns;

use crate::calls;
use crate::channel::EditorReply;
use crate::handshake::EditorAbilities;

/// Who decides what comes from an editor.
pub(crate) const EDITOR: &str = "the editor";

/// A question that an editor can put to the person.
#[derive(Clone, Debug)]
pub(crate) struct EditorQuestion {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    question: QuestionEntry,
}

/// What came of a question.
pub(crate) enum QuestionOutcome {
    /// The run has the answer.
    Passed,
    /// The run does not take this answer, or has another one.
    Refused,
    /// The turn is to be cancelled.
    Cancelled,
}

impl EditorQuestion {
    /// The request for a question. `None` if the editor can only show it: then the next prompt answers it.
    pub(crate) fn of(
        session: &str,
        call: &str,
        question: &QuestionEntry,
        editor: EditorAbilities,
        folder: &Path,
    ) -> Option<Self> {
        let (method, mut params) = if question.is_approval || !question.options.is_empty() && !editor.has_forms {
            let options = if question.is_approval { approvals(question) } else { choices(question) };
            let call = subject(call, question, folder);
            ("session/request_permission", json!({ "toolCall": call, "options": options }))
        } else if editor.has_forms {
            let form = question.form.clone().unwrap_or_else(|| form(question));
            let message = question.text.as_str();
            ("elicitation/create", json!({ "mode": "form", "message": message, "requestedSchema": form }))
        } else {
            return None;
        };
        params["sessionId"] = json!(session);
        Some(Self { method, params, question: question.clone() })
    }

    /// Passes the reply of the editor on to the run.
    pub(crate) async fn pass(self, runs: &LiveRuns, run: &str, reply: EditorReply) -> QuestionOutcome {
        let passed = match reply {
            Ok(reply) if self.method == "elicitation/create" => self.fill(runs, run, &reply).await,
            Ok(reply) => match reply["outcome"]["optionId"].as_str() {
                Some(option) => self.choose(runs, run, option).await,
                None => return QuestionOutcome::Cancelled,
            },
            Err(failure) => self.refuse(runs, run, format!("the editor cannot ask: {}", failure.message)).await,
        };
        match passed {
            Ok(()) => QuestionOutcome::Passed,
            Err(fault) => {
                // Somebody else was quicker, or it does not fit: the journal says what holds.
                tracing::debug!(fault = fault.in_one_line(), "an answer of an editor was not taken");
                QuestionOutcome::Refused
            }
        }
    }

    async fn choose(&self, runs: &LiveRuns, run: &str, option: &str) -> Result<(), Fault> {
        let id = self.question.address.to_string();
        if !self.question.is_approval {
            let chosen = option.strip_prefix("choice-").and_then(|n| n.parse::<usize>().ok());
            return match chosen.and_then(|n| self.question.options.get(n)) {
                Some(text) => runs.answer(run, Some(&id), text.clone()).await.map(drop),
                None => runs.decline(run, &id, EDITOR).await.map(drop),
            };
        }
        let (allow, always) = match option {
            "allow" => (true, None),
            "allow-run" => (true, Some(ApprovalScope::Run)),
            "allow-workspace" => (true, Some(ApprovalScope::Workspace)),
            _ => (false, None),
        };
        let verdict = Verdict { allow, by: EDITOR.to_owned(), always, ..Verdict::default() };
        runs.decide(run, Some(&id), verdict).await.map(drop)
    }

    async fn fill(&self, runs: &LiveRuns, run: &str, reply: &Value) -> Result<(), Fault> {
        let id = self.question.address.to_string();
        let (content, is_form) = (&reply["content"], self.question.form.is_some());
        match (reply["action"].as_str(), content["answer"].as_str()) {
            (Some("accept"), _) if is_form => runs.answer(run, Some(&id), content.to_string()).await.map(drop),
            (Some("accept"), Some(text)) => runs.answer(run, Some(&id), text.to_owned()).await.map(drop),
            _ => runs.decline(run, &id, EDITOR).await.map(drop),
        }
    }

    async fn refuse(&self, runs: &LiveRuns, run: &str, because: String) -> Result<(), Fault> {
        let id = self.question.address.to_string();
        if self.question.is_approval {
            let verdict = Verdict { allow: false, by: EDITOR.to_owned(), because, ..Verdict::default() };
            runs.decide(run, Some(&id), verdict).await.map(drop)
        } else {
            runs.decline(run, &id, EDITOR).await.map(drop)
        }
    }
}

/// What the person is asked about.
fn subject(id: &str, question: &QuestionEntry, folder: &Path) -> Value {
    let mut text = question.text.clone();
    if !question.origins.is_empty() {
        text = format!("{text}\n\nText from {} could misuse it.", question.origins.in_words());
    }
    let content = json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
    match &question.call {
        Some(call) => json!({
            "toolCallId": id, "title": calls::title(&call.name, &call.args), "kind": calls::kind(&call.name),
            "status": "pending", "rawInput": call.args, "content": content,
            "locations": calls::locations(folder, &call.args),
        }),
        None => {
            json!({ "toolCallId": id, "title": question.text, "kind": "other", "status": "pending", "content": content })
        }
    }
}

fn option(id: &str, name: &str, kind: &str) -> Value {
    json!({ "optionId": id, "name": name, "kind": kind })
}

fn approvals(question: &QuestionEntry) -> Vec<Value> {
    let rules = question.always.join(", ");
    let mut options = vec![option("allow", "Allow once", "allow_once")];
    if !rules.is_empty() || question.always_in_run.is_some() {
        let like = question.always_in_run.as_deref().unwrap_or(&rules);
        options.push(option("allow-run", &format!("Always in this run: {like}"), "allow_always"));
    }
    if !rules.is_empty() {
        options.push(option("allow-workspace", &format!("Always in this folder: {rules}"), "allow_always"));
    }
    options.push(option("reject", "Reject", "reject_once"));
    options
}

fn choices(question: &QuestionEntry) -> Vec<Value> {
    let choice = |(n, text): (usize, &String)| option(&format!("choice-{n}"), text, "allow_once");
    let mut options: Vec<Value> = question.options.iter().enumerate().map(choice).collect();
    options.push(option("decline", "Do not answer", "reject_once"));
    options
}

fn form(question: &QuestionEntry) -> Value {
    let mut answer = json!({ "type": "string", "title": "Answer" });
    if !question.options.is_empty() {
        answer["enum"] = json!(question.options);
    }
    json!({ "type": "object", "properties": { "answer": answer }, "required": ["answer"] })
}
