//! What a person allowed with "always" in a workspace: kept beside our own state, never inside the workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use updraft_run::{Effect, Input, Rule, Run, Scope};

use crate::fault::Fault;
use crate::places::{self, Places};

/// Where such a rule comes from, for people.
const FROM: &str = "always, in this workspace";

/// Rules by the canonical path of their workspace.
pub(crate) struct Remembered {
    file: PathBuf,
    folders: BTreeMap<String, Vec<String>>,
}

impl Remembered {
    pub(crate) fn load(places: &Places) -> Self {
        let file = places.state.join("allowed.json");
        let folders =
            std::fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Self { file, folders }
    }

    /// The rules of a workspace. One that cannot be read allows nothing.
    pub(crate) fn rules(&self, workspace: &Path) -> Vec<Rule> {
        let known = self.folders.get(&workspace.display().to_string()).into_iter().flatten();
        known.filter_map(|rule| Rule::parse(rule, FROM).ok()).collect()
    }

    pub(crate) fn add(&mut self, workspace: &str, rules: &[String]) -> Result<(), Fault> {
        let known = self.folders.entry(workspace.to_owned()).or_default();
        for rule in rules {
            if !known.contains(rule) {
                known.push(rule.clone());
            }
        }
        self.save()
    }

    /// Forgets a rule; false if it was not there.
    pub(crate) fn remove(&mut self, workspace: &Path, rule: &str) -> Result<bool, Fault> {
        let Some(known) = self.folders.get_mut(&workspace.display().to_string()) else { return Ok(false) };
        let before = known.len();
        known.retain(|other| other != rule);
        let was = known.len() < before;
        self.save().map(|()| was)
    }

    fn save(&self) -> Result<(), Fault> {
        places::replace_private(&self.file, &serde_json::to_vec_pretty(&self.folders).unwrap_or_default())
    }
}

/// Keeps what was allowed for the whole workspace, if an input says so.
pub(crate) fn keep(places: &Places, run: &Run, input: &Input) -> Result<(), Fault> {
    let Input::Verdict { id: Some(id), verdict } = input else { return Ok(()) };
    if !verdict.allow || verdict.always != Some(Scope::Workspace) {
        return Ok(());
    }
    match run.open().get(id).map(|open| &open.effect) {
        Some(Effect::Approval { always, .. }) => Remembered::load(places).add(&run.settings().workspace, always),
        _ => Ok(()),
    }
}
