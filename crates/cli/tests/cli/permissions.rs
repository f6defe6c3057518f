//! Rules, modes and "always" through the binary.

use serde_json::{Value, json};

use crate::world::World;

/// A coder that runs a command and then says what came of it.
fn runs(command: &str) -> Value {
    json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [{"name": "write_file", "args": {"path": "out.txt", "content": command}}]}},
    ], "default": {"text": "went on"}})
}

fn rows(world: &World) -> Vec<(String, String)> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows = world.updraft(&["permissions", "--json"]).code(0).json();
    rows.iter().map(|row| (text(row, "kind"), text(row, "rule"))).collect()
}

fn row(kind: &str, rule: &str) -> (String, String) {
    (kind.to_owned(), rule.to_owned())
}

#[test]
fn a_denied_call_names_its_rule_and_line_and_is_not_made() {
    let world = World::new();
    world.config("config.toml", "mode = \"full\"\n[rules]\ndeny = [\n  \"write_file(out*)\",\n]\n");
    let model = world.script("s.json", &runs("x"));
    world.updraft(&["run", "--model", &model, "--agent", "coder", "write"]).code(0);
    assert!(!world.ws().join("out.txt").exists());
    let events = world.updraft(&["events", "last", "--json"]).code(0).out;
    assert!(events.contains("write_file(out*)") && events.contains("config.toml:4"), "{events}");
}

#[test]
fn a_rule_that_asks_waits_for_approve_also_under_yes_and_goes_on_with_it() {
    let world = World::new();
    world.config("config.toml", "[rules]\nask = [\"write_file\"]\n");
    let model = world.script("s.json", &runs("x"));
    let ran = world.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "write"]).code(3);
    assert!(ran.err.contains("Asked because of the rule") && ran.err.contains("updraft approve"), "{}", ran.err);
    assert!(!world.ws().join("out.txt").exists());

    world.updraft(&["approve", "last", "--always"]).code(2).says("needs approval each time");
    world.updraft(&["approve", "last"]).code(0);
    assert_eq!(world.updraft(&["resume", "last"]).code(0).out, "went on\n");
    assert!(world.ws().join("out.txt").exists());
}

#[test]
fn without_a_terminal_a_call_that_is_asked_about_waits_or_with_refuse_is_refused() {
    let world = World::new();
    world.config("config.toml", "[rules]\nask = [\"write_file\"]\n");
    let model = world.script("s.json", &runs("x"));
    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "write"]).code(3);
    ran.says("updraft approve");
    assert!(!world.ws().join("out.txt").exists());

    world.config("config.toml", "approvals = \"refuse\"\n[rules]\nask = [\"write_file\"]\n");
    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "write"]).code(3);
    let ran = ran.says("1 call was refused because nobody could be asked").says("write_file").says("--yes");
    assert!(!ran.err.contains("done in"), "{}", ran.err);
    assert!(!world.ws().join("out.txt").exists());
}

#[test]
fn a_workspace_that_is_not_trusted_can_deny_and_not_allow() {
    let world = World::new();
    world.config("config.toml", "[rules]\nallow = [\"run_command(ls)\"]\n");
    world.file(
        ".updraft/config.toml",
        "mode = \"full\"\n[rules]\nallow = [\"run_command\"]\ndeny = [\"append_line\"]\n",
    );
    let listed = [row("mode", "workspace"), row("deny", "append_line"), row("allow", "run_command(ls)")];
    assert_eq!(rows(&world), listed);
    world.updraft(&["permissions"]).code(0).says("the rule that allows `run_command`").says("`mode`");

    world.updraft(&["trust", "--yes"]).code(0);
    let listed =
        [row("mode", "full"), row("deny", "append_line"), row("allow", "run_command(ls)"), row("allow", "run_command")];
    assert_eq!(rows(&world), listed);
}

#[test]
fn what_was_always_allowed_is_listed_and_forgotten() {
    let world = World::new();
    let ws = world.ws().canonicalize().unwrap().display().to_string();
    world.config("allowed.json", &json!({ ws: ["run_command(git push)"], "/elsewhere": ["x"] }).to_string());
    assert_eq!(rows(&world), [row("mode", "workspace"), row("allow", "run_command(git push)")]);
    world.updraft(&["permissions", "forget", "run_command(git pull)"]).code(2).says("run_command(git push)");
    world.updraft(&["permissions", "forget", "run_command(git push)"]).code(0);
    assert_eq!(rows(&world), [row("mode", "workspace")]);
    world.updraft(&["permissions", "allow", "run_command("]).code(2).says("is not a rule");
    world.updraft(&["permissions", "allow", " run_command(git push) "]).code(0).says("is allowed from now on");
    assert_eq!(rows(&world), [row("mode", "workspace"), row("allow", "run_command(git push)")]);
    assert!(std::fs::read_to_string(world.home().join("allowed.json")).unwrap().contains("/elsewhere"));
}

#[test]
fn a_faulty_rule_and_two_words_for_one_thing_are_named_with_their_line() {
    let world = World::new();
    world.config("config.toml", "[rules]\nask = [\"write_file(\"]\n");
    world.updraft(&["permissions"]).code(5).says("config.toml:2").says("is not a rule");
    world.config("config.toml", "mode = \"full\"\napprovals = \"ask\"\n");
    world.updraft(&["permissions"]).code(5).says("config.toml:1").says("keep one");
    world.config("config.toml", "mode = \"some\"\n");
    world.updraft(&["permissions"]).code(5).says("config.toml:1").says("read-only");
}

#[test]
fn an_agents_file_can_narrow_what_the_agent_may_do() {
    let world = World::new();
    let coder =
        "---\nname: coder\npurpose: codes\ntools: [files]\ndeny: [write_file(out.txt)]\nmode: workspace\n---\nCode.\n";
    world.config("agents/coder.md", coder);
    let model = world.script("s.json", &runs("x"));
    world.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "write"]).code(0);
    assert!(!world.ws().join("out.txt").exists());
    let events = world.updraft(&["events", "last", "--json"]).code(0).out;
    assert!(events.contains("coder.md:5"), "{events}");
}

#[test]
fn mode_read_only_changes_nothing() {
    let world = World::new();
    let model = world.script("s.json", &runs("x"));
    world.updraft(&["run", "--mode", "read-only", "--model", &model, "--agent", "coder", "write"]).code(0);
    assert!(!world.ws().join("out.txt").exists());
    world.updraft(&["run", "--mode", "full", "--yes", "x"]).code(2);
}

/// A call that is weighed alone is told; those of one turn are weighed before any of them is made.
#[test]
fn calls_of_one_turn_make_no_repository_together_and_an_agreed_one_is_made() {
    let world = World::new();
    let write =
        |path: &str| json!({"name": "write_file", "args": {"path": path, "content": "ref: refs/heads/master\n"}});
    let calls = ["b/HEAD", "b/objects/x", "b/refs/x", "b/config"].map(write);
    let turn = json!({ "calls": calls });
    let model = world.script("plant.json", &json!([turn, {"text": "done"}]));
    world.updraft(&["run", "--model", &model, "--agent", "coder", "work"]);
    let there = |name: &str| world.ws().join(name).exists();
    assert!(["b/HEAD", "b/objects", "b/refs"].into_iter().filter(|name| there(name)).count() < 2);

    world.file("c/objects/x", "");
    world.file("c/refs/x", "");
    let model =
        world.script("agreed.json", &json!([{"calls": [write("c/HEAD"), write("c/config")]}, {"text": "done"}]));
    world.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "work"]).code(0);
    assert!(there("c/HEAD") && there("c/config"));
}

#[test]
fn what_is_denied_since_a_run_began_holds_where_it_goes_on() {
    let world = World::new();
    world.file("tools/t.py", "def t() -> int:\n    'T.'\n    return 1\n");
    world.updraft(&["trust", "--yes"]).code(0);
    let call = |name: &str, args: Value| json!({"calls": [{"name": name, "args": args}]});
    let asked = call("append_line", json!({"path": "log", "line": "x"}));
    let write = call("write_file", json!({"path": "z.md", "content": "z"}));
    let model = world.script("s.json", &json!([asked, write, {"text": "done"}]));
    world.config("config.toml", "[rules]\nask = [\"append_line\"]\n");
    world.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "work"]).code(3);

    world.config("config.toml", "[rules]\nask = [\"append_line\"]\ndeny = [\"write_file(z.*)\"]\n");
    world.file("tools/t.py", "def t() -> int:\n    'Another.'\n    return 2\n");
    world.updraft(&["approve", "last"]).code(0);
    world.updraft(&["resume", "last"]).code(0);
    assert!(world.ws().join("log").exists() && !world.ws().join("z.md").exists());
    let events = world.updraft(&["events", "last"]).code(0).out;
    let told = events.lines().find(|line| line.contains("tightened")).unwrap_or_default();
    assert!(told.contains("denied: write_file(z.*)") && told.contains("no longer trusted"), "{events}");
    world.updraft(&["replay", "last", "--strict"]).code(0);
    // What the run began with is told once.
    world.updraft(&["fork", "last", "--at", "3"]).code(3);
    assert!(!world.ws().join("z.md").exists());
}
