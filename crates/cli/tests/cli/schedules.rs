//! Schedules: made, listed, paused; and carried out by a server, one run for each time, whatever happens to the server.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::{Background, World};

fn serve(world: &World, model: &str) -> Background {
    world.begin(&["serve", "--listen", "127.0.0.1:0", "--model", model])
}

fn list(world: &World) -> Vec<Value> {
    world.updraft(&["schedules", "--json"]).code(0).json()
}

fn done(world: &World) -> usize {
    world.runs().iter().filter(|run| run["status"] == "done").count()
}

#[test]
fn a_schedule_survives_kill_9_and_a_stop_with_one_run_for_each_time() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "hello"}}));
    world.updraft(&["schedule", "--every", "1s", "--name", "tick", "--agent", "thinker", "Say hello"]).code(0);
    // Claimed while no server is there, as if one had been killed between the claim and the beginning.
    let claimed = world.updraft(&["schedules", "run-now", "tick"]).code(0).says("no server has begun it yet");
    let claimed = claimed.out.trim().to_owned();
    for signal in ["KILL", "TERM", "KILL", "TERM"] {
        let server = serve(&world, &model);
        let before = done(&world);
        World::until("runs are done", || done(&world) > before + 1);
        server.signal(signal);
        server.wait().says("schedule `tick`: began run ");
    }
    let runs = world.runs();
    assert_eq!(runs.iter().filter(|run| run["run"] == claimed.as_str()).count(), 1, "what was claimed has begun once");
    let mut dues = BTreeSet::new();
    for run in &runs {
        let shown = world.updraft(&["show", run["run"].as_str().unwrap(), "--json"]).value();
        assert_eq!(shown["schedule"]["schedule"], "tick", "a run says which schedule began it");
        assert!(dues.insert(shown["schedule"]["at"].as_i64().unwrap()), "two runs for one time");
    }
    let one = &list(&world)[0];
    assert_eq!(one["waiting"], json!([]));
    assert!(runs.iter().any(|run| run["run"] == one["last"]["run"]));
    world.updraft(&["show", &claimed]).code(0).prints("schedule   tick");
}

#[test]
fn missed_times_are_said_and_wrong_schedules_refused() {
    let world = World::new();
    world.config(
        "recipes/hello.md",
        "---\nparameters:\n  who: {type: choice, choices: [you, me]}\nagent: thinker\n---\nGreet {{who}}\n",
    );
    let model = world.script("s.json", &json!({"default": {"text": "hello"}}));
    let refused = |args: &[&str], why: &str| {
        world.updraft(&[&["schedule"], args].concat()).code(2).says(why);
    };
    refused(&["0 7 * *", "do it"], "has 4 fields; expected five");
    refused(&["0 7 * * *"], "the goal is missing");
    refused(&["--every", "10ms", "do it"], "at least 1s");
    refused(
        &["0 7 * * *", "do it", "--timezone", "Nowhere/At_All"],
        "the time zone `Nowhere/At_All` is not known here",
    );
    refused(&["0 7 * * *", "do it", "--agent", "nobody"], "nobody");
    refused(&["0 7 * * *", "--recipe", "hello"], "the parameter `who` (choice) is missing");
    refused(&["0 7 * * *", "--recipe", "hello", "--param", "who=them"], "expected one of you, me");
    assert!(list(&world).is_empty());
    world
        .updraft(&[
            "schedule", "--every", "1s", "--missed", "skip", "--name", "often", "--recipe", "hello", "--param",
            "who=me",
        ])
        .code(0);
    world.updraft(&["schedule", "0 7 * * *", "What", "is", "new?", "--timezone", "UTC"]).code(0).says("first at ");
    refused(&["@daily", "x", "--name", "often"], "there is a schedule `often` already");
    // Nobody is there for a while.
    std::thread::sleep(std::time::Duration::from_millis(3_500));
    let server = serve(&world, &model);
    let notes = || list(&world)[0]["notes"].to_string();
    World::until("missed times are noted", || notes().contains("missed; skipped"));
    World::until("a run is done", || done(&world) > 0);
    world.updraft(&["schedules", "pause", "often"]).code(0);
    server.signal("TERM");
    server.wait().says("schedule `often`: ").says("missed; skipped");
    let listed = list(&world);
    assert_eq!((&listed[0]["paused"], &listed[0]["next"]), (&json!(true), &json!([])));
    assert_eq!((&listed[1]["name"], listed[1]["next"].as_array().unwrap().len()), (&json!("s1"), 3));
    assert!(listed[1]["next"][0].as_str().unwrap().contains("T07:00:00Z"));
    assert_eq!(listed[1]["work"]["goal"], "What is new?");
    world.updraft(&["schedules"]).code(0).prints("recipe hello who=me").prints("paused").prints("07:00 UTC");
    world.updraft(&["schedules", "resume", "often"]).code(0).says("often goes on; next at ");
    world.updraft(&["schedules", "rm", "often"]).code(0);
    world.updraft(&["schedules", "rm", "often"]).code(2).says("known are s1");
}
