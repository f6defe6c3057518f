//! Repeated runs on the command line: what is kept, what is done again, and why.

use serde_json::{Value, json};

use crate::injection::recorder::Recorder;
use crate::world::World;

fn says(step: &str, text: &str) -> Value {
    json!({"when": {"step": step}, "answer": {"text": text}})
}

/// A step that first makes one call.
fn calls(step: &str, tool: &str, args: &Value) -> Value {
    json!({"when": {"step": step, "turn": 0}, "answer": {"calls": [{"name": tool, "args": args}]}})
}

fn two_steps() -> Value {
    json!([
        {"id": "find", "agent": "coder", "prompt": "find", "writes": ["facts"]},
        {"id": "tell", "agent": "thinker", "prompt": "tell", "reads": ["facts"], "writes": ["answer"]},
    ])
}

/// A model that plans these steps and carries them out.
fn script(world: &World, steps: &Value, more: &[Value]) -> String {
    let planner = json!({"when": {"agent": "planner"}, "answer": {"json": {"steps": steps}}});
    let rules = [more, &[planner, says("find", "facts"), says("tell", "the story")]].concat();
    world.script("s.json", &json!({ "rules": rules }))
}

/// A run of the two steps, with these answers before the usual ones.
fn run(world: &World, more: &[Value]) {
    let model = script(world, &two_steps(), more);
    world.updraft(&["run", "--yes", "--model", &model, "tell me"]).code(0);
}

/// What a dry rerun says about each step: its verdict and the reason.
fn verdicts(world: &World, args: &[&str]) -> Vec<(String, String)> {
    let dry = world.updraft(&[&["rerun", "last", "--dry-run", "--json"], args].concat()).code(0).value();
    let word = |step: &Value, key: &str| step[key].as_str().unwrap().to_owned();
    dry["steps"].as_array().unwrap().iter().map(|step| (word(step, "verdict"), word(step, "why"))).collect()
}

/// The verdicts alone.
fn words(world: &World, args: &[&str]) -> Vec<String> {
    verdicts(world, args).into_iter().map(|(verdict, _)| verdict).collect()
}

/// The steps of the newest run whose result was kept.
fn kept(world: &World) -> Vec<String> {
    let shown = world.updraft(&["show", "last", "--json"]).code(0).value();
    let steps = shown["steps"].as_array().unwrap().iter().filter(|step| step["kept"] == true);
    steps.map(|step| step["id"].as_str().or(step["step"].as_str()).unwrap().to_owned()).collect()
}

#[test]
fn a_repeated_run_carries_out_only_what_has_changed() {
    let world = World::new();
    run(&world, &[calls("find", "read_file", &json!({"path": "a.txt"}))]);
    let first = world.last();
    let dry = world.updraft(&["rerun", &first, "--dry-run"]).code(0).out;
    assert!(dry.starts_with("kept   find (coder): same task") && dry.contains("kept   tell (thinker): same"), "{dry}");
    assert_eq!(world.runs().len(), 1, "nothing was started");
    let ran = world.updraft(&["rerun", &first, "--json"]).code(0).json();
    assert_eq!((ran[0]["type"].as_str(), ran[0]["steps"][0]["verdict"].as_str()), (Some("run.repeats"), Some("kept")));
    let shown = world.updraft(&["show", "last", "--json"]).code(0).value();
    assert_eq!((shown["statistics"]["turns"].as_u64(), shown["repeats"].as_str()), (Some(0), Some(first.as_str())));
    assert_eq!(world.runs()[0]["status"], "done", "a run that keeps everything has ended");

    world.file("a.txt", "another text\n");
    let why = verdicts(&world, &[]);
    assert!(why[0].0 == "again" && why[0].1.contains("a.txt"), "also in a rerun of a rerun: {why:?}");
    assert_eq!(why[1].0, "open", "{why:?}");
    assert_eq!(world.updraft(&["rerun", "last"]).code(0).out, "the story\n");
    assert_eq!(kept(&world), ["tell"], "`find` gave the same facts");
}

#[test]
fn what_agents_are_told_counts_for_every_step() {
    let world = World::new();
    run(&world, &[]);
    world.updraft(&["rerun", "last", "--again", "fnd"]).code(2).says("no step `fnd`");
    assert_eq!(words(&world, &["--again", "find"]), ["again", "open"]);
    world.config("agents/thinker.md", "---\nname: thinker\npurpose: Thinks.\nrole: thinker\n---\nThink twice.\n");
    let why = verdicts(&world, &[]);
    assert!(why[0].0 == "kept" && why[1].1.contains("the prompt of `thinker`"), "{why:?}");
    world.file("AGENTS.md", "Be brief.\n");
    assert_eq!(words(&world, &[]), ["again", "again"]);
}

#[test]
fn a_command_is_repeated_only_if_some_file_has_changed_that_it_may_have_read() {
    let world = World::new();
    world.file("sub/gone.txt", "x\n");
    world.file(".git/HEAD", "ref: refs/heads/main\n");
    let command = json!({"command": "mkdir -p made && cat a.txt > made/copy.txt && cat a.txt"});
    run(&world, &[calls("find", "run_command", &command)]);
    assert!(world.ws().join("made/copy.txt").exists());
    let why = verdicts(&world, &[]);
    assert!(why[0].0 == "kept" && why[0].1.contains("no other file has changed"), "{why:?}");

    world.file(".git/HEAD", "ref: refs/heads/other\n");
    assert_eq!(words(&world, &[]), ["kept", "kept"], "it does not mention git");
    world.file("made/copy.txt", "by hand\n");
    let why = verdicts(&world, &[]);
    assert!(why[0].0 == "again" && why[0].1.contains("made/copy.txt"), "{why:?}");
    world.file("made/copy.txt", "hello\n");
    assert_eq!(words(&world, &[]), ["kept", "kept"], "it is as the run left it");

    world.updraft(&["rerun", "last", "--again", "tell"]).code(0);
    assert_eq!((words(&world, &[]), kept(&world)), (vec!["kept".into(), "kept".into()], vec!["find".into()]));
    std::fs::remove_file(world.ws().join("sub/gone.txt")).unwrap();
    let why = verdicts(&world, &[]);
    assert!(why[0].0 == "again" && why[0].1.contains("`sub`"), "{why:?}");
    world.file("a.txt", "hello\n");
    let why = verdicts(&world, &[]);
    assert!(why[0].0 == "again" && why[0].1.contains("`a.txt`"), "{why:?}");
}

#[test]
fn a_command_that_removes_or_replaces_files_is_kept_like_any_other() {
    for command in ["rm -f sub/x", "sed -i s/1/2/ sub/y", "touch t && rm t && cat a.txt"] {
        let world = World::new();
        world.file("sub/x", "1\n");
        world.file("sub/y", "1\n");
        run(&world, &[calls("find", "run_command", &json!({"command": command}))]);
        let why = verdicts(&world, &[]);
        assert!(why.iter().all(|one| one.0 == "kept"), "{command}: {why:?}");
    }
}

#[test]
fn what_a_run_wrote_itself_does_not_outdate_the_list_of_files() {
    let world = World::new();
    let list = calls("find", "list_files", &json!({}));
    let write = calls("tell", "write_file", &json!({"path": "report.md", "content": "all is well"}));
    let mut steps = two_steps();
    steps[1]["agent"] = "coder".into();
    let model = script(&world, &steps, &[list, write]);
    world.updraft(&["run", "--yes", "--model", &model, "tell me"]).code(0);
    assert!(world.ws().join("report.md").exists());
    assert_eq!(words(&world, &[]), ["kept", "kept"]);
    world.file("b.txt", "new\n");
    assert_eq!(words(&world, &[]), ["again", "open"]);
}

#[test]
fn a_new_file_concerns_only_steps_that_look_for_files() {
    let world = World::new();
    run(&world, &[calls("find", "read_file", &json!({"path": "a.txt"}))]);
    world.file("b.txt", "new\n");
    let dry = world.updraft(&["rerun", "last", "--dry-run"]).code(0).out;
    assert!(
        dry.matches("kept ").count() == 2 && dry.contains("new since then, and unknown to the plan: `b.txt`"),
        "{dry}"
    );

    let world = World::new();
    run(&world, &[calls("find", "list_files", &json!({}))]);
    assert_eq!(words(&world, &[]), ["kept", "kept"]);
    world.file("b.txt", "new\n");
    assert_eq!(words(&world, &[]), ["again", "open"]);
}

#[test]
fn a_file_that_was_missing_counts_once_it_is_there() {
    let world = World::new();
    run(&world, &[calls("find", "read_file", &json!({"path": "later.txt"}))]);
    assert_eq!(words(&world, &[]), ["kept", "kept"], "it is still missing");
    world.file("later.txt", "now\n");
    assert_eq!(words(&world, &[]), ["again", "open"]);
}

#[test]
fn another_goal_is_planned_again_and_keeps_steps_whose_task_stays() {
    let world = World::new();
    run(&world, &[calls("find", "run_command", &json!({"command": "cat a.txt"}))]);
    let goal = ["--goal", "tell me in verse"];
    assert_eq!(words(&world, &goal), ["open", "again"]);
    let mut steps = two_steps();
    steps[1]["prompt"] = "tell it in verse".into();
    let changed =
        json!({"when": {"agent": "planner", "contains": "tell me in verse"}, "answer": {"json": {"steps": steps}}});
    script(&world, &two_steps(), &[changed, says("tell", "a poem")]);
    let ran = world.updraft(&["rerun", "last", "--yes", "--goal", "tell me in verse"]).code(0);
    assert_eq!((ran.out.as_str(), kept(&world)), ("a poem\n", vec!["find".to_owned()]));
    // A planner that sees no difference still gets an answer to the new goal.
    script(&world, &steps, &[says("tell", "a song")]);
    assert_eq!(world.updraft(&["rerun", "last", "--goal", "sing it"]).code(0).out, "a song\n");
}

#[test]
fn with_another_goal_the_step_before_a_review_answers_again() {
    let world = World::new();
    let mut steps = two_steps();
    let check = json!({"id": "check", "agent": "reviewer", "prompt": "check it", "reads": ["answer"]});
    steps.as_array_mut().unwrap().push(check);
    let accepts = json!({"when": {"step": "check"}, "answer": {"json": {"accepted": true, "feedback": ""}}});
    let model = script(&world, &steps, &[accepts]);
    world.updraft(&["run", "--yes", "--model", &model, "tell me"]).code(0);
    assert_eq!(words(&world, &["--goal", "tell me in verse"]), ["open", "again", "again"]);
}

#[test]
fn what_came_from_the_web_is_asked_for_again_unless_you_keep_it() {
    let world = World::new();
    let recorder = Recorder::start("a page");
    world.config("config.toml", "[web]\nloopback = true\n");
    let fetch = json!({"url": format!("http://{}/page", recorder.address())});
    run(&world, &[calls("find", "web_fetch", &fetch)]);
    let why = verdicts(&world, &[]);
    assert!(why[0].0 == "again" && why[0].1.contains("`web_fetch`"), "{why:?}");
    let why = verdicts(&world, &["--keep-web"]);
    assert!(why[0].0 == "kept" && why[0].1.contains("from the network is kept"), "{why:?}");
    world.updraft(&["rerun", "last", "--keep-web"]).code(0);
    assert_eq!((kept(&world), recorder.heard().matches("GET /page").count()), (vec!["find".into(), "tell".into()], 1));
}

#[test]
fn what_was_required_stays_required_once_and_a_new_plan_waits_for_approval_again() {
    let world = World::new();
    world.config("config.toml", "require = [\"`test -f a.txt` passes\"]\n");
    let model = script(&world, &two_steps(), &[]);
    let require = ["--require", "file later.txt exists"];
    let run = [&["run", "--yes", "--plan-first", "--model", &model], &require[..], &["tell me"]].concat();
    world.updraft(&run).code(3);
    world.updraft(&["resume", "last", "--yes"]).code(1);
    world.file("later.txt", "now\n");
    let ran = world.updraft(&["rerun", "last", "--yes"]).code(0);
    assert_eq!(ran.err.matches("✓ `test -f a.txt` passes").count(), 1, "{}", ran.err);
    ran.says("✓ file later.txt exists");
    world.updraft(&["rerun", "last", "--yes", "--goal", "tell me more"]).code(3).says("the plan has 2 steps");
}
