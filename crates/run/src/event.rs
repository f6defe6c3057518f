//! What can happen in a run. The vocabulary only grows: nothing here is ever renamed, removed or given another meaning.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::confine::Level;
use crate::effect::{Effect, EffectFacts, PreparedCall};
use crate::goal::{Budget, BudgetLimit, Ceiling, Roster, RunSettings, RunStart};
use crate::graph::Graph;
use crate::id::{EffectAddress, RunId, StepId};
use crate::message::{ToolCall, is_false};
use crate::origins::Origins;
use crate::reply::{Failure, Reply};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run began, with everything it goes on with.
    Started(Box<RunStart>),
    /// The run is a copy of another's first events; what follows is its own.
    Forked {
        /// The run it was copied from.
        from: RunId,
        /// How many events were copied.
        at: u64,
        /// Rules that differ from the copied ones from here on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settings: Option<Arc<RunSettings>>,
        /// Another goal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<String>,
    },
    /// The user said something more, to one step or to all that are at work.
    Told {
        /// In their words.
        message: String,
    },
    /// What the distiller found in the files handed over.
    Profiled {
        /// Its account.
        files: Value,
    },
    /// A new or changed graph. Steps that have begun stay as they are.
    Planned {
        /// All steps that are not done yet.
        graph: Arc<Graph>,
        /// Why there is a new plan.
        because: PlanReason,
    },
    /// A model, tool, person or clock is wanted.
    Wanted {
        /// The effect's place.
        id: EffectAddress,
        /// What is wanted.
        effect: Effect,
    },
    /// A model call was allowed to spend up to its ceiling.
    Reserved {
        /// The call's place.
        id: EffectAddress,
        /// The most it can use.
        ceiling: Ceiling,
    },
    /// A model call does not fit into what is left, while others that may give some back are open.
    Held {
        /// The call's place.
        id: EffectAddress,
        /// The most it could use.
        ceiling: Ceiling,
    },
    /// An effect is about to touch the world.
    Begun {
        /// The effect's place.
        id: EffectAddress,
        /// Which attempt.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        attempt: u32,
        /// Which process: one that finds another's epoch here knows that it was cut off.
        #[serde(default)]
        epoch: u64,
        /// What is known only now.
        #[serde(default)]
        facts: EffectFacts,
    },
    /// Something to find a running effect again by.
    Noted {
        /// The effect's place.
        id: EffectAddress,
        /// For instance a remote task's id.
        handle: String,
    },
    /// What came back.
    Replied {
        /// The effect's place.
        id: EffectAddress,
        /// Which attempt.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        attempt: u32,
        /// The reply.
        reply: Reply,
        /// What is known about the calls the reply asks for, one for each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prepared: Vec<PreparedCall>,
    },
    /// The process performing an effect ended; the attempt's outcome is unknown and it will be made again.
    Interrupted {
        /// The effect's place.
        id: EffectAddress,
        /// The attempt that was cut off.
        attempt: u32,
    },
    /// Code that runs at the moment asks for a call. Whether it is made, the next event says.
    Wished {
        /// The call's place, within that of the call that runs the code.
        id: EffectAddress,
        /// The call.
        call: ToolCall,
        /// What is known about it.
        #[serde(default)]
        prepared: Box<PreparedCall>,
    },
    /// A question that an earlier attempt at a call has put to a person is asked again, and still waits for them.
    Awaited {
        /// The question's place, within that of the call.
        id: EffectAddress,
    },
    /// A call was not made: it broke its schema, a permission or the budget. The agent is told.
    Rejected {
        /// The call's place.
        id: EffectAddress,
        /// Why.
        why: Failure,
    },
    /// The model is told something between two turns.
    Advised {
        /// Which step.
        step: StepId,
        /// What.
        note: Note,
    },
    /// A step wrote a shared variable.
    Wrote {
        /// Which step.
        step: StepId,
        /// The variable.
        name: String,
        /// Its value.
        value: Value,
        /// Whether text from outside went into it.
        #[serde(default, skip_serializing_if = "is_false")]
        untrusted: bool,
        /// Where that text came from.
        #[serde(default, skip_serializing_if = "Origins::is_empty")]
        origins: Origins,
    },
    /// A step's result was weighed.
    Judged {
        /// Which step.
        step: StepId,
        /// The verdict.
        verdict: Judgement,
    },
    /// A step ended well.
    StepDone {
        /// Which step.
        step: StepId,
        /// Its turns ran out, and this is the best it had.
        #[serde(default, skip_serializing_if = "is_false")]
        best_effort: bool,
        /// What it gave, where it wrote no variable that says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
    },
    /// A step cannot go on for now: its turns are used up, or its model is not available. It goes on where it stopped when
    /// the run is resumed.
    Halted {
        /// Which step.
        step: StepId,
        /// The question that gets put again then, where one was under way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<EffectAddress>,
        /// Why.
        why: Failure,
    },
    /// A step failed.
    StepFailed {
        /// Which step.
        step: StepId,
        /// Why.
        why: Failure,
    },
    /// A step will not run, because one before it did not end well.
    StepSkipped {
        /// Which step.
        step: StepId,
        /// The step it waited for.
        because: StepId,
    },
    /// A step was cancelled.
    StepCancelled {
        /// Which step.
        step: StepId,
    },
    /// Older turns are represented by a summary from here on.
    Compacted {
        /// Which step.
        step: StepId,
        /// How many entries of the conversation the summary stands for.
        upto: u32,
        /// The summary.
        summary: String,
    },
    /// Someone paused the run: nothing new starts, what runs may end.
    Paused,
    /// The run goes on.
    Resumed {
        /// Raised limits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Budget>,
        /// Changed rules about approvals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approvals: Option<crate::goal::ApprovalMode>,
    },
    /// Files of the workspace hold words from outside that other runs wrote there.
    Marked {
        /// Where those words came from, by path; `.` is the whole workspace.
        files: BTreeMap<String, Origins>,
    },
    /// From here on commands are confined to another degree.
    Confined {
        /// The level, as in the settings.
        level: Level,
        /// What holds from here on of what is said on the command line; absent where nothing else was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flags: Option<crate::goal::GrantFlags>,
    },
    /// More is asked about or denied from here on, than when the run began.
    Tightened {
        /// What is asked about and denied beside what was.
        rules: crate::rules::Rules,
        /// Tools that are denied beside those that were.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        deny: Vec<String>,
        /// Whether the workspace is no longer trusted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        distrusts: bool,
    },
    /// Agents, prompts or tools were taken anew.
    Reloaded {
        /// The new ones.
        roster: Arc<Roster>,
        /// The tools whose definitions are words from outside, by name, with where those come from; nothing if they are
        /// the same as before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strange: Option<BTreeMap<String, String>>,
    },
    /// The run came from a file: nothing goes on until someone has taken it over.
    Imported,
    /// Someone took over a run that came from a file.
    Adopted {
        /// The rules that hold from here on, in place of the file's.
        settings: Arc<RunSettings>,
    },
    /// Someone cancelled the run.
    Cancelled {
        /// Who.
        by: String,
    },
    /// A limit was reached; the run can go on with a larger one.
    Exhausted {
        /// Which limit.
        which: BudgetLimit,
    },
    /// The run is over.
    Finished {
        /// What it came to.
        answer: String,
        /// Why it counts as failed, if it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<Failure>,
    },
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_one(n: &u32) -> bool {
    *n == 1
}

/// Why there is a new plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlanReason {
    /// The steps every goal begins with: profiling files, planning.
    Goal,
    /// It is the first real plan.
    First,
    /// A step failed or its result was rejected.
    Failed(StepId),
}

/// How a step's result was weighed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Judgement {
    /// It will do.
    Accept,
    /// The step is entered again, with what was wrong.
    Retry {
        /// What was wrong.
        feedback: String,
    },
    /// The step is entered again and shall go another way.
    Pivot {
        /// What was wrong with this way.
        feedback: String,
    },
    /// The step asked to be run again with an updated context.
    Again {
        /// What it wants to do next.
        instruction: String,
    },
    /// It failed for good: what depends on it is skipped.
    GiveUp,
    /// A review rejected the result for good. It is no part of the answer.
    Reject {
        /// The step that reviewed it.
        by: StepId,
        /// What was wrong.
        why: String,
    },
    /// A result that the step had read is made again, so the step is entered again after it.
    Renewed {
        /// The step whose result is made again.
        by: StepId,
    },
    /// The rest of the graph is planned anew.
    Replan {
        /// What failed.
        why: String,
    },
}

/// Something the model is told between two turns. The words are in the prompt files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Note {
    /// The next answer is the last one.
    LastTurn,
    /// The last answer was not the last one after all: the step was given more turns.
    MoreTurns,
    /// These variables are missing from the result.
    MissingOutput {
        /// Their names.
        names: Vec<String>,
    },
    /// The result does not fit its schema, or is not what was asked for.
    Unfit {
        /// What is wrong with it.
        what: String,
    },
    /// All tools of this turn failed: answer from what is known.
    AllToolsFailed,
    /// The same call again and again.
    RepeatedCall {
        /// The tool.
        name: String,
    },
    /// The last answer reached the limit on output: the next one is put directly behind it.
    CutOff,
    /// The plan has these faults.
    PlanFaults {
        /// One sentence each.
        faults: Vec<String>,
    },
    /// The user said something more.
    Told {
        /// In their words.
        message: String,
    },
}

impl Event {
    /// The event's name, as it stands in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Started(_) => "started",
            Event::Forked { .. } => "forked",
            Event::Told { .. } => "told",
            Event::Profiled { .. } => "profiled",
            Event::Planned { .. } => "planned",
            Event::Wanted { .. } => "wanted",
            Event::Reserved { .. } => "reserved",
            Event::Held { .. } => "held",
            Event::Begun { .. } => "begun",
            Event::Noted { .. } => "noted",
            Event::Replied { .. } => "replied",
            Event::Interrupted { .. } => "interrupted",
            Event::Wished { .. } => "wished",
            Event::Awaited { .. } => "awaited",
            Event::Rejected { .. } => "rejected",
            Event::Advised { .. } => "advised",
            Event::Wrote { .. } => "wrote",
            Event::Judged { .. } => "judged",
            Event::StepDone { .. } => "step_done",
            Event::Halted { .. } => "halted",
            Event::StepFailed { .. } => "step_failed",
            Event::StepSkipped { .. } => "step_skipped",
            Event::StepCancelled { .. } => "step_cancelled",
            Event::Compacted { .. } => "compacted",
            Event::Paused => "paused",
            Event::Resumed { .. } => "resumed",
            Event::Marked { .. } => "marked",
            Event::Confined { .. } => "confined",
            Event::Tightened { .. } => "tightened",
            Event::Reloaded { .. } => "reloaded",
            Event::Imported => "imported",
            Event::Adopted { .. } => "adopted",
            Event::Cancelled { .. } => "cancelled",
            Event::Exhausted { .. } => "exhausted",
            Event::Finished { .. } => "finished",
        }
    }
}
