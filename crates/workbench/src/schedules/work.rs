//! What a schedule does: a goal, or a recipe with its parameters.

use serde::{Deserialize, Serialize};
use updraft_run::{Goal, RunMode};

use crate::fault::Fault;
use crate::recipes;
use crate::start::NewGoal;
use crate::workbench::Workbench;

/// What a schedule does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleWork {
    /// The goal, if it is no recipe.
    #[serde(default)]
    pub goal: String,
    /// The recipe, by name or by the path of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// The recipe's parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<(String, String)>,
    /// One agent instead of a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Another model than the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl ScheduleWork {
    /// In words for people.
    pub fn in_words(&self) -> String {
        let Some(recipe) = &self.recipe else { return self.goal.clone() };
        let parameters: Vec<String> = self.parameters.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        format!("recipe {recipe}{}", parameters.concat())
    }

    /// The goal of a run and the model that is asked for, after everything was checked that can be checked before.
    pub fn new_goal(&self, bench: &Workbench) -> Result<(NewGoal, Option<String>), Fault> {
        let (new, unread, model) = if let Some(name) = &self.recipe {
            let (_, recipe) = recipes::find(&bench.folders, &bench.folder, &bench.settings, name)?;
            let order = recipes::order(&recipe, &self.parameters, &bench.folder)?;
            let (new, unread) = order.new_goal(&bench.folder)?;
            (new, unread, order.model)
        } else {
            let mode = self.agent.clone().map_or(RunMode::Plan, RunMode::Agent);
            let goal = Goal { text: self.goal.clone(), mode, ..Goal::default() };
            (NewGoal { goal, ..NewGoal::default() }, Vec::new(), None)
        };
        if new.goal.text.trim().is_empty() || new.goal.text.contains('\0') {
            return Err(Fault::usage("the goal is empty; say what you want done"));
        }
        bench.check(&new, unread)?;
        Ok((new, self.model.clone().or(model)))
    }
}
