//! Runs that end before they are done: what is said of them, and how they go on.

use serde_json::json;

use super::world::World;

#[test]
fn a_step_out_of_turns_is_not_done_and_goes_on_with_more() {
    let world = World::new();
    let read = |path: &str| json!({"name": "read_file", "args": {"path": path}});
    let model = world.script(
        "s.json",
        &json!({"rules": [
            {"when": {"turn": 0}, "answer": {"calls": [read("a.txt")]}},
            {"when": {"turn": 1}, "answer": {"text": "half way", "calls": [read("b.txt")]}},
        ], "default": {"text": "all done"}}),
    );
    let mut command = world.command(&["run", "--model", &model, "--agent", "thinker", "think"]);
    world.config("agents/thinker.md", "---\nname: thinker\npurpose: Thinks.\ntools: [files]\n---\nThink.\n");
    let ran = super::world::Ran::of(command.env("UPDRAFT_AGENT_TURNS", "2").output().unwrap()).code(4);
    let id = world.last();
    let command = format!("updraft resume {id} --max-turns 10");
    assert_eq!(ran.out, "half way\n");
    let ran = ran.says("step `thinker` is not done: it has used all its 2 turns").says(&command);
    assert!(!ran.err.contains("done in") && !ran.err.contains('✓'), "{}", ran.err);
    let shown = world.updraft(&["show", &id]).code(0).out;
    for part in ["limit reached", "not done", "it has used all its 2 turns", &command, "so far, unfinished\nhalf way"] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    world.updraft(&["resume", &id]).code(4).says(&command);
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    assert_eq!(world.updraft(&arguments).code(0).out, "all done\n");
    world.updraft(&["replay", &id]).code(0);
}

#[test]
fn the_turns_of_one_agent_and_of_those_that_need_many() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "done"}}));
    let turns = |agent: &str, args: &[&str]| {
        world.updraft(&[&["run", "--model", &model, "--agent", agent, "x"], args].concat()).code(0);
        let started = world.updraft(&["events", "last", "--json"]).json()[0]["event"]["started"].clone();
        let settings = &started["settings"];
        let own = started["roster"]["agents"][0]["turns"].clone();
        (own, settings["query_turns"].clone(), settings["least_turns"].clone())
    };
    for agent in ["coder", "researcher"] {
        assert_eq!(turns(agent, &[]), (json!(40), json!(50), json!(null)));
    }
    assert_eq!(turns("thinker", &["--max-turns", "70"]), (json!(null), json!(50), json!(70)));
}

#[test]
fn a_limit_on_tokens_says_what_it_reserves() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "done"}}));
    let ran = world.updraft(&["run", "--model", &model, "--agent", "thinker", "--max-tokens", "500", "think"]).code(4);
    let ran = ran
        .says("limit reached: tokens (500); the next question reserves")
        .says("`max_output`")
        .says("and 500 are left");
    let command = ran.err.split('`').find(|part| part.starts_with("updraft resume")).unwrap().to_owned();
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    assert_eq!(world.updraft(&arguments).code(0).out, "done\n", "{command}");
}

#[test]
fn a_variable_of_a_fork_counts_or_is_refused() {
    let world = World::new();
    let plan = json!({"steps": [
        {"id": "one", "agent": "thinker", "prompt": "x", "reads": ["n"], "writes": ["a"]},
        {"id": "two", "agent": "thinker", "prompt": "y", "reads": ["a"], "writes": ["b"]},
    ]});
    let plan = world.file("plan.json", &plan.to_string());
    let model = world.script("s.json", &json!({"default": {"text": "said"}}));
    let plan = plan.to_str().unwrap();
    world.updraft(&["run", "--model", &model, "--plan", plan, "--var", "n=1", "go"]).code(0);
    let run = world.last();
    let fork = |at: usize, set: &str| world.updraft(&["fork", &run, "--at", &at.to_string(), "--set", set]);
    let events = world.updraft(&["events", &run, "--json"]).json();
    let done = events.iter().position(|event| event["event"]["step_done"]["step"] == "one").unwrap() + 1;
    fork(2, "nobody=1").code(2).says("no step of the plan reads it").says("they read: a, n");
    fork(2, "a=1").code(2).says("step `one` writes it later");
    fork(done, "n=2").code(2).says("the steps that read it have already begun");
    fork(events.len(), "a=1").code(2).says("have already begun");
    fork(2, "n=2").code(0);
    fork(done, "a=7").code(0);
    let prompts = world.updraft(&["show", "last", "--prompts"]).out;
    assert!(prompts.contains('7'), "{prompts}");
}

#[test]
fn an_answer_cut_off_at_the_limit_is_continued_and_one_that_stays_cut_off_is_no_answer() {
    let world = World::new();
    let half = |text: &str| json!({"text": text, "finish": "length"});
    let model = world.script("s.json", &json!([half("{\"one\": \"ha"), {"text": "lf\"}"}]));
    let ran = world.updraft(&["run", "--model", &model, "--agent", "thinker", "think"]).code(0);
    assert_eq!(ran.out, "{\"one\": \"half\"}\n");
    let prompts = world.updraft(&["show", "last", "--prompts"]).code(0).out;
    assert!(prompts.contains("Continue it exactly where it stopped"), "{prompts}");
    world.updraft(&["replay", "last", "--strict"]).code(0);

    let model = world.script("t.json", &json!([half("{\"one\": \"ha"), half("lf")]));
    let ran = world.updraft(&["run", "--model", &model, "--agent", "thinker", "think"]).code(1);
    ran.says("cut off at the limit on output, and so was its continuation");
    let withheld = json!([{"text": "I", "finish": "filtered"}]);
    let model = world.script("u.json", &withheld);
    world
        .updraft(&["run", "--model", &model, "--agent", "thinker", "think"])
        .code(1)
        .says("the provider withheld the answer");
}
