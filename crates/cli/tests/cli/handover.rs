//! What reaches the model: standard input beside a goal, what a command changed, and what is said about what does not.

use std::process::Stdio;

use serde_json::json;

use crate::undo::can_stage;
use crate::world::{Ran, World};

fn prompts(world: &World) -> String {
    world.updraft(&["show", "last", "--prompts"]).code(0).out
}

fn kept(world: &World) -> Vec<String> {
    let entries = std::fs::read_dir(world.ws().join(".updraft/stdin")).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn standard_input_beside_a_goal_is_handed_over_as_a_file() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "fine"}}));
    let args = ["run", "Review this", "--model", &model, "--agent", "reviewer"];
    assert_eq!(world.fed(&args, b"-old\n+new\n").code(0).out, "fine\n");
    let [ignored, file] = kept(&world).try_into().unwrap();
    assert_eq!(ignored, ".gitignore");
    assert!(file.starts_with("standard-input-"), "{file}");
    assert_eq!(std::fs::read_to_string(world.ws().join(".updraft/stdin").join(&file)).unwrap(), "-old\n+new\n");
    assert!(prompts(&world).contains(&format!("- .updraft/stdin/{file}")), "{}", prompts(&world));
    // The same again is the same file.
    world.fed(&args, b"-old\n+new\n").code(0);
    assert_eq!(kept(&world).len(), 2);
}

#[test]
fn standard_input_that_was_handed_over_goes_with_the_last_run_that_has_it() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "fine"}}));
    let args = ["run", "Review this", "--model", &model, "--agent", "reviewer"];
    for words in ["first", "first", "second"] {
        world.fed(&args, words.as_bytes()).code(0);
    }
    let runs: Vec<String> = world.runs().iter().map(|run| run["run"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kept(&world).len(), 3);
    world.file(".updraft/stdin/of-mine.txt", "mine");
    // The newest has "second"; the other two share a file.
    world.updraft(&["rm", &runs[0]]).code(0);
    assert_eq!(kept(&world).len(), 3);
    world.updraft(&["rm", &runs[1]]).code(0);
    assert_eq!(kept(&world).len(), 3);
    world.updraft(&["prune", "--older-than", "0s"]).code(0);
    assert_eq!(kept(&world), [".gitignore", "of-mine.txt"]);
}

#[test]
fn a_goal_on_standard_input_has_the_limit_of_every_goal() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "fine"}}));
    let args = ["run", "-", "--model", &model, "--agent", "reviewer"];
    world.fed(&args, &vec![b'a'; 256 << 10]).code(0);
    let limit = "the goal on standard input is longer than 262144 bytes";
    world.fed(&args, &vec![b'a'; (256 << 10) + 1]).code(2).says(limit).says("--file");
}

#[test]
fn empty_standard_input_is_no_file_and_what_is_no_text_or_too_much_is_an_error() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "fine"}}));
    let args = ["run", "Review this", "--model", &model, "--agent", "reviewer"];
    world.fed(&args, b"").code(0);
    world.updraft(&args).code(0);
    assert_eq!(kept(&world), Vec::<String>::new());
    world.fed(&args, &[0xff, 0xfe, 0, 1]).code(2).says("standard input is not text").says("--file");
    world.fed(&args, &vec![b'a'; 9 << 20]).code(2).says("standard input is longer than 8 MiB").says("--file");
    world.fed(&["run", "-", "--file", "-"], b"x").code(2).says("cannot be the goal and a file at once");
}

#[test]
fn an_open_pipe_that_says_nothing_does_not_hold_a_run_up() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "fine"}}));
    let mut command = world.command(&["run", "Review this", "--model", &model, "--agent", "reviewer"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take();
    let ran = Ran::of(child.wait_with_output().unwrap());
    drop(open);
    ran.code(0).says("standard input is open but empty").says("--file -");
}

#[test]
fn a_model_is_told_what_a_command_changed() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    world.file("gone.txt", "gone\n");
    let call = json!({"name": "run_command", "args": {"command": "echo more >> a.txt; echo b > b.txt; rm gone.txt"}});
    let script = json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [call]}}], "default": {"text": "done"}});
    let model = world.script("s.json", &script);
    world.updraft(&["run", "Do it", "--model", &model, "--agent", "coder", "--yes"]).code(0);
    let told = prompts(&world);
    let line = told.lines().find(|line| line.starts_with("[files: ")).unwrap_or_else(|| panic!("{told}"));
    for part in ["changed `a.txt`", "created `b.txt`", "deleted `gone.txt`"] {
        assert!(line.contains(part), "{line}");
    }
    world.updraft(&["replay", "last"]).code(0);
}

#[test]
fn thinking_that_a_model_cannot_be_told_is_said_once() {
    let world = World::new();
    let ran = world.updraft(&["run", "What is in a.txt?", "--model", "builtin", "--think", "high"]).code(0);
    let said = "left out: builtin cannot be told how much to think";
    assert_eq!(ran.err.matches(said).count(), 1, "{}", ran.err);
    assert!(world.updraft(&["show", "last"]).code(0).out.contains(said));
    assert!(!world.updraft(&["run", "What is in a.txt?", "--model", "builtin"]).code(0).err.contains("left out"));
}

#[test]
fn one_agent_file_that_cannot_be_read_is_named_and_left_out() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "fine"}}));
    world.config("agents/broken.md", "no front matter\n");
    world.config("agents/typo.md", "---\npurpose: Tries.\ntools: [files, reed_file]\n---\nTry.\n");
    world.config("agents/tester.md", "---\npurpose: Tries.\ntools: [files]\n---\nTry.\n");
    let ran = world.updraft(&["run", "x", "--model", &model, "--agent", "tester"]).code(0);
    assert!(ran.err.contains("left out: agent `broken`: ") && ran.err.contains("broken.md"), "{}", ran.err);
    let typo = "typo.md: no tool, group or MCP server is named `reed_file`; available: read_file";
    assert!(ran.err.contains(typo), "{}", ran.err);
    world
        .updraft(&["run", "x", "--model", &model, "--agent", "broken"])
        .code(5)
        .says("the agent `broken` cannot be used");
    world.updraft(&["run", "x", "--model", &model, "--agent", "typo"]).code(5).says(typo);
    world.updraft(&["agents"]).code(5).says("left out: agent `broken`").says(typo);
    let listed = world.updraft(&["agents", "--json"]).code(5).json();
    let why = |name: &str| {
        let left = listed.iter().find(|line| line["name"] == name && line["left_out"].is_string());
        left.map(|line| line["left_out"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    assert!(why("broken").contains("broken.md") && why("typo").contains(typo), "{listed:?}");
    assert!(listed.iter().any(|line| line["name"] == "tester" && line["purpose"] == "Tries."), "{listed:?}");
    let doctor = world.updraft(&["doctor"]).out;
    assert!(doctor.contains("left out: `broken`: ") && doctor.contains(typo), "{doctor}");
}

#[test]
fn a_built_in_agent_stays_where_a_file_of_its_name_cannot_be_used() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "fine"}}));
    for file in ["no front matter\n", "---\npurpose: Tries.\ntools: [reed_file]\n---\nTry.\n"] {
        world.config("agents/coder.md", file);
        let ran = world.updraft(&["run", "x", "--model", &model, "--agent", "coder"]).code(0);
        let said = "; the built-in `coder` is used instead";
        assert!(ran.err.contains("left out: agent `coder`: ") && ran.err.contains(said), "{}", ran.err);
        assert!(world.updraft(&["agents"]).code(5).says(said).out.contains("coder "));
    }
}

fn put_samples(world: &World) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../reader/tests/files");
    for name in ["paper.pdf", "report.docx", "sales.xlsx"] {
        std::fs::copy(std::path::Path::new(folder).join(name), world.ws().join(name)).unwrap();
    }
}

#[test]
fn documents_handed_over_are_profiled_before_anyone_plans() {
    let world = World::new();
    put_samples(&world);
    let read = |path: &str| json!({"name": "read_file", "args": {"path": path}});
    let profile = json!({"files": [{"path": "sales.xlsx", "kind": "workbook"}]});
    let steps = json!([{"id": "tell", "agent": "thinker", "prompt": "tell", "reads": [], "writes": ["answer"]}]);
    let calls = json!([read("paper.pdf"), read("report.docx"), read("sales.xlsx")]);
    let model = world.script(
        "s.json",
        &json!({"rules": [
            {"when": {"agent": "distiller", "turn": 0}, "answer": {"calls": calls}},
            {"when": {"agent": "distiller"}, "answer": {"json": profile}},
            {"when": {"agent": "planner"}, "answer": {"json": {"steps": steps}}},
        ], "default": {"text": "done"}}),
    );
    let files = ["--file", "paper.pdf", "--file", "report.docx", "--file", "sales.xlsx"];
    let args = [&["run", "--model", &model][..], &files, &["Sum it up"]].concat();
    assert_eq!(world.updraft(&args).code(0).out, "done\n");
    let told = prompts(&world);
    for text in ["`paper.pdf`: PDF file", "[page 1]", "`report.docx`: DOCX file", "[sheet ", "\"workbook\""] {
        assert!(told.contains(text), "{text}: {told}");
    }
}

#[test]
fn the_built_in_model_profiles_documents_too() {
    let world = World::new();
    put_samples(&world);
    let args = ["run", "--model", "builtin", "--file", "sales.xlsx", "--file", "paper.pdf", "What is sold?"];
    world.updraft(&args).code(0);
    let events = world.updraft(&["events", "last", "--json"]).json();
    let profiled = events.iter().find_map(|event| event["event"].get("profiled")).unwrap();
    let files = profiled["files"]["files"].as_array().unwrap();
    assert_eq!((&files[0]["kind"], &files[1]["kind"]), (&json!("XLSX"), &json!("PDF")), "{profiled}");
    assert!(files[0]["columns"].as_array().is_some_and(|columns| columns.len() > 1), "{profiled}");
}
