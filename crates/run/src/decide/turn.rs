//! The turn loop of a step: ask the model, make its calls, ask again.

use crate::effect::Effect;
use crate::event::{Event, Note};
use crate::goal::SMALL_WINDOW;
use crate::guard::is_before_work;
use crate::id::EffectKind;
use crate::reply::{Failure, FailureKind, Reply};
use crate::state::Run;
use crate::step::{ConversationEntry, Step, StepRole, StepState, ToolCallOutcome};

use super::conclude::run_again;
use super::failed_step::fail;
use super::guard::after_stopped_call;
use super::repetition::RepetitionEvents;

impl Run {
    /// Begins a visit of a step.
    pub(super) fn enter(&self, at: usize) -> Vec<Event> {
        let step = &self.steps[at];
        if let Some(events) = self.before_work(step) {
            return events;
        }
        if step.role == StepRole::Prove { Self::prepare_checks(step, 0) } else { self.ask(step, 0) }
    }

    /// Decides about a step that something happened to.
    pub(super) fn attend(&self, at: usize) -> Vec<Event> {
        let step = &self.steps[at];
        if step.role == StepRole::Prove {
            return self.attend_proof(step);
        }
        if let Some(trouble) = &step.trouble {
            let is_too_long = trouble.kind == FailureKind::TooLong;
            let shorter = is_too_long.then(|| self.after_refused_length(step, trouble)).flatten();
            let goes_on = shorter.or_else(|| self.after_planner_failed(step, trouble));
            return goes_on.unwrap_or_else(|| fail(step, trouble.clone()));
        }
        match &step.state {
            StepState::Thinking { turn } => match step.spoken().next() {
                Some(ConversationEntry::Answer(answer)) => self.after_answer(step, *turn, answer),
                // Older turns have just been summarised.
                Some(ConversationEntry::Results(_) | ConversationEntry::Note(_) | ConversationEntry::Summary(_))
                | None => self.ask(step, turn + 1),
            },
            StepState::Acting { turn, slots } if slots.is_empty() => self.after_results(step, *turn),
            StepState::Acting { turn, slots } => self.go_on_with_calls(step, *turn, slots),
            StepState::Judging { .. } if is_before_work(step) => {
                self.before_work(step).unwrap_or_else(|| self.ask(step, 0))
            }
            StepState::Judging { turn } if step.side_answer.is_none() && step.guard.is_some() => {
                step.last_answer().map(|answer| self.conclude(step, *turn, answer)).unwrap_or_default()
            }
            StepState::Judging { .. } => self.after_judgement(step),
            StepState::Compacting { turn } => self.after_summary(step, *turn),
            StepState::Waiting
            | StepState::Ready
            | StepState::Done
            | StepState::Failed(_)
            | StepState::Skipped { .. }
            | StepState::Cancelled
            | StepState::Dropped => Vec::new(),
        }
    }

    /// Asks the model, unless a budget forbids it. The model is told if it is the last turn.
    pub(super) fn ask(&self, step: &Step, turn: u32) -> Vec<Event> {
        if let Some(stopped) = self.stop_at_turn_limit(step) {
            return stopped;
        }
        let mut events = Vec::with_capacity(2);
        if turn + 1 >= self.turns_of(step)
            && self.turns_of(step) > 1
            && !told_of_last_turn(step.conversation.iter().rev())
        {
            events.push(Event::Advised { step: step.spec.id.clone(), note: Note::LastTurn });
        }
        events.push(Event::Wanted { id: step.address(turn, EffectKind::Ask), effect: Effect::Ask });
        events
    }

    /// What follows if the run or the step may not ask another question. Returns `None` if it may.
    pub(super) fn stop_at_turn_limit(&self, step: &Step) -> Option<Vec<Event>> {
        if let Some(which) = self.ledger.count_limit_reached(&self.budget, 1, 0) {
            return Some(vec![Event::Exhausted { which }]);
        }
        step.ledger.count_limit_reached(&self.settings.step_budget, 1, 0)?;
        Some(fail(step, Failure::new(FailureKind::Budget, "the step has used up its turns")))
    }

    /// Halts a step that has no turn left and is not done. It continues when it is given more turns.
    pub(super) fn out_of_turns(&self, step: &Step, lacks: &str) -> Vec<Event> {
        let turns = self.turns_of(step);
        let all = if turns == 1 { "its only turn".to_owned() } else { format!("all its {turns} turns") };
        let why = Failure::new(FailureKind::Budget, format!("it has used {all}, and is not done{lacks}"));
        vec![Event::Halted { step: step.spec.id.clone(), ask: None, why }]
    }

    /// Tells the model what was wrong and asks again, if a turn is left.
    pub(super) fn correct(&self, step: &Step, turn: u32, note: Note, otherwise: &Failure) -> Vec<Event> {
        if turn + 1 >= self.turns_of(step) {
            return self.out_of_turns(step, &format!(": {otherwise}"));
        }
        unless_stopped(vec![Event::Advised { step: step.spec.id.clone(), note }], self.ask(step, turn + 1))
    }

    /// All calls of a turn have ended: the model sees the results.
    fn after_results(&self, step: &Step, turn: u32) -> Vec<Event> {
        if let Some(answer) = step.last_answer()
            && answer.calls.is_empty()
            && let Some(again) = crate::answer_calls::again(&answer.text)
        {
            if self.may_re_enter(step) {
                return run_again(step, again.instruction);
            }
            // It has had all its visits: the output of its code is the result.
            return self.conclude(step, turn, answer);
        }
        let outcomes = match step.conversation.last() {
            Some(ConversationEntry::Results(results)) => results.outcomes.as_slice(),
            Some(ConversationEntry::Answer(_) | ConversationEntry::Note(_) | ConversationEntry::Summary(_)) | None => {
                &[]
            }
        };
        if let Some(events) = after_stopped_call(step, outcomes.iter()) {
            return events;
        }
        if let Some(events) = self.make_room(step, turn) {
            return events;
        }
        let mut events = Vec::new();
        match self.after_repetition(step) {
            Some(RepetitionEvents::Halted(halted)) => return halted,
            Some(RepetitionEvents::Told(told)) => events.push(told),
            None => {}
        }
        // A small model takes this for leave to give up. The error says what to do.
        let is_small = self.window_of(&step.spec.id) <= SMALL_WINDOW;
        if events.is_empty() && !is_small && !outcomes.is_empty() && outcomes.iter().all(has_failed) {
            events.push(Event::Advised { step: step.spec.id.clone(), note: Note::AllToolsFailed });
        }
        unless_stopped(events, self.ask(step, turn + 1))
    }
}

/// Whether a tool was called and failed. Refused calls and calls in doubt do not count, nor does a program that ran and ended
/// with an exit code: a failing test is what was asked for.
pub(super) fn has_failed(outcome: &ToolCallOutcome) -> bool {
    match outcome {
        ToolCallOutcome::Replied(Reply::Failed(_) | Reply::TimedOut { .. }) => true,
        ToolCallOutcome::Replied(Reply::Output(output)) => {
            let has_ended = output.value.as_ref().is_some_and(|value| value["exit_code"].is_i64());
            output.is_error && !has_ended
        }
        ToolCallOutcome::Replied(
            Reply::Said(_) | Reply::Verdict(_) | Reply::Answer(_) | Reply::Cancelled | Reply::InDoubt { .. },
        )
        | ToolCallOutcome::Rejected(_) => false,
    }
}

/// The notes followed by the question. If the question cannot be asked now, only the reason, so that no note is added
/// twice.
fn unless_stopped(mut notes: Vec<Event>, next: Vec<Event>) -> Vec<Event> {
    if matches!(next.first(), Some(Event::Exhausted { .. } | Event::StepFailed { .. } | Event::Halted { .. })) {
        return next;
    }
    notes.extend(next);
    notes
}

/// Whether the model was told, since its last answer, that its next answer is the last. Entries are given newest first.
pub(super) fn told_of_last_turn<'a>(newest_first: impl Iterator<Item = &'a ConversationEntry>) -> bool {
    let mut since = newest_first.take_while(|entry| !matches!(entry, ConversationEntry::Answer(_)));
    since.any(|entry| matches!(entry, ConversationEntry::Note(Note::LastTurn)))
}

impl Step {
    /// How often the model was corrected in this visit.
    pub(super) fn corrections(&self) -> u32 {
        let is_correction = |note: &Note| match note {
            Note::MissingOutput { .. } | Note::Unfit { .. } | Note::PlanFaults { .. } => true,
            Note::LastTurn
            | Note::MoreTurns
            | Note::Unfinished { .. }
            | Note::AllToolsFailed
            | Note::RepeatedCall { .. }
            | Note::CutOff
            | Note::FalseCitations { .. }
            | Note::Told { .. }
            | Note::BackgroundEnded { .. } => false,
        };
        self.conversation
            .iter()
            .filter(|entry| matches!(entry, ConversationEntry::Note(note) if is_correction(note)))
            .count() as u32
    }
}
