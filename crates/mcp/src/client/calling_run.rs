//! Answers the requests that a server makes during a call: they go to the run that makes the call, and from there to
//! its user or its models.

#![expect(deprecated, reason = "sampling is deprecated, but servers still use it")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{CreateMessageRequestParams, CreateMessageResult, ElicitResult, ElicitationAction};
use serde_json::{Value, json};
use updraft_run::{Inquiry, Reply};
use updraft_tools::{Caller, Consultation};

use super::clock::CallClock;
use super::handler::accept;
use super::host::ElicitationKind;
use crate::config::Sampling;

/// Maximum bytes of a form or of a handle. A larger form is not one that a person fills in, and a larger handle is not
/// worth keeping.
pub(super) const LARGEST: usize = 64 << 10;
/// Maximum number of messages in one sampling request.
const MESSAGES: usize = 100;

/// The run that makes a call, as far as a server may ask something of it.
#[derive(Clone)]
pub(super) struct CallingRun {
    pub(super) run: String,
    pub(super) caller: Arc<dyn Caller>,
}

impl CallingRun {
    /// Puts a server's question to the run's user. `key` is the server's own name for the question, if it has one.
    pub(super) async fn elicit(&self, server: &str, text: String, wanted: ElicitationKind, key: &str) -> ElicitResult {
        let (form, url) = match wanted {
            ElicitationKind::Form(form) => (Some(form), None),
            ElicitationKind::Url(url) => (None, Some(url)),
        };
        let is_too_large = form.as_ref().is_some_and(|form| form.to_string().len() > LARGEST);
        if is_too_large || url.as_ref().is_some_and(|url| url.len() > LARGEST) || key.len() > LARGEST {
            return ElicitResult::new(ElicitationAction::Decline);
        }
        let inquiry = Inquiry { from: named(server), text, form: form.clone(), url, key: Some(key.to_owned()) };
        match (self.caller.inquire(inquiry).await, form) {
            (Reply::Said(said), Some(form)) => {
                let given = serde_json::from_str(&said).unwrap_or(Value::Null);
                accept(&form, given).unwrap_or_else(|| ElicitResult::new(ElicitationAction::Decline))
            }
            (Reply::Said(_), None) => ElicitResult::new(ElicitationAction::Accept),
            // Refused without asking: the call was made by code, or the server has asked too often.
            (Reply::Verdict(_) | Reply::Failed(_), _) => ElicitResult::new(ElicitationAction::Decline),
            (_, _) => ElicitResult::new(ElicitationAction::Cancel),
        }
    }

    /// Lets a model of the run answer a sampling request; the run pays for it.
    pub(super) async fn sample(
        &self,
        server: &str,
        setting: &Sampling,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, String> {
        let wanted = serde_json::to_value(params).map_err(|error| error.to_string())?;
        let consultation = consultation(server, setting, &wanted)?;
        match self.caller.consult(consultation).await {
            Reply::Output(output) => {
                let told = output.value.clone().unwrap_or_default();
                let result = json!({
                    "role": "assistant", "content": { "type": "text", "text": output.text },
                    "model": told["model"], "stopReason": told["stopReason"],
                });
                serde_json::from_value(result).map_err(|error| error.to_string())
            }
            Reply::Failed(why) => Err(why.message),
            other => Err(format!(
                "no model answered: {}",
                updraft_run::outcome_words(&updraft_run::ToolCallOutcome::Replied(other))
            )),
        }
    }
}

/// The name of a server as users see it.
fn named(server: &str) -> String {
    format!("MCP server {server}")
}

/// Turns a server's sampling request into a question to a model. Only text is supported, within the user's limits.
fn consultation(server: &str, setting: &Sampling, wanted: &Value) -> Result<Consultation, String> {
    if wanted["tools"].as_array().is_some_and(|tools| !tools.is_empty()) {
        return Err("models are asked for words only, without tools".to_owned());
    }
    let said = wanted["messages"].as_array().filter(|said| (1..=MESSAGES).contains(&said.len()));
    let said = said.ok_or_else(|| format!("expected 1 to {MESSAGES} messages"))?;
    let mut messages = Vec::new();
    for message in said {
        let parts = match &message["content"] {
            Value::Array(parts) => parts.clone(),
            one => vec![one.clone()],
        };
        let words: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
        let words = words.ok_or("models are shown words only, no pictures or sounds")?;
        messages.push((message["role"].as_str().unwrap_or("user").to_owned(), words.join("\n")));
    }
    Ok(Consultation {
        from: named(server),
        model: setting.model.clone(),
        system: wanted["systemPrompt"].as_str().unwrap_or_default().to_owned(),
        messages,
        max_tokens: wanted["maxTokens"].as_u64().unwrap_or(u64::MAX),
    })
}

/// The calls in progress on one connection. A question from the server does not say which of them it belongs to.
#[derive(Clone, Default)]
pub(super) struct ActiveCalls(Arc<Mutex<(u64, ActiveCallMap)>>);

type ActiveCallMap = BTreeMap<u64, (Option<CallingRun>, Arc<CallClock>)>;

impl ActiveCalls {
    /// Counts a call as in progress until the guard is dropped.
    pub(super) fn enter(&self, asker: Option<CallingRun>, clock: Arc<CallClock>) -> ActiveCallGuard {
        let mut all = self.all();
        all.0 += 1;
        let key = all.0;
        all.1.insert(key, (asker, clock));
        ActiveCallGuard { all: self.clone(), key }
    }

    /// The run that answers a question which arrives now: the calling run, through its oldest call. Returns `None` if
    /// several runs are calling, because a question may belong to another run.
    pub(super) fn asker(&self) -> Option<CallingRun> {
        let all = self.all();
        let mut askers = all.1.values().filter_map(|(asker, _)| asker.as_ref());
        let first = askers.next()?;
        askers.all(|other| other.run == first.run).then(|| first.clone())
    }

    /// Stops the clocks of all calls until the guard is dropped, because a person is being asked.
    pub(super) fn stop_clocks(&self) -> ClockPause {
        let clocks: Vec<Arc<CallClock>> = self.all().1.values().map(|(_, clock)| Arc::clone(clock)).collect();
        for clock in &clocks {
            clock.stop();
        }
        ClockPause(clocks)
    }

    fn all(&self) -> MutexGuard<'_, (u64, ActiveCallMap)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The call counts as in progress while this guard lives.
pub(super) struct ActiveCallGuard {
    all: ActiveCalls,
    key: u64,
}

impl Drop for ActiveCallGuard {
    fn drop(&mut self) {
        self.all.all().1.remove(&self.key);
    }
}

/// The clocks are stopped while this guard lives.
pub(super) struct ClockPause(Vec<Arc<CallClock>>);

impl Drop for ClockPause {
    fn drop(&mut self) {
        for clock in &self.0 {
            clock.go_on();
        }
    }
}
