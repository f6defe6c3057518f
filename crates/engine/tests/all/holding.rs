//! What a tool holds for a run (a browser, say) stays while the run waits for a person, and is released when it is over.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use crate::support::{World, by, calls, says, settings, start, turn};
use serde_json::{Value, json};
use updraft_engine::{Engine, EngineOptions, RealPerformer};
use updraft_models::{ModelAccess, ScriptedModel};
use updraft_run::{Input, Reply, ToolSpec};
use updraft_tools::{CallContext, Dispatcher, Registry, Tool, ToolFuture, ToolLimits, ToolTraits};

/// A tool that records which runs it was to release.
struct HoldingTool {
    spec: ToolSpec,
    released: Arc<Mutex<Vec<String>>>,
}

impl Tool for HoldingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits::default()
    }

    fn call<'a>(&'a self, _: Value, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(std::future::ready(Reply::Cancelled))
    }

    fn release<'a>(&'a self, run: Option<&'a str>) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        self.released.lock().unwrap().push(run.unwrap_or("all").to_owned());
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn what_a_tool_holds_is_released_when_the_run_is_over_and_not_while_it_waits() {
    let world = World::quick();
    let released: Arc<Mutex<Vec<String>>> = Arc::default();
    let parameters = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let spec = ToolSpec { name: "hold".into(), description: "A tool.".into(), parameters };
    let mut registry = Registry::standard(&ToolLimits::default());
    registry.insert(Arc::new(HoldingTool { spec, released: released.clone() })).unwrap();
    let dispatcher = Dispatcher::new(registry, ToolLimits::default());
    let model = Arc::new(ScriptedModel::from_fn("scripted/test", |prompt| match turn(prompt) {
        0 => calls(&[("ask_user", json!({"question": "which?"}))]),
        _ => says("done"),
    }));
    let performer = RealPerformer::new(ModelAccess::default(), dispatcher).with_model("scripted/test", model);
    let engine = Engine::new(world.journal(), Arc::new(performer), EngineOptions::default());
    let goal = by("clarification", "ask them");
    let rested = start(&engine, "held", goal, settings(&world.workspace()), None).await.drive().await.unwrap();
    assert_eq!((rested.run.status_word(), released.lock().unwrap().len()), ("waiting", 0));
    let mut handle = engine.open(&rested.id).await.unwrap();
    handle.send(Input::Answer { id: None, text: "blue".into() });
    assert_eq!(handle.drive().await.unwrap().run.answer(), "done");
    assert_eq!(*released.lock().unwrap(), ["held"]);
}
