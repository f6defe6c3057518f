//! The running effects of one run: started, awaited, stopped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio_util::sync::CancellationToken;
use updraft_models::Delta;
use updraft_run::{EffectAddress, Failure, FailureKind, Millis, ModelAnswer, Reply, ToolCall, WindowSource};
use updraft_tools::{CallLog, CallResult, RunContext};

use crate::ask_model::ConsultRequest;
use crate::conversation::{AskOptions, Conversation};
use crate::outage::{self, OutageWait, RenewableModel};
use crate::perform::{CallEnvironment, EffectFuture, EffectPerformer};

/// An effect that has ended.
pub(crate) struct FinishedEffect {
    pub(crate) id: EffectAddress,
    pub(crate) attempt: u32,
    pub(crate) what: EffectResult,
}

/// The result of an effect.
pub(crate) enum EffectResult {
    /// A model call, the conversation it was part of, and what was found out about the model's window.
    Asked(Result<ModelAnswer, Reply>, Box<Conversation>, Option<FoundWindow>),
    /// A tool call.
    Called(CallResult),
}

/// Receives the parts of an answer as they arrive.
pub(crate) type DeltaListener = Box<dyn FnMut(Delta<'_>) + Send>;

/// The running effects. Dropping it stops those that can be dropped.
#[derive(Default)]
pub(crate) struct RunningEffects {
    running: FuturesUnordered<EffectFuture<'static, FinishedEffect>>,
    stops: BTreeMap<EffectAddress, CancellationToken>,
    /// Ends the waits for models that are not available.
    stop_waiting: CancellationToken,
}

impl RunningEffects {
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether this effect is being performed.
    pub(crate) fn has(&self, id: &EffectAddress) -> bool {
        self.stops.contains_key(id)
    }

    /// Waits for the next effect to end. Cancel-safe: dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<FinishedEffect> {
        let ended = self.running.next().await?;
        self.stops.remove(&ended.id);
        Some(ended)
    }

    /// Asks a model.
    pub(crate) fn ask(&mut self, id: EffectAddress, attempt: u32, asking: ModelCallSetup) {
        let (stop, stop_waiting) = (self.stop_for(&id), self.stop_waiting.clone());
        self.running.push(Box::pin(async move {
            let ModelCallSetup { model, wants_window, mut conversation, options, mut hear, limit, is_first } = asking;
            let asked_about = wants_window.then(|| Arc::clone(&model.model));
            let (prompt, draft) = conversation.parts(options);
            let patience = OutageWait { limit, is_first, stop_waiting };
            // Beside the question, so that no answer is kept waiting for it.
            let told = async {
                match asked_about {
                    Some(model) => model.window().await,
                    None => None,
                }
            };
            let asked = async { tokio::join!(outage::ask(model, &prompt, draft, &mut hear, &patience), told) };
            let (answer, told) = tokio::select! {
                asked = asked => asked,
                () = stop.cancelled() => (Err(Reply::Cancelled), None),
            };
            let window = FoundWindow::of(&answer, told);
            FinishedEffect { id, attempt, what: EffectResult::Asked(answer, conversation, window) }
        }));
    }

    /// Sets whether to wait for models that are not available. If not, current waits end.
    pub(crate) fn allow_waiting(&mut self, waits: bool) {
        match (waits, self.stop_waiting.is_cancelled()) {
            (true, true) => self.stop_waiting = CancellationToken::new(),
            (false, false) => self.stop_waiting.cancel(),
            (true, false) | (false, true) => {}
        }
    }

    /// Calls a tool.
    pub(crate) fn call(&mut self, id: EffectAddress, attempt: u32, calling: ToolCallSetup) {
        let stop = self.stop_for(&id);
        self.running.push(Box::pin(async move {
            let ToolCallSetup { performer, workspace, call, key, context: around, log, output } = calling;
            let called = performer
                .call(&workspace, &call, CallEnvironment { key, cancel: stop, context: around, log, output })
                .await;
            FinishedEffect { id, attempt, what: EffectResult::Called(called) }
        }));
    }

    /// Asks a model on an agent's behalf.
    pub(crate) fn ask_other_model(
        &mut self,
        id: EffectAddress,
        attempt: u32,
        model: RenewableModel,
        question: ConsultRequest,
        hear: DeltaListener,
    ) {
        let stop = self.stop_for(&id);
        self.running.push(Box::pin(async move {
            let called = tokio::select! {
                called = question.put_to(model, hear) => called,
                () = stop.cancelled() => CallResult::of(Reply::Cancelled),
            };
            FinishedEffect { id, attempt, what: EffectResult::Called(called) }
        }));
    }

    /// Tells effects that are no longer wanted to stop.
    pub(crate) fn stop_unless(&self, wanted: impl Fn(&EffectAddress) -> bool) {
        self.stops.iter().filter(|(id, _)| !wanted(id)).for_each(|(_, stop)| stop.cancel());
    }

    /// Gives up on everything that still runs, and returns what that was.
    pub(crate) fn give_up(&mut self) -> Vec<EffectAddress> {
        self.running = FuturesUnordered::new();
        std::mem::take(&mut self.stops).into_keys().collect()
    }

    fn stop_for(&mut self, id: &EffectAddress) -> CancellationToken {
        // Calls made by code stop with the code.
        let outer = id.outer().and_then(|outer| self.stops.get(&outer));
        let stop = outer.map_or_else(CancellationToken::new, CancellationToken::child_token);
        self.stops.insert(id.clone(), stop.clone());
        stop
    }
}

/// Everything a model call needs.
pub(crate) struct ModelCallSetup {
    pub(crate) model: RenewableModel,
    /// Nothing is known yet about the model's context window.
    pub(crate) wants_window: bool,
    pub(crate) conversation: Box<Conversation>,
    pub(crate) options: AskOptions,
    pub(crate) hear: DeltaListener,
    /// How long to wait for a model that is not available.
    pub(crate) limit: Duration,
    /// No model has answered in this run yet.
    pub(crate) is_first: bool,
}

/// Everything a tool call needs.
pub(crate) struct ToolCallSetup {
    pub(crate) performer: Arc<dyn EffectPerformer>,
    pub(crate) workspace: String,
    pub(crate) call: ToolCall,
    pub(crate) key: String,
    pub(crate) context: RunContext,
    pub(crate) log: CallLog,
    pub(crate) output: CallLog,
}

/// The size of a model's context window in tokens, and where it comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundWindow {
    pub(crate) tokens: u64,
    pub(crate) by: WindowSource,
}

impl FoundWindow {
    /// What a refusal says, or otherwise what the model or its server says of itself if it answers.
    fn of(answer: &Result<ModelAnswer, Reply>, told: Option<u64>) -> Option<Self> {
        match answer {
            Err(Reply::Failed(why)) if why.kind == FailureKind::TooLong => {
                let tokens = updraft_models::stated_window(&why.message)?;
                Some(Self { tokens, by: WindowSource::Refusal })
            }
            Ok(_) => Some(Self { tokens: told?, by: WindowSource::Told }),
            Err(_) => None,
        }
    }
}

/// A model's error as a reply.
pub(crate) fn failed(error: &updraft_models::Error) -> Reply {
    if error.is_too_long() {
        return Reply::Failed(Failure::new(FailureKind::TooLong, error.to_string()));
    }
    // The part written before it broke off may be billed, so the run, which keeps the account, decides.
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
