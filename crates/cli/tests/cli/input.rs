//! Bad input is refused with what was expected and what to do.

use serde_json::json;

use crate::world::World;

#[test]
fn a_goal_must_be_text_of_a_sensible_length() {
    let world = World::new();
    world.updraft(&["run", ""]).code(2).says("the goal is empty");
    world.updraft(&["run", "  \n "]).code(2).says("the goal is empty");
    world.fed(&["run", "-"], b"").code(2).says("the goal is empty");
    world.fed(&["run", "-"], &[0xff, 0xfe, 0, 1]).code(2).says("not text").says("--file");
    world.fed(&["run", "-"], &vec![b'a'; 10 << 20]).code(2).says("longer than").says("--file");
    world.fed(&["run", "-", "--model", "builtin"], &vec![b'a'; 300 << 10]).code(2).says("longer than 262144 bytes");
    assert!(world.runs().is_empty());
}

#[test]
fn a_goal_may_come_from_standard_input() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "read"}}));
    assert_eq!(
        world.fed(&["run", "-", "--model", &model, "--agent", "thinker"], b"from a pipe\n").code(0).out,
        "read\n"
    );
    assert_eq!(world.runs()[0]["goal"], "from a pipe\n");
}

#[test]
fn a_workspace_must_be_a_folder_below_the_root() {
    let world = World::new();
    world.updraft(&["run", "--workspace", "/", "x"]).code(2).says("the whole machine").says("--workspace");
    world.updraft(&["run", "--workspace", "nowhere", "x"]).code(2).says("nowhere");
    world.updraft(&["run", "--workspace", "a.txt", "x"]).code(2).says("not a folder");
}

#[test]
fn unknown_names_are_answered_with_close_ones() {
    let world = World::new();
    world.updraft(&["run", "--agent", "codr", "x"]).code(2).says("no agent named `codr`; available: `coder`");
    world.updraft(&["run", "--model", "opnai/gpt-5", "x"]).code(5).says("openai/gpt-5");
    world.updraft(&["run", "--model", "openai/gpt-5", "x"]).code(5).says("OPENAI_API_KEY");
    world.updraft(&["tools", "call", "read_fil"]).code(2).says("read_file");
    world.updraft(&["run", "--moddel", "x", "y"]).code(2).says("--model");
}

#[test]
fn a_run_is_named_by_a_unique_beginning() {
    let world = World::new();
    world.updraft(&["show", "last"]).code(2).says("no runs yet");
    let model = world.script("s.json", &json!({"default": {"text": "x"}}));
    for id in ["aaaa1", "aaaa2"] {
        world.updraft(&["run", "--id", id, "--model", &model, "--agent", "thinker", "x"]).code(0);
    }
    world.updraft(&["show", "aaaa1"]).code(0);
    world.updraft(&["show", "aaaa"]).code(2).says("aaaa1, aaaa2");
    world.updraft(&["show", "aaab1"]).code(2).says("aaaa1");
    world.updraft(&["show", "zzz"]).code(2).says("updraft runs");
}

#[test]
fn a_malformed_agent_file_is_named_with_its_line() {
    let world = World::new();
    world.config("agents/odd.md", "---\nname: odd\npurpose: Is odd.\nturns: ten\n---\nx\n");
    world
        .updraft(&["run", "--model", "builtin", "--agent", "odd", "x"])
        .code(5)
        .says("odd.md:4: `turns` is `ten`; expected a number from 1 to 1000");
}

#[test]
fn a_budget_needs_a_price() {
    let world = World::new();
    world
        .updraft(&["run", "--model", "openai-compatible/x", "--agent", "thinker", "--budget", "1", "x"])
        .code(5)
        .says("[prices.\"openai-compatible/x\"]");
    world.updraft(&["run", "--budget", "lots", "x"]).code(2).says("0.50");
}

#[test]
fn files_that_agents_could_not_read_are_refused() {
    let world = World::new();
    world.updraft(&["run", "--file", "missing.txt", "x"]).code(2).says("missing.txt");
    world.updraft(&["run", "--file", "/etc/hostname", "x"]).code(2).says("outside the workspace");
    world.updraft(&["run", "--file", ".", "x"]).code(2).says("not a file");
}

#[test]
fn with_json_an_error_is_a_line_too() {
    let world = World::new();
    let ran = world.updraft(&["run", "--json", "--model", "nothing/x", "--agent", "thinker", "x"]).code(5);
    let line = &ran.json()[0];
    assert_eq!((line["type"].as_str(), line["kind"].as_str()), (Some("error"), Some("config")));
}

#[test]
fn json_is_repaired_and_what_was_wrong_is_said() {
    let world = World::new();
    let ran = world.fed(&["json", "repair"], b"Sure!\n```json\n{'a': [1, 2,], b: True}\n```\n").code(0);
    assert_eq!(ran.out, "{\"a\":[1,2],\"b\":true}\n");
    assert!(ran.err.contains("line 3") && ran.err.contains("single quotes"), "{}", ran.err);
    let ran = world.fed(&["json", "repair"], b"{\"a\": 1}").code(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("{\"a\":1}\n", ""));
    world.fed(&["json", "repair"], b"").code(1).says("no JSON value");
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "x"}}));
    world.updraft(&["run", "--model", &model, "--agent", "thinker", "x"]).code(0);
    for args in [&["events", "last"][..], &["runs"], &["show", "last"], &["export", "last"], &["tools"]] {
        let mut child = world.command(args).spawn().unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""), "{args:?}");
    }
}
