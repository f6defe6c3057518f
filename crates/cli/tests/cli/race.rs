//! Several processes at once: of people who answer one question one counts, and of edits to one file none is lost.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::{Ran, World};

/// How many processes speak at once.
const SPEAKERS: usize = 8;

fn writes() -> Value {
    json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [{"name": "write_file", "args": {"path": "out.txt", "content": "x"}}]}},
    ], "default": {"text": "went on"}})
}

/// Starts all, then waits for all.
fn at_once(world: &World, commands: &[Vec<String>]) -> Vec<Ran> {
    let begin = |args: &Vec<String>| world.begin(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let begun: Vec<_> = commands.iter().map(begin).collect();
    begun.into_iter().map(super::world::Background::wait).collect()
}

fn approvals_and_denials() -> Vec<Vec<String>> {
    let verb = |n: usize| if n.is_multiple_of(2) { "approve" } else { "deny" };
    (0..SPEAKERS).map(|n| vec![verb(n).to_owned(), "last".to_owned()]).collect()
}

/// Those that were told that their word counts, all with the same verb.
#[track_caller]
fn winner(commands: &[Vec<String>], ran: &[Ran]) -> String {
    let said = |n: usize| format!("{} exits {}: {}", commands[n].join(" "), ran[n].code, ran[n].err);
    let all = (0..ran.len()).map(said).collect::<Vec<_>>().join("\n");
    let won: BTreeSet<&String> = (0..ran.len()).filter(|n| ran[*n].code == 0).map(|n| &commands[n][0]).collect();
    assert_eq!(won.len(), 1, "{all}");
    for lost in ran.iter().filter(|ran| ran.code != 0) {
        let is_told = lost.err.contains("already has a response") || lost.err.contains("is not waiting for");
        assert!(lost.code == 1 && is_told && !lost.err.contains("is saved"), "{all}");
    }
    won.into_iter().next().cloned().unwrap()
}

#[test]
fn of_verdicts_given_at_once_only_the_one_that_counts_is_told_so() {
    let world = World::new();
    world.config("config.toml", "[rules]\nask = [\"write_file\"]\n");
    let model = world.script("s.json", &writes());
    for _ in 0..12 {
        let _ = std::fs::remove_file(world.ws().join("out.txt"));
        world.updraft(&["run", "--model", &model, "--agent", "coder", "write"]).code(3);
        let commands = approvals_and_denials();
        let verb = winner(&commands, &at_once(&world, &commands));
        world.updraft(&["resume", "last"]).code(0);
        assert_eq!(world.ws().join("out.txt").exists(), verb == "approve");
    }
}

#[test]
fn of_verdicts_given_to_a_process_at_work_only_the_one_that_counts_is_told_so() {
    let world = World::new();
    world.config("config.toml", "[rules]\nask = [\"write_file\"]\n");
    let steps = json!([{"id": "write", "agent": "coder", "prompt": "write", "writes": ["written"]},
                       {"id": "slow", "agent": "thinker", "prompt": "think", "writes": ["thought"]}]);
    let plan = world.file("plan.json", &json!({"steps": steps}).to_string());
    let model = world.script(
        "s.json",
        &json!({"rules": [
        {"when": {"step": "slow"}, "answer": {"text": "thought", "delay_ms": 60_000}},
        {"when": {"step": "write", "turn": 0},
         "answer": {"calls": [{"name": "write_file", "args": {"path": "out.txt", "content": "x"}}]}},
    ], "default": {"text": "went on"}}),
    );
    for _ in 0..3 {
        let _ = std::fs::remove_file(world.ws().join("out.txt"));
        let running = world.begin(&["run", "--model", &model, "--plan", plan.to_str().unwrap(), "go"]);
        World::until("it asks", || {
            world.runs().first().is_some_and(|run| run["status"] == "running")
                && world.updraft(&["show", "last", "--json"]).value()["waiting_for"][0]["kind"] == "approval"
        });
        let commands = approvals_and_denials();
        let verb = winner(&commands, &at_once(&world, &commands));
        let ended = |world: &World| {
            let steps = world.updraft(&["show", "last", "--json"]).value()["steps"].clone();
            steps
                .as_array()
                .is_some_and(|steps| steps.iter().any(|step| step["id"] == "write" && step["status"] == "completed"))
        };
        World::until("the step went on", || ended(&world));
        assert_eq!(world.ws().join("out.txt").exists(), verb == "approve");
        world.updraft(&["cancel", "last"]).code(0);
        running.wait();
    }
}

#[test]
fn of_answers_given_at_once_only_the_one_that_counts_is_told_so() {
    let world = World::new();
    let ask = json!({"name": "ask_user", "args": {"question": "Which number?"}});
    let model = world.script("s.json", &json!([{"calls": [ask]}, {"text": "thank you"}]));
    for _ in 0..6 {
        world.updraft(&["run", "--model", &model, "--agent", "clarification", "choose"]).code(3);
        let commands: Vec<Vec<String>> =
            (0..SPEAKERS).map(|n| ["answer", "last", &format!("number {n}")].map(str::to_owned).to_vec()).collect();
        let ran = at_once(&world, &commands);
        winner(&commands, &ran);
        let won: Vec<usize> = (0..SPEAKERS).filter(|n| ran[*n].code == 0).collect();
        assert_eq!(won.len(), 1, "{won:?}");
        world.updraft(&["resume", "last"]).code(0);
        let events = world.updraft(&["events", "last", "--json"]).code(0).out;
        assert!(events.contains(&format!("number {}", won[0])), "{won:?}: {events}");
    }
}

#[test]
fn the_same_verdict_twice_is_no_error_and_another_is() {
    let world = World::new();
    world.config("config.toml", "[rules]\nask = [\"write_file\"]\n");
    let model = world.script("s.json", &writes());
    world.updraft(&["run", "--model", &model, "--agent", "coder", "write"]).code(3);
    world.updraft(&["deny", "last"]).code(0).says("the decision is saved");
    world.updraft(&["deny", "last"]).code(0).says("already denied");
    world.updraft(&["approve", "last"]).code(1).says("was denied").says("is ignored");
    world.updraft(&["resume", "last"]).code(0);
    assert!(!world.ws().join("out.txt").exists());
}

#[test]
fn a_fork_made_after_an_approval_keeps_it_and_one_from_before_asks_again() {
    let world = World::new();
    world.config("config.toml", "[rules]\nask = [\"write_file\"]\n");
    let model = world.script("s.json", &writes());
    world.updraft(&["run", "--model", &model, "--agent", "coder", "write"]).code(3);
    let run = world.last();
    let events = world.updraft(&["events", &run, "--json"]).code(0).json().len();
    world.updraft(&["approve", &run]).code(0);
    world.updraft(&["fork", &run, "--at", &events.to_string()]).code(0);
    assert!(world.ws().join("out.txt").exists());
    world
        .updraft(&["fork", &run, "--at", &(events - 1).to_string()])
        .code(3)
        .says("is waiting for an answer or an approval");
    world.updraft(&["resume", &run]).code(0);
    world.updraft(&["fork", &run, "--at", &events.to_string()]).code(3).says("is waiting for an answer or an approval");
    world.updraft(&["fork", &run, "--at", &(events + 1).to_string()]).code(0);
}

#[test]
fn an_approval_that_came_too_late_leaves_no_rule_behind() {
    let world = World::new();
    world.updraft(&["trust", "--yes"]).code(0);
    let call = json!({"name": "write_file", "args": {"path": ".envrc", "content": "x"}});
    let model = world.script("s.json", &json!([{"calls": [call]}, {"text": "went on"}]));
    world.updraft(&["run", "--model", &model, "--agent", "coder", "write"]).code(3);
    world.updraft(&["deny", "last"]).code(0);
    world.updraft(&["approve", "last", "--always", "workspace"]).code(1).says("was denied");
    assert!(!world.updraft(&["permissions", "--json"]).code(0).out.contains(".envrc"));
}

#[test]
fn of_edits_by_four_processes_to_one_file_none_is_lost() {
    let world = World::new();
    let lines = |word: &str| -> String {
        (0..4).flat_map(|p| (0..60).map(move |n| format!("line {p}-{n} {word}\n"))).collect()
    };
    world.file("shared.txt", &lines("old"));
    let models: Vec<String> = (0..4)
        .map(|p| {
            let edit = |n: usize| {
                let (old, new) = (format!("line {p}-{n} old"), format!("line {p}-{n} new"));
                json!({"name": "edit_file", "args": {"path": "shared.txt", "old": old, "new": new}})
            };
            // Half of the edits one after the other, half at once.
            let mut answers: Vec<Value> = (0..30).map(|n| json!({"calls": [edit(n)]})).collect();
            answers.push(json!({"calls": (30..60).map(edit).collect::<Vec<_>>()}));
            answers.push(json!({"text": "done"}));
            world.script(&format!("s{p}.json"), &json!(answers))
        })
        .collect();
    let command = |model: &String| {
        ["run", "--yes", "--model", model, "--agent", "coder", "--max-turns", "40", "edit"].map(str::to_owned).to_vec()
    };
    world.config("agents/coder.md", "---\npurpose: Edits.\ntools: [files]\nturns: 50\n---\nEdit.\n");
    for ran in at_once(&world, &models.iter().map(command).collect::<Vec<_>>()) {
        ran.code(0);
    }
    assert_eq!(std::fs::read_to_string(world.ws().join("shared.txt")).unwrap(), lines("new"));
}
