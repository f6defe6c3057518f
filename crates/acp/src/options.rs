//! What can be chosen for a session: who decides about calls (the mode), the model, and who works on prompts.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use updraft_run::{ApprovalMode, RunMode};
use updraft_workbench::service::LiveRuns;
use updraft_workbench::{AppFolders, Fault, Flags, WorkspaceSettings};

use crate::rpc::RpcFailure;

/// The modes, from the most to the least strict.
const MODES: [(ApprovalMode, &str, &str); 3] = [
    (ApprovalMode::ReadOnly, "Read only", "Reads, and changes nothing"),
    (ApprovalMode::Ask, "Workspace", "Works in the folder, and asks before it does more"),
    (ApprovalMode::Allow, "Full", "Asks only where a rule or the source of a text demands it"),
];
/// Who works on a prompt unless an agent is chosen.
const ANY_AGENT: &str = "auto";
/// Most models that are offered.
const MODELS: usize = 200;

/// What is kept about a session besides its runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SessionNote {
    /// The folder, as the editor wrote it.
    pub(crate) cwd: String,
    /// The mode that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<String>,
    /// The model that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The agent that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// It is not listed any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_deleted: bool,
}

impl SessionNote {
    /// How the runs of the session are planned.
    pub(crate) fn run_mode(&self) -> RunMode {
        self.agent.clone().map_or(RunMode::Plan, RunMode::Agent)
    }
}

/// What holds where nothing was chosen.
pub(crate) struct UsualChoices {
    approvals: ApprovalMode,
    model: String,
    /// The laxest mode that was allowed when the program was started.
    laxest: ApprovalMode,
}

impl UsualChoices {
    /// The usual choices in a folder. Blocks on the disk.
    pub(crate) fn read(folders: &AppFolders, folder: &Path, flags: &Flags) -> Result<Self, Fault> {
        let meant = WorkspaceSettings::load(folders, folder, flags)?.effective;
        let (approvals, model) = (meant.approvals.value, meant.model.value.clone());
        Ok(Self { approvals, model, laxest: flags.approvals.unwrap_or(ApprovalMode::Allow) })
    }

    /// Who decides about calls, if it is not the usual choice.
    pub(crate) fn approvals(&self, note: &SessionNote) -> Option<ApprovalMode> {
        let chosen = self.modes().find(|(mode, _, _)| note.mode.as_deref() == Some(mode.mode()))?.0;
        (chosen.mode() != self.current(&SessionNote::default())).then_some(chosen)
    }

    /// The model, if it is not the usual one.
    pub(crate) fn model(&self, note: &SessionNote) -> Option<String> {
        note.model.clone().filter(|model| *model != self.model)
    }

    fn modes(&self) -> impl Iterator<Item = &'static (ApprovalMode, &'static str, &'static str)> {
        let laxest = self.laxest;
        MODES.iter().filter(move |(mode, _, _)| *mode >= laxest)
    }

    /// The mode of a session.
    pub(crate) fn current(&self, note: &SessionNote) -> &'static str {
        let chosen = self.modes().find(|(mode, _, _)| note.mode.as_deref() == Some(mode.mode()));
        // `refuse` is `workspace` without questions.
        let usual = if self.approvals == ApprovalMode::Refuse { ApprovalMode::Ask } else { self.approvals };
        chosen.map_or(usual, |(mode, _, _)| *mode).mode()
    }

    /// The modes, for editors that know only these.
    pub(crate) fn modes_json(&self, note: &SessionNote) -> Value {
        let mode = |(mode, name, about): &(ApprovalMode, &str, &str)| json!({ "id": mode.mode(), "name": name, "description": about });
        json!({ "currentModeId": self.current(note), "availableModes": self.modes().map(mode).collect::<Vec<_>>() })
    }

    /// Everything that can be chosen, with what is chosen.
    pub(crate) fn options_json(&self, note: &SessionNote, runs: &LiveRuns) -> Value {
        let value =
            |value: &str, name: &str, about: &str| json!({ "value": value, "name": name, "description": about });
        let modes: Vec<Value> = self.modes().map(|(mode, name, about)| value(mode.mode(), name, about)).collect();
        let model = note.model.as_ref().unwrap_or(&self.model);
        let usable = runs.providers().into_iter().filter(|provider| provider.usable);
        let known = usable.flat_map(|provider| provider.models.into_iter().map(|(name, _)| name));
        let mut models = vec![self.model.clone()];
        for name in [model.clone()].into_iter().chain(known) {
            if !models.contains(&name) && models.len() < MODELS {
                models.push(name);
            }
        }
        let models: Vec<Value> = models.iter().map(|name| json!({ "value": name, "name": name })).collect();
        let mut agents =
            vec![value(ANY_AGENT, "As planned", "A plan is made, unless the conversation is with one agent")];
        agents.extend(runs.agents().into_iter().map(|agent| value(&agent.name, &agent.name, &agent.purpose)));
        let agent = note.agent.as_deref().unwrap_or(ANY_AGENT);
        json!([
            select(["mode", "Mode", "What is done without asking", "mode"], self.current(note), &modes),
            select(["model", "Model", "The model that agents ask", "model"], model, &models),
            select(["agent", "Agent", "Who works on a prompt", ""], agent, &agents),
        ])
    }
}

/// An option; `category` is one of the protocol's, or empty.
fn select([id, name, about, category]: [&str; 4], current: &str, options: &[Value]) -> Value {
    let mut option = json!({ "id": id, "name": name, "description": about, "type": "select", "currentValue": current,
                             "options": options });
    if !category.is_empty() {
        option["category"] = json!(category);
    }
    option
}

/// Notes a choice, if it is among those offered.
pub(crate) fn choose(note: &mut SessionNote, offered: &Value, id: &str, value: &Value) -> Result<(), RpcFailure> {
    let option = offered.as_array().into_iter().flatten().find(|option| option["id"] == id);
    let option = option.ok_or_else(|| RpcFailure::invalid_params(format!("there is no option `{id}`")))?;
    let is_offered = option["options"].as_array().into_iter().flatten().any(|one| one["value"] == *value);
    let Some(value) = value.as_str().filter(|_| is_offered) else {
        return Err(RpcFailure::invalid_params(format!("`{value}` is not among the values of the option `{id}`")));
    };
    match id {
        "mode" => note.mode = Some(value.to_owned()),
        "model" => note.model = Some(value.to_owned()),
        _ => note.agent = Some(value.to_owned()).filter(|agent| agent != ANY_AGENT),
    }
    Ok(())
}
