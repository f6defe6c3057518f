//! A small world for tests of the engine: a workspace, a journal, scripted models and real tools.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "each test uses a part of it, and a broken world should stop the test"
)]

pub(crate) mod stamps;

use std::path::Path;
use std::sync::Arc;

use updraft_engine::{Agents, Engine, EngineOptions, NewRun, Prompts, RealPerformer};
use updraft_journal::Journal;
use updraft_models::{Model, ModelAccess, Prompt, ScriptedModel};
use updraft_run::{Budget, Goal, Graph, ModelAnswer, RunId, RunMode, RunSettings, StepSpec, ToolCall, ToolSpec};
use updraft_tools::{Dispatcher, Registry, ToolLimits};

/// A folder with a workspace and a journal in it.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    /// In memory, where a sync costs nothing: for tests that open hundreds of journals.
    pub(crate) fn quick() -> Self {
        Self::within(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
    }

    fn within(folder: tempfile::TempDir) -> Self {
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder }
    }

    pub(crate) fn workspace(&self) -> std::path::PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn journal(&self) -> Journal {
        Journal::open(&self.folder.path().join("journal.db"), updraft_journal::JournalOptions::default()).unwrap()
    }

    /// An engine whose model answers by this function.
    pub(crate) fn engine(&self, answer: impl Fn(&Prompt<'_>) -> ModelAnswer + Send + Sync + 'static) -> Engine {
        self.engine_with(Arc::new(ScriptedModel::from_fn("scripted/test", answer)), EngineOptions::default())
    }

    pub(crate) fn engine_with(&self, model: Arc<dyn Model>, options: EngineOptions) -> Engine {
        Engine::new(self.journal(), Arc::new(performer(model)), options)
    }
}

/// Real tools, and one model.
pub(crate) fn performer(model: Arc<dyn Model>) -> RealPerformer {
    let limits = ToolLimits::default();
    let dispatcher = Dispatcher::new(Registry::standard(&limits), limits);
    RealPerformer::new(ModelAccess::default(), dispatcher).with_model("scripted/test", model)
}

pub(crate) fn specs(names: &[String]) -> Vec<ToolSpec> {
    Registry::standard(&ToolLimits::default()).specs_for(names)
}

pub(crate) fn settings(workspace: &Path) -> RunSettings {
    RunSettings { model: "scripted/test".into(), workspace: workspace.display().to_string(), ..RunSettings::default() }
}

/// Starts a run of this goal with the agents that come with the program.
pub(crate) async fn start(
    engine: &Engine,
    id: &str,
    goal: Goal,
    settings: RunSettings,
    plan: Option<Graph>,
) -> updraft_engine::RunHandle {
    let (agents, prompts) = (Agents::compiled_in().unwrap(), Prompts::compiled_in());
    let new = NewRun {
        goal,
        settings,
        budget: Budget::default(),
        plan,
        agents: &agents,
        prompts: &prompts,
        tools: &specs,
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    engine.start(RunId::parse(id).unwrap(), new).await.unwrap()
}

pub(crate) fn goal(text: &str) -> Goal {
    Goal { text: text.into(), ..Goal::default() }
}

pub(crate) fn by(agent: &str, text: &str) -> Goal {
    Goal { mode: RunMode::Agent(agent.into()), ..goal(text) }
}

pub(crate) fn says(text: impl Into<String>) -> ModelAnswer {
    ModelAnswer { text: text.into(), ..ModelAnswer::default() }
}

pub(crate) fn calls(list: &[(&str, serde_json::Value)]) -> ModelAnswer {
    let calls = list.iter().enumerate().map(|(n, (name, args))| ToolCall {
        id: format!("c{n}"),
        name: (*name).to_owned(),
        args: args.clone(),
        fault: None,
    });
    ModelAnswer { calls: calls.collect(), ..ModelAnswer::default() }
}

pub(crate) fn step(id: &str, agent: &str, reads: &[&str], writes: &[&str]) -> StepSpec {
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
    StepSpec {
        prompt: format!("Do {id}."),
        reads: names(reads),
        writes: names(writes),
        ..StepSpec::new(updraft_run::StepId::parse(id).unwrap(), agent)
    }
}

/// How many answers the conversation holds already.
pub(crate) fn turn(prompt: &Prompt<'_>) -> usize {
    prompt.messages.iter().filter(|message| matches!(message, updraft_run::Message::Assistant(_))).count()
}
