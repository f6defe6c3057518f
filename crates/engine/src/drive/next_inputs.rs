//! Waits for what happens next: an effect ends, an input arrives, or a time limit is reached.

use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;
use updraft_journal::Blob;
use updraft_lenient::split_reasoning;
use updraft_run::{
    DEEPEST, EffectAddress, EffectClass, EffectKind, FinishReason, Input, ModelAnswer, PreparedCall, Reply, RunPhase,
    StepId, ToolCall, ToolOutput, ToolSpec, is_too_deep,
};

use super::copies::within_copy;
use super::{CallRequest, QueuedInput, RunDriver};
use crate::Error;
use crate::effects::{EffectResult, FinishedEffect, FoundWindow};
use crate::folder_instructions;
use crate::home::{HandedEffect, HomeAttachment};
use crate::perform::without_own_hosts;

/// How long running effects may take to end when the process is told to stop, so that those that are nearly done can
/// finish.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// How long cancelled effects may take to end before their outcome counts as unknown.
const CANCEL_LIMIT: Duration = Duration::from_secs(5);

enum DriveEvent {
    Ended(FinishedEffect),
    Mail(QueuedInput),
    CallRequested(CallRequest),
    Handed(HandedEffect),
    Due,
    Stop,
    OutOfPatience,
    Lost(updraft_journal::Error),
    Nothing,
}

impl RunDriver {
    /// Collects all waiting inputs; waits for the first one. Returns nothing if the run is at rest. Fails if the journal
    /// is lost: running effects are then stopped, because their replies could not be recorded.
    pub(super) async fn next_inputs(&mut self) -> Result<Vec<QueuedInput>, Error> {
        let mut arrived = std::mem::take(&mut self.inbox.queued);
        while arrived.is_empty() {
            match self.next_event().await {
                DriveEvent::Ended(ended) => arrived.push(self.input_from(ended)),
                DriveEvent::Mail(mail) => arrived.push(mail),
                DriveEvent::CallRequested(request) => arrived.extend(self.take_request(request)),
                DriveEvent::Handed(handed) => {
                    Box::pin(self.take_handed(handed)).await?;
                    arrived.append(&mut self.inbox.queued);
                }
                DriveEvent::Due => arrived.push(Input::Due.into()),
                DriveEvent::Stop => {
                    self.work.effects.allow_waiting(false);
                    self.work.deadline = Some(Instant::now() + GRACE);
                }
                DriveEvent::OutOfPatience => arrived.extend(self.give_up()),
                DriveEvent::Lost(error) => return Err(error.into()),
                DriveEvent::Nothing => return Ok(arrived),
            }
        }
        while let Some(Some(ended)) = self.work.effects.next().now_or_never() {
            let mail = self.input_from(ended);
            arrived.push(mail);
        }
        while let Ok(mail) = self.inbox.mail.try_recv() {
            arrived.push(mail);
        }
        while let Ok(request) = self.inbox.requests.try_recv() {
            arrived.extend(self.take_request(request));
        }
        if !self.unwritten.deferred_inputs.is_empty() {
            let mut all = std::mem::take(&mut self.unwritten.deferred_inputs);
            all.append(&mut arrived);
            return Ok(all);
        }
        Ok(arrived)
    }

    /// Waits for one event.
    async fn next_event(&mut self) -> DriveEvent {
        if self.work.effects.is_empty() && !self.waits_for_home() {
            return self.inbox.mail.try_recv().map_or(DriveEvent::Nothing, DriveEvent::Mail);
        }
        let due = self.time_left();
        let is_stopping = self.engine.stop.is_cancelled();
        let is_performing = !self.work.effects.is_empty();
        tokio::select! {
            biased;
            ended = self.work.effects.next(), if is_performing => ended.map_or(DriveEvent::Nothing, DriveEvent::Ended),
            Some(mail) = self.inbox.mail.recv() => DriveEvent::Mail(mail),
            Some(request) = self.inbox.requests.recv() => DriveEvent::CallRequested(request),
            handed = next_handed(&mut self.home) => DriveEvent::Handed(handed),
            () = self.engine.stop.cancelled(), if !is_stopping || self.work.deadline.is_none() => DriveEvent::Stop,
            error = self.engine.journal.lost() => DriveEvent::Lost(error),
            () = until(self.work.deadline) => DriveEvent::OutOfPatience,
            () = after(due) => DriveEvent::Due,
        }
    }

    /// Whether effects are wanted that the run's home has not handed over yet.
    fn waits_for_home(&self) -> bool {
        let is_working = *self.run.phase() == RunPhase::Running && !self.run.is_at_rest();
        self.is_elsewhere() && is_working && !self.engine.stop.is_cancelled()
    }

    /// How long the run may still work until its time limit, or that of a step, is reached.
    fn time_left(&self) -> Option<Duration> {
        let left = self.run.time_left(self.clock.now()).filter(|_| *self.run.phase() == RunPhase::Running)?;
        Some(Duration::from_millis(left.0 + 1))
    }

    /// Turns an effect that ended into an input for the run.
    pub(super) fn input_from(&mut self, ended: FinishedEffect) -> QueuedInput {
        let FinishedEffect { id, attempt, what } = ended;
        let (reply, prepared) = match what {
            EffectResult::Asked(Ok(answer), conversation, window) => {
                self.note_window(&id, window);
                let answer = self.with_full_names(&id, with_reasoning_apart(answer));
                let prepared = self.prepare(&id, &answer, conversation.tools());
                self.keep(&id, conversation);
                (Reply::Answer(answer.into()), prepared)
            }
            EffectResult::Asked(Err(reply), conversation, window) => {
                self.note_window(&id, window);
                self.keep(&id, conversation);
                (reply, Vec::new())
            }
            EffectResult::Called(called) => {
                self.briefing.is_stale |= self.run.class_of(&id) != EffectClass::Pure;
                self.unwritten.blobs.extend(called.overflow.map(Blob::new));
                self.unwritten.blobs.extend(called.kept.into_iter().map(Blob::new));
                (self.with_instructions(&id, with_bounded_value(called.reply)), self.look_behind(&id))
            }
        };
        Input::Replied { id, attempt, reply, prepared }.into()
    }

    /// Tells the run the size of its model's window before it hears the answer.
    fn note_window(&mut self, id: &EffectAddress, window: Option<FoundWindow>) {
        let Some(FoundWindow { tokens, by }) = window else { return };
        let model = self.run.model_of(&id.step).to_owned();
        self.unwritten.deferred_inputs.push(Input::Window { model, tokens, by }.into());
    }

    /// The reply with the user's instructions for the folders that the call has touched.
    fn with_instructions(&self, id: &EffectAddress, reply: Reply) -> Reply {
        let Reply::Output(output) = &reply else { return reply };
        let Some((step, prepared)) = self.run.step(&id.step).zip(self.run.prepared(id)) else { return reply };
        // Code reads its results itself; the agent sees the files when it touches them.
        let attached =
            if id.inner.is_none() { folder_instructions::for_call(&self.run, step, prepared) } else { Vec::new() };
        if attached.is_empty() {
            return reply;
        }
        Reply::Output(ToolOutput { attached, ..ToolOutput::clone(output) }.into())
    }

    /// The answer with the full tool names in its calls, so that the journal is unambiguous.
    fn with_full_names(&self, id: &EffectAddress, mut answer: ModelAnswer) -> ModelAnswer {
        for call in &mut answer.calls {
            refuse_deep(call);
            self.name_in_full(&id.step, call);
        }
        answer
    }

    /// Replaces a short tool name in a call by the full name of the agent's tool.
    pub(super) fn name_in_full(&self, step: &StepId, call: &mut ToolCall) {
        let agent = self.run.step(step).and_then(|step| self.briefing.kit.agent(&step.spec.agent));
        let has = |name: &str| agent.is_some_and(|agent| agent.callable.iter().any(|tool| tool.name == name));
        if !has(&call.name)
            && let Some(full) = self.engine.performer.full_name(&call.name).filter(|full| has(full))
        {
            call.name = full;
        }
    }

    fn keep(&mut self, id: &EffectAddress, conversation: Box<crate::conversation::Conversation>) {
        if id.kind == EffectKind::Ask {
            self.briefing.conversations.insert(id.step.clone(), conversation);
        }
    }

    /// What is known about the calls in an answer of a model that was shown these tools.
    fn prepare(&self, id: &EffectAddress, answer: &ModelAnswer, shown: &[ToolSpec]) -> Vec<PreparedCall> {
        let Some(step) = self.run.step(&id.step).filter(|_| id.kind == EffectKind::Ask) else { return Vec::new() };
        let calls = self.run.calls_in(step, answer);
        let look = |call| self.changed_since(shown, call).unwrap_or_else(|| self.look_at(&id.step, call));
        calls.iter().map(look).collect()
    }

    /// What is known about the calls of a turn when one of them has ended on which others wait: it may have changed what
    /// they would do.
    fn look_behind(&self, id: &EffectAddress) -> Vec<PreparedCall> {
        let step = self.run.step(&id.step).filter(|step| id.inner.is_none() && step.holds_others_behind(id.n));
        let Some((step, answer)) = step.and_then(|step| Some((step, step.last_answer()?))) else { return Vec::new() };
        self.run.calls_in(step, answer).iter().map(|call| self.look_at(&id.step, call)).collect()
    }

    /// What is known about one call of a step. Sending text to the step's own model provider does not count as sending
    /// it out.
    pub(super) fn look_at(&self, step: &StepId, call: &ToolCall) -> PreparedCall {
        let performer = &self.engine.performer;
        let prepared = performer.prepare(&self.run.workspace_of(step), call);
        let prepared = if self.run.is_in_copy(step) { within_copy(prepared) } else { prepared };
        if prepared.model.is_none() || prepared.hosts.is_empty() {
            return prepared;
        }
        let own = performer.model(self.run.model_of(step)).map(|model| model.hosts()).unwrap_or_default();
        without_own_hosts(prepared, &own)
    }

    /// The time for stopping is over. Cancelled effects are in doubt; other effects that still run are found again
    /// after a restart.
    fn give_up(&mut self) -> Vec<QueuedInput> {
        self.work.deadline = None;
        let left = self.work.effects.give_up();
        if !matches!(self.run.phase(), RunPhase::Cancelling { .. }) {
            return Vec::new();
        }
        let evidence = format!("it was told to stop and did not within {} s", CANCEL_LIMIT.as_secs());
        let unknown = left.into_iter().filter_map(|id| {
            let attempt = self.run.open().get(&id)?.attempt;
            let reply = Reply::InDoubt { evidence: evidence.clone() };
            Some(Input::Replied { id, attempt, reply, prepared: Vec::new() }.into())
        });
        unknown.collect()
    }

    /// Tells effects that are no longer wanted to stop.
    pub(super) fn stop_unwanted(&mut self) {
        let cancelling = matches!(self.run.phase(), RunPhase::Cancelling { .. });
        self.work.effects.stop_unless(|id| !cancelling && self.run.open().contains_key(id));
        if cancelling {
            self.work.deadline.get_or_insert_with(|| Instant::now() + CANCEL_LIMIT);
            // Effects that are not being performed can be closed at once.
            let idle = self.run.open().iter().filter(|(id, _)| !self.work.effects.has(id));
            let idle = idle.map(|(id, open)| Input::Replied {
                id: id.clone(),
                attempt: open.attempt,
                reply: Reply::Cancelled,
                prepared: Vec::new(),
            });
            self.inbox.queued.extend(idle.map(QueuedInput::from));
        }
        self.briefing.conversations.retain(|step, _| self.run.step(step).is_some_and(|step| !step.has_ended()));
    }
}

/// The next effect that the home hands over. Cancel-safe.
async fn next_handed(home: &mut Option<HomeAttachment>) -> HandedEffect {
    let handed = match home {
        Some(home) => home.handed.recv().await,
        None => None,
    };
    match handed {
        Some(handed) => handed,
        None => std::future::pending().await,
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

async fn after(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// Marks a call whose arguments are nested too deeply as unreadable. The arguments are dropped, because a record nested
/// that deeply could not be written.
pub(super) fn refuse_deep(call: &mut ToolCall) {
    if is_too_deep(&call.args) {
        call.args = serde_json::json!({});
        call.fault = Some(format!("they are nested deeper than {DEEPEST} levels; send flatter ones"));
    }
}

/// Removes the data of a result if it is nested too deeply: the call counts as failed, but its changes are kept.
fn with_bounded_value(reply: Reply) -> Reply {
    match reply {
        Reply::Output(output) if output.value.as_ref().is_some_and(is_too_deep) => {
            let text = format!("the result is nested deeper than {DEEPEST} levels and was not kept");
            Reply::Output(ToolOutput { text, value: None, is_error: true, ..ToolOutput::clone(&output) }.into())
        }
        other => other,
    }
}

/// Moves reasoning that a model marked inside its text into the separate field.
fn with_reasoning_apart(mut answer: ModelAnswer) -> ModelAnswer {
    if answer.reasoning.is_empty() && (answer.text.contains("hink") || answer.text.contains("easoning")) {
        let (reasoning, text) = split_reasoning(&answer.text);
        if !reasoning.is_empty() {
            // An answer that was cut off keeps its trailing white space, because its continuation is appended directly.
            let end =
                if answer.finish == FinishReason::Length { &answer.text[answer.text.trim_end().len()..] } else { "" };
            (answer.reasoning, answer.text) = (reasoning, format!("{text}{end}"));
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use updraft_run::{Reply, ToolOutput};

    use super::*;

    #[test]
    fn a_result_that_is_nested_too_deep_is_a_failure_and_what_it_changed_is_kept() {
        let deep = |levels| (0..levels).fold(json!(1), |inner: Value, _| json!([inner]));
        let changes = vec![updraft_run::FileChange::default()];
        let output =
            |levels| ToolOutput { value: Some(deep(levels)), changes: changes.clone(), ..ToolOutput::default() };
        let Reply::Output(kept) = with_bounded_value(Reply::Output(output(DEEPEST + 1).into())) else { panic!() };
        assert_eq!((kept.is_error, &kept.value, &kept.changes), (true, &None, &changes));
        let fine = Reply::Output(output(DEEPEST).into());
        assert_eq!(with_bounded_value(fine.clone()), fine);
    }
}
