//! `/metrics`: who may read it, and that it counts what runs did.

use serde_json::json;
use updraft_serve::UserRole;

use crate::world::World;

#[tokio::test]
async fn metrics_count_what_runs_did_for_whoever_shows_a_token() {
    let calls = json!([{ "name": "read_file", "args": { "path": "a.txt" } }, { "name": "no_such_tool", "args": {} }]);
    let used = json!({ "input": 100, "output": 20 });
    let script = json!({ "rules": [{ "when": { "turn": 0 }, "answer": { "calls": calls, "usage": used } }],
                         "default": { "text": "It says hello.", "usage": used },
                         "price": { "input": 1.0, "output": 2.0 } });
    let world = World::new(&script).await;
    std::fs::write(world.file("a.txt"), "hello\n").unwrap();
    let run = world.start(&[("goal", "Read it"), ("mode", "agent:retriever")], None).await.run();
    world.until(&run, "data-status=\\\"done\\\"").await;

    let read = |token: String| {
        let world = &world;
        async move { world.send("GET", "/metrics", &format!("Authorization: Bearer {token}\r\n"), "").await }
    };
    let answer = read("the token of this test".into()).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/plain; version=0.0.4; charset=utf-8")));
    for line in [
        "updraft_runs{status=\"done\"} 1",
        "updraft_runs{status=\"waiting\"} 0",
        "updraft_runs_started_total 1",
        "updraft_runs_ended_total{status=\"done\"} 1",
        "updraft_steps_ended_total{state=\"done\"} 1",
        "updraft_turns_total 2",
        "updraft_model_requests_total{model=\"scripted\",outcome=\"done\"} 2",
        "updraft_model_request_duration_seconds_count{model=\"scripted\"} 2",
        "updraft_model_request_duration_seconds_bucket{model=\"scripted\",le=\"+Inf\"} 2",
        "updraft_tokens_total{model=\"scripted\",direction=\"input\"} 200",
        "updraft_tokens_total{model=\"scripted\",direction=\"output\"} 40",
        "updraft_cached_tokens_total{model=\"scripted\"} 0",
        "updraft_tool_calls_total{tool=\"read_file\",outcome=\"done\"} 1",
        "updraft_errors_total{at=\"call\",kind=\"security\"} 1",
    ] {
        assert!(answer.body.lines().any(|known| known == line), "{line} in\n{}", answer.body);
    }
    assert!(!answer.body.contains("no_such_tool"), "what a model invents is no label");
    assert!(!answer.body.contains(&run) && !answer.body.contains("script.json"));
    let cost =
        answer.body.lines().find_map(|line| line.strip_prefix("updraft_cost_dollars_total{model=\"scripted\"} "));
    assert!(cost.unwrap().parse::<f64>().unwrap() > 0.0);

    let viewer = world.users.add("ann", UserRole::See).unwrap();
    assert_eq!(read(viewer).await.status, 200, "whoever may look at runs may read their metrics");
    for (headers, status) in [
        ("", 401),
        ("Authorization: Bearer wrong\r\n", 401),
        ("Authorization: Basic dGhlIHRva2Vu\r\n", 401),
        ("Authorization: Bearer the token of this test\r\nHost: elsewhere.example\r\n", 403),
    ] {
        assert_eq!(world.send("GET", "/metrics", headers, "").await.status, status, "{headers}");
    }
    let posted = world.send("POST", "/metrics", "Authorization: Bearer the token of this test\r\n", "").await;
    assert!(posted.status == 405, "{}", posted.status);
    world.close().await;
}
