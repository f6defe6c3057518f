//! Pages that stay open: patches, and many watchers.

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn patches_lead_from_any_position_to_the_page_as_it_is() {
    let calls = json!([{ "name": "list_files", "args": { "path": "." } }]);
    let world = World::new(&json!([{ "calls": calls }, { "text": "All seen." }])).await;
    let run = world.start(&[("goal", "Look"), ("mode", "agent:researcher")], None).await.run();
    let end = world.until(&run, "All seen.").await;
    let end = end.max(world.until(&run, "data-status=\\\"done\\\"").await);
    let page = world.get(&format!("/runs/{run}")).await.body;
    for after in 1..end {
        let mut events = world.watch(&format!("/runs/{run}/stream?after={after}"), "").await;
        let patch = events.patch().await;
        assert_eq!(patch["position"], end, "{after}");
        let pieces =
            patch["replace"].as_object().unwrap().values().chain(patch["append"].as_object().unwrap().values());
        for piece in pieces {
            // Containers hold several elements; each of them is on the page.
            let first = piece.as_str().unwrap().split("</li>").next().unwrap();
            assert!(page.contains(first), "{after}: {first}");
        }
    }
    let mut events = world.watch(&format!("/runs/{run}/stream?after={}", end + 7), "Last-Event-ID: 1\r\n").await;
    assert_eq!(events.patch().await["position"], end, "a browser that comes back says where it was");
    world.close().await;
}

#[tokio::test]
async fn many_watch_one_run_and_none_misses_its_end() {
    let question = json!({ "name": "ask_user", "args": { "question": "Go on?" } });
    let script = json!({ "rules": [{ "when": { "turn": 0 }, "answer": { "calls": [question] } }],
                         "default": { "text": "The end." } });
    let world = World::new(&script).await;
    let run = world.start(&[("goal", "Wait"), ("mode", "agent:clarification")], None).await.run();
    let asked = world.until(&run, "/answer").await;
    let inbox = world.get("/inbox").await.body;
    let id = inbox.split_once("name=\"id\" value=\"").unwrap().1.split_once('"').unwrap().0.to_owned();
    let mut watchers = Vec::new();
    for _ in 0..200 {
        watchers.push(world.watch(&format!("/runs/{run}/stream?after={asked}"), "").await);
    }
    // Some leave without a word, some never read.
    watchers.truncate(180);
    let mut silent = watchers.split_off(160);
    let answer = world.post(&format!("/runs/{run}/answer"), &[("id", &id), ("text", "yes")]).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    for watcher in &mut watchers {
        let mut position = asked;
        loop {
            let patch = watcher.patch().await;
            let next = patch["position"].as_u64().unwrap();
            assert!(next > position, "positions only grow");
            position = next;
            if patch["replace"]["run-head"].as_str().unwrap_or_default().contains("data-status=\"done\"") {
                break;
            }
        }
    }
    silent.clear();
    world.close().await;
}
