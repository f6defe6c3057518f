//! Earlier steps, as a step and its tools are told of them: what each did, and what came of it.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use updraft_run::{Action, Actions, Run, Step, StepSpec, StepState};

/// Earlier steps named in a step's context.
const MOST_STEPS: usize = 20;
/// Characters of an earlier step's output in a tool's context.
const LONGEST_OUTPUT: usize = 2000;
/// Characters of it in a prompt: what a step shall work on comes to it as a variable.
const LONGEST_TOLD: usize = 500;
/// Bytes that all earlier steps together may take in a prompt. Those beyond it are named in a line.
const MOST_TOLD: usize = 16 * 1024;

/// A step that ended before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastStep {
    /// Its name.
    pub step: String,
    /// Who did it.
    pub agent: String,
    /// What it was.
    pub description: String,
    /// How it ended.
    pub status: &'static str,
    /// What it gave, cut to size; where it failed, why.
    pub output: String,
    /// The newest of its calls.
    pub actions: Vec<Action>,
    /// How many calls it made before those.
    pub earlier: u32,
}

/// A step that ended before, shared with the run: what is told about it is made only where it is told.
pub(crate) struct EndedStep {
    spec: Arc<StepSpec>,
    status: &'static str,
    output: Option<Arc<str>>,
    actions: Option<Arc<Actions>>,
}

impl EndedStep {
    fn of(step: &Step) -> Self {
        let output = match &step.state {
            StepState::Failed(why) => Some(Arc::from(why.message.as_str())),
            _ => step.output.clone(),
        };
        Self { spec: Arc::clone(&step.spec), status: step.status(), output, actions: step.actions.clone() }
    }

    pub(crate) fn told(&self) -> PastStep {
        let Actions { newest, earlier } = self.actions.as_deref().cloned().unwrap_or_default();
        PastStep {
            step: self.spec.id.to_string(),
            agent: self.spec.agent.clone(),
            description: self.spec.description.clone(),
            status: self.status,
            output: self.output.as_deref().unwrap_or_default().chars().take(LONGEST_OUTPUT).collect(),
            actions: newest,
            earlier,
        }
    }
}

/// The steps that this one waited for, and those whose variables it reads.
pub(crate) fn behind(run: &Run, step: &Step) -> Vec<EndedStep> {
    run.before(step).take(MOST_STEPS).map(EndedStep::of).collect()
}

/// The same, for the step's prompt.
pub(crate) fn in_words(run: &Run, step: &Step) -> String {
    let mut text = String::new();
    for past in behind(run, step).iter().map(EndedStep::told) {
        let whole = past.in_words();
        let fits = text.len() + whole.len() <= MOST_TOLD;
        text.push_str(&if fits { whole } else { past.heading() });
        text.push('\n');
    }
    text
}

impl PastStep {
    /// What is told about a step.
    pub(crate) fn of(step: &Step) -> Self {
        EndedStep::of(step).told()
    }

    /// As the documented JSON shape has it, with its place in the order.
    pub(crate) fn to_json(&self, place: usize) -> Value {
        let calls = self.actions.iter().map(|action| {
            json!({ "tool": action.tool, "arguments": action.args, "ok": action.ok, "outcome": action.outcome })
        });
        json!({
            "step": place,
            "action": {
                "id": self.step,
                "agent": self.agent,
                "description": self.description,
                "calls": calls.collect::<Vec<_>>(),
                "earlier_calls": self.earlier,
            },
            "observation": { "status": self.status, "output": self.output },
        })
    }

    fn heading(&self) -> String {
        let PastStep { step, agent, description, status, .. } = self;
        format!("- `{step}` ({agent}, {status}): {description}")
    }

    /// A line on the step, one on each of its calls, and the beginning of what it gave.
    fn in_words(&self) -> String {
        let mut text = self.heading();
        if self.earlier > 0 {
            let _ = write!(text, "\n  - {} earlier calls", self.earlier);
        }
        for Action { tool, args, ok, outcome } in &self.actions {
            let mark = if *ok { "" } else { "did not work: " };
            let _ = write!(text, "\n  - {tool} {args} → {mark}{outcome}");
        }
        if !self.output.is_empty() {
            let cut = self.output.char_indices().nth(LONGEST_TOLD);
            let output = cut.map_or_else(|| self.output.clone(), |(end, _)| format!("{}…", &self.output[..end]));
            let _ = write!(text, "\n  - gave: {}", output.trim().replace('\n', "\n    "));
        }
        text
    }
}
