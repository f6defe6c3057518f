//! Calls from code: a running tool requests a call, and receives its reply once the reply is on disk.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use updraft_run::{
    EffectAddress, EffectClass, Event, Input, Inquiry, PreparedCall, Record, Reply, RowOfEdits, ToolCall,
};
use updraft_tools::{ASK_MODEL, Caller, Consultation, RunContext};

use super::next_inputs::refuse_deep;
use super::{QueuedInput, RunDriver};
use crate::earlier_turns::replaced_turns;
use crate::history::{EndedStep, PastStep, behind};
use crate::kept_output::kept_output;
use crate::perform::EffectPerformer;

/// How many requests may wait at the same time; further senders wait.
pub(super) const MOST_REQUESTS: usize = 256;

/// What a running call asks for, and the channel for the reply.
pub(crate) struct CallRequest {
    under: EffectAddress,
    what: CallRequestKind,
    reply_to: oneshot::Sender<Reply>,
}

/// What a call may ask for.
enum CallRequestKind {
    /// Another call, on behalf of code.
    Call(ToolCall),
    /// A person's answer.
    Answer(Box<Inquiry>),
    /// A model's answer.
    Consultation(Box<Consultation>),
    /// To record a handle by which it can be found again.
    Note(String),
}

/// Given to a call so that its code can call tools.
struct CallRequestSender {
    under: EffectAddress,
    send: mpsc::Sender<CallRequest>,
    performer: Arc<dyn EffectPerformer>,
    workspace: String,
}

impl CallRequestSender {
    async fn request(&self, what: CallRequestKind) -> Reply {
        let (reply_to, reply) = oneshot::channel();
        let request = CallRequest { under: self.under.clone(), what, reply_to };
        // A closed channel means that the run continues without this call.
        if self.send.send(request).await.is_err() {
            return Reply::Cancelled;
        }
        reply.await.unwrap_or(Reply::Cancelled)
    }
}

impl Caller for CallRequestSender {
    fn call(&self, call: ToolCall) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        Box::pin(self.request(CallRequestKind::Call(call)))
    }

    fn inquire(&self, inquiry: Inquiry) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        Box::pin(self.request(CallRequestKind::Answer(inquiry.into())))
    }

    fn consult(&self, consultation: Consultation) -> Pin<Box<dyn Future<Output = Reply> + Send + '_>> {
        Box::pin(self.request(CallRequestKind::Consultation(consultation.into())))
    }

    fn note(&self, handle: String) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        Box::pin(async move { matches!(self.request(CallRequestKind::Note(handle)).await, Reply::Said(_)) })
    }

    fn class(&self, call: &ToolCall) -> EffectClass {
        let prepared = self.performer.prepare(&self.workspace, call);
        // The name may be a short form; the tool is resolved when it is called.
        if prepared.fault.is_some() { EffectClass::Opaque } else { prepared.class }
    }
}

impl RunDriver {
    /// Turns a request into an input for the run, after preparing the call.
    pub(super) fn take_request(&self, request: CallRequest) -> Option<QueuedInput> {
        let CallRequest { under, what, reply_to } = request;
        if self.engine.stop.is_cancelled() {
            // It could not begin any more. It does not matter if the code no longer waits.
            let _ = reply_to.send(Reply::Cancelled);
            return None;
        }
        let input = match what {
            CallRequestKind::Call(mut call) => {
                refuse_deep(&mut call);
                self.name_in_full(&under.step, &mut call);
                let prepared = Box::new(self.look_at(&under.step, &call));
                Input::Wished { under, call, prepared }
            }
            CallRequestKind::Answer(inquiry) => {
                let call = made_for(&inquiry.from, "question", json!({}));
                let prepared = PreparedCall { inquiry: Some(inquiry), ..PreparedCall::default() };
                Input::Wished { under, call, prepared: prepared.into() }
            }
            CallRequestKind::Consultation(wanted) => self.consultation(under, *wanted),
            CallRequestKind::Note(handle) => Input::Noted { id: under, handle },
        };
        Some(QueuedInput { reply_to: Some(reply_to), ..QueuedInput::from(input) })
    }

    /// A question to a model, as a call that names the model. The user has allowed this for the one who asks.
    fn consultation(&self, under: EffectAddress, wanted: Consultation) -> Input {
        let own = self.run.model_of(&under.step).to_owned();
        let named = wanted.model.as_ref();
        let mut args = json!({ "system": wanted.system, "max_tokens": wanted.max_tokens });
        args["messages"] = wanted.messages.iter().map(|(role, text)| json!({ "role": role, "text": text })).collect();
        args["model"] = json!(named.unwrap_or(&own));
        args["question"] = json!(wanted.messages.last().map(|(_, text)| text.as_str()).unwrap_or_default());
        let call = made_for(&wanted.from, ASK_MODEL, args);
        // The step's own model was already chosen by the user. Another model is looked up like one that an agent asks
        // for.
        let known = named.map(|_| self.look_at(&under.step, &call));
        let prepared = known.unwrap_or_else(|| PreparedCall { model: Some(own), ..PreparedCall::default() });
        let prepared = PreparedCall { on_behalf_of: Some(wanted.from), ..prepared };
        Input::Wished { under, call, prepared: prepared.into() }
    }

    /// Remembers who waits for the reply to a request, or replies at once why there will be none.
    pub(super) fn remember(&mut self, reply_to: oneshot::Sender<Reply>, record: &Record) {
        let event = record.events.first();
        // A question from an earlier attempt is still open: the new attempt waits for the same answer.
        if let Some(Event::Wished { id, .. } | Event::Awaited { id }) = event {
            self.code.listening.insert(id.clone(), reply_to);
        } else if let Input::Wished { under, prepared, .. } = &record.input {
            let waits = prepared.inquiry.as_ref().and_then(|inquiry| self.run.inquired(under, inquiry));
            match waits {
                Some(id) => drop(self.code.listening.insert(id, reply_to)),
                None => drop(reply_to.send(self.run.unheard(under))),
            }
        } else if let Input::Noted { id, .. } = &record.input {
            // A call that has ended needs no handle any more: it is told that none was recorded.
            let is_noted = matches!(event, Some(Event::Noted { .. })) || self.run.open().contains_key(id);
            if is_noted {
                self.code.noted.push(reply_to);
            }
        }
    }

    /// The replies that code will receive once these records are on disk.
    pub(super) fn news_for_code(&mut self, records: &[Record]) -> Vec<(oneshot::Sender<Reply>, Reply)> {
        if self.code.listening.is_empty() {
            return Vec::new();
        }
        let events = records.iter().flat_map(|record| &record.events);
        let news = events.filter_map(|event| match event {
            Event::Replied { id, reply, .. } => Some((self.code.listening.remove(id)?, reply.clone())),
            Event::Rejected { id, why } => Some((self.code.listening.remove(id)?, Reply::Failed(why.clone()))),
            _ => None,
        });
        news.collect()
    }

    /// What a tool may know about the run. The variables are those its step began with, so that a resumed run sees the
    /// same.
    pub(super) fn run_context(&self, id: &EffectAddress) -> RunContext {
        let Some(step) = self.run.step(&id.step) else { return RunContext::default() };
        let variables = step.opening.as_ref().map(|opening| Arc::new(opening.inputs.clone())).unwrap_or_default();
        let (intent, context, before) =
            (self.run.goal().text.clone(), Arc::clone(&self.briefing.context.context), behind(&self.run, step));
        let told = move || {
            let history: Vec<PastStep> = before.iter().map(EndedStep::past_step).collect();
            context.to_json(&intent, &history)
        };
        let (journal, run, own) = (self.engine.journal.clone(), self.id.clone(), id.step.clone());
        let earlier = move || replaced_turns(&journal, &run, &own);
        let (journal, run, own) = (self.engine.journal.clone(), self.id.clone(), id.step.clone());
        let outputs = move |n| kept_output(&journal, &run, &own, n);
        let agent = self.briefing.kit.agent(&step.spec.agent);
        let caller = CallRequestSender {
            under: id.clone(),
            send: self.code.request_sender.clone(),
            performer: Arc::clone(&self.engine.performer),
            workspace: self.run.workspace_of(&id.step),
        };
        RunContext {
            run: self.id.to_string(),
            step: id.step.to_string(),
            agent: step.spec.agent.clone(),
            variables,
            context: Some(Arc::new(told)),
            read_rules: Arc::new(self.run.read_rules(&id.step)),
            tools: agent.map(|agent| Arc::clone(&agent.callable)).unwrap_or_default(),
            caller: Some(Arc::new(caller)),
            edits: if id.inner.is_none() { step.row_of_edits(id.n) } else { RowOfEdits::default() },
            by_code: id.inner.is_some(),
            reaches_outside: self.run.prepared(id).is_some_and(|prepared| prepared.outside),
            origins: self.run.origins_kept_by(id).names().to_vec(),
            trace: self.engine.trace_parent(&self.id, id),
            earlier: Some(Arc::new(earlier)),
            outputs: Some(Arc::new(outputs)),
            handle: self.run.open().get(id).and_then(|open| open.handle.clone()).filter(|handle| !handle.is_empty()),
        }
    }
}

/// A request from a server that is being called, in the form of a tool call.
fn made_for(from: &str, name: &str, args: Value) -> ToolCall {
    ToolCall { id: from.to_owned(), name: name.to_owned(), args, fault: None }
}
