//! What one process does to a run of another: pause, cancel, answer, follow, remove.

use serde_json::{Value, json};

use crate::pty::Pty;
use crate::world::{Background, World};

fn asks() -> Value {
    json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [{"name": "ask_user", "args": {"question": "Which colour?", "options": ["red", "blue"]}}]}},
        {"when": {"contains": "blue"}, "answer": {"text": "Blue it is."}},
    ], "default": {"text": "Some colour."}})
}

/// A model that takes a minute for its first answer.
fn slow() -> Value {
    json!({"default": {"text": "at last", "delay_ms": 60_000}})
}

#[test]
fn a_question_ends_with_exit_3_and_goes_on_with_the_answer() {
    let world = World::new();
    let model = world.script("s.json", &asks());

    let ran = world.updraft(&["run", "--model", &model, "--agent", "clarification", "choose"]).code(3);
    assert!(
        ran.err.contains("Which colour?") && ran.err.contains("updraft answer") && ran.out.is_empty(),
        "{}",
        ran.err
    );
    assert_eq!(ran.err.matches("Which colour?").count(), 1, "it is asked once: {}", ran.err);
    assert_eq!(world.runs()[0]["status"], "waiting");
    world.updraft(&["resume", "last"]).code(3).says("Which colour?");

    world.updraft(&["answer", "last", "blue"]).code(0).says("updraft resume");
    world.updraft(&["answer", "last", "red"]).code(1).says("already has a response");
    assert_eq!(world.updraft(&["resume", "last"]).code(0).out, "Blue it is.\n");
    world.updraft(&["answer", "last", "blue"]).code(1).says("already ended");
    // What happened before somebody watched is not told in parts.
    let watched = world.updraft(&["attach", "last"]).code(0).err;
    assert!(watched.starts_with("run ") && !watched.contains("clarification"), "{watched}");
}

#[test]
fn with_json_a_run_that_waits_says_for_what() {
    let world = World::new();
    let model = world.script("s.json", &asks());
    let ran = world.updraft(&["run", "--json", "--model", &model, "--agent", "clarification", "choose"]).code(3);
    let last = ran.json().pop().unwrap();
    assert_eq!(
        (last["type"].as_str(), last["waiting_for"][0]["kind"].as_str()),
        (Some("run.waiting"), Some("question"))
    );
}

#[test]
fn a_running_run_is_cancelled_from_another_process() {
    let world = World::new();
    let model = world.script("s.json", &slow());
    let running = world.begin(&["run", "--model", &model, "--agent", "thinker", "think"]);
    let id = world.until_status("running");

    world.updraft(&["cancel", &id]).code(0).says("is cancelled");

    running.wait().code(1).says("was cancelled");
    assert_eq!(world.runs()[0]["status"], "cancelled");
}

#[test]
fn a_running_run_is_paused_and_resumed() {
    let world = World::new();
    let model = world.script(
        "s.json",
        &json!([{"calls": [{"name": "read_file", "args": {"path": "a.txt"}}], "delay_ms": 2500}, {"text": "done"}]),
    );
    let running = world.begin(&["run", "--model", &model, "--agent", "coder", "read"]);
    let id = world.until_status("running");

    world.updraft(&["pause", &id]).code(0).says("is paused");

    running.wait().code(130).says("paused").says("updraft resume");
    assert_eq!(world.updraft(&["resume", &id]).code(0).out, "done\n");
}

#[test]
fn a_run_whose_folder_is_gone_waits_until_it_is_back() {
    let world = World::new();
    let model = world.script("s.json", &asks());
    world.updraft(&["run", "--model", &model, "--agent", "clarification", "choose"]).code(3);
    let (here, away) = (world.ws(), world.ws().with_extension("away"));
    std::fs::rename(&here, &away).unwrap();
    let resumed = world.command(&["resume", "last"]).current_dir(&away).output().unwrap();
    assert!(String::from_utf8_lossy(&resumed.stderr).contains("does not exist"), "{resumed:?}");
    std::fs::rename(&away, &here).unwrap();
    world.updraft(&["resume", "last"]).code(3);
}

#[test]
fn a_run_without_a_process_is_paused_and_cancelled_on_the_spot() {
    let world = World::new();
    let model = world.script("s.json", &asks());
    world.updraft(&["run", "--model", &model, "--agent", "clarification", "choose"]).code(3);

    world.updraft(&["pause", "last"]).code(0).says("is paused");
    assert_eq!(world.runs()[0]["status"], "paused");
    world.updraft(&["cancel", "last"]).code(0).says("is cancelled");
    assert_eq!(world.runs()[0]["status"], "cancelled");
    world.updraft(&["cancel", "last"]).code(1).says("already ended");
    world.updraft(&["replay", "last", "--strict"]).code(0);
}

#[test]
fn a_killed_run_is_shown_as_interrupted_and_can_be_cancelled_or_resumed() {
    let world = World::new();
    let model = world.script("s.json", &slow());
    let running = world.begin(&["run", "--model", &model, "--agent", "thinker", "think"]);
    let id = world.until_status("running");
    running.signal("KILL");
    running.wait().code(137);

    assert_eq!(world.until_status("interrupted"), id);
    assert_eq!(world.updraft(&["runs", "--status", "interrupted", "--json"]).json().len(), 1);
    world.updraft(&["cancel", &id]).code(0).says("is cancelled");
}

#[test]
fn all_that_was_cut_off_is_resumed_but_not_what_waits() {
    let world = World::new();
    let asking = world.script("q.json", &asks());
    world.updraft(&["run", "--model", &asking, "--agent", "clarification", "choose"]).code(3);
    let file = world.file("s.json", &json!({"default": {"text": "at last", "delay_ms": 60_000}}).to_string());
    let model = format!("scripted/{}", file.display());
    let running = world.begin(&["run", "--model", &model, "--agent", "thinker", "think"]);
    world.until_status("running");
    running.signal("KILL");
    running.wait();
    world.file("s.json", &json!({"default": {"text": "at last"}}).to_string());

    let ran = world.updraft(&["resume", "--all"]).code(0);

    assert_eq!(ran.out, "at last\n");
    assert!(ran.err.contains("think") && !ran.err.contains("Which colour"), "{}", ran.err);
}

#[test]
fn an_interrupt_stops_cleanly_and_names_the_way_on() {
    let world = World::new();
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let file = world.file("s.json", &json!({"default": {"text": "at last", "delay_ms": 60_000}}).to_string());
        let model = format!("scripted/{}", file.display());
        let running = world.begin(&["run", "--json", "--model", &model, "--agent", "thinker", "think"]);
        let id = world.until_status("running");
        running.signal(signal);
        let ran = running.wait().code(code).says(&format!("updraft resume {id}"));
        assert_eq!(ran.json().pop().unwrap()["type"], "run.interrupted");
        world.file("s.json", &json!({"default": {"text": "at last"}}).to_string());
        assert_eq!(world.updraft(&["resume", &id]).code(0).out, "at last\n");
        world.updraft(&["rm", &id]).code(0);
    }
}

#[test]
fn an_interrupt_that_takes_a_moment_is_announced() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "at last", "delay_ms": 60_000}}));
    let args = ["run", "--model", &model, "--agent", "thinker", "think"];
    let running = world.begin(&args);
    world.until_status("running");
    running.signal("INT");
    let ran = running.wait().code(130).says("stopping; Ctrl-C again stops at once");
    assert!(ran.err.contains("stopped; nothing is lost"), "{}", ran.err);

    let mut command = world.command(&args);
    command.env_remove("NO_COLOR").env("LANG", "C.UTF-8");
    let mut pty = Pty::start(&command, 80);
    pty.shows("thinker");
    pty.types("\u{3}");
    pty.shows("stopping; Ctrl-C again stops at once");
    pty.shows("stopped; nothing is lost");
    assert_eq!(pty.end(), 130);
    assert_eq!(pty.all().matches("● thinker").count(), 1, "the tree is drawn once\n{}", pty.all());
}

#[test]
fn a_plan_can_be_interrupted_before_it_is_there() {
    let world = World::new();
    let file = world.file("s.json", &json!({"default": {"text": "at last", "delay_ms": 60_000}}).to_string());
    let model = format!("scripted/{}", file.display());
    let running = world.begin(&["run", "--plan-only", "--model", &model, "think"]);
    let id = world.until_status("running");
    running.signal("INT");
    running.wait().code(130).says("stopped before there was a plan").says(&format!("updraft resume {id}"));
}

#[test]
fn a_second_resume_follows_the_first() {
    let world = World::new();
    let model = world.script(
        "s.json",
        &json!([{"calls": [{"name": "read_file", "args": {"path": "a.txt"}}], "delay_ms": 3000}, {"text": "done"}]),
    );
    let running = world.begin(&["run", "--model", &model, "--agent", "coder", "read"]);
    let id = world.until_status("running");

    let ran = world.updraft(&["resume", &id]).code(0).says(&format!("being run by process {}", running.pid()));

    assert_eq!(ran.out, "done\n");
    running.wait().code(0);
}

#[test]
fn a_follower_takes_over_when_the_process_it_follows_dies() {
    let world = World::new();
    let file = world.file("s.json", &slow().to_string());
    let model = format!("scripted/{}", file.display());
    let running = world.begin(&["run", "--model", &model, "--agent", "thinker", "think"]);
    let id = world.until_status("running");
    world.file("s.json", &json!({"default": {"text": "taken over"}}).to_string());
    let follower = world.begin(&["resume", &id]);
    running.signal("KILL");
    running.wait();
    assert_eq!(follower.wait().code(0).out, "taken over\n");
}

#[test]
fn events_are_followed_to_the_end_of_the_run() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "done", "delay_ms": 2500}}));
    let running = world.begin(&["run", "--model", &model, "--agent", "thinker", "think"]);
    let id = world.until_status("running");
    let followed = world.updraft(&["events", &id, "--follow"]).code(0);
    assert!(followed.out.lines().last().unwrap().contains("finished"), "{}", followed.out);
    running.wait().code(0);
}

#[test]
fn an_answer_reaches_a_process_that_is_at_work() {
    let world = World::new();
    let steps = json!([{"id": "ask", "agent": "clarification", "prompt": "ask", "writes": ["colour"]},
                       {"id": "slow", "agent": "thinker", "prompt": "think", "writes": ["thought"]}]);
    let plan = world.file("plan.json", &json!({"steps": steps}).to_string());
    let model = world.script("s.json", &json!({"rules": [
        {"when": {"step": "slow"}, "answer": {"text": "thought", "delay_ms": 4000}},
        {"when": {"step": "ask", "turn": 0}, "answer": {"calls": [{"name": "ask_user", "args": {"question": "Which colour?"}}]}},
    ], "default": {"text": "green"}}));
    let running = world.begin(&["run", "--model", &model, "--plan", plan.to_str().unwrap(), "go"]);
    World::until("it asks", || {
        world.runs().first().is_some_and(|run| {
            let shown = world.updraft(&["show", run["run"].as_str().unwrap(), "--json"]).value();
            shown["waiting_for"].as_array().is_some_and(|waits| !waits.is_empty())
        })
    });

    world.updraft(&["answer", "last", "green"]).code(0).says("answer recorded");

    running.wait().code(0);
    assert_eq!(world.updraft(&["show", "last", "--json"]).value()["variables"]["colour"], "green");
}

#[test]
fn nothing_is_approved_that_nobody_asked_for() {
    let world = World::new();
    let model = world.script("s.json", &asks());
    world.updraft(&["run", "--model", &model, "--agent", "clarification", "choose"]).code(3);
    world.updraft(&["approve", "last"]).code(1).says("is not waiting for an approval").says("question");
    world.updraft(&["deny", "last", "nonsense"]).code(2).says("step/visit/turn/kind.n");
    world.updraft(&["cancel", "last", "--step", "nope"]).code(2).says("clarification");
}

#[test]
fn a_run_is_not_removed_under_its_process_unless_forced() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "at last", "delay_ms": 4000}}));
    let running = world.begin(&["run", "--model", &model, "--agent", "thinker", "think"]);
    let id = world.until_status("running");

    world.updraft(&["rm", &id]).code(1).says("being run by process").says("--force");
    world.updraft(&["rm", "--force", &id]).code(0);

    running.wait().code(1).says("was deleted while it ran");
    assert!(world.runs().is_empty());
}

#[test]
fn whoever_goes_on_in_the_place_of_others_keeps_what_they_were_given_meanwhile() {
    let world = World::new();
    let model = world.script("s.json", &slow());
    let first = world.begin(&["run", "--model", &model, "--agent", "thinker", "think"]);
    let id = world.until_status("running");
    let said = world.home().join("said");
    let mut command = world.command(&["resume", &id]);
    let follower = Background::of(command.stderr(std::fs::File::create(&said).unwrap()).spawn().unwrap());
    let says = |words: &str| std::fs::read_to_string(&said).unwrap().contains(words);
    World::until("it follows", || says("following it"));
    follower.signal("STOP");
    first.signal("KILL");
    first.wait();
    let second = world.begin(&["resume", &id, "--network", "none"]);
    World::until("another goes on", || world.runs()[0]["process"] == second.pid());
    let events = || world.updraft(&["events", &id, "--json"]).out;
    World::until("it was given its rights", || events().contains("\"network\":\"none\""));
    second.signal("KILL");
    second.wait();
    follower.signal("CONT");
    World::until("it keeps them", || says("keeping what the run was started with: --network none"));
}
