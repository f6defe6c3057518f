//! A plan while a person edits it: the rows of a form, and the plan that they say.
//!
//! A row keeps its key whatever its step is called, so that a step can get another name and others still wait for it. To
//! wait for a step means to read its results: what a step reads follows from the steps that it waits for.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use updraft_run::{Graph, GraphFault, Requirement, StepField, StepId};
use updraft_workbench::plan_file;

/// The steps of a plan as a form shows them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PlanDraft {
    pub(super) rows: Vec<DraftRow>,
    /// What the plan requires, as it was.
    pub(super) requirements: Value,
}

/// A step as a form shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DraftRow {
    pub(super) key: u32,
    pub(super) id: String,
    pub(super) agent: String,
    pub(super) description: String,
    pub(super) prompt: String,
    /// The rows that it waits for.
    pub(super) after: BTreeSet<u32>,
    pub(super) kept: KeptFields,
}

/// What the form does not show of a step: as it was in the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct KeptFields {
    /// A person has added it: its result is called like the step.
    is_new: bool,
    reads: Vec<String>,
    writes: Vec<String>,
    /// The rows that it waited for, and those of them that the plan names in `after`.
    waits: BTreeSet<u32>,
    after: BTreeSet<u32>,
    /// Steps of `after` that are not in the plan.
    outside: Vec<String>,
    /// Its model, its tries.
    more: Map<String, Value>,
}

/// A field of a row, for the faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DraftField {
    Id,
    Agent,
    Prompt,
    After,
    /// What the form does not show.
    Other,
}

impl DraftField {
    pub(super) fn word(self) -> &'static str {
        match self {
            DraftField::Id => "id",
            DraftField::Agent => "agent",
            DraftField::Prompt => "prompt",
            DraftField::After => "after",
            DraftField::Other => "other",
        }
    }
}

/// What is wrong with a draft: in the field of a row, or in the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DraftFaults {
    pub(super) fields: BTreeMap<(u32, DraftField), Vec<String>>,
    pub(super) whole: Vec<String>,
}

impl DraftFaults {
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.whole.is_empty()
    }

    fn add(&mut self, key: u32, field: DraftField, text: &str) {
        self.fields.entry((key, field)).or_default().push(text.to_owned());
    }
}

/// What a button of the form does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DraftChange {
    /// Nothing: it is only drawn again.
    None,
    Add,
    Up(u32),
    Down(u32),
    Remove(u32),
}

impl DraftChange {
    /// The change that the value of a button names.
    pub(super) fn of(word: &str) -> Self {
        let (word, key) = word.split_once('.').unwrap_or((word, ""));
        match (word, key.parse()) {
            ("add", _) => DraftChange::Add,
            ("up", Ok(key)) => DraftChange::Up(key),
            ("down", Ok(key)) => DraftChange::Down(key),
            ("remove", Ok(key)) => DraftChange::Remove(key),
            _ => DraftChange::None,
        }
    }
}

impl PlanDraft {
    /// A plan as it is edited.
    pub(super) fn of(plan: &Graph, requirements: &[Requirement]) -> Self {
        let plan = plan.with_tries_joined();
        let waits = plan.dependencies();
        let mut file = plan_file(&plan, requirements);
        let keys: BTreeMap<&StepId, u32> = plan.steps.iter().zip(1..).map(|(step, key)| (&step.id, key)).collect();
        let rows = plan.steps.iter().zip(1..).zip(&waits).enumerate().map(|(at, ((step, key), waits))| {
            let waits: BTreeSet<u32> = waits.iter().map(|at| *at as u32 + 1).collect();
            let mut more = file["steps"][at].as_object_mut().map(std::mem::take).unwrap_or_default();
            more.retain(|name, _| matches!(name.as_str(), "model" | "models" | "candidates" | "tests"));
            let is_outside = |id: &&StepId| !keys.contains_key(*id);
            let kept = KeptFields {
                is_new: false,
                reads: step.reads.clone(),
                writes: step.writes.clone(),
                after: step.after.iter().filter_map(|id| keys.get(id).copied()).collect(),
                outside: step.after.iter().filter(is_outside).map(ToString::to_string).collect(),
                waits: waits.clone(),
                more,
            };
            DraftRow {
                key,
                id: step.id.to_string(),
                agent: step.agent.clone(),
                description: step.description.clone(),
                prompt: step.prompt.clone(),
                after: waits,
                kept,
            }
        });
        let rows = rows.collect();
        Self { rows, requirements: file["requirements"].take() }
    }

    /// A draft as a form sends it: the rows in their order, each with its fields.
    pub(super) fn sent(fields: &[(String, String)]) -> Self {
        let mut draft = PlanDraft::default();
        let mut places: BTreeMap<u32, usize> = BTreeMap::new();
        for (name, text) in fields {
            if name == "requirements" {
                draft.requirements = serde_json::from_str(text).unwrap_or_default();
            }
            if let ("row[]", Ok(key)) = (name.as_str(), text.parse()) {
                places.entry(key).or_insert_with(|| {
                    draft.rows.push(DraftRow { key, ..DraftRow::default() });
                    draft.rows.len() - 1
                });
            }
            let row = name.split_once('.').and_then(|(key, field)| Some((*places.get(&key.parse().ok()?)?, field)));
            let Some((place, field)) = row else { continue };
            let row = &mut draft.rows[place];
            match field {
                "id" => text.trim().clone_into(&mut row.id),
                "agent" => text.clone_into(&mut row.agent),
                "description" => text.trim().clone_into(&mut row.description),
                "prompt" => text.replace("\r\n", "\n").trim_end().clone_into(&mut row.prompt),
                "after[]" => row.after.extend(text.parse::<u32>().ok()),
                "kept" => row.kept = serde_json::from_str(text).unwrap_or_default(),
                _ => {}
            }
        }
        for row in &mut draft.rows {
            row.after.retain(|key| places.contains_key(key));
        }
        draft
    }

    /// Changes the rows. Gives the element that the person goes on with.
    pub(super) fn change(&mut self, change: DraftChange, agent: &str) -> Option<String> {
        let place = |rows: &[DraftRow], key: u32| rows.iter().position(|row| row.key == key);
        match change {
            DraftChange::None => None,
            DraftChange::Add => {
                let key = self.rows.iter().map(|row| row.key).max().unwrap_or_default().saturating_add(1);
                let is_taken = |id: &str| {
                    self.rows.iter().any(|row| row.id == id || row.kept.writes.iter().any(|name| name == id))
                };
                let number = (1..=u32::MAX).find(|number| !is_taken(&format!("step_{number}"))).unwrap_or(key);
                // What is added at the end most often uses what was found before it.
                let after = self.rows.last().map(|row| row.key).into_iter().collect();
                let kept = KeptFields { is_new: true, ..KeptFields::default() };
                let (id, agent) = (format!("step_{number}"), agent.to_owned());
                self.rows.push(DraftRow { key, id, agent, after, kept, ..DraftRow::default() });
                Some(format!("row-{key}-id"))
            }
            DraftChange::Up(key) => {
                let at = place(&self.rows, key).filter(|at| *at > 0)?;
                self.rows.swap(at, at - 1);
                Some(format!("row-{key}-{}", if at == 1 { "down" } else { "up" }))
            }
            DraftChange::Down(key) => {
                let last = self.rows.len().checked_sub(1)?;
                let at = place(&self.rows, key).filter(|at| *at < last)?;
                self.rows.swap(at, at + 1);
                Some(format!("row-{key}-{}", if at + 1 == last { "up" } else { "down" }))
            }
            DraftChange::Remove(key) => {
                let at = place(&self.rows, key)?;
                let removed = self.rows.remove(at);
                let written: BTreeSet<String> = self.rows.iter().flat_map(|row| row.kept.writes.clone()).collect();
                for row in &mut self.rows {
                    row.after.remove(&key);
                    row.kept.waits.remove(&key);
                    row.kept.after.remove(&key);
                    row.kept.reads.retain(|name| written.contains(name) || !removed.kept.writes.contains(name));
                }
                let next = self.rows.get(at).or(self.rows.last());
                Some(next.map_or_else(|| "add-step".to_owned(), |row| format!("row-{}-id", row.key)))
            }
        }
    }

    /// The plan that the rows say, in the form of a plan file.
    pub(super) fn file(&self) -> Value {
        let rows: BTreeMap<u32, &DraftRow> = self.rows.iter().map(|row| (row.key, row)).collect();
        let steps: Vec<Value> = self.rows.iter().map(|row| row.in_file(&rows)).collect();
        let mut file = json!({ "steps": steps });
        if !self.requirements.is_null() {
            file["requirements"] = self.requirements.clone();
        }
        file
    }

    /// What can be told from the form alone: names, and steps without a task.
    pub(super) fn faults(&self) -> DraftFaults {
        let mut faults = DraftFaults::default();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for row in &self.rows {
            match StepId::parse(&row.id) {
                _ if row.id.is_empty() => faults.add(row.key, DraftField::Id, "give the step a name"),
                Err(bad) => faults.add(row.key, DraftField::Id, &bad.to_string()),
                Ok(_) if !seen.insert(&row.id) => {
                    faults.add(row.key, DraftField::Id, &format!("another step is called `{}` already", row.id));
                }
                Ok(_) if row.prompt.trim().is_empty() && row.description.is_empty() => {
                    faults.add(row.key, DraftField::Prompt, "say what the agent is to do");
                }
                Ok(_) => {}
            }
        }
        faults
    }

    /// Puts faults of the plan where the form shows them.
    pub(super) fn place(&self, found: Vec<GraphFault>, faults: &mut DraftFaults) {
        for fault in found {
            let keys: Vec<u32> = self
                .rows
                .iter()
                .filter(|row| fault.steps.iter().any(|step| step.as_str() == row.id))
                .map(|row| row.key)
                .collect();
            if keys.is_empty() {
                faults.whole.push(fault.text);
                continue;
            }
            let field = match fault.field {
                Some(StepField::Id) => DraftField::Id,
                Some(StepField::Agent) => DraftField::Agent,
                Some(StepField::Text) => DraftField::Prompt,
                Some(StepField::After | StepField::Reads) => DraftField::After,
                Some(StepField::Model | StepField::Writes) | None => DraftField::Other,
            };
            for key in keys {
                faults.add(key, field, &fault.text);
            }
        }
    }
}

impl DraftRow {
    /// What it writes.
    fn writes(&self) -> Vec<String> {
        if self.kept.is_new { vec![self.id.clone()] } else { self.kept.writes.clone() }
    }

    /// The step in a plan file. For a row that it waits for now and did not before, it reads what that row writes; for one
    /// that it waits for no longer, it does not.
    fn in_file(&self, rows: &BTreeMap<u32, &DraftRow>) -> Value {
        let written_by = |key: &u32| rows.get(key).map(|row| row.writes()).unwrap_or_default();
        let (kept, new) = (&self.kept, self.after.difference(&self.kept.waits));
        let remaining: BTreeSet<String> = self.after.iter().flat_map(written_by).collect();
        let dropped: BTreeSet<String> = kept.waits.difference(&self.after).flat_map(written_by).collect();
        let mut reads: Vec<String> =
            kept.reads.iter().filter(|name| remaining.contains(*name) || !dropped.contains(*name)).cloned().collect();
        let mut after = kept.outside.clone();
        let name = |key: &u32| rows.get(key).map(|row| row.id.clone());
        after.extend(kept.after.intersection(&self.after).filter_map(name));
        for key in new {
            after.extend(name(key));
            let wanted = written_by(key).into_iter().filter(|name| !reads.contains(name)).collect::<Vec<_>>();
            reads.extend(wanted);
        }
        let mut step = Map::new();
        let texts =
            [("id", &self.id), ("agent", &self.agent), ("description", &self.description), ("prompt", &self.prompt)];
        step.extend(
            texts.into_iter().filter(|(_, text)| !text.is_empty()).map(|(n, text)| (n.to_owned(), json!(text))),
        );
        let lists = [("reads", reads), ("writes", self.writes()), ("after", after)];
        step.extend(
            lists.into_iter().filter(|(_, list)| !list.is_empty()).map(|(n, list)| (n.to_owned(), json!(list))),
        );
        step.extend(kept.more.clone());
        Value::Object(step)
    }
}

#[cfg(test)]
#[path = "plan_draft_tests.rs"]
mod tests;
