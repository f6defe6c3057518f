//! Rules that a person allowed with "always" in a workspace: stored in the state folder, never inside the workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use updraft_run::{ApprovalScope, Effect, Input, Rule, Rules, Run};

use crate::fault::Fault;
use crate::folders::AppFolders;
use crate::list_file;

/// The origin of such a rule, for people.
const FROM: &str = "always, in this workspace";

/// Rules by the canonical path of their workspace.
pub struct RememberedRules {
    folders: BTreeMap<String, Vec<String>>,
}

impl RememberedRules {
    /// The rules stored on this machine.
    pub fn load(folders: &AppFolders) -> Self {
        Self { folders: list_file::load(&file(folders)) }
    }

    /// The rules of a workspace. A rule that cannot be read allows nothing.
    pub fn rules(&self, workspace: &Path) -> Vec<Rule> {
        let known = self.folders.get(&workspace.display().to_string()).into_iter().flatten();
        known.filter_map(|rule| Rule::parse(rule, FROM).ok()).collect()
    }

    /// Puts the rules of a workspace as they are now into rules that were read earlier.
    pub(crate) fn renew(rules: &mut Rules, folders: &AppFolders, workspace: &Path) {
        rules.allow.retain(|rule| rule.from != FROM);
        rules.allow.extend(Self::load(folders).rules(workspace));
    }

    /// The rule that a text says, as it is stored.
    pub(crate) fn parse(text: &str) -> Result<String, Fault> {
        Rule::parse(text, FROM).map(|rule| rule.to_string()).map_err(Fault::usage)
    }

    /// Adds rules for a workspace, keeping those that other processes have added.
    pub fn add(folders: &AppFolders, workspace: &str, rules: &[String]) -> Result<(), Fault> {
        list_file::change(&file(folders), |folders: &mut BTreeMap<String, Vec<String>>| {
            let known = folders.entry(workspace.to_owned()).or_default();
            for rule in rules {
                if !known.contains(rule) {
                    known.push(rule.clone());
                }
            }
        })
    }

    /// Removes a rule. Returns false if there was none.
    pub fn remove(folders: &AppFolders, workspace: &Path, rule: &str) -> Result<bool, Fault> {
        list_file::change(&file(folders), |folders: &mut BTreeMap<String, Vec<String>>| {
            let Some(known) = folders.get_mut(&workspace.display().to_string()) else { return false };
            let before = known.len();
            known.retain(|other| other != rule);
            known.len() < before
        })
    }
}

fn file(folders: &AppFolders) -> PathBuf {
    folders.state.join("allowed.json")
}

/// Stores what was allowed for the whole workspace, if the input is such an approval.
pub fn keep(folders: &AppFolders, run: &Run, input: &Input) -> Result<(), Fault> {
    let Input::Verdict { id: Some(id), verdict } = input else { return Ok(()) };
    if !verdict.allow || verdict.always != Some(ApprovalScope::Workspace) {
        return Ok(());
    }
    match run.open().get(id).map(|open| &open.effect) {
        Some(Effect::Approval { always, .. }) => RememberedRules::add(folders, &run.settings().workspace, always),
        _ => Ok(()),
    }
}
