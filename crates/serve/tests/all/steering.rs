//! Runs steered from the page: higher limits, decisions that are remembered, copies with changes, pictures, plans with prices.

use serde_json::json;

use crate::runs::hidden;
use crate::world::World;

/// Looks around in one turn, and answers in the next.
fn looks() -> serde_json::Value {
    let look = json!({ "name": "list_files", "args": { "path": "." } });
    json!({ "rules": [{ "when": { "turn": 0 }, "answer": { "calls": [look] } }], "default": { "text": "All seen." } })
}

#[tokio::test]
async fn a_run_that_reached_its_limit_continues_with_a_higher_one() {
    let world = World::with_settings(&looks(), "[budget]\nturns = 1\n").await;
    let run = world.start(&[("goal", "Look"), ("mode", "agent:researcher")], None).await.run();
    world.until(&run, "data-status=\\\"exhausted\\\"").await;
    let page = world.get(&format!("/runs/{run}")).await.body;
    assert!(page.contains("limit reached: turns (1)") && page.contains("New limit on turns"), "{page}");
    let resume = format!("/runs/{run}/resume");
    for (limit, why) in [("1", "has used 1 turn already"), ("many", "expected a whole number")] {
        let refused = world.post(&resume, &[("limit", limit)]).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        assert!(refused.body.contains(why), "{}", refused.body);
    }
    let (_, field) = page.split_once("name=\"limit\"").unwrap();
    let suggested = field.split_once("value=\"").unwrap().1.split_once('"').unwrap().0.to_owned();
    assert_eq!(world.post(&resume, &[("limit", &suggested)]).await.run(), run);
    world.until(&run, "data-status=\\\"done\\\"").await;
    let page = world.get(&format!("/runs/{run}")).await.body;
    assert!(page.contains("All seen.") && !page.contains("data-stream"), "{page}");
    world.close().await;
}

#[tokio::test]
async fn what_is_always_allowed_in_the_workspace_is_not_asked_about_again() {
    let command = json!({ "name": "run_command", "args": { "command": "echo hello" } });
    let script = json!({ "rules": [{ "when": { "turn": 0 }, "answer": { "calls": [command] } }],
                         "default": { "text": "It ran." } });
    let world = World::trusted(&script).await;
    let fields = [("goal", "Greet"), ("mode", "agent:coder")];
    let run = world.start(&fields, None).await.run();
    world.until(&run, "/approve").await;
    let page = world.get(&format!("/runs/{run}")).await.body;
    assert!(page.contains("Always allow in this workspace") && page.contains("run_command(echo hello"), "{page}");
    let form = [("id", hidden(&page, "id")), ("verdict", "allow".into()), ("always", "workspace".into())];
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(world.post(&format!("/runs/{run}/approve"), &form).await.run(), run);
    world.until(&run, "It ran.").await;
    let next = world.start(&fields, None).await.run();
    world.until(&next, "It ran.").await;
    assert!(!world.get(&format!("/runs/{next}")).await.body.contains("Allowed by"));
    world.close().await;
}

#[tokio::test]
async fn a_copy_gets_other_results_another_goal_and_another_message() {
    let steps = json!([
        { "id": "measure", "agent": "researcher", "prompt": "Measure it.", "writes": ["width"] },
        { "id": "build", "agent": "researcher", "prompt": "Build it.", "reads": ["width"], "writes": ["thing"] },
    ]);
    let script = json!({ "rules": [
        { "when": { "agent": "planner" }, "answer": { "json": { "steps": steps } } },
        { "when": { "contains": "Measure it." }, "answer": { "text": "Three metres." } },
    ], "default": { "text": "Built." } });
    let world = World::new(&script).await;
    let run = world.start(&[("goal", "Build a shed"), ("mode", "plan")], None).await.run();
    world.until(&run, "data-status=\\\"done\\\"").await;
    let at = event(&world, &run, |body| body.contains("width") && body.contains("<strong>wrote</strong>")).await;
    let form = world.get(&format!("/runs/{run}/fork?at={at}")).await.body;
    assert!(form.contains("name=\"value.width\"") && form.contains("Build a shed"), "{form}");
    let fields = [("at", at.as_str()), ("goal", "Build a boat"), ("value.width", "Nine\r\nmetres.")];
    let copy = world.post(&format!("/runs/{run}/fork"), &fields).await.run();
    world.until(&copy, "data-status=\\\"done\\\"").await;
    let page = world.get(&format!("/runs/{copy}?step=build")).await.body;
    assert!(page.contains("Nine\nmetres.") && page.contains("Build a boat"), "{page}");
    assert!(page.contains("Forked from"), "{page}");
    world.close().await;
}

/// The number of the first event whose row on the page is as wanted.
async fn event(world: &World, run: &str, is_it: impl Fn(&str) -> bool) -> String {
    let page = world.get(&format!("/runs/{run}?view=events")).await.body;
    let row = page.split("<li class=\"event\" id=\"v-").skip(1).find(|row| is_it(row)).unwrap();
    row.split_once('"').unwrap().0.to_owned()
}

#[tokio::test]
async fn a_message_is_said_otherwise_in_a_copy() {
    let question = json!({ "name": "ask_user", "args": { "question": "Which colour?" } });
    let script = json!({ "rules": [{ "when": { "turn": 0 }, "answer": { "calls": [question] } }],
                         "default": { "text": "Painted." } });
    let world = World::new(&script).await;
    let run = world.start(&[("goal", "Paint"), ("mode", "agent:clarification")], None).await.run();
    world.until(&run, "/answer").await;
    world.post(&format!("/runs/{run}/tell"), &[("message", "The roof is old.")]).await.run();
    world.until(&run, "The roof is old.").await;
    let told = event(&world, &run, |body| body.contains("<strong>told</strong>")).await;
    let form = world.get(&format!("/runs/{run}/fork?at={told}")).await.body;
    assert!(form.contains("Your message") && form.contains("The roof is old."), "{form}");
    let path = format!("/runs/{run}/fork");
    let copy = world.post(&path, &[("at", &told), ("message", "The roof is new.")]).await.run();
    world.until(&copy, "The roof is new.").await;
    assert!(!world.get(&format!("/runs/{copy}")).await.body.contains("The roof is old."));
    let same = world.post(&path, &[("at", &told), ("message", "The roof is old.")]).await.run();
    world.until(&same, "/answer").await;
    assert_eq!(world.get(&format!("/runs/{same}")).await.body.matches("The roof is old.").count(), 1);
    for run in [run, copy, same] {
        world.post(&format!("/runs/{run}/cancel"), &[]).await.run();
    }
    world.close().await;
}

#[tokio::test]
async fn a_picture_that_comes_with_a_goal_is_shown_to_the_model() {
    let world = World::new(&json!([{ "text": "A dot." }])).await;
    let picture = Some(("dot.gif", "GIF89a\u{1}\0\u{1}\0\0\0\0;"));
    let run = world.start(&[("goal", "What is it?"), ("mode", "agent:researcher")], picture).await.run();
    world.until(&run, "A dot.").await;
    let page = world.get(&format!("/runs/{run}?view=events&from=1")).await.body;
    assert!(page.contains("image/gif") && page.contains("uploads/dot.gif"), "{page}");
    world.close().await;
}

#[tokio::test]
async fn a_plan_says_what_its_steps_may_do_and_what_they_cost_before_it_runs() {
    let steps = json!([{ "id": "look", "agent": "researcher", "prompt": "Look around." },
                       { "id": "change", "agent": "coder", "prompt": "Change it.", "after": ["look"] }]);
    let script = json!({ "rules": [{ "when": { "agent": "planner" }, "answer": { "json": { "steps": steps } } }],
                         "default": { "text": "Seen." } });
    let world = World::new(&script).await;
    let run = world.start(&[("goal", "Look"), ("mode", "plan"), ("plan_first", "yes")], None).await.run();
    world.until(&run, "waiting-plan").await;
    let page = world.get(&format!("/runs/{run}")).await.body;
    let (_, plan) = page.split_once("class=\"waiting-plan\"").unwrap();
    assert!(plan.contains("class=\"price\"") && plan.contains("runs commands"), "{plan}");
    world.post(&format!("/runs/{run}/cancel"), &[]).await.run();
    // What the steps will follow is known before anything is written.
    let page = world.get(&format!("/runs/{run}")).await.body;
    assert!(page.contains("after look"), "{page}");
    world.close().await;
}
