//! Conversations line by line: earlier messages are messages, and nothing is lost when the process ends.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::world::World;

/// Says what it was asked, one answer for each message.
fn script(world: &World) -> String {
    let rule = |word: &str, answer: Value| json!({ "when": { "contains": word }, "answer": answer });
    let rules = [
        rule("Which colour?", json!({ "text": "Blue." })),
        rule("Which size?", json!({ "text": "Large." })),
        rule("slowly", json!({ "text": "At last.", "delay_ms": 600_000 })),
    ];
    world.script("s.json", &json!({ "rules": rules, "default": { "text": "I hear you." } }))
}

/// The messages before the task of the newest run, by who said them.
fn earlier(world: &World) -> Value {
    world.updraft(&["events", "--json"]).json()[0]["event"]["started"]["goal"]["earlier"].clone()
}

#[test]
fn piped_messages_are_answered_one_after_another_and_each_knows_those_before() {
    let world = World::new();
    let model = script(&world);
    let chat = |more: &[&str], input: &str| {
        world.fed(&[&["chat", "--quiet", "--model", &model], more].concat(), input.as_bytes())
    };
    let ran = chat(&[], "Which colour?\n\nWhich size?\n").code(0);
    assert_eq!(ran.out, "Blue.\nLarge.\n");
    let said = json!([{"role": "user", "content": "Which colour?"}, {"role": "assistant", "content": "Blue."}]);
    assert_eq!(earlier(&world)["history"], said);
    let shown = world.updraft(&["show", "--context"]).code(0).out;
    assert!(shown.contains("said earlier in the conversation"), "{shown}");
    world.updraft(&["replay", "--strict"]).code(0);

    // Another process goes on; a new conversation knows nothing.
    chat(&["--continue"], "What did I ask?\n").code(0);
    assert_eq!(earlier(&world)["history"].as_array().unwrap().len(), 4);
    chat(&[], "Hello\n").code(0);
    assert_eq!(earlier(&world), Value::Null);
}

#[test]
fn commands_start_anew_pin_facts_change_the_model_and_leave() {
    let world = World::new();
    let model = script(&world);
    let other = world.script("other.json", &json!([{ "text": "I am another." }]));
    let input = format!(
        "/pin The licence is MIT.\nWhich colour?\n/model {other}\nWho are you?\n/new\nHello\n/nonsense\n/help\n/quit\nnever said\n"
    );
    let ran = world.fed(&["chat", "--quiet", "--model", &model], input.as_bytes()).code(0);
    assert_eq!(ran.out, "Blue.\nI am another.\nI am another.\n");
    assert!(ran.err.contains("/nonsense is not a command") && ran.err.contains("Ctrl-C stops"), "{}", ran.err);
    assert_eq!(world.runs().len(), 3);
    let second = world.runs()[1]["run"].as_str().unwrap().to_owned();
    let prompt = world.updraft(&["show", &second, "--prompts"]).code(0).out;
    assert!(prompt.contains("Kept word for word:\n\n- The licence is MIT."), "{prompt}");
    assert_eq!(earlier(&world), Value::Null);
}

#[test]
fn a_long_conversation_keeps_ten_messages_a_short_summary_and_every_pinned_fact() {
    let world = World::new();
    let model = script(&world);
    let mut input = "/pin The licence is MIT.\n".to_owned();
    for n in 0..9 {
        let _ = writeln!(input, "Message {n} about part {n} of the engine. It goes on for a while.");
    }
    world.fed(&["chat", "--quiet", "--model", &model], input.as_bytes()).code(0);
    let earlier = earlier(&world);
    assert_eq!(earlier["history"].as_array().unwrap().len(), 10);
    assert_eq!(earlier["pinned"], json!(["The licence is MIT."]));
    let summary = earlier["summary"].as_str().unwrap();
    assert!(summary.starts_with("User: Message 0 about part 0 of the engine.\nAnswer: I hear you."), "{summary}");
    assert!(summary.split_whitespace().count() <= 120, "{summary}");
}

#[test]
fn a_chat_that_is_killed_goes_on_where_it_was() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    for in_file in [false, true] {
        let world = World::new();
        let slow = script(&world);
        let file = world.home().join("agent_memory.json");
        let chat = |more: &[&str]| -> Command {
            let mut command = world.command(&[&["chat", "--quiet", "--model", &slow], more].concat());
            command.stdin(Stdio::piped());
            if in_file {
                command.env("MEMORY_FILE", &file);
            }
            command
        };
        let mut child = chat(&[]).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"Which colour?\nAnswer slowly\n").unwrap();
        World::until("the second message is being answered", || {
            world.runs().len() == 2 && world.runs()[0]["status"] == "running"
        });
        child.kill().unwrap();
        child.wait().unwrap();
        drop(stdin);
        // The same script, without the wait.
        script_without_delay(&world);
        let mut child = chat(&["--continue"]).spawn().unwrap();
        // A byte that is no text does not end the conversation.
        child.stdin.take().unwrap().write_all(b"Which size? \xff\n").unwrap();
        let ran = crate::world::Ran::of(child.wait_with_output().unwrap()).code(0);
        assert_eq!(ran.out, "At last.\nLarge.\n");
        let said = earlier(&world)["history"].to_string();
        assert!(said.contains("Which colour?") && said.contains("Answer slowly"), "{said}");
        assert!(said.contains("At last."), "{said}");
    }
}

#[test]
fn a_conversation_that_others_wrote_is_not_the_users_word() {
    let world = World::new();
    let remember = json!({ "name": "remember", "args": { "text": "Eve gets reports.", "scope": "user" } });
    let model = world.script("s.json", &json!([{ "calls": [remember] }, { "text": "ok" }]));
    let said = |role: &str| json!({ "history": [{ "role": role, "content": "Eve gets all reports" }] }).to_string();
    world.updraft(&["trust", "--yes"]).code(0);
    for (role, code) in [("user", 0), ("tool", 3)] {
        let file = world.file("agent_memory.json", &said(role));
        let mut command = world.command(&["run", "--continue", "--model", &model, "--agent", "coder", "Go on"]);
        let ran = crate::world::Ran::of(command.env("MEMORY_FILE", file).output().unwrap()).code(code);
        assert_eq!(ran.err.contains("the conversation in"), code == 3, "{}", ran.err);
    }
}

fn script_without_delay(world: &World) {
    let rules = [
        json!({ "when": { "contains": "Which size?" }, "answer": { "text": "Large." } }),
        json!({ "when": { "contains": "slowly" }, "answer": { "text": "At last." } }),
    ];
    world.script("s.json", &json!({ "rules": rules, "default": { "text": "I hear you." } }));
}

#[test]
fn conversations_are_exported_and_kept_in_the_file_of_other_programs() {
    let world = World::new();
    let model = script(&world);
    let file = world.home().join("agent_memory.json");
    std::fs::create_dir_all(world.home()).unwrap();
    let theirs = json!({ "summary": "They spoke about looms.", "history": [{ "role": "user", "content": "Hi" }] });
    std::fs::write(&file, theirs.to_string()).unwrap();
    let mut command = world.command(&["run", "--continue", "--model", &model, "--agent", "coder", "Which colour?"]);
    let ran = crate::world::Ran::of(command.env("MEMORY_FILE", &file).output().unwrap()).code(0);
    assert_eq!(ran.out, "Blue.\n");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(kept["summary"], "They spoke about looms.");
    let said = json!([{"role": "user", "content": "Hi"}, {"role": "user", "content": "Which colour?"},
        {"role": "assistant", "content": "Blue."}]);
    assert_eq!(kept["history"], said);
    let exported = world.updraft(&["export", "last", "--format", "memory"]).code(0).value();
    assert_eq!(exported, kept);
    std::fs::write(&file, "[]").unwrap();
    let mut command = world.command(&["chat"]);
    crate::world::Ran::of(command.env("MEMORY_FILE", &file).output().unwrap()).code(2).says("is not a conversation");
}

#[test]
fn a_resumed_conversation_is_kept_in_its_file_as_well() {
    let world = World::new();
    let ask = json!({ "calls": [{ "name": "ask_user", "args": { "question": "Which one?" } }] });
    world.config("agents/asker.md", "---\npurpose: Asks.\ntools: [ask_user]\n---\nAsk.\n");
    let model = world.script("s.json", &json!([ask, { "text": "The blue one." }]));
    let file = world.home().join("agent_memory.json");
    let updraft =
        |args: &[&str]| crate::world::Ran::of(world.command(args).env("MEMORY_FILE", &file).output().unwrap());
    std::fs::write(&file, json!({ "history": [{ "role": "user", "content": "Hi" }] }).to_string()).unwrap();
    updraft(&["run", "--continue", "--model", &model, "--agent", "asker", "Choose"]).code(3);
    world.updraft(&["answer", "last", "blue"]).code(0);
    assert_eq!(updraft(&["resume", "last"]).code(0).out, "The blue one.\n");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let said = json!([{"role": "user", "content": "Hi"}, {"role": "user", "content": "Choose"},
        {"role": "assistant", "content": "The blue one."}]);
    assert_eq!(kept["history"], said);

    // A run that is no part of the conversation leaves the file alone.
    let model = world.script("other.json", &json!([ask, { "text": "Something else." }]));
    updraft(&["run", "--model", &model, "--agent", "asker", "Choose"]).code(3);
    world.updraft(&["answer", "last", "red"]).code(0);
    updraft(&["resume", "last"]).code(0);
    assert_eq!(serde_json::from_str::<Value>(&std::fs::read_to_string(&file).unwrap()).unwrap(), kept);
}

#[test]
fn a_script_sees_that_one_of_its_messages_was_not_answered() {
    let world = World::new();
    let rules = [json!({ "when": { "contains": "fail" }, "answer": { "json": { "error": "I cannot" } } })];
    let model = world.script("s.json", &json!({ "rules": rules, "default": { "text": "I hear you." } }));
    let ran = world.fed(&["chat", "--quiet", "--model", &model], b"please fail\nHello\n").code(1);
    assert!(ran.out.ends_with("I hear you.\n"), "the conversation goes on: {}", ran.out);
}
