//! Guardrails as files: a goal, a call and an answer are checked before anything behind them begins.

use serde_json::{Value, json};

use super::world::World;

fn write(path: &str, content: &str) -> Value {
    json!({"name": "write_file", "args": {"path": path, "content": content}})
}

#[test]
fn a_secret_in_the_goal_stops_the_run_before_any_model_is_asked() {
    let world = World::new();
    world.config("guardrails/secrets.md", "---\nwhen: [input]\naction: stop\ncheck: secrets\n---\n");
    let model = world.script("s.json", &json!({"default": {"text": "done"}}));
    let token = ["ghp", "_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
    let goal = format!("push with {token}");
    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", &goal]).code(1);
    ran.says("the guardrail `secrets`: it contains a secret: GitHub token (ghp_aB…)");
    let asked = world.updraft(&["events", "last", "--json"]).json();
    assert!(!asked.iter().any(|event| event["event"]["wanted"]["effect"] == "ask"), "no model was asked");
    world.updraft(&["run", "--model", &model, "--agent", "coder", "push it"]).code(0);
    world.updraft(&["replay", "last"]).code(0);
}

#[test]
fn a_function_is_asked_before_each_call_and_after_each_answer() {
    let world = World::new();
    world.config(
        "guardrails/house.py",
        "def house_call(tool: str, arguments: dict):\n    \"\"\"Keeps the lock file.\n\n    Annotations: read-only\n    \"\"\"\n    \
         if tool == 'write_file' and arguments.get('path') == 'lock.txt':\n        return 'the lock file stays as it is'\n\n\n\
         def house_output(text: str):\n    \"\"\"Wants a signature.\n\n    Annotations: read-only\n    \"\"\"\n    \
         if not text.endswith('-- R'):\n        return 'sign it with -- R'\n",
    );
    let rules = json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [write("lock.txt", "x"), write("b.txt", "b")]}},
        {"when": {"contains": "sign it with -- R"}, "answer": {"text": "done -- R"}},
    ], "default": {"text": "done"}});
    let model = world.script("s.json", &rules);
    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "--yes", "do it"]).code(0);
    assert_eq!(ran.out, "done -- R\n");
    ran.says("the guardrail `house` does not allow this call: the lock file stays as it is");
    assert!(!world.ws().join("lock.txt").exists() && world.ws().join("b.txt").exists());
}

#[test]
fn a_model_judges_a_rule_and_a_call_that_breaks_it_stops_the_step() {
    let world = World::new();
    world.config(
        "guardrails/no-push.md",
        "---\nwhen: call\ntools: [run_command]\n---\nNothing is pushed to a remote.\n",
    );
    let rules = json!({"rules": [
        {"when": {"contains": "git push"}, "answer": {"json": {"ok": false, "why": "it pushes to a remote"}}},
        {"when": {"contains": "<<<"}, "answer": {"json": {"ok": true, "why": ""}}},
        {"when": {"turn": 0}, "answer": {"calls": [{"name": "run_command", "args": {"command": "echo hi"}}]}},
    ], "default": {"calls": [{"name": "run_command", "args": {"command": "git push"}}]}});
    let model = world.script("s.json", &rules);
    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "--yes", "do it"]).code(1);
    ran.says("the guardrail `no-push` does not allow this call: it pushes to a remote");
}

#[test]
fn a_person_is_asked_and_without_one_the_run_waits() {
    let world = World::new();
    world.config("guardrails/tone.md", "---\nwhen: input\naction: ask\ncheck: words\nwords: [hurry]\n---\n");
    let model = world.script("s.json", &json!({"default": {"text": "done"}}));
    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "hurry up"]).code(3);
    ran.says("the guardrail `tone`: it contains \"hurry\". Start with this goal all the same?");
    let id = world.last();
    world.updraft(&["answer", &id, "yes"]).code(0);
    assert_eq!(world.updraft(&["resume", &id]).code(0).out, "done\n");
}

#[test]
fn guardrails_of_a_workspace_count_once_it_is_trusted() {
    let world = World::new();
    world.file(".updraft/guardrails/short.md", "---\nwhen: output\naction: stop\ncheck: length\nmost: 3\n---\n");
    let model = world.script("s.json", &json!({"default": {"text": "too long"}}));
    let run = || world.updraft(&["run", "--model", &model, "--agent", "coder", "x"]);
    run().code(0).says("its guardrails");
    world.updraft(&["trust", "--yes"]).code(0);
    run().code(1).says("the guardrail `short`: it has 8 characters; at most 3 are allowed");
    world.file(".updraft/guardrails/short.md", "---\nwhen: sometimes\n---\n");
    world.updraft(&["trust", "--yes"]).code(0);
    run().code(1).says("`when` is \"sometimes\"; expected input, call, output");
}

#[test]
fn a_guardrail_that_cannot_be_used_lets_nothing_pass() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "done"}}));
    let function =
        "def house(text: str):\n    \"\"\"Checks.\n\n    Annotations: read-only\n    \"\"\"\n    return 'no'\n";
    world.config("guardrails/house.py", function);
    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "do it"]).code(1);
    ran.says("no function in it ends in `_input`");
    world.config("guardrails/house.py", &function.replace("house", "house_input").replace("'no'", "None"));
    world.config("guardrails/form.md", "---\nwhen: [output]\ncheck: schema\nschema: form.json\n---\n");
    world.file("form.json", "{}");
    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "do it"]).code(1);
    ran.says("the schema `").says("guardrails/form.json");
    world.config("guardrails/form.json", r#"{"type": "string"}"#);
    world.updraft(&["run", "--model", &model, "--agent", "coder", "do it"]).code(1).says("it is not JSON");
}

#[test]
fn citations_that_do_not_hold_are_corrected_or_stopped() {
    let world = World::new();
    let answer = |words: &str| json!({"text": format!("Hello is said [1].\n\n[1]: a.txt:1 \"{words}\"")});
    let read = json!({"calls": [{"name": "read_file", "args": {"path": "a.txt"}}]});
    let guardrail = |action: &str| format!("---\nwhen: output\naction: {action}\ncheck: citations\n---\n");
    let model = world.script("s.json", &json!([read, answer("bye"), answer("bye"), answer("hello")]));
    let run = |model: &str| world.updraft(&["run", "--model", model, "--agent", "coder", "what is said?"]);
    world.config("guardrails/sources.md", &guardrail("correct"));
    // The first time the agent is told in any case; what it cites falsely a second time would only be marked.
    assert!(run(&model).code(0).out.contains("[1]: a.txt:1 \"hello\""));
    let events = world.updraft(&["events", "last", "--json"]).out;
    assert!(events.contains("it cites what was not read") && events.contains("these words are not in"), "{events}");

    world.config("guardrails/sources.md", &guardrail("stop"));
    let unread = world.script("unread.json", &json!([answer("hello")]));
    run(&unread)
        .code(1)
        .says("the guardrail `sources`: it cites what was not read")
        .says("no tool has read this source");
    world.config("guardrails/sources.md", "---\nwhen: call\ncheck: citations\n---\n");
    run(&unread).code(1).says("`check: citations` looks at answers");
}
