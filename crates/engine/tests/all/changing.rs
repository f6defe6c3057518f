//! Tools that are added, changed and removed while a run goes on, also while a model answers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::Arc;

use crate::support::{World, by, calls, says, settings, turn};
use serde_json::{Value, json};
use updraft_engine::{Agent, Agents, Engine, EngineOptions, NewRun, Prompts, RealPerformer, replay};
use updraft_models::{ModelAccess, Prompt, ScriptedModel};
use updraft_run::{Budget, Message, ModelAnswer, Reply, RunId, ToolOutput, ToolSpec};
use updraft_tools::{CallContext, Dispatcher, Registry, Tool, ToolFuture, ToolLimits, ToolTraits};

/// A tool that says which arguments it was called with.
struct Says(ToolSpec);

impl Tool for Says {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits { group: "served", ..ToolTraits::default() }
    }

    fn call<'a>(&'a self, args: Value, _: &'a CallContext) -> ToolFuture<'a> {
        let text = format!("called with {args}");
        Box::pin(async move { Reply::Output(Arc::new(ToolOutput { text, ..ToolOutput::default() })) })
    }
}

/// Our own tools, and tools of these names that take one argument each.
fn registry(served: &[(&str, &str)]) -> Registry {
    let mut registry = Registry::standard(&ToolLimits::default());
    for (name, argument) in served {
        let parameters = json!({"type": "object", "properties": {*argument: {"type": "string"}}, "required": [argument],
            "additionalProperties": false});
        let spec = ToolSpec { name: (*name).to_owned(), description: "A tool.".into(), parameters };
        registry.insert_changing(Arc::new(Says(spec))).unwrap();
    }
    registry
}

fn engine(
    world: &World,
    dispatcher: &Dispatcher,
    answer: impl Fn(&Prompt<'_>) -> ModelAnswer + Send + Sync + 'static,
) -> Engine {
    let model = Arc::new(ScriptedModel::from_fn("scripted/test", answer));
    let performer = RealPerformer::new(ModelAccess::default(), dispatcher.clone()).with_model("scripted/test", model);
    Engine::new(world.journal(), Arc::new(performer), EngineOptions::default())
}

async fn start(engine: &Engine, world: &World, dispatcher: &Dispatcher) -> updraft_engine::RunHandle {
    let mut agents = Agents::compiled_in().unwrap();
    let tools = vec!["served".to_owned(), "ask_user".to_owned()];
    agents.insert(Agent { name: "worker".into(), purpose: "works".into(), tools, ..Agent::default() });
    let new = NewRun {
        goal: by("worker", "use them"),
        settings: settings(&world.workspace()),
        budget: Budget::default(),
        plan: None,
        agents: &agents,
        prompts: &Prompts::compiled_in(),
        tools: &|wanted: &[String]| dispatcher.registry().specs_for(wanted),
        models: &|_| None,
        only_reads: &|_| true,
        pictures: Vec::new(),
    };
    engine.start(RunId::parse("changing").unwrap(), new).await.unwrap()
}

/// The names of the tools that a model is shown, and the last results it was given.
fn seen(prompt: &Prompt<'_>) -> String {
    let tools: Vec<&str> = prompt.tools.iter().map(|tool| tool.name.as_str()).collect();
    let results = prompt.messages.iter().rev().find_map(|message| match message {
        Message::Results(results) => Some(results.iter().map(|one| one.text.clone()).collect::<Vec<_>>()),
        _ => None,
    });
    format!("{} | {}", tools.join(" "), results.unwrap_or_default().join(" ; "))
}

#[tokio::test]
async fn a_model_is_shown_what_there_is_now_and_its_calls_of_what_was_are_not_made() {
    let world = World::quick();
    let dispatcher = Dispatcher::new(registry(&[("gone", "a"), ("shape", "a"), ("stays", "a")]), ToolLimits::default());
    let told: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let (changes, notes) = (dispatcher.clone(), Arc::clone(&told));
    let engine = engine(&world, &dispatcher, move |prompt| {
        notes.lock().unwrap().push(seen(prompt));
        let each = |tools: &[&str]| calls(&tools.iter().map(|name| (*name, json!({"a": "x"}))).collect::<Vec<_>>());
        match turn(prompt) {
            0 => {
                // While it answers, the tools that it was shown become others.
                changes.replace(registry(&[("extra", "a"), ("shape", "b"), ("stays", "a")]));
                each(&["gone", "shape", "stays"])
            }
            1 => calls(&[("extra", json!({"a": "y"})), ("shape", json!({"b": "z"}))]),
            _ => says("done"),
        }
    });
    let rested = start(&engine, &world, &dispatcher).await.drive().await.unwrap();
    assert_eq!(rested.run.answer(), "done");
    let told = told.lock().unwrap().clone();
    assert_eq!(told.len(), 3);
    assert_eq!(told[0], "ask_user gone shape stays | ");
    let (tools, results) = told[1].split_once(" | ").unwrap();
    assert_eq!(tools, "ask_user extra shape stays");
    let results: Vec<&str> = results.split(" ; ").collect();
    assert!(results[0].contains("`gone` no longer exists"), "{results:?}");
    assert!(
        results[1].contains("its definition has changed, so `shape` was not called; its parameters are now: {"),
        "{results:?}"
    );
    assert!(results[1].contains(r#""required":["b"]"#), "{results:?}");
    assert!(results[2].contains(r#"called with {"a":"x"}"#), "{results:?}");
    assert!(told[2].contains(r#"called with {"a":"y"} ; called with {"b":"z"}"#), "{told:?}");
    let replayed = replay(engine.journal(), &RunId::parse("changing").unwrap()).unwrap();
    assert_eq!((replayed.differences, replayed.prompts), (Vec::new(), 3));
}

#[tokio::test]
async fn a_run_that_is_opened_again_goes_on_with_the_tools_that_there_are_then() {
    let world = World::quick();
    let answer = |prompt: &Prompt<'_>| match turn(prompt) {
        0 => calls(&[("ask_user", json!({"question": "which?"}))]),
        _ => says(seen(prompt).split(" | ").next().unwrap_or_default()),
    };
    let dispatcher = Dispatcher::new(registry(&[("gone", "a")]), ToolLimits::default());
    let rested = start(&engine(&world, &dispatcher, answer), &world, &dispatcher).await.drive().await.unwrap();
    assert_eq!(rested.run.status_word(), "waiting");
    let now = Dispatcher::new(Registry::default(), ToolLimits::default());
    now.replace(registry(&[("extra", "a")]));
    let engine = engine(&world, &now, answer);
    let mut handle = engine.open(&rested.id).await.unwrap();
    handle.send(updraft_run::Input::Answer { id: None, text: "blue".into() });
    assert_eq!(handle.drive().await.unwrap().run.answer(), "ask_user extra");
    assert_eq!(replay(engine.journal(), &rested.id).unwrap().differences, []);
}
