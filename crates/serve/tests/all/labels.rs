//! Runs that ask for a worker with a label: refused where there are no workers, and passed on where there are.

use std::sync::{Arc, Mutex};

use serde_json::json;
use updraft_workbench::Fault;
use updraft_workbench::service::{PlacementFuture, RunOrder};

use crate::api::Program;
use crate::world::World;

#[tokio::test]
async fn a_label_is_asked_for_only_where_workers_have_some() {
    let world = World::new(&json!({ "rules": [], "default": { "text": "done" } })).await;
    let program = Program::of(&world);
    assert!(!world.get("/new").await.body.contains("name=\"label\""));
    let order = json!({ "goal": "Train it", "agent": "thinker", "label": "gpu" });
    let refused = program.send("POST", "/runs", &order).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(refused.body.contains("no workers with labels here") && refused.body.contains("--engine restate"));
    for label in [String::new(), "x".repeat(101)] {
        let unreadable = program.send("POST", "/runs", &json!({ "goal": "x", "label": label })).await;
        assert_eq!(unreadable.status, 400, "{}", unreadable.body);
    }

    let (runs, asked) = (world.service.runs.clone(), Arc::new(Mutex::new(Vec::new())));
    let noted = Arc::clone(&asked);
    world.service.runs.place_with(Arc::new(move |id, order| {
        let runs = runs.clone();
        noted.lock().unwrap().push((order.label.clone().unwrap_or_default(), order.goal.clone()));
        let placing: PlacementFuture = Box::pin(async move {
            if order.label.as_deref() == Some("tpu") {
                return Err(Fault::usage("no worker of the workspace has the label `tpu`"));
            }
            runs.order_as(id, RunOrder { label: None, ..order }).await.map(drop)
        });
        placing
    }));
    let run = program.start(&order).await;
    assert_eq!(program.until(&run, "done").await["answer"], "done");
    let refused = program.send("POST", "/runs", &json!({ "goal": "x", "label": "tpu" })).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(world.get("/new").await.body.contains("name=\"label\""));
    let started = world.start(&[("goal", "Paint it"), ("mode", "agent:thinker"), ("label", "gpu")], None).await;
    assert_eq!(started.status, 303, "{}", started.body);
    world.start(&[("goal", "Without"), ("mode", "agent:thinker"), ("label", "")], None).await;
    let said = |label: &str, goal: &str| (label.to_owned(), goal.to_owned());
    assert_eq!(*asked.lock().unwrap(), [said("gpu", "Train it"), said("tpu", "x"), said("gpu", "Paint it")]);
    world.close().await;
}
