//! What people see of their runs: the newest one here, folders, messages, follow-ups, plans, endings and the log.

use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::world::{World, steady};

fn says(text: &str) -> Value {
    json!({ "default": { "text": text } })
}

#[test]
fn without_a_name_the_newest_run_of_this_folder_is_meant() {
    let world = World::new();
    let other = world.ws().parent().unwrap().join("other");
    std::fs::create_dir(&other).unwrap();
    let here = world.script("here.json", &says("from here"));
    let there = world.script("there.json", &says("from there"));
    world.updraft(&["show"]).code(2);
    world.updraft(&["run", "--model", &here, "--agent", "thinker", "one"]).code(0);
    let mine = world.last();
    let there = ["run", "--workspace", other.to_str().unwrap(), "--model", &there, "--agent", "thinker", "two"];
    world.updraft(&there).code(0);

    assert_eq!(world.updraft(&["show", "--json"]).code(0).value()["run"], mine.as_str());
    assert!(world.updraft(&["events"]).code(0).out.contains("from here"));
    assert_eq!(world.updraft(&["resume"]).code(0).out, "from here\n");
    world.updraft(&["replay"]).code(0);
    world.updraft(&["audit"]).code(0);
    assert_ne!(world.updraft(&["show", "last", "--json"]).value()["run"], mine.as_str());

    let listed = world.updraft(&["runs"]).code(0).out;
    let lines: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(lines[0].iter().any(|word| word.ends_with("other")) && lines[0].ends_with(&["two"]), "{listed}");
    assert!(lines[1].ends_with(&[".", "one"]), "{listed}");
    std::fs::create_dir(other.join("empty")).unwrap();
    let nothing = world.command(&["show"]).current_dir(other.join("empty")).output().unwrap();
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("no run has worked in"));
}

#[test]
fn a_run_at_work_hears_what_it_is_told() {
    let world = World::new();
    let model = world.script(
        "s.json",
        &json!({"rules": [
            {"when": {"contains": "make it blue"}, "answer": {"text": "Blue."}},
            {"when": {"turn": 0}, "answer": {"calls": [{"name": "read_file", "args": {"path": "a.txt"}}], "delay_ms": 1500}},
        ], "default": {"text": "Red."}}),
    );
    let running = world.begin(&["run", "--model", &model, "--agent", "coder", "choose"]);
    let id = world.until_status("running");
    world.updraft(&["tell", &id, "make it blue"]).code(0).says("message sent");
    let ran = running.wait().code(0);
    assert_eq!(ran.out, "Blue.\n");
    assert!(ran.err.contains("you said: make it blue"), "{}", ran.err);
    world.updraft(&["tell", &id, "too late"]).code(1).says("already ended");
    world.updraft(&["tell", &id, " "]).code(2).says("the message is empty");
}

#[test]
fn a_run_that_nobody_works_on_hears_it_when_it_goes_on() {
    let world = World::new();
    let model = world.script(
        "s.json",
        &json!({"rules": [
            {"when": {"turn": 0}, "answer": {"calls": [{"name": "ask_user", "args": {"question": "Which colour?"}}]}},
            {"when": {"contains": "but not green"}, "answer": {"text": "Not green."}},
        ], "default": {"text": "Anything."}}),
    );
    world.updraft(&["run", "--model", &model, "--agent", "clarification", "choose"]).code(3);
    world.updraft(&["tell", "last", "but not green"]).code(0).says("the message is saved");
    world.updraft(&["answer", "last", "any"]).code(0);
    assert_eq!(world.updraft(&["resume"]).code(0).out, "Not green.\n");
}

#[test]
fn a_follow_up_knows_what_was_said_and_where_it_came_from() {
    let world = World::new();
    let model = world.script(
        "s.json",
        &json!({"rules": [
            {"when": {"contains": "What do you know?"}, "answer": {"text": "Both are known."}},
            {"when": {"contains": "How is it made?"}, "answer": {"text": "By hand."}},
            {"when": {"turn": 0}, "answer": {"calls": [{"name": "read_file", "args": {"path": "a.txt"}}]}},
        ], "default": {"text": "It is a loom."}}),
    );
    let run = |rest: &[&str]| world.updraft(&[&["run", "--model", &model], rest].concat()).code(0);
    world.updraft(&["run", "--model", &model, "--continue", "and?"]).code(2).says("no runs yet");
    assert_eq!(run(&["--agent", "coder", "What is it?"]).out, "It is a loom.\n");
    let first = world.last();
    assert_eq!(run(&["--continue", "How is it made?"]).out, "By hand.\n");
    let second = world.updraft(&["events", "--json"]).json()[0]["event"]["started"]["goal"].clone();
    assert_eq!((second["text"].as_str(), second["follows"].as_str()), (Some("How is it made?"), Some(first.as_str())));
    let said = json!([{"role": "user", "content": "What is it?"}, {"role": "assistant", "content": "It is a loom."}]);
    assert_eq!(second["earlier"]["history"], said);
    assert_eq!(second["mode"], json!({ "agent": "coder" }), "the same agent goes on");
    assert!(
        second["origins"].to_string().contains("files"),
        "words from files that nobody trusts stay marked: {second}"
    );
    assert_eq!(run(&["--continue", "What do you know?"]).out, "Both are known.\n");
    let third = world.updraft(&["show"]).code(0).out;
    assert!(third.contains("goal       What do you know?"), "{third}");
    let prompt = world.updraft(&["show", "--prompts"]).code(0).out;
    let (before, task) = prompt.split_once("[assistant]\nBy hand.").unwrap();
    assert!(
        before.contains("[user]\nWhat is it?\n\n[assistant]\nIt is a loom.\n\n[user]\nHow is it made?"),
        "{prompt}"
    );
    assert!(task.contains("What do you know?") && !task.contains("loom"), "{task}");
}

#[test]
fn at_the_end_stand_the_files_the_refusals_and_the_way_back() {
    let world = World::new();
    let write = |path: &str| json!({"name": "write_file", "args": {"path": path, "content": "one\ntwo\n"}});
    let model = world.script(
        "s.json",
        &json!([{"calls": [write("b.txt"), write("a.txt"), write("locked.txt")]}, {"text": "Done."}]),
    );
    world.config("config.toml", "[rules]\ndeny = [\"write_file(locked.txt)\"]\n");
    let ran = world.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "write"]).code(0);
    assert_eq!(ran.out, "Done.\n");
    let id = world.last();
    let said = steady(&ran.err, &world, &id);
    let end = &said[said.find("changed ").unwrap_or_else(|| panic!("{said}"))..];
    assert!(end.starts_with("changed  a.txt  +2 -1\n         b.txt  +2 new\nrefused  1 call:\n"), "{end}");
    assert!(
        end.contains("undo with `updraft undo RUN`\ndone in ") && end.contains("see more with `updraft show RUN`"),
        "{end}"
    );
    assert!(said.contains("coder: ✗ write locked.txt: refused: "), "{said}");
    let shown = world.updraft(&["show"]).code(0).out;
    assert!(shown.contains("changed  a.txt  +2 -1") && shown.contains("refused  1 call"), "{shown}");
}

#[test]
fn a_planned_run_says_why_it_was_planned_again() {
    let world = World::new();
    let plan = |id: &str| json!({"steps": [{"id": id, "agent": "thinker", "description": "Try it", "prompt": "x", "writes": [id]}]});
    let model = world.script(
        "s.json",
        &json!({"rules": [
            {"when": {"agent": "planner", "contains": "it is not there"}, "answer": {"json": plan("two")}},
            {"when": {"agent": "planner"}, "answer": {"json": plan("one")}},
            {"when": {"step": "one"}, "answer": {"json": {"status": "failed", "error": "it is not there"}}},
        ], "default": {"text": "Worked."}}),
    );
    let ran = world.updraft(&["run", "--model", &model, "do it"]);
    assert!(ran.err.contains("→ one (thinker): Try it"), "{}", ran.err);
    assert!(ran.err.contains("↻ planning again because"), "{}", ran.err);
    assert_eq!(ran.err.matches("it is not there").count(), 2, "{}", ran.err);
}

#[test]
fn the_log_has_every_step_and_call_and_none_of_their_words() {
    let world = World::new();
    world.file("secret.txt", "the hidden words\n");
    let model = world.script(
        "s.json",
        &json!([{"calls": [{"name": "read_file", "args": {"path": "secret.txt"}}, {"name": "read_file", "args": {"path": "none"}}]},
                {"text": "I have read it."}]),
    );
    world.updraft(&["run", "--model", &model, "--agent", "coder", "read the private file"]).code(0);
    let log = std::fs::read_to_string(world.home().join("general.log")).unwrap();
    let id = world.last();
    let told = [
        "run started".to_owned(),
        "step started run=ID step=coder agent=\"coder\"".to_owned(),
        "call started run=ID call=coder/0/0/call.0 tool=\"read_file\"".to_owned(),
        "call ended run=ID call=coder/0/0/call.0 tool=\"read_file\" outcome=\"done\"".to_owned(),
        "call ended run=ID call=coder/0/0/call.1 tool=\"read_file\" outcome=\"failed\"".to_owned(),
        "step done run=ID step=coder turns=2".to_owned(),
        "run done run=ID".to_owned(),
    ];
    for line in told {
        assert!(log.contains(&line.replace("ID", &id)), "{line} is not in\n{log}");
    }
    for words in ["secret.txt", "hidden", "private file", "I have read"] {
        assert!(!log.contains(words), "{words} is in\n{log}");
    }
}

#[test]
fn the_answer_goes_into_a_pipe_as_it_is_and_on_a_terminal_as_a_page() {
    let world = World::new();
    let text = "# Title  \n\nSome **bold** words\n\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n";
    let model = world.script("s.json", &says(text));
    let run = ["run", "--model", &model, "--agent", "thinker", "tell"];
    let piped = world.updraft(&run).code(0).out;
    let answer = world.updraft(&["show", "--json"]).value()["answer"].as_str().unwrap().to_owned();
    assert_eq!(piped.strip_suffix('\n').unwrap_or(&piped).trim_end(), answer.trim_end());
    assert!(piped.contains("Some **bold** words\n\n\n| a | b |"), "{piped:?}");
    let (shown, code) = Terminal::of_width(&world, 60, &run).end();
    assert_eq!(code, 0, "{shown}");
    // What stands below the tree at the end.
    let (_, page) = shown.rsplit_once("\u{1b}[J").unwrap();
    assert!(page.contains("Some \u{1b}[1mbold\u{1b}[0m words") && !page.contains("**"), "{page}");
}

/// What stands on the screen at the end, and the longest line that was ever drawn.
fn drawn(shown: &str) -> (String, usize) {
    let mut plain = String::new();
    let mut parts = shown.split('\u{1b}');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        plain.push_str(&part[end..]);
    }
    let longest = plain.lines().map(|line| line.trim_matches('\r').chars().count()).max().unwrap_or_default();
    (plain, longest)
}

#[test]
fn the_tree_shows_what_is_being_done_and_no_line_is_longer_than_the_terminal() {
    let world = World::new();
    let plan = json!({"steps": [{"id": "a_step_with_quite_a_long_name", "agent": "coder", "prompt": "x", "writes": ["x"],
        "description": "Something whose description is by far longer than any terminal of sixty columns can show"}]});
    let plan = world.file("plan.json", &plan.to_string());
    let command = "echo the first line that it prints; sleep 1.5; echo and a second one that is much longer than sixty columns; exit 3";
    let model = world.script(
        &format!("{}.json", "long".repeat(40)),
        &json!([{"calls": [{"name": "run_command", "args": {"command": command}}]}, {"text": "{\"raw\": \"json\"", "delay_ms": 1200}, {"text": "Fine."}]),
    );
    let args = ["run", "--yes", "--model", &model, "--plan", plan.to_str().unwrap(), "go"];
    for columns in [60, 80, 120] {
        let (shown, _) = Terminal::of_width(&world, columns, &args).end();
        let (plain, longest) = drawn(&shown);
        assert!(longest <= columns, "{longest} at {columns}:\n{plain}");
        assert!(plain.contains("Something whose des"), "{plain}");
        assert!(plain.contains("$ echo the first line"), "{plain}");
        assert!(plain.contains("│ the first line that it prints"), "{plain}");
        assert!(plain.contains("exit code 3"), "{plain}");
    }
}

#[test]
fn a_plan_is_printed_as_a_table_and_as_a_file() {
    let world = World::new();
    let plan = json!({"steps": [
        {"id": "find", "agent": "retriever", "description": "Find the figures", "prompt": "x", "writes": ["figures"]},
        {"id": "plot", "agent": "coder", "description": "Plot them", "prompt": "y", "reads": ["figures"], "writes": ["chart"], "after": ["find"]},
    ]});
    let file = world.file("plan.json", &plan.to_string());
    let args = ["run", "--plan-only", "--model", "builtin", "--plan", file.to_str().unwrap(), "go"];
    insta::assert_snapshot!(world.updraft(&args).code(0).out, @r"
    step  agent      model    price  rights                                          reads    writes   after  description
    find  retriever  builtin  free   reads only, web, MCP servers                    -        figures  -      Find the figures
    plot  coder      builtin  free   changes files, runs commands, web, MCP servers  figures  chart    find   Plot them
    ");
    assert_eq!(world.updraft(&[&args[..], &["--json"]].concat()).code(0).value()["steps"], plan["steps"]);
}
