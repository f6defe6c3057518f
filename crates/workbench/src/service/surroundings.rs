//! What runs have around them, for people to see and change: tools, memories, documents and settings.

use std::sync::Arc;

use serde_json::Value;
use updraft_engine::FoundSkill;
use updraft_knowledge::{DocumentEntry, LONGEST_MEMORY, Memory, MemoryScope, NewMemory};
use updraft_run::{Graph, Run};
use updraft_tools::MemoryAccess;

use super::runs::LiveRuns;
use super::search::WorkspaceFiles;
use crate::doctor::{self, DoctorCheck};
use crate::fault::Fault;
use crate::outlook::StepOutlook;
use crate::{folders, memory, skills};

/// The variables that hold keys of model providers. Only whether they are set is ever told.
const KEYS: [&str; 8] = [
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "VERTEX_ACCESS_TOKEN",
];

/// A tool, as people see it.
#[derive(Clone, Debug)]
pub struct ToolCard {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
    /// The group it belongs to.
    pub group: String,
    /// Where it comes from.
    pub source: String,
}

impl WorkspaceFiles {
    /// The tools of the workspace, in name order.
    pub fn tools(&self) -> Vec<ToolCard> {
        let registry = self.dispatcher.registry();
        let card = |tool: &Arc<dyn updraft_tools::Tool>| ToolCard {
            name: tool.spec().name.clone(),
            description: tool.spec().description.clone(),
            parameters: tool.spec().parameters.clone(),
            group: tool.traits().group.to_string(),
            source: tool.source().to_string(),
        };
        let mut cards: Vec<ToolCard> = registry.iter().map(card).collect();
        cards.sort_by(|one, other| one.name.cmp(&other.name));
        cards
    }

    /// The documents in the index that may be read here. Blocks on the disk.
    pub fn documents(&self) -> Result<Vec<DocumentEntry>, Fault> {
        self.index.documents(&self.read_rules()).map_err(|error| Fault::failed(updraft_run::error_chain(&error)))
    }

    /// Removes the documents at a path, or in it, from the index, and gives their number. Blocks on the disk.
    pub fn forget_documents(&self, path: &str) -> Result<usize, Fault> {
        self.index.forget(&self.place.workspace, &[self.folder.join(path)]).map_err(failed)
    }
}

/// A skill, as people see it.
#[derive(Clone, Debug)]
pub struct SkillCard {
    /// Its folder.
    pub folder: String,
    /// Its name; empty if it cannot be used.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Why it cannot be used.
    pub faults: Vec<String>,
    /// What is ignored in it.
    pub remarks: Vec<String>,
}

impl LiveRuns {
    /// The skills of the user and of the workspace. Blocks on the disk.
    pub fn skills(&self) -> Vec<SkillCard> {
        let bench = self.bench();
        let card = |FoundSkill { folder, skill, remarks }: FoundSkill| {
            let (skill, faults) = skill.map_or_else(|faults| (None, faults), |skill| (Some(skill), Vec::new()));
            let (name, description) = skill.map(|skill| (skill.name, skill.description)).unwrap_or_default();
            SkillCard { folder: folder.display().to_string(), name, description, faults, remarks }
        };
        skills::of(&bench.folders, &bench.folder, &bench.settings).into_iter().map(card).collect()
    }

    fn memory(&self) -> MemoryAccess {
        let bench = self.bench();
        memory::access(&bench.folders, &bench.folder, &bench.settings)
    }

    /// What is remembered for this workspace, the user and all agents, the newest first. Blocks on the disk.
    pub fn memories(&self) -> Result<Vec<Memory>, Fault> {
        let memory = self.memory();
        if !memory.file().exists() {
            return Ok(Vec::new());
        }
        let mut all = memory.with(|store| store.list(&[])).map_err(failed)?;
        all.retain(|memory| match &memory.content.scope {
            MemoryScope::User | MemoryScope::Agent(_) => true,
            MemoryScope::Workspace(name) => name == self.workspace(),
        });
        Ok(all)
    }

    /// Remembers something for this workspace. Blocks on the disk.
    pub fn remember(&self, text: &str, pinned: bool) -> Result<(), Fault> {
        let scope = MemoryScope::Workspace(self.workspace().to_owned());
        let new = NewMemory {
            text: sensible(text)?,
            scope,
            pinned,
            run: String::new(),
            step: String::new(),
            origins: Vec::new(),
        };
        self.memory().with(|store| store.add(&new, None, updraft_tools::seconds_now())).map_err(failed)?;
        Ok(())
    }

    /// Changes a memory. What a person has read and written down again is theirs, wherever it came from. Blocks on the
    /// disk.
    pub fn change_memory(&self, id: i64, text: &str, pinned: bool) -> Result<(), Fault> {
        let before = self.known_memory(id)?;
        let text = sensible(text)?;
        let origins = if text == before.text { before.origins.clone() } else { Vec::new() };
        let content = NewMemory { text, pinned, origins, ..before };
        self.memory().with(|store| store.edit(id, &content)).map_err(failed)?;
        Ok(())
    }

    /// Forgets a memory. Blocks on the disk.
    pub fn forget_memory(&self, id: i64) -> Result<(), Fault> {
        self.known_memory(id)?;
        self.memory().with(|store| store.forget(id)).map_err(failed)?;
        Ok(())
    }

    fn known_memory(&self, id: i64) -> Result<NewMemory, Fault> {
        let known = self.memories()?.into_iter().find(|memory| memory.id == id);
        known.map(|memory| memory.content).ok_or_else(|| Fault::usage(format!("there is no memory {id}")))
    }

    /// What works here, what does not, and what to do about it.
    pub async fn doctor(&self) -> Arc<[DoctorCheck]> {
        let runs = self.clone();
        let examine = async move {
            let bench = runs.bench();
            doctor::examine(&bench.folders, Ok(&bench.folder), Some(runs.journal())).await
        };
        self.examination().checks(examine).await
    }

    /// What each step of a plan that a run has made will use.
    pub fn outlook(&self, run: &Run, plan: &Graph) -> Vec<StepOutlook> {
        self.bench().outlook_in(run, plan).unwrap_or_default()
    }

    /// Which keys of model providers are set.
    pub fn keys(&self) -> Vec<(&'static str, bool)> {
        KEYS.iter().map(|name| (*name, folders::set(name).is_some())).collect()
    }
}

fn sensible(text: &str) -> Result<String, Fault> {
    match text.trim() {
        "" => Err(Fault::usage("the text is empty")),
        text if text.len() > LONGEST_MEMORY => Err(Fault::usage("the text is too long to be remembered")),
        text => Ok(text.to_owned()),
    }
}

fn failed(error: impl std::error::Error) -> Fault {
    Fault::failed(updraft_run::error_chain(&error))
}
