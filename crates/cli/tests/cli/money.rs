//! Calls that were cut off are counted with their price, with a budget and without.

use serde_json::{Value, json};

use super::world::World;

/// A script whose planned step takes so long to answer, at a price.
fn script(world: &World, delay: u64) -> String {
    let answer = json!({ "text": "done", "delay_ms": delay, "usage": { "input": 10, "output": 10 } });
    world.script("priced.json", &json!({ "rules": [], "default": answer, "price": { "input": 1.0, "output": 100.0 } }))
}

fn run<'a>(model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    ["run", "--agent", "thinker", "--model", model].into_iter().chain(more.iter().copied()).chain(["think"]).collect()
}

fn statistics(world: &World) -> Value {
    world.updraft(&["show", "--json", &world.last()]).code(0).value()["statistics"].clone()
}

fn has_begun(world: &World) -> bool {
    let runs = world.runs();
    let id = runs.first().and_then(|run| run["run"].as_str());
    id.is_some_and(|id| world.updraft(&["events", id, "--json"]).out.contains("begun"))
}

#[test]
fn a_killed_call_may_have_been_billed_with_a_budget_and_without() {
    for (more, signal) in [(&[][..], "-KILL"), (&["--budget", "5.00"], "-KILL"), (&[], "-INT"), (&[], "-TERM")] {
        let world = World::new();
        let model = script(&world, 600_000);
        let child = world.command(&run(&model, more)).spawn().unwrap();
        World::until("the model is asked", || has_begun(&world) || !more.is_empty() && statistics_say(&world));
        std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        child.wait_with_output().unwrap();

        let cut = statistics(&world);
        let doubtful = cut["doubtful"].as_f64().unwrap();
        assert!(doubtful > 0.1 && cut["cost"] == cut["doubtful"], "{signal} {more:?}: {cut}");
        assert_eq!((&cut["doubtful_calls"], &cut["turns"]), (&json!(1), &json!(1)), "{signal} {more:?}");

        script(&world, 0);
        let ran = world.updraft(&["resume", &world.last()]).code(0);
        ran.says("may have been billed for 1 call without an answer");
        let after = statistics(&world);
        assert!(after["doubtful"].as_f64().unwrap() >= doubtful, "{signal} {more:?}: {after}");
        assert!(after["cost"].as_f64() > after["doubtful"].as_f64(), "{signal} {more:?}: {after}");
        assert_eq!((&after["doubtful_calls"], &after["turns"]), (&json!(1), &json!(2)), "{signal} {more:?}");
        let shown = world.updraft(&["show", &world.last()]).code(0).out;
        assert!(shown.contains("may have been billed for 1 call without an answer"), "{shown}");
    }
}

/// Whether a call is out, as far as the journal tells.
fn statistics_say(world: &World) -> bool {
    !world.runs().is_empty() && statistics(world)["doubtful_calls"] == 1
}

#[test]
fn a_cancelled_call_may_have_been_billed() {
    let world = World::new();
    let model = script(&world, 600_000);
    let child = world.command(&run(&model, &[])).spawn().unwrap();
    World::until("the model is asked", || has_begun(&world));
    world.updraft(&["cancel", &world.last()]).code(0);
    child.wait_with_output().unwrap();
    let cut = statistics(&world);
    assert_eq!(cut["doubtful_calls"], 1, "{cut}");
    assert!(cut["doubtful"].as_f64().unwrap() > 0.1, "{cut}");
}

#[test]
fn the_limit_on_turns_counts_requests_that_were_cut_off() {
    let world = World::new();
    let model = script(&world, 600_000);
    let child = world.command(&run(&model, &["--max-turns", "1"])).spawn().unwrap();
    World::until("the model is asked", || has_begun(&world));
    std::process::Command::new("kill").args(["-KILL", &child.id().to_string()]).status().unwrap();
    child.wait_with_output().unwrap();
    script(&world, 0);
    world.updraft(&["resume", &world.last()]).code(4).says("limit reached");
    assert_eq!(statistics(&world)["turns"], 1, "nobody was asked again");
    world.updraft(&["resume", &world.last(), "--max-turns", "2"]).code(0);
    assert_eq!(statistics(&world)["turns"], 2);
}
