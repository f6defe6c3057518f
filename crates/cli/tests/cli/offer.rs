//! Which tools a model is told of, and what it is told of its surroundings.

use serde_json::json;

use crate::world::World;

/// The prompt of the newest run, and the tools it names.
fn told(world: &World, args: &[&str]) -> (String, Vec<String>) {
    let model = world.script("done.json", &json!([{"text": "done"}]));
    let mut run = vec!["run", "--model", &model, "--agent"];
    run.extend(args);
    world.updraft(&run).code(0);
    let prompt = world.updraft(&["show", "last", "--prompts"]).code(0).out;
    let tools = prompt.lines().filter_map(|line| line.strip_prefix("[tool ")?.strip_suffix(']'));
    let tools = tools.map(str::to_owned).collect();
    (prompt, tools)
}

#[test]
fn a_model_is_told_of_the_tools_that_can_be_of_use() {
    let world = World::new();
    let plain = [
        "ask_user",
        "background",
        "edit_file",
        "list_files",
        "memory",
        "read_file",
        "run_command",
        "run_python",
        "search_files",
        "write_file",
    ];
    assert_eq!(told(&world, &["coder", "Fix it."]).1, plain);
    let with_page = told(&world, &["coder", "Do what https://example.com/task says."]).1;
    assert_eq!(with_page.iter().filter(|name| !plain.contains(&name.as_str())).collect::<Vec<_>>(), ["web_fetch"]);
    world.updraft(&["ingest"]).code(0);
    let indexed = told(&world, &["coder", "Fix it."]).1;
    let more: Vec<&String> = indexed.iter().filter(|name| !plain.contains(&name.as_str())).collect();
    assert_eq!(more, ["ingest_document", "list_documents", "retrieve"]);
    assert_eq!(told(&world, &["formatter", "Make a table."]).1, Vec::<String>::new(), "it has no tools");
}

#[test]
fn what_a_model_is_not_told_of_can_be_called_all_the_same() {
    let world = World::new();
    let call = |name: &str, args| json!({"calls": [{"name": name, "args": args}]});
    let code = "append_line(path='log.txt', line='two')";
    let model = world.script(
        "s.json",
        &json!([
            call("append_line", json!({"path": "log.txt", "line": "one"})),
            call("run_python", json!({"code": code})),
            {"text": "done"}
        ]),
    );
    world.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "Log."]).code(0);
    assert_eq!(std::fs::read_to_string(world.ws().join("log.txt")).unwrap(), "one\ntwo\n");
}

#[test]
fn the_surroundings_are_told_once_and_nothing_has_a_heading_of_its_own() {
    let world = World::new();
    world.file("big.csv", &"x,y\n".repeat(60_000));
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        let command = command.args(args).current_dir(world.ws()).env("HOME", world.home());
        assert!(command.output().unwrap().status.success());
    };
    git(&["init", "-q", "-b", "topic"]);
    git(&["add", "a.txt"]);
    let (prompt, _) = told(&world, &["coder", "Fix it."]);
    assert!(prompt.contains("\ngit: 1 changed, 1 untracked\n"), "not trusted, so without the branch: {prompt}");
    assert!(prompt.contains("\na.txt\nbig.csv  240 kB\n"), "{prompt}");
    for heading in ["## Memory", "## Documents", "## Skills", "## History", "## Files", "# Inputs"] {
        assert!(!prompt.contains(heading), "{heading}: {prompt}");
    }
    world.updraft(&["trust", "--yes"]).code(0);
    let (prompt, _) = told(&world, &["coder", "Fix it."]);
    assert!(prompt.contains("\ngit: branch \"topic\", 1 changed, 1 untracked\n"), "{prompt}");
    assert_eq!(prompt.matches("\ngit: ").count(), 1);
    let (prompt, _) = told(&world, &["formatter", "Make a table."]);
    assert!(!prompt.contains("big.csv"), "it has no tool for files: {prompt}");
}

#[test]
fn what_is_told_stays_for_the_whole_run_and_an_agent_alone_may_ask() {
    let world = World::new();
    let ask = json!({"calls": [{"name": "ask_user", "args": {"question": "Which colour?"}}]});
    let model = world.script("s.json", &json!([ask, {"text": "green then"}]));
    world.updraft(&["run", "--model", &model, "--agent", "coder", "Paint it."]).code(3);
    world.updraft(&["ingest"]).code(0);
    world.updraft(&["answer", "last", "green"]).code(0);
    let resumed = world.updraft(&["resume", "last"]).code(0);
    assert!(resumed.out.contains("green then"), "{}", resumed.out);
    let prompts = world.updraft(&["show", "last", "--prompts"]).code(0).out;
    assert!(prompts.contains("[tool ask_user]") && !prompts.contains("[tool retrieve]"), "{prompts}");
    world.updraft(&["replay", "last", "--strict"]).code(0);
}
