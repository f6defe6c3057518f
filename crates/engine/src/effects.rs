//! The effects of one run that are being performed: started, listened to, stopped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio_util::sync::CancellationToken;
use updraft_models::Delta;
use updraft_run::{Address, Answer, Failure, FailureKind, Millis, Reply, ToolCall};
use updraft_tools::{Around, Called, Log};

use crate::consult::Question;
use crate::conversation::{Conversation, Way};
use crate::outage::{self, Patience, RenewableModel};
use crate::perform::{Doing, Given, Perform};

/// An effect that has ended.
pub(crate) struct Ended {
    pub(crate) id: Address,
    pub(crate) attempt: u32,
    pub(crate) what: What,
}

/// What it ended with.
pub(crate) enum What {
    /// A model call, and the conversation it was part of.
    Asked(Result<Answer, Reply>, Box<Conversation>),
    /// A tool call.
    Called(Called),
}

/// Listens to the parts of an answer.
pub(crate) type Listener = Box<dyn FnMut(Delta<'_>) + Send>;

/// The effects at work. Dropping it stops those that can be dropped.
#[derive(Default)]
pub(crate) struct Effects {
    running: FuturesUnordered<Doing<'static, Ended>>,
    stops: BTreeMap<Address, CancellationToken>,
    /// Ends the waits for models that are not available.
    hurry: CancellationToken,
}

impl Effects {
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether this effect is being performed.
    pub(crate) fn has(&self, id: &Address) -> bool {
        self.stops.contains_key(id)
    }

    /// The next effect that ends. May be dropped: nothing is lost.
    pub(crate) async fn next(&mut self) -> Option<Ended> {
        let ended = self.running.next().await?;
        self.stops.remove(&ended.id);
        Some(ended)
    }

    /// Asks a model.
    pub(crate) fn ask(&mut self, id: Address, attempt: u32, asking: Asking) {
        let (stop, hurry) = (self.stop_for(&id), self.hurry.clone());
        self.running.push(Box::pin(async move {
            let Asking { model, mut conversation, way, mut hear, limit } = asking;
            let (prompt, draft) = conversation.parts(way);
            let patience = Patience { limit, hurry };
            let answer = tokio::select! {
                answer = outage::ask(model, &prompt, draft, &mut hear, &patience) => answer,
                () = stop.cancelled() => Err(Reply::Cancelled),
            };
            Ended { id, attempt, what: What::Asked(answer, conversation) }
        }));
    }

    /// Whether models that are not available are waited for. Where not, those waits end that are under way.
    pub(crate) fn let_wait(&mut self, waits: bool) {
        match (waits, self.hurry.is_cancelled()) {
            (true, true) => self.hurry = CancellationToken::new(),
            (false, false) => self.hurry.cancel(),
            (true, false) | (false, true) => {}
        }
    }

    /// Calls a tool.
    pub(crate) fn call(&mut self, id: Address, attempt: u32, calling: Calling) {
        let stop = self.stop_for(&id);
        self.running.push(Box::pin(async move {
            let Calling { hands, workspace, call, key, around, log, output } = calling;
            let called = hands.call(&workspace, &call, Given { key, cancel: stop, around, log, output }).await;
            Ended { id, attempt, what: What::Called(called) }
        }));
    }

    /// Asks a model on an agent's behalf.
    pub(crate) fn consult(
        &mut self,
        id: Address,
        attempt: u32,
        model: RenewableModel,
        question: Question,
        hear: Listener,
    ) {
        let stop = self.stop_for(&id);
        self.running.push(Box::pin(async move {
            let called = tokio::select! {
                called = question.put_to(model, hear) => called,
                () = stop.cancelled() => Called::of(Reply::Cancelled),
            };
            Ended { id, attempt, what: What::Called(called) }
        }));
    }

    /// Tells those effects to stop that are no longer wanted.
    pub(crate) fn stop_unless(&self, wanted: impl Fn(&Address) -> bool) {
        self.stops.iter().filter(|(id, _)| !wanted(id)).for_each(|(_, stop)| stop.cancel());
    }

    /// Gives up on what still runs, and tells what that was.
    pub(crate) fn give_up(&mut self) -> Vec<Address> {
        self.running = FuturesUnordered::new();
        std::mem::take(&mut self.stops).into_keys().collect()
    }

    fn stop_for(&mut self, id: &Address) -> CancellationToken {
        // What code called stops with the code.
        let outer = id.outer().and_then(|outer| self.stops.get(&outer));
        let stop = outer.map_or_else(CancellationToken::new, CancellationToken::child_token);
        self.stops.insert(id.clone(), stop.clone());
        stop
    }
}

/// Everything a model call needs.
pub(crate) struct Asking {
    pub(crate) model: RenewableModel,
    pub(crate) conversation: Box<Conversation>,
    pub(crate) way: Way,
    pub(crate) hear: Listener,
    /// How long it is waited for where it is not available.
    pub(crate) limit: Duration,
}

/// Everything a tool call needs.
pub(crate) struct Calling {
    pub(crate) hands: Arc<dyn Perform>,
    pub(crate) workspace: String,
    pub(crate) call: ToolCall,
    pub(crate) key: String,
    pub(crate) around: Around,
    pub(crate) log: Log,
    pub(crate) output: Log,
}

/// A model's error as the run hears it.
pub(crate) fn failed(error: &updraft_models::Error) -> Reply {
    // What was written before it broke off may be billed: the run keeps the account and decides.
    if let updraft_models::Error::Broken { again, .. } = error {
        let evidence = error.to_string();
        let failed = |evidence| Reply::Failed(Failure::new(FailureKind::InDoubt, evidence));
        return if *again { Reply::InDoubt { evidence } } else { failed(evidence) };
    }
    if let updraft_models::Error::Silent { limit, .. } = error {
        return Reply::TimedOut { limit: Millis(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)) };
    }
    let kind = match error {
        updraft_models::Error::Config { .. }
        | updraft_models::Error::Unknown { .. }
        | updraft_models::Error::Refused { .. } => FailureKind::Config,
        _ => FailureKind::Model,
    };
    let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
    Reply::Failed(Failure::new(kind, format!("{error}{hint}")))
}
