//! The events of a run. The vocabulary only grows: no event is ever renamed, removed or given another meaning.

mod note;
mod step;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::citation::Citation;
use crate::confinement::Level;
use crate::effect::{Effect, EffectFacts, PreparedCall};
use crate::goal::{Budget, BudgetLimit, Ceiling, Roster, RunSettings, RunStart};
use crate::graph::Graph;
use crate::id::{EffectAddress, RunId, StepId};
use crate::message::{ToolCall, is_false};
use crate::origins::Origins;
use crate::proof::ProofFinding;
use crate::reply::{Failure, Reply};
use crate::requirement::Requirement;
use crate::shown::{Shortening, ShownPart, WindowSource};

pub use note::Note;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run began. Holds everything the run continues with.
    Started(Box<RunStart>),
    /// The run is a copy of the first events of another run; later events are its own.
    Forked {
        /// The run it was copied from.
        from: RunId,
        /// How many events were copied.
        at: u64,
        /// Settings that replace the copied ones from here on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settings: Option<Arc<RunSettings>>,
        /// Another goal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<String>,
    },
    /// The user sent another message to the run.
    Told {
        /// In their words.
        message: String,
    },
    /// What the distiller found in the files handed over.
    Profiled {
        /// The profile.
        files: Value,
    },
    /// A new or changed graph. Steps that have begun stay as they are.
    Planned {
        /// All steps that are not done yet.
        graph: Arc<Graph>,
        /// Why there is a new plan.
        because: PlanReason,
        /// Why this is not the planner's plan but a single step, if it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead: Option<String>,
    },
    /// The planner took requirements from the goal.
    Required {
        /// They are added to those that were given.
        requirements: Vec<Requirement>,
    },
    /// The run wants something from a model, a tool or a person.
    Wanted {
        /// The effect's address.
        id: EffectAddress,
        /// What is wanted.
        effect: Effect,
    },
    /// A model call was allowed to spend up to its ceiling.
    Reserved {
        /// The call's address.
        id: EffectAddress,
        /// The most it can use.
        ceiling: Ceiling,
    },
    /// A model call does not fit into the rest of the budget, but open calls may still return some of what they
    /// reserved.
    Held {
        /// The call's address.
        id: EffectAddress,
        /// The most it could use.
        ceiling: Ceiling,
    },
    /// An effect begins. This is on disk first for a call that may not be repeated, and for a model call with a known
    /// price and no reservation, or one that is asked again. Other model calls are recorded soon after they began; calls
    /// that may be repeated have no such event.
    Begun {
        /// The effect's address.
        id: EffectAddress,
        /// Which attempt.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        attempt: u32,
        /// The epoch of the process that performs it. A process that finds another epoch here knows that the effect was
        /// cut off.
        #[serde(default)]
        epoch: u64,
        /// What is known only now, as the effect begins.
        #[serde(default)]
        facts: EffectFacts,
    },
    /// A handle was recorded by which a running effect can be found again.
    Noted {
        /// The effect's address.
        id: EffectAddress,
        /// For instance a remote task's id.
        handle: String,
    },
    /// The reply to an effect.
    Replied {
        /// The effect's address.
        id: EffectAddress,
        /// Which attempt.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        attempt: u32,
        /// The reply.
        reply: Reply,
        /// What is known about the calls in the reply, one entry for each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prepared: Vec<PreparedCall>,
    },
    /// An attempt was cut off: the process ended, the answer broke off, or nothing came. A model call may have been billed.
    /// A model call is asked again, or the run stops or fails; a call that may be repeated is made again.
    Interrupted {
        /// The effect's address.
        id: EffectAddress,
        /// The attempt that was cut off.
        attempt: u32,
    },
    /// Running code asks for a tool call. The next event says whether the call is made.
    Wished {
        /// The call's address, inside the address of the call that runs the code.
        id: EffectAddress,
        /// The call.
        call: ToolCall,
        /// What is known about it.
        #[serde(default)]
        prepared: Box<PreparedCall>,
    },
    /// A new attempt at a call asked the same question to a person as an earlier attempt. The question is still open.
    Awaited {
        /// The question's address, inside the address of the call.
        id: EffectAddress,
    },
    /// A call was not made because it violated its schema, a permission or the budget. The agent is told.
    Rejected {
        /// The call's address.
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
    /// The citations in a step's result were checked.
    Cited {
        /// Which step.
        step: StepId,
        /// Each with what was found.
        citations: Vec<Citation>,
    },
    /// A step's result was judged.
    Judged {
        /// Which step.
        step: StepId,
        /// The verdict.
        verdict: Judgement,
    },
    /// The requirements were checked.
    Proved {
        /// The step that checked them.
        step: StepId,
        /// What was found, one entry for each requirement.
        findings: Vec<ProofFinding>,
    },
    /// A step succeeded.
    StepDone {
        /// Which step.
        step: StepId,
        /// Its turns ran out, and this is the best result it had.
        #[serde(default, skip_serializing_if = "is_false")]
        best_effort: bool,
        /// Its output, if it wrote no variable that holds it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        /// The earlier run that the result was taken from; the step was not carried out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept_from: Option<RunId>,
    },
    /// A step cannot continue for now: its turns are used up, or its model is not available. It continues where it
    /// stopped when the run is resumed.
    Halted {
        /// Which step.
        step: StepId,
        /// The question that will be asked again then, if one was open.
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
    /// A step will not run because a step it depends on did not succeed.
    StepSkipped {
        /// Which step.
        step: StepId,
        /// The step it depended on.
        because: StepId,
    },
    /// A step was cancelled.
    StepCancelled {
        /// Which step.
        step: StepId,
    },
    /// Older turns are replaced by a summary from here on.
    Compacted {
        /// Which step.
        step: StepId,
        /// How many entries of the conversation the summary replaces.
        upto: u32,
        /// The summary.
        summary: String,
    },
    /// From here on, these outputs are shown to the step's model only in part.
    Shortened {
        /// Which step.
        step: StepId,
        /// Why.
        because: Shortening,
        /// What is shown of each, by the number of its call.
        outputs: BTreeMap<u32, ShownPart>,
    },
    /// The context window of a model was found out.
    WindowLearnt {
        /// The model.
        model: String,
        /// Tokens.
        tokens: u64,
        /// How.
        by: WindowSource,
    },
    /// Someone paused the run: nothing new begins; effects that have begun may end.
    Paused,
    /// The run continues.
    Resumed {
        /// Raised limits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Budget>,
        /// Changed rules about approvals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approvals: Option<crate::goal::ApprovalMode>,
        /// Another model for all agents.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<crate::goal::ChosenModel>,
    },
    /// Other runs wrote text from outside to files of the workspace.
    Marked {
        /// Where that text came from, by path; `.` is the whole workspace.
        files: BTreeMap<String, Origins>,
    },
    /// From here on, commands are confined at another level.
    Confined {
        /// The level, as in the settings.
        level: Level,
        /// The command-line flags about commands' rights that hold from here on; absent if they did not change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flags: Option<crate::grants::GrantFlags>,
    },
    /// From here on, more calls are asked about or denied than when the run began.
    Tightened {
        /// The rules that ask and deny, in addition to the ones before.
        rules: crate::rules::Rules,
        /// Tools that are denied, in addition to the ones before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        deny: Vec<String>,
        /// Whether the workspace is no longer trusted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        distrusts: bool,
    },
    /// Agents, prompts or tools were loaded again.
    Reloaded {
        /// The new ones.
        roster: Arc<Roster>,
        /// The tools whose definitions come from outside, by name, with their origin; absent if they did not change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strange: Option<BTreeMap<String, String>>,
    },
    /// The run was imported from a file. It does not continue until someone adopts it.
    Imported,
    /// Someone adopted a run that was imported from a file.
    Adopted {
        /// The settings that hold from here on, instead of those in the file.
        settings: Arc<RunSettings>,
    },
    /// Someone cancelled the run.
    Cancelled {
        /// Who.
        by: String,
    },
    /// A limit was reached, or a model is not available. The run can be resumed: with a larger limit, or once the model is
    /// there again.
    Exhausted {
        /// Which limit.
        which: BudgetLimit,
    },
    /// Steps may name more models from here on.
    Named {
        /// Their names, with what each stands for.
        models: BTreeMap<String, String>,
    },
    /// The run is over.
    Finished {
        /// The final answer.
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
    /// The work is done, and its requirements are checked.
    Proof,
    /// A person changed the plan before it began, or asked for another.
    Revised,
}

/// How a step's result was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Judgement {
    /// It is accepted.
    Accept,
    /// The step is entered again and told what was wrong.
    Retry {
        /// What was wrong.
        feedback: String,
    },
    /// The step is entered again and told to take another approach.
    Pivot {
        /// What was wrong with the first approach.
        feedback: String,
    },
    /// The step asked to be run again with an updated context.
    Again {
        /// What it wants to do next.
        instruction: String,
    },
    /// It failed for good: what depends on it is skipped.
    GiveUp,
    /// A review rejected the result for good. The result is not part of the answer.
    Reject {
        /// The step that reviewed it.
        by: StepId,
        /// What was wrong.
        why: String,
    },
    /// A result that this step has read is being made again, so this step is entered again afterwards.
    Renewed {
        /// The step whose result is made again.
        by: StepId,
    },
    /// The rest of the graph is planned again.
    Replan {
        /// What failed.
        why: String,
    },
}

impl Event {
    /// The event's name in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Started(_) => "started",
            Event::Forked { .. } => "forked",
            Event::Told { .. } => "told",
            Event::Profiled { .. } => "profiled",
            Event::Planned { .. } => "planned",
            Event::Required { .. } => "required",
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
            Event::Cited { .. } => "cited",
            Event::Judged { .. } => "judged",
            Event::Proved { .. } => "proved",
            Event::StepDone { .. } => "step_done",
            Event::Halted { .. } => "halted",
            Event::StepFailed { .. } => "step_failed",
            Event::StepSkipped { .. } => "step_skipped",
            Event::StepCancelled { .. } => "step_cancelled",
            Event::Compacted { .. } => "compacted",
            Event::Shortened { .. } => "shortened",
            Event::WindowLearnt { .. } => "window_learnt",
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
            Event::Named { .. } => "named",
            Event::Finished { .. } => "finished",
        }
    }
}
