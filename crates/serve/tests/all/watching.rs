//! Pages that stay open: patches, and many watchers.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::{EventReader, World};

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

/// A question, then two branches of different lengths, then their end: the plan of every run below.
fn branches() -> Value {
    let step = |id: &str, agent: &str, after: &[&str]| json!({ "id": id, "agent": agent, "description": format!("Part {id}"), "prompt": "Work.", "after": after });
    let plan = json!({ "steps": [step("ask", "clarification", &[]), step("left", "retriever", &["ask"]),
                                 step("right", "retriever", &["ask"]), step("end", "summarizer", &["left", "right"])] });
    let call = |name: &str, args: Value| json!({ "calls": [{ "name": name, "args": args }] });
    let list = |path: &str| call("list_files", json!({ "path": path }));
    json!({ "rules": [
        { "when": { "agent": "planner" }, "answer": { "json": plan } },
        { "when": { "step": "ask", "turn": 0 }, "answer": call("ask_user", json!({ "question": "Go on?" })) },
        { "when": { "step": "left", "turn": 0 }, "answer": list(".") },
        { "when": { "step": "right", "turn": 0 }, "answer": list(".") },
        { "when": { "step": "right", "turn": 1 }, "answer": list("uploads") },
        { "when": { "step": "right", "turn": 2 }, "answer": { "text": "**Right**", "delay_ms": 30 } },
    ], "default": { "text": "Done." } })
}

/// The element of a page that has this id.
fn element<'a>(page: &'a str, id: &str) -> Option<&'a str> {
    let begin = page[..page.find(&format!(" id=\"{id}\""))?].rfind('<')?;
    let name = page[begin + 1..].split([' ', '>']).next()?;
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    let (mut at, mut depth) = (begin, 0);
    loop {
        let end = at + page[at..].find(&close)?;
        let is_open = |(start, _): &(usize, &str)| page[at + start + open.len()..].starts_with([' ', '>']);
        depth += page[at..end].match_indices(&open).filter(is_open).count();
        depth -= 1;
        at = end + close.len();
        if depth == 0 {
            return Some(&page[begin..at]);
        }
    }
}

/// The ids of what changes on a page while its run works.
fn ids(page: &str) -> Vec<&str> {
    let all = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next());
    all.filter(|id| {
        ["e-", "step-", "node-", "v-"].iter().any(|kind| id.starts_with(kind))
            || ["run-head", "time-bar", "composer"].contains(id)
    })
    .collect()
}

/// Follows a run to its end as the script of the page does: the newest of each element, by id, and the positions.
async fn follow(mut events: EventReader, mut position: u64) -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    loop {
        let patch = events.patch().await;
        assert_eq!(patch["reload"], Value::Null, "nobody who reads falls behind");
        let next = patch["position"].as_u64().unwrap();
        assert!(next > position, "positions only grow");
        for (id, html) in patch["replace"].as_object().unwrap() {
            let html = html.as_str().unwrap();
            // What is replaced as a whole replaces everything in it.
            for inner in ids(html) {
                known.insert(inner.to_owned(), element(html, inner).unwrap().to_owned());
            }
            known.insert(id.clone(), html.to_owned());
        }
        for html in patch["append"].as_object().unwrap().values().filter_map(Value::as_str) {
            for id in ids(html) {
                known.insert(id.to_owned(), element(html, id).unwrap().to_owned());
            }
        }
        let numbers = patch["append"]["events"].as_str().map(|html| html.matches("<li class=\"event\"").count() as u64);
        assert!(numbers.is_none_or(|added| added == next - position), "every event arrives, once");
        position = next;
        if known["run-head"].contains("data-status=\"done\"") {
            return known;
        }
    }
}

#[tokio::test]
async fn a_hundred_watchers_of_twenty_runs_end_with_the_page_as_it_is() {
    let world = World::new(&branches()).await;
    let mut runs = Vec::new();
    for n in 0..20 {
        let run = world.start(&[("goal", &format!("Part {n}"))], None).await.run();
        let asked = world.until(&run, "/answer").await;
        runs.push((run, asked));
    }
    let views = ["graph", "events", "timeline", "graph&step=right", "graph"];
    let (mut watching, mut silent, mut gone) = (JoinSet::new(), Vec::new(), Vec::new());
    for (n, (run, asked)) in runs.iter().enumerate() {
        for view in views {
            let before = world.get(&format!("/runs/{run}?view={view}")).await.body;
            let events = world.watch(&format!("/runs/{run}/stream?after={asked}&view={view}"), "").await;
            let (run, asked) = (run.clone(), *asked);
            watching.spawn(async move { (run, view, before, follow(events, asked).await) });
        }
        // One never reads, ten leave without a word.
        let more = world.watch(&format!("/runs/{run}/stream?after={asked}&view=timeline"), "").await;
        match n {
            0 => silent.push(more),
            1..=10 => gone.push(more),
            _ => {}
        }
    }
    for reader in gone {
        reader.vanish();
    }
    for (run, _) in &runs {
        let page = world.get(&format!("/runs/{run}")).await.body;
        let id = page.split_once("name=\"id\" value=\"").unwrap().1.split_once('"').unwrap().0.to_owned();
        let answer = world.post(&format!("/runs/{run}/answer"), &[("id", &id), ("text", "yes")]).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
    }
    for (run, view, before, known) in watching.join_all().await {
        let page = world.get(&format!("/runs/{run}?view={view}")).await.body;
        let ids = ids(&page);
        assert!(ids.len() > 20, "{view}: {ids:?}");
        for id in ids {
            let shown = known.get(id).map(String::as_str).or_else(|| element(&before, id));
            assert_eq!(shown, element(&page, id), "{view}: {id}");
        }
    }
    drop(silent);
    world.close().await;
}

#[tokio::test]
async fn a_page_of_a_past_that_did_not_happen_is_loaded_again() {
    let world = World::new(&json!([{ "text": "All seen." }])).await;
    let run = world.start(&[("goal", "Look"), ("mode", "agent:researcher")], None).await.run();
    let end = world.until(&run, "data-status=\\\"done\\\"").await;
    for after in [0, end + 1] {
        let mut events = world.watch(&format!("/runs/{run}/stream?after={after}"), "").await;
        let patch = events.patch().await;
        assert_eq!((&patch["reload"], &patch["position"]), (&json!(true), &json!(end)), "{after}");
    }
    world.close().await;
}
