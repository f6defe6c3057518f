//! Steps that are done several times: each try is a step of its own, and another step chooses among them.

use serde::{Deserialize, Serialize};

use super::{Graph, StepSpec};
use crate::id::StepId;

/// The most tries of one step.
const MOST: usize = 10;

/// A step's part in work that is done several times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tries {
    /// It is to be done several times. Only before a plan is accepted.
    Wanted {
        /// How often.
        count: u32,
        /// The models that do it, one after the other; the step's own if there are none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        models: Vec<String>,
        /// The command that tells whether a try is good.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tests: Option<String>,
    },
    /// It is one of the tries.
    One {
        /// It works in a copy of the workspace.
        #[serde(default)]
        in_copy: bool,
    },
    /// It chooses among the tries.
    Choice {
        /// The tries.
        among: Vec<StepId>,
        /// They work in copies, and the changes of one of them are applied to the workspace.
        #[serde(default)]
        in_copies: bool,
        /// The command that tells whether a try is good. No model is asked then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tests: Option<String>,
    },
}

/// What must be known to plan tries.
pub struct TryPlanner<'a> {
    /// The agent that chooses.
    pub chooser: Option<&'a str>,
    /// Whether an agent may change the workspace, so that each of its tries gets a copy.
    pub may_change: &'a dyn Fn(&str) -> bool,
    /// The names of models that steps may use.
    pub models: Vec<&'a str>,
}

impl Graph {
    /// Whether a step is to be done several times.
    pub fn wants_tries(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.tries.as_deref(), Some(Tries::Wanted { .. })))
    }

    /// The graph with a step for each try. Names everything that is wrong at once.
    pub fn with_tries(self, planner: &TryPlanner<'_>) -> Result<Graph, Vec<String>> {
        let mut steps = Vec::with_capacity(self.steps.len());
        let mut faults = Vec::new();
        for step in self.steps {
            match step.tries.as_deref() {
                Some(Tries::Wanted { .. }) => match planner.tries_of(&step) {
                    Ok(several) => steps.extend(several),
                    Err(fault) => faults.push(fault),
                },
                Some(Tries::One { .. } | Tries::Choice { .. }) | None => steps.push(step),
            }
        }
        if faults.is_empty() { Ok(Graph { steps }) } else { Err(faults) }
    }
}

impl Graph {
    /// The graph as it was before [`with_tries`](Self::with_tries): one step that wants several tries, for people to edit.
    #[must_use]
    pub fn with_tries_joined(&self) -> Graph {
        let spec = |id: &StepId| self.steps.iter().find(|step| step.id == *id);
        let joined = |step: &StepSpec| match step.tries.as_deref() {
            Some(Tries::One { .. }) => None,
            Some(Tries::Choice { among, tests, .. }) => {
                let tries: Vec<&StepSpec> = among.iter().filter_map(spec).collect();
                let first = *tries.first()?;
                let models: Vec<String> = tries.iter().filter_map(|one| one.model.clone()).collect();
                let is_one_model = tries.iter().all(|one| one.model == first.model);
                let models = if is_one_model { Vec::new() } else { models };
                let count = tries.len();
                let description = first.description.trim_end_matches(&format!("(try 1 of {count})")).trim().to_owned();
                Some(StepSpec {
                    id: step.id.clone(),
                    description,
                    writes: step.writes.clone(),
                    model: first.model.clone().filter(|_| is_one_model),
                    tries: Some(Box::new(Tries::Wanted { count: count as u32, models, tests: tests.clone() })),
                    ..first.clone()
                })
            }
            Some(Tries::Wanted { .. }) | None => Some(step.clone()),
        };
        Graph { steps: self.steps.iter().filter_map(joined).collect() }
    }
}

impl TryPlanner<'_> {
    fn tries_of(&self, step: &StepSpec) -> Result<Vec<StepSpec>, String> {
        let id = &step.id;
        let Some(Tries::Wanted { count, models, tests }) = step.tries.as_deref() else { return Ok(Vec::new()) };
        if let Some(unknown) = models.iter().find(|model| !self.models.contains(&model.as_str())) {
            let close = super::close_to(unknown, &self.models);
            return Err(format!("step `{id}` names the model `{unknown}`, which is not set up; available: {close}"));
        }
        let count = (*count as usize).max(models.len());
        if count < 2 {
            return Ok(vec![StepSpec { tries: None, model: models.first().cloned(), ..step.clone() }]);
        }
        if count > MOST {
            return Err(format!("step `{id}` is to be done {count} times; at most {MOST} are allowed"));
        }
        let in_copy = (self.may_change)(&step.agent);
        if tests.is_some() && !in_copy {
            return Err(format!("step `{id}` has `tests`, but its agent `{}` changes nothing", step.agent));
        }
        let chooser =
            self.chooser.ok_or_else(|| format!("step `{id}` has several tries, but no agent has `role: chooser`"))?;
        let variable = |number: usize| format!("{}_{number}", id.as_str().replace(['-', '.'], "_"));
        let mut tries = Vec::with_capacity(count + 1);
        for number in 1..=count {
            let own = StepId::parse(&format!("{id}.{number}")).map_err(|bad| bad.to_string())?;
            tries.push(StepSpec {
                id: own,
                description: format!("{} (try {number} of {count})", step.description).trim().to_owned(),
                writes: vec![variable(number)],
                model: models.get((number - 1) % models.len().max(1)).cloned().or_else(|| step.model.clone()),
                tries: Some(Box::new(Tries::One { in_copy })),
                ..step.clone()
            });
        }
        let among = tries.iter().map(|one| one.id.clone()).collect();
        tries.push(StepSpec {
            agent: chooser.to_owned(),
            description: format!("Choose among {count} tries: {}", step.description)
                .trim_end_matches([' ', ':'])
                .to_owned(),
            reads: (1..=count).map(variable).collect(),
            after: Vec::new(),
            model: None,
            tries: Some(Box::new(Tries::Choice { among, in_copies: in_copy, tests: tests.clone() })),
            ..step.clone()
        });
        Ok(tries)
    }
}
