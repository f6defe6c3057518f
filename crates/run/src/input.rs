//! What can happen *to* a run, and the record of one input with all that followed from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::confinement::{Level, ResumeTerms};
use crate::effect::{EffectFacts, PreparedCall};
use crate::event::Event;
use crate::goal::{ApprovalMode, Budget, Ceiling, ChosenModel, RunStart};
use crate::id::{EffectAddress, RunId, StepId, Timestamp};
use crate::message::ToolCall;
use crate::nesting_limit;
use crate::origins::Origins;
use crate::reply::{Reply, Verdict};

/// Everything that can happen to a run. A repeated or late input has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Input {
    /// Start the run.
    Start(Box<RunStart>),
    /// The engine estimated the most a model call can use.
    Estimated {
        /// The call's address.
        id: EffectAddress,
        /// Its ceiling.
        ceiling: Ceiling,
    },
    /// The engine is about to perform an effect.
    Begun {
        /// The effect's address.
        id: EffectAddress,
        /// Which attempt.
        attempt: u32,
        /// The epoch of the process.
        epoch: u64,
        /// What is known only now, as the effect begins.
        facts: EffectFacts,
    },
    /// A handle by which a running effect can be found again.
    Noted {
        /// The effect's address.
        id: EffectAddress,
        /// The handle.
        handle: String,
    },
    /// An effect's reply arrived.
    Replied {
        /// The effect's address.
        id: EffectAddress,
        /// Which attempt.
        attempt: u32,
        /// The reply.
        reply: Reply,
        /// What is known about the calls in the reply, one entry for each (see `Run::calls_in`).
        #[serde(default)]
        prepared: Vec<PreparedCall>,
    },
    /// Code asks for a call while the call that runs the code is open.
    Wished {
        /// The call that runs the code.
        under: EffectAddress,
        /// The call it asks for.
        call: ToolCall,
        /// What is known about that call.
        #[serde(default)]
        prepared: Box<PreparedCall>,
    },
    /// The user sent another message.
    Tell {
        /// The message in the user's words.
        message: String,
    },
    /// A person answered a question; without an id, the only open one.
    Answer {
        /// The question's address.
        #[serde(default)]
        id: Option<EffectAddress>,
        /// The answer.
        text: String,
    },
    /// A person declined to answer a question; without an id, the only open one.
    Decline {
        /// The question's address.
        #[serde(default)]
        id: Option<EffectAddress>,
        /// Who.
        #[serde(default)]
        by: String,
        /// They closed the question without answering, which is weaker than a refusal.
        #[serde(default)]
        dismissed: bool,
    },
    /// A person allowed or refused a call; without an id, all that are waiting.
    Verdict {
        /// The approval's address.
        #[serde(default)]
        id: Option<EffectAddress>,
        /// What the person decided.
        verdict: Verdict,
    },
    /// A time that the run waits for was reached: a timer, or the end of its time budget.
    Due,
    /// Begin nothing new.
    Pause,
    /// Lift a pause, or continue after a budget was used up, perhaps with a larger one.
    Resume {
        /// Raised limits.
        #[serde(default)]
        budget: Option<Budget>,
        /// Changed rules about approvals.
        #[serde(default)]
        approvals: Option<ApprovalMode>,
    },
    /// Continue with another model, for all agents.
    ChangeModel {
        /// The model.
        model: ChosenModel,
    },
    /// Stop: the whole run, or one step.
    Cancel {
        /// Who wants it.
        by: String,
        /// Only this step.
        #[serde(default)]
        step: Option<StepId>,
    },
    /// The run was opened again, by this process or another. Calls that had begun and may not be repeated have been checked.
    Recovered {
        /// What was found about effects that had begun and may not simply be repeated.
        found: Vec<RecoveryFinding>,
    },
    /// The process that ran these background commands of steps is gone, and they are too.
    BackgroundEnded {
        /// Their names, by step.
        ended: BTreeMap<StepId, Vec<String>>,
    },
    /// Begin a run as a copy of another run's first events.
    Fork {
        /// The run it was copied from.
        from: RunId,
        /// How many events were copied.
        at: u64,
        /// What changes from here on.
        change: Box<ForkChange>,
    },
    /// Other runs wrote text from outside to these files of the workspace.
    Mark {
        /// Where that text came from, by path; `.` is the whole workspace.
        files: BTreeMap<String, Origins>,
    },
    /// The context window of a model was found out.
    Window {
        /// The model.
        model: String,
        /// Tokens.
        tokens: u64,
        /// How.
        by: crate::shown::WindowSource,
    },
    /// Terms (sandbox level, grants) for continuing here; sent before `Resume`. Without effect if they are laxer than
    /// those the run began with and nobody agreed to that.
    GoOn {
        /// The terms.
        terms: Box<ResumeTerms>,
    },
    /// Confine commands at another level. Only in older journals, where this had been decided elsewhere.
    Confine {
        /// The level, as in the settings.
        level: Level,
        /// The command-line flags about commands' rights that hold from here on; absent if they did not change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flags: Option<crate::grants::GrantFlags>,
    },
    /// Ask about and deny these calls as well, because the user's settings have become stricter.
    Tighten {
        /// Only the rules that ask and deny are used.
        rules: crate::rules::Rules,
        /// Tools that are denied.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        deny: Vec<String>,
        /// Whether the workspace is not trusted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        distrusts: bool,
    },
    /// Load agents, prompts and tools again.
    Reload {
        /// The new ones.
        roster: std::sync::Arc<crate::goal::Roster>,
        /// The tools whose definitions come from outside, by name, with their origin; absent if they did not change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strange: Option<std::collections::BTreeMap<String, String>>,
    },
    /// The run was imported from a file.
    Import,
    /// Adopt a run that was imported from a file.
    Adopt {
        /// The settings that hold from here on.
        settings: std::sync::Arc<crate::goal::RunSettings>,
    },
    /// A person changed the plan that waits for approval, and approves it.
    EditPlan {
        /// The whole plan.
        graph: std::sync::Arc<crate::graph::Graph>,
        /// Models that it names and that the run does not know yet, with what each stands for.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        models: BTreeMap<String, String>,
        /// What it requires, in place of what the plan before it required.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        requirements: Vec<crate::requirement::Requirement>,
        /// Who.
        #[serde(default)]
        by: String,
    },
}

impl Input {
    /// The question that this input answers, if it names one.
    pub fn question(&self) -> Option<&EffectAddress> {
        match self {
            Input::Answer { id, .. } | Input::Decline { id, .. } | Input::Verdict { id, .. } => id.as_ref(),
            Input::Start(_)
            | Input::Estimated { .. }
            | Input::Begun { .. }
            | Input::Noted { .. }
            | Input::Replied { .. }
            | Input::Wished { .. }
            | Input::Tell { .. }
            | Input::Due
            | Input::Pause
            | Input::Resume { .. }
            | Input::ChangeModel { .. }
            | Input::Cancel { .. }
            | Input::Recovered { .. }
            | Input::BackgroundEnded { .. }
            | Input::Fork { .. }
            | Input::Mark { .. }
            | Input::Window { .. }
            | Input::GoOn { .. }
            | Input::Confine { .. }
            | Input::Tighten { .. }
            | Input::Reload { .. }
            | Input::Import
            | Input::Adopt { .. }
            | Input::EditPlan { .. } => None,
        }
    }
}

/// What a fork changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForkChange {
    /// Other settings, such as another model.
    pub settings: Option<std::sync::Arc<crate::goal::RunSettings>>,
    /// Another goal.
    pub goal: Option<String>,
    /// Variables with other values.
    pub variables: std::collections::BTreeMap<String, Value>,
}

/// What a check of the world showed about an effect that was cut off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryFinding {
    /// The effect's address.
    pub id: EffectAddress,
    /// What was found.
    pub found: RecoveryOutcome,
}

/// What became of an effect that was cut off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryOutcome {
    /// It happened, and this is its reply.
    Happened(Reply),
    /// It did not happen: it may be performed.
    DidNotHappen,
    /// Nobody can tell; this is what is known.
    CannotTell(String),
}

/// One input, its time, and the events that followed from it: what the journal keeps and `replay` repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When the input came.
    pub at: Timestamp,
    /// The input.
    pub input: Input,
    /// The events that followed from it.
    pub events: Vec<Event>,
}

#[derive(Serialize)]
struct BorrowedRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    i: Option<&'a Input>,
    e: &'a [Event],
}

#[derive(Deserialize)]
struct OwnedRecord {
    #[serde(default)]
    i: Option<Input>,
    e: Vec<Event>,
}

impl Record {
    /// The record's input and events as JSON. The input is left out if the first event contains all of it. Fails if the
    /// record is nested too deeply to be read again.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let told = self.events.first().is_some_and(|event| tells(event, &self.input));
        let json = serde_json::to_vec(&BorrowedRecord { i: (!told).then_some(&self.input), e: &self.events })?;
        nesting_limit::check(&json)?;
        Ok(json)
    }

    /// Reads what `to_json` wrote.
    pub fn from_json(at: Timestamp, json: &[u8]) -> Result<Self, serde_json::Error> {
        let read = serde_json::from_slice(json);
        // Depth is rarely the reason for an unreadable record; otherwise the first error says more.
        let read: OwnedRecord = read.or_else(|error| nesting_limit::read(json).map_err(|_| error))?;
        let input =
            match read.i {
                Some(input) => input,
                None => read.e.first().and_then(told_by).ok_or_else(|| {
                    serde::de::Error::custom("a record has neither an input nor an event that tells it")
                })?,
            };
        Ok(Self { at, input, events: read.e })
    }
}

/// Whether an event contains all of an input. Same result as comparing with `told_by`, without building the input.
fn tells(event: &Event, input: &Input) -> bool {
    match (event, input) {
        (
            Event::Replied { id, attempt, reply, prepared },
            Input::Replied { id: own_id, attempt: own_attempt, reply: own_reply, prepared: own_prepared },
        ) => id == own_id && attempt == own_attempt && reply == own_reply && prepared == own_prepared,
        (
            Event::Begun { id, attempt, epoch, facts },
            Input::Begun { id: own_id, attempt: own_attempt, epoch: own_epoch, facts: own_facts },
        ) => id == own_id && attempt == own_attempt && epoch == own_epoch && facts == own_facts,
        _ => told_by(event).as_ref() == Some(input),
    }
}

/// The input that an event contains in full, for the events that do.
fn told_by(event: &Event) -> Option<Input> {
    match event.clone() {
        Event::Started(start) => Some(Input::Start(start)),
        Event::Begun { id, attempt, epoch, facts } => Some(Input::Begun { id, attempt, epoch, facts }),
        Event::Noted { id, handle } => Some(Input::Noted { id, handle }),
        Event::Replied { id, attempt, reply, prepared } => Some(Input::Replied { id, attempt, reply, prepared }),
        Event::Wished { id, call, prepared } => Some(Input::Wished { under: id.outer()?, call, prepared }),
        Event::Told { message } => Some(Input::Tell { message }),
        Event::Paused => Some(Input::Pause),
        Event::Resumed { model: Some(model), .. } => Some(Input::ChangeModel { model }),
        Event::Resumed { budget, approvals, model: None } => Some(Input::Resume { budget, approvals }),
        Event::Marked { files } => Some(Input::Mark { files }),
        Event::Confined { level, flags } => Some(Input::Confine { level, flags }),
        Event::Tightened { rules, deny, distrusts } => Some(Input::Tighten { rules, deny, distrusts }),
        Event::Reloaded { roster, strange } => Some(Input::Reload { roster, strange }),
        Event::Imported => Some(Input::Import),
        Event::Adopted { settings } => Some(Input::Adopt { settings }),
        Event::WindowLearnt { model, tokens, by } => Some(Input::Window { model, tokens, by }),
        Event::Reserved { id, ceiling } => Some(Input::Estimated { id, ceiling }),
        Event::Forked { .. }
        | Event::Profiled { .. }
        | Event::Planned { .. }
        | Event::Required { .. }
        | Event::Wanted { .. }
        | Event::Held { .. }
        | Event::Interrupted { .. }
        | Event::Awaited { .. }
        | Event::Rejected { .. }
        | Event::Advised { .. }
        | Event::Wrote { .. }
        | Event::Cited { .. }
        | Event::Judged { .. }
        | Event::Proved { .. }
        | Event::StepDone { .. }
        | Event::Halted { .. }
        | Event::StepFailed { .. }
        | Event::StepSkipped { .. }
        | Event::StepCancelled { .. }
        | Event::Compacted { .. }
        | Event::Shortened { .. }
        | Event::Cancelled { .. }
        | Event::Exhausted { .. }
        | Event::Named { .. }
        | Event::Finished { .. } => None,
    }
}
