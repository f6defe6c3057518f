//! Describes earlier steps to a later step and its tools: what each did, and its result.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use updraft_run::{Action, Actions, Run, Step, StepSpec, StepState};

/// How many earlier steps a step's context names.
const MOST_STEPS: usize = 20;
/// How many characters of an earlier step's output a tool's context contains.
const LONGEST_OUTPUT: usize = 2000;
/// How many characters of it a prompt contains: a step gets its real inputs as variables.
const LONGEST_TOLD: usize = 500;
/// How many bytes all earlier steps together may take in a prompt. Further steps are only named.
const MOST_TOLD: usize = 16 * 1024;

/// A step that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastStep {
    /// Its name.
    pub step: String,
    /// Its agent.
    pub agent: String,
    /// Its description.
    pub description: String,
    /// How it ended.
    pub status: &'static str,
    /// Its output, cut to size; if it failed, the reason.
    pub output: String,
    /// The newest of its calls.
    pub actions: Vec<Action>,
    /// How many calls it made before those.
    pub earlier: u32,
}

/// A step that has ended, shared with the run. Its description is built only when it is used.
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

    pub(crate) fn past_step(&self) -> PastStep {
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

/// The steps that this one depended on, and those whose variables it reads.
pub(crate) fn behind(run: &Run, step: &Step) -> Vec<EndedStep> {
    run.before(step).take(MOST_STEPS).map(EndedStep::of).collect()
}

/// The same steps, as text for the prompt.
pub(crate) fn in_words(run: &Run, step: &Step) -> String {
    let mut text = String::new();
    for past in behind(run, step).iter().map(EndedStep::past_step) {
        let whole = past.in_words();
        let fits = text.len() + whole.len() <= MOST_TOLD;
        text.push_str(&if fits { whole } else { past.heading() });
        text.push('\n');
    }
    text
}

impl PastStep {
    /// Describes a step.
    pub(crate) fn of(step: &Step) -> Self {
        EndedStep::of(step).past_step()
    }

    /// The documented JSON form, with its position in the order.
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

    /// One line about the step, one about each of its calls, and the beginning of its output.
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
