//! What a person allowed with "always" in a workspace: kept beside our own state, never inside the workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use updraft_run::{Effect, Input, Rule, Run, Scope};

use crate::fault::Fault;
use crate::list_file;
use crate::places::Places;

/// Where such a rule comes from, for people.
const FROM: &str = "always, in this workspace";

/// Rules by the canonical path of their workspace.
pub struct Remembered {
    folders: BTreeMap<String, Vec<String>>,
}

impl Remembered {
    /// What is remembered on this machine.
    pub fn load(places: &Places) -> Self {
        Self { folders: list_file::load(&file(places)) }
    }

    /// The rules of a workspace. One that cannot be read allows nothing.
    pub fn rules(&self, workspace: &Path) -> Vec<Rule> {
        let known = self.folders.get(&workspace.display().to_string()).into_iter().flatten();
        known.filter_map(|rule| Rule::parse(rule, FROM).ok()).collect()
    }

    /// Remembers rules for a workspace, beside whatever another process has remembered meanwhile.
    pub fn add(places: &Places, workspace: &str, rules: &[String]) -> Result<(), Fault> {
        list_file::change(&file(places), |folders: &mut BTreeMap<String, Vec<String>>| {
            let known = folders.entry(workspace.to_owned()).or_default();
            for rule in rules {
                if !known.contains(rule) {
                    known.push(rule.clone());
                }
            }
        })
    }

    /// Forgets a rule; false if it was not there.
    pub fn remove(places: &Places, workspace: &Path, rule: &str) -> Result<bool, Fault> {
        list_file::change(&file(places), |folders: &mut BTreeMap<String, Vec<String>>| {
            let Some(known) = folders.get_mut(&workspace.display().to_string()) else { return false };
            let before = known.len();
            known.retain(|other| other != rule);
            known.len() < before
        })
    }
}

fn file(places: &Places) -> PathBuf {
    places.state.join("allowed.json")
}

/// Keeps what was allowed for the whole workspace, if an input says so.
pub fn keep(places: &Places, run: &Run, input: &Input) -> Result<(), Fault> {
    let Input::Verdict { id: Some(id), verdict } = input else { return Ok(()) };
    if !verdict.allow || verdict.always != Some(Scope::Workspace) {
        return Ok(());
    }
    match run.open().get(id).map(|open| &open.effect) {
        Some(Effect::Approval { always, .. }) => Remembered::add(places, &run.settings().workspace, always),
        _ => Ok(()),
    }
}
