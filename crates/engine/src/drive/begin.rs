//! Begins effects. Those that may not be repeated are recorded as begun on disk before they have any effect outside.

use std::sync::Arc;

use futures_util::FutureExt;
use updraft_journal::Blob;
use updraft_run::{
    Budget, Effect, EffectAddress, EffectFacts, EffectKind, Event, Failure, FailureKind, Funds, Input, ModelAnswer,
    Record, Reply, Step, ToolCall,
};
use updraft_tools::CallLog;

use super::write_ahead::{ModelQuestion, WriteAheadEffect};
use super::{NextActions, RunDriver};
use crate::Error;
use crate::ask_model;
use crate::context::{Snapshot, WorkspaceContext};
use crate::conversation::{AskOptions, Conversation, PromptSources};
use crate::effects::{DeltaListener, ModelCallSetup, ToolCallSetup, failed};
use crate::outage::{RenewableModel, setup_failure};
use crate::watcher::{showing, telling};

/// A conversation to continue, and the context it began with if that is not the run's.
type ResumedConversation = (Box<Conversation>, Option<updraft_run::ContentHash>);

impl RunDriver {
    /// Begins effects that became possible, and stops those that are no longer wanted.
    pub(super) async fn begin(&mut self, next: NextActions) -> Result<(), Error> {
        if next.stop {
            self.stop_unwanted();
        }
        if self.engine.stop.is_cancelled() {
            return Ok(());
        }
        let candidates: Vec<EffectAddress> =
            if next.everything { self.run.open().keys().cloned().collect() } else { next.effects };
        if !candidates.is_empty()
            && let Some(news) = self.news_of_marks()?
        {
            let (records, _) = self.decide(vec![news]).await?;
            if !records.is_empty() {
                self.append(records, Vec::new()).await?;
            }
        }
        self.reload_changed_tools(&candidates).await?;
        let mut write_ahead = Vec::new();
        for id in candidates {
            let may_begin = self.run.phase_allows(&id) && !self.work.effects.has(&id);
            let Some(open) = self.run.open().get(&id).filter(|_| may_begin) else { continue };
            match open.effect {
                Effect::Call if self.run.stale_approval(&id).is_some() => {
                    // The run will reject it, and the agent is told why.
                    let (attempt, epoch) = (open.attempt, self.position.lease.epoch());
                    self.inbox.queued.push(Input::Begun { id, attempt, epoch, facts: EffectFacts::default() }.into());
                }
                Effect::Ask if matches!(open.funds, Funds::None) && self.run.needs_estimates() => self.estimate(&id)?,
                Effect::Ask if self.run.may_begin(&id) => {
                    if self.ensure_workspace_copy(&id).await {
                        write_ahead.extend(self.ask(&id)?);
                    }
                }
                Effect::Call if self.run.is_paid(&id) => write_ahead.extend(self.ask_other_model(&id)),
                Effect::Call => match self.run.call_at(&id) {
                    Some(call) if self.run.class_of(&id).is_repeatable() => self.call(id, call),
                    Some(call) => write_ahead.push(WriteAheadEffect::Call(id, call)),
                    None => {
                        let why = "this version no longer recognises the call in the model's text; call it again";
                        let reply = Reply::Failed(Failure::new(FailureKind::Validation, why));
                        let attempt = open.attempt;
                        self.inbox.queued.push(Input::Replied { id, attempt, reply, prepared: Vec::new() }.into());
                    }
                },
                Effect::Prepare => self.prepare_own_calls(&id),
                // Its cost is not reserved yet, or it waits for a person or a clock.
                Effect::Ask | Effect::Question { .. } | Effect::Approval { .. } | Effect::Timer { .. } => {}
            }
        }
        self.record_and_begin(write_ahead).await
    }

    /// Looks at the calls that the run makes itself, and passes them to the run as an answer.
    fn prepare_own_calls(&mut self, id: &EffectAddress) {
        let calls = self.run.own_calls(id);
        let prepared = calls.iter().map(|call| self.look_at(&id.step, call)).collect();
        let reply = Reply::Answer(Arc::new(ModelAnswer { calls, ..ModelAnswer::default() }));
        self.inbox.queued.push(Input::Replied { id: id.clone(), attempt: self.attempt(id), reply, prepared }.into());
    }

    /// Begins reads inside this process while their `Wanted` event is still being written. Reads that end at once are
    /// written together with it. Nothing is visible outside: after a crash here, the run has neither asked for the read
    /// nor made it.
    pub(super) fn read_ahead(&mut self, records: &mut Vec<Record>) {
        let mut seen = 0;
        while let Some(record) = records.get(seen) {
            if self.engine.stop.is_cancelled() || self.is_elsewhere() {
                return;
            }
            let wanted = record.events.iter().filter_map(|event| match event {
                Event::Wanted { id, effect: Effect::Call }
                    if self.run.phase_allows(id) && self.run.is_local_read(id) =>
                {
                    Some(id.clone())
                }
                _ => None,
            });
            for id in wanted.collect::<Vec<_>>() {
                if let Some(call) = self.run.call_at(&id).filter(|_| !self.work.effects.has(&id)) {
                    self.call(id, call);
                }
            }
            seen += 1;
            if seen == records.len()
                && let Some(Some(ended)) = self.work.effects.next().now_or_never()
            {
                let mail = self.input_from(ended);
                let (more, _) = self.decide_here(vec![mail]);
                records.extend(more);
            }
        }
    }

    pub(super) fn call(&mut self, id: EffectAddress, call: ToolCall) {
        let attempt = self.attempt(&id);
        if let Some(why) = self.changed_since_decided(&id, &call) {
            let reply = Reply::Failed(Failure::new(FailureKind::Security, why));
            self.inbox.queued.push(Input::Replied { id, attempt, reply, prepared: Vec::new() }.into());
            return;
        }
        let calling = ToolCallSetup {
            performer: Arc::clone(&self.engine.performer),
            workspace: self.run.workspace_of(&id.step),
            call,
            key: format!("{}/{id}", self.id),
            context: self.run_context(&id),
            log: self.log(&id),
            output: self.output(&id),
        };
        self.work.effects.call(id, attempt, calling);
    }

    /// Asks a model, or returns the question if its beginning must be on disk first.
    fn ask(&mut self, id: &EffectAddress) -> Result<Option<WriteAheadEffect>, Error> {
        let Some((mut conversation, context)) = self.conversation(id)? else { return Ok(None) };
        let attempt = self.attempt(id);
        let model = match self.engine.performer.model(self.run.model_of(&id.step)) {
            Ok(model) => model,
            Err(error) => {
                let reply = setup_failure(&error);
                self.inbox.queued.push(Input::Replied { id: id.clone(), attempt, reply, prepared: Vec::new() }.into());
                return Ok(None);
            }
        };
        let options = self.ask_options(id);
        let facts = EffectFacts {
            prompt: Some(conversation.hash()),
            bytes: conversation.bytes(),
            context,
            documents: conversation.documents && id.kind == EffectKind::Ask && id.turn == 0,
            ceiling: self.unreserved(id, || model.ceiling(&conversation.parts(options).0)),
            ..EffectFacts::default()
        };
        let limit = self.engine.performer.outage_limit();
        let renewal = self.renewal_of(self.run.model_of(&id.step));
        let model = RenewableModel { model, renewal };
        let wants_window = self.run.known_window_of(&id.step).is_none()
            && self.briefing.windows_asked.insert(self.run.model_of(&id.step).to_owned());
        let is_first = self.run.ledger().usage.tokens() == 0;
        let hear = self.listener(id);
        let asking = ModelCallSetup { model, wants_window, conversation, options, hear, limit, is_first };
        Ok(self.begin_model_call(id, facts, ModelQuestion::Own(Box::new(asking))))
    }

    /// Asks another model on an agent's behalf. If there is a budget, the cost is estimated first.
    fn ask_other_model(&mut self, id: &EffectAddress) -> Option<WriteAheadEffect> {
        let (open, call) = self.run.open().get(id).zip(self.run.call_at(id))?;
        let (attempt, name) = (open.attempt, self.run.consulted(id).unwrap_or_default());
        let must_estimate = matches!(open.funds, Funds::None) && self.run.needs_estimates();
        let from = self.run.on_behalf_of(id);
        let mut question =
            ask_model::ConsultRequest::of(&call, from, id.step.as_str(), self.run.settings().max_output, attempt);
        question.trace = self.engine.trace_parent(&self.id, id);
        match self.engine.performer.model(name) {
            Err(error) => {
                let (id, reply) = (id.clone(), failed(&error));
                self.inbox.queued.push(Input::Replied { id, attempt, reply, prepared: Vec::new() }.into());
                None
            }
            Ok(model) if must_estimate => {
                let ceiling = question.ceiling(model.as_ref());
                self.inbox.queued.push(Input::Estimated { id: id.clone(), ceiling }.into());
                None
            }
            Ok(model) if self.run.may_begin(id) => {
                let ceiling = self.unreserved(id, || question.ceiling(model.as_ref()));
                let facts = EffectFacts { ceiling, ..EffectFacts::default() };
                let (hear, model) = (self.listener(id), RenewableModel { model, renewal: self.renewal_of(name) });
                self.begin_model_call(id, facts, ModelQuestion::Anothers { model, question: Box::new(question), hear })
            }
            Ok(_) => None,
        }
    }

    /// Reports to the run the most a model call can use.
    fn estimate(&mut self, id: &EffectAddress) -> Result<(), Error> {
        let Some((mut conversation, _)) = self.conversation(id)? else { return Ok(()) };
        let options = self.ask_options(id);
        let input = match self.engine.performer.model(self.run.model_of(&id.step)) {
            Ok(model) => {
                let ceiling = model.ceiling(&conversation.parts(options).0);
                Input::Estimated { id: id.clone(), ceiling }
            }
            Err(error) => Input::Replied {
                id: id.clone(),
                attempt: self.attempt(id),
                reply: setup_failure(&error),
                prepared: Vec::new(),
            },
        };
        if id.kind == EffectKind::Ask {
            self.briefing.conversations.insert(id.step.clone(), conversation);
        }
        self.inbox.queued.push(input.into());
        Ok(())
    }

    /// The conversation that a question continues, up to date; and the context it began with if that is not the run's.
    fn conversation(&mut self, id: &EffectAddress) -> Result<Option<ResumedConversation>, Error> {
        let kept = self.briefing.conversations.remove(&id.step);
        if kept.is_none() && id.turn == 0 && self.briefing.is_stale {
            self.refresh_context();
        }
        let Some(step) = self.run.step(&id.step) else { return Ok(None) };
        let kept = kept.filter(|conversation| conversation.fits(step, &self.briefing.kit));
        let mut conversation = if let Some(kept) = kept {
            kept
        } else {
            let context = self.context_of(step, id.turn == 0)?;
            Box::new(Conversation::open(&self.run, step, self.sources(), &context))
        };
        conversation.catch_up(step, self.sources());
        if id.kind != EffectKind::Ask {
            let side = Box::new(conversation.side_question(&self.run, step, &self.briefing.kit, id));
            self.briefing.conversations.insert(id.step.clone(), conversation);
            return Ok(Some((side, None)));
        }
        // A question that was cut off may have begun with another context, which no longer applies. A question that
        // waited for its reservation keeps the context it was estimated with.
        let hash = conversation.context;
        let differs = step.context.or(self.run.settings().context) != Some(hash);
        Ok(Some((conversation, Some(hash).filter(|_| differs && id.turn == 0))))
    }

    /// The context of a visit: the one it began with, or the newest one for a visit that begins now.
    fn context_of(&self, step: &Step, begins: bool) -> Result<Snapshot, Error> {
        let began_with = step.context.or(self.run.settings().context);
        match began_with.filter(|hash| !begins && *hash != self.briefing.context.hash) {
            Some(hash) => Ok(self.engine.context_at(&self.id, hash)?),
            None => Ok(self.briefing.context.clone()),
        }
    }

    fn refresh_context(&mut self) {
        let mut context = WorkspaceContext::of(&self.run);
        // What was recalled when the run began stays: it is about the goal, and prompts change as little as possible.
        let before = &self.briefing.context.context;
        (context.memory, context.skills) = (before.memory.clone(), before.skills.clone());
        context.whereabouts = before.whereabouts.clone();
        let blob = context_blob(&context);
        if blob.hash() != self.briefing.context.hash {
            self.briefing.context = Snapshot { hash: blob.hash(), context: Arc::new(context) };
            self.unwritten.blobs.push(blob);
        }
        self.briefing.is_stale = false;
    }

    fn sources(&self) -> PromptSources<'_> {
        PromptSources { kit: &self.briefing.kit, journal: &self.engine.journal }
    }

    /// How a question is asked: its output cap, how much the model thinks, and the number of the attempt.
    fn ask_options(&self, id: &EffectAddress) -> AskOptions {
        let step = self.run.step(&id.step).filter(|_| id.kind == EffectKind::Ask);
        let settings = self.run.settings();
        let counts = [self.run.budget(), &settings.step_budget].into_iter().any(Budget::needs_estimates);
        AskOptions {
            max_output: settings.max_output,
            is_limited: settings.max_output_chosen || counts,
            think: step.map(|step| self.run.chosen_thinking(step)).unwrap_or_default(),
            need: step.map(|step| self.run.needed_thinking(step)).unwrap_or_default(),
            attempt: self.attempt(id),
            trace: self.engine.trace_parent(&self.id, id),
        }
    }

    pub(super) fn attempt(&self, id: &EffectAddress) -> u32 {
        self.run.open().get(id).map_or(1, |open| open.attempt)
    }

    fn listener(&self, id: &EffectAddress) -> DeltaListener {
        if !self.engine.watch.is_watching() {
            return Box::new(|_| {});
        }
        let (engine, run, at) = (Arc::clone(&self.engine), self.id.clone(), id.clone());
        Box::new(move |delta| engine.watch.delta(&run, &at, delta))
    }

    /// Where the tool reports its progress.
    fn log(&self, id: &EffectAddress) -> CallLog {
        if !self.engine.watch.is_watching() {
            return CallLog::default();
        }
        let (engine, run, at) = (Arc::clone(&self.engine), self.id.clone(), id.clone());
        telling(move |line| engine.watch.said(&run, &at, line))
    }

    /// Where the lines that the program prints go.
    fn output(&self, id: &EffectAddress) -> CallLog {
        if !self.engine.watch.is_watching() {
            return CallLog::default();
        }
        let (engine, run, at) = (Arc::clone(&self.engine), self.id.clone(), id.clone());
        showing(move |line| engine.watch.printed(&run, &at, line))
    }
}

/// A context as a blob.
pub(crate) fn context_blob(context: &WorkspaceContext) -> Blob {
    Blob::new(serde_json::to_vec(context).unwrap_or_default())
}
