//! Runs started, answered, planned, forked and looked back at from the page.

use serde_json::json;
use updraft_run::ApprovalMode;

use crate::world::World;

const QUESTION: &str = "Which colour?";

fn asks() -> serde_json::Value {
    let question = json!({ "name": "ask_user", "args": { "question": QUESTION, "options": ["red", "blue"] } });
    json!({ "rules": [{ "when": { "turn": 0 }, "answer": { "calls": [question] } }],
            "default": { "text": "It is **painted**." } })
}

/// The value of the first hidden field with this name.
pub(crate) fn hidden(body: &str, name: &str) -> String {
    let mark = format!("name=\"{name}\" value=\"");
    let (_, rest) = body.split_once(&mark).unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

#[tokio::test]
async fn a_run_is_started_with_a_file_and_its_question_answered_in_the_inbox() {
    let world = World::new(&asks()).await;
    let file = Some(("../../colours.txt", "red, blue\n"));
    let run = world.start(&[("goal", "Paint it"), ("mode", "agent:clarification")], file).await.run();
    assert_eq!(std::fs::read_to_string(world.file("uploads/colours.txt")).unwrap(), "red, blue\n");
    world.until(&run, "/answer").await;
    let page = world.get(&format!("/runs/{run}")).await.body;
    for part in ["Paint it", "uploads/colours.txt", QUESTION, "value=\"blue\"", "needs you", "data-stream="] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let inbox = world.get("/inbox").await.body;
    assert!(inbox.contains(QUESTION), "{inbox}");
    assert!(world.get("/").await.body.contains("needs you"));
    let id = hidden(&inbox, "id");
    assert_eq!(hidden(&inbox, "from"), "inbox");
    let answer = [("id", id.as_str()), ("text", "blue"), ("from", "inbox")];
    let answered = world.post(&format!("/runs/{run}/answer"), &answer).await;
    let place = answered.header("location").unwrap();
    assert_eq!(place, format!("/inbox?did=answered&run={run}"));
    let inbox = world.get(place).await.body;
    assert!(inbox.contains("role=\"status\">Answered: ") && inbox.contains("Nothing waits for you."), "{inbox}");
    world.until(&run, "<strong>painted</strong>").await;
    let page = world.get(&format!("/runs/{run}")).await.body;
    assert!(page.contains("Answered: blue") && page.contains("Send as a new run"), "{page}");
    let again = world.post(&format!("/runs/{run}/answer"), &[("id", &id), ("text", "red")]).await;
    assert_eq!(again.status, 400);
    let next = world.post(&format!("/runs/{run}/tell"), &[("message", "And the roof?")]).await.run();
    world.until(&next, "/answer").await;
    let page = world.get(&format!("/runs/{next}")).await.body;
    assert!(page.contains("Follows") && page.contains(&format!("/compare?a={run}")), "{page}");
    assert_eq!(world.post(&format!("/runs/{next}/cancel"), &[]).await.run(), next);
    assert!(world.get(&format!("/runs/{next}")).await.body.contains("data-status=\"cancelled\""));
    world.close().await;
}

#[tokio::test]
async fn a_plan_is_shown_and_changed_before_anything_is_done() {
    let steps = json!([{ "id": "look", "agent": "researcher", "prompt": "Look around." }]);
    let script = json!({ "rules": [{ "when": { "agent": "planner" }, "answer": { "json": { "steps": steps } } }],
                         "default": { "text": "Seen." } });
    let world = World::new(&script).await;
    let run = world.start(&[("goal", "Look"), ("mode", "plan"), ("plan_first", "yes")], None).await.run();
    world.until(&run, "waiting-plan").await;
    let page = world.get(&format!("/runs/{run}")).await.body;
    let path = format!("/runs/{run}/plan");
    assert!(page.contains("Look around.") && page.contains(&format!("href=\"{path}\"")), "{page}");
    let refused = world.post(&path, &[("plan", "{\"steps\": [{\"id\": \"x\", \"agent\": \"nobody\"}]}")]).await;
    assert!(refused.status == 200 && refused.body.contains("plan-text-fault"), "{}", refused.body);
    assert!(refused.body.contains("<code>nobody</code>"), "{}", refused.body);
    let changed = json!({ "steps": [
        { "id": "look", "agent": "researcher", "prompt": "Look around." },
        { "id": "again", "agent": "researcher", "prompt": "Look twice.", "after": ["look"] },
    ] });
    assert_eq!(world.post(&path, &[("plan", &changed.to_string())]).await.run(), run);
    world.until(&run, "data-status=\\\"done\\\"").await;
    let page = world.get(&format!("/runs/{run}?step=again")).await.body;
    assert!(page.contains("Look twice.") && page.contains("Re-run from this step"), "{page}");
    let again = world.post(&format!("/runs/{run}/rerun"), &[("step", "again")]).await.run();
    world.until(&again, "data-status=\\\"done\\\"").await;
    let compared = world.get(&format!("/compare?a={run}&b={again}")).await;
    assert_eq!(compared.status, 200);
    assert!(compared.body.contains("They differ from event"), "{}", compared.body);
    assert_eq!(compared.body.matches("class=\"event\"").count(), 2, "{}", compared.body);
    world.close().await;
}

#[tokio::test]
async fn a_plan_is_changed_in_a_form_without_scripts() {
    let steps = json!([{ "id": "look", "agent": "researcher", "prompt": "Look around.", "writes": ["seen"] }]);
    let script = json!({ "rules": [{ "when": { "agent": "planner" }, "answer": { "json": { "steps": steps } } }],
                         "default": { "text": "Seen." } });
    let world = World::new(&script).await;
    let run = world.start(&[("goal", "Look"), ("mode", "plan"), ("plan_first", "yes")], None).await.run();
    world.until(&run, "waiting-plan").await;
    let path = format!("/runs/{run}/plan");
    let page = world.get(&path).await.body;
    let about = hidden(&page, "about");
    let kept = hidden(&page, "1.kept").replace("&quot;", "\"");
    let first = |id: &'static str| {
        [
            ("about", about.as_str()),
            ("row[]", "1"),
            ("1.kept", kept.as_str()),
            ("1.id", id),
            ("1.agent", "researcher"),
            ("1.prompt", "Look around."),
        ]
    };
    let added = world.post(&path, &[&first("see")[..], &[("do", "add")]].concat()).await;
    assert_eq!(added.status, 200);
    // The graph and the new row are drawn; the new one has no task yet, and nobody complains.
    for part in ["id=\"row-2-id\"", "value=\"step_1\"", "data-from=\"1\" data-to=\"2\"", "see researcher"] {
        assert!(added.body.contains(part), "{part} in {}", added.body);
    }
    assert!(!added.body.contains("field-fault"), "{}", added.body);
    let kept = hidden(&added.body, "2.kept").replace("&quot;", "\"");
    let second = |prompt: &'static str, after: &'static str| {
        [
            ("row[]", "2"),
            ("2.kept", kept.as_str()),
            ("2.id", "again"),
            ("2.agent", "researcher"),
            ("2.prompt", prompt),
            (after, "1"),
            ("do", "run"),
        ]
    };
    let refused = world.post(&path, &[&first("see")[..], &second("", "2.after[]")].concat()).await;
    assert_eq!(refused.status, 200);
    assert!(refused.body.contains("id=\"row-2-prompt-fault\"><span>say what the agent is to do"), "{}", refused.body);
    let circle = [&first("see")[..], &[("1.after[]", "2")], &second("Look twice.", "2.after[]")];
    // A row can wait for one that comes later in the form.
    let refused = world.post(&path, &circle.concat()).await;
    assert!(
        refused.body.contains("id=\"row-1-after-fault\"") && refused.body.contains("in a cycle"),
        "{}",
        refused.body
    );
    let other = world.post(&path, &[("about", "plan/9/0/approve.0"), ("do", "redraw")]).await;
    assert!(other.status == 400 && other.body.contains("another plan waits"), "{}", other.body);
    let done = world.post(&path, &[&first("see")[..], &second("Look twice.", "2.after[]")].concat()).await;
    assert_eq!(done.run(), run);
    world.until(&run, "data-status=\\\"done\\\"").await;
    let page = world.get(&format!("/runs/{run}?step=again")).await.body;
    assert!(page.contains("Look twice.") && page.contains("after see"), "{page}");
    let late = world.get(&path).await;
    assert_eq!(late.header("location"), Some(format!("/runs/{run}").as_str()));
    world.close().await;
}

#[tokio::test]
async fn the_past_is_shown_like_the_present_and_can_be_taken_up_again() {
    let world = World::new(&asks()).await;
    let run = world.start(&[("goal", "Paint it"), ("mode", "agent:clarification")], None).await.run();
    let asked = world.until(&run, "/answer").await;
    let id = hidden(&world.get("/inbox").await.body, "id");
    world.post(&format!("/runs/{run}/answer"), &[("id", &id), ("text", "blue")]).await.run();
    let end = world.until(&run, "<strong>painted</strong>").await;
    for at in 1..=end + 1 {
        for view in ["graph", "timeline", "events"] {
            let page = world.get(&format!("/runs/{run}?at={at}&view={view}")).await;
            assert_eq!(page.status, 200, "{at} {view}");
            assert_eq!(page.body.contains("You look at the past"), at < end, "{at} {view}");
        }
    }
    let past = world.get(&format!("/runs/{run}?at={asked}")).await.body;
    assert!(past.contains("Open at this moment.") && !past.contains("painted"), "{past}");
    assert!(!past.contains("data-stream") && !past.contains("/answer\""), "{past}");
    let fork = world.post(&format!("/runs/{run}/fork"), &[("at", &asked.to_string())]).await.run();
    world.until(&fork, "/answer").await;
    let page = world.get(&format!("/runs/{fork}")).await.body;
    assert!(page.contains("Forked from") && page.contains(&run), "{page}");
    world.post(&format!("/runs/{fork}/cancel"), &[]).await.run();
    let prompt = format!("/runs/{run}?step=clarification&prompt=clarification%2F0%2F0%2Fask.0");
    let inspected = world.get(&prompt).await.body;
    assert!(inspected.contains("[system]"), "{inspected}");
    world.close().await;
}

#[tokio::test]
async fn a_server_that_only_reads_takes_up_no_run_that_may_write() {
    let world = World::new(&asks()).await;
    let run = world.start(&[("goal", "Paint it"), ("mode", "agent:clarification")], None).await.run();
    let asked = world.until(&run, "/answer").await;
    let world = world.restarted_with(&asks(), Some(ApprovalMode::ReadOnly)).await;
    let id = hidden(&world.get("/inbox").await.body, "id");
    let at = asked.to_string();
    let refused = [
        world.post(&format!("/runs/{run}/fork"), &[("at", &at)]).await,
        world.post(&format!("/runs/{run}/answer"), &[("id", &id), ("text", "blue")]).await,
        world.post(&format!("/runs/{run}/resume"), &[]).await,
    ];
    for answer in refused {
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.body.contains("more rights than this server gives: it may change files"), "{}", answer.body);
    }
    world.close().await;
}
