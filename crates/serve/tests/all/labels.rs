//! Runs that ask for a worker with a label: refused where there are no workers, and passed on where there are.

use std::sync::{Arc, Mutex};

use serde_json::json;
use updraft_run::ApprovalMode;
use updraft_workbench::service::{PlacementFuture, RunOrder};
use updraft_workbench::{Fault, Kind};

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
        noted.lock().unwrap().push((order.label.clone().unwrap_or_default(), order.goal.clone(), order.approvals));
        let placing: PlacementFuture = Box::pin(async move {
            if order.label.as_deref() == Some("tpu") {
                return Err(Fault::usage("no worker of the workspace has the label `tpu`"));
            }
            if order.label.as_deref() == Some("away") {
                return Err(Fault::new(Kind::Unavailable, "no worker that could do it answers"));
            }
            runs.order_as(id, RunOrder { label: None, ..order }).await.map(drop)
        });
        placing
    }));
    let run = program.start(&order).await;
    assert_eq!(program.until(&run, "done").await["answer"], "done");
    let refused = program.send("POST", "/runs", &json!({ "goal": "x", "label": "tpu" })).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    let away = program.send("POST", "/runs", &json!({ "goal": "x", "label": "away" })).await;
    assert_eq!(away.status, 503, "{}", away.body);
    assert!(world.get("/new").await.body.contains("name=\"label\""));
    // What was chosen goes along, also if it is usual here: elsewhere it may not be. It never becomes laxer than here.
    let usual = world.service.settings().effective.approvals.value;
    assert_eq!(usual, ApprovalMode::Ask);
    let fields = [("goal", "Paint it"), ("mode", "agent:thinker"), ("label", "gpu"), ("approvals", usual.word())];
    let started = world.start(&fields, None).await;
    assert_eq!(started.status, 303, "{}", started.body);
    for approvals in ["ask", "allow", "read-only"] {
        let order = json!({ "goal": approvals, "agent": "thinker", "label": "gpu", "approvals": approvals });
        program.start(&order).await;
    }
    world.start(&[("goal", "Without"), ("mode", "agent:thinker"), ("label", "")], None).await;
    let said =
        |label: &str, goal: &str, approvals: Option<ApprovalMode>| (label.to_owned(), goal.to_owned(), approvals);
    let expected = [
        said("gpu", "Train it", None),
        said("tpu", "x", None),
        said("away", "x", None),
        said("gpu", "Paint it", Some(usual)),
        said("gpu", "ask", Some(usual)),
        said("gpu", "allow", Some(usual)),
        said("gpu", "read-only", Some(ApprovalMode::ReadOnly)),
    ];
    assert_eq!(*asked.lock().unwrap(), expected);
    world.close().await;
}
