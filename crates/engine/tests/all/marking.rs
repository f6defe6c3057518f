//! What marking costs: a command in a workspace of somebody else adds a few short rows, however many folders there are.

#![allow(clippy::unwrap_used, reason = "a broken world should stop the test")]

use std::sync::Arc;

use crate::support::{World, calls, goal, says, settings, step, turn};
use serde_json::{Value, json};
use updraft_engine::{Agent, Agents, Engine, EngineOptions, MarkStore, NewRun, Prompts, RealPerformer};
use updraft_models::{ModelAccess, ScriptedModel};
use updraft_run::{
    ApprovalMode, Budget, EffectClass, FileChange, Goal, Graph, PreparedCall, Reply, RunId, RunMode, RunSettings,
    ToolOutput, ToolSpec,
};
use updraft_tools::{CallContext, Dispatcher, Place, Registry, Tool, ToolFuture, ToolLimits, ToolTraits};

const COMMANDS: usize = 50;
const FOLDERS: usize = 500;

/// A command that lists what it changed.
struct Build(ToolSpec);

impl Tool for Build {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits { class: EffectClass::Opaque, ..ToolTraits::default() }
    }

    fn prepare(&self, _: &Value, _: &Place) -> PreparedCall {
        let command = Some("make".to_owned());
        PreparedCall { class: EffectClass::Opaque, command, lists_changes: true, ..PreparedCall::default() }
    }

    fn call<'a>(&'a self, _: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            std::fs::write(cx.place.workspace.root().join("built"), "words").unwrap();
            let changes = vec![FileChange { path: "built".to_owned(), ..FileChange::default() }];
            Reply::Output(Arc::new(ToolOutput { changes, ..ToolOutput::default() }))
        })
    }
}

#[tokio::test]
async fn commands_add_little_to_the_marks_however_many_folders_there_are() {
    let world = World::quick();
    for n in 0..FOLDERS {
        std::fs::create_dir(world.workspace().join(n.to_string())).unwrap();
    }
    let limits = ToolLimits::default();
    let mut registry = Registry::standard(&limits);
    let parameters = json!({ "type": "object" });
    registry
        .insert(Arc::new(Build(ToolSpec { name: "build".into(), description: String::new(), parameters })))
        .unwrap();
    let dispatcher = Dispatcher::new(registry.clone(), limits);
    let model = ScriptedModel::from_fn("scripted/test", |prompt| match turn(prompt) {
        n if n < COMMANDS => calls(&[("build", json!({ "n": n }))]),
        _ => says("done"),
    });
    let performer = RealPerformer::new(ModelAccess::default(), dispatcher).with_model("scripted/test", Arc::new(model));
    let marks = world.folder.path().join("marks");
    let options = EngineOptions { marks: Some(MarkStore::at(&marks)), ..EngineOptions::default() };
    let engine = Engine::new(world.journal(), Arc::new(performer), options);
    let mut agents = Agents::compiled_in().unwrap();
    let tools = vec!["build".to_owned()];
    agents.insert(Agent { name: "maker".into(), tools, turns: Some(100), ..Agent::default() });
    let strange = RunSettings { workspace_trusted: false, ..settings(&world.workspace()) };
    let new = NewRun {
        goal: Goal { mode: RunMode::Given, ..goal("build it") },
        settings: RunSettings { approvals: ApprovalMode::Allow, ..strange },
        budget: Budget::default(),
        plan: Some(Graph { steps: vec![step("a", "maker", &[], &[])] }),
        agents: &agents,
        prompts: &Prompts::compiled_in(),
        tools: &|wanted: &[String]| registry.specs_for(wanted),
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    let rested = engine.start(RunId::parse("one").unwrap(), new).await.unwrap().drive().await.unwrap();
    assert_eq!(rested.run.status_word(), "done");
    let book = MarkStore::at(&marks).book(&world.workspace().display().to_string());
    let marked: Vec<String> = book.all().unwrap().into_iter().map(|marked| marked.path).collect();
    assert_eq!(marked, ["built"]);
    let files = std::fs::read_dir(&marks).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    let bytes: u64 = files.sum();
    assert!((1..20_000).contains(&bytes), "{bytes} bytes after {COMMANDS} commands");
}
