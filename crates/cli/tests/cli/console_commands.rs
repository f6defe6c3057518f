//! The first minutes with the console: without a language model, its commands, and talking with a screen reader.

use serde_json::json;

use crate::pty::Pty;
use crate::world::World;

#[test]
fn without_a_language_model_the_console_says_so_and_looks_things_up() {
    let world = World::new();
    world.file("README.md", "# Loom\n\nLoom weaves cloth from wool. It was built in 1804 in Lyon.\n");
    let mut pty = Pty::chat(&world, 80, &["--model", "builtin"]);
    pty.shows("No language model is connected.");
    pty.shows("builtin");
    pty.types("When was Loom built?\r");
    pty.shows("1804");
    pty.until("an idle console", |screen| !screen.contains("working"));
    let all = pty.all();
    assert!(!all.contains("cannot write or run code"), "{all}");
    assert!(all.contains("README.md"), "{all}");
    pty.types("\u{4}");
    assert_eq!(pty.end(), 0);
    // Line by line it is the same.
    let piped = world.fed(&["chat", "--quiet", "--model", "builtin"], b"When was Loom built?\n").code(0);
    assert!(piped.out.contains("1804"), "{}", piped.out);
    // An agent that is named answers itself.
    let coder = world.fed(&["chat", "--quiet", "--model", "builtin", "--agent", "coder"], b"When was it built?\n");
    assert!(coder.out.contains("cannot write or run code"), "{}{}", coder.out, coder.err);
}

/// The smallest picture.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

/// A model that changes a file in its first turn.
fn changing(world: &World) -> String {
    let edit = json!({ "name": "write_file", "args": { "path": "a.txt", "content": "goodbye\n" } });
    world.script(
        "s.json",
        &json!({ "rules": [{ "when": { "turn": 0 }, "answer": { "calls": [edit] } }], "default": { "text": "Changed." } }),
    )
}

#[test]
fn what_a_message_changed_is_shown_and_undone() {
    let world = World::new();
    let model = changing(&world);
    let mut pty = Pty::chat(&world, 80, &["--model", &model]);
    pty.shows("› ");
    pty.types("Say goodbye in a.txt\r");
    pty.shows("Changed.");
    pty.until("an idle console", |screen| !screen.contains("working"));
    let text = || std::fs::read_to_string(world.ws().join("a.txt")).unwrap();
    assert_eq!(text(), "goodbye\n");
    let lines_of = |pty: &Pty, line: &str| pty.all().lines().filter(|shown| shown.trim() == line).count();
    let before = lines_of(&pty, "+goodbye");
    pty.types("/diff\r");
    pty.until("the difference", |_| lines_of(&pty, "+goodbye") == before + 1 && lines_of(&pty, "-hello") > 0);
    pty.types("/undo\r");
    pty.shows("Do this?");
    pty.types("y\r");
    World::until("the file is as it was", || text() == "hello\n");
    pty.types("/log\r");
    pty.shows("write a.txt");
    pty.types("/diff nothing\r");
    pty.shows("error");
    pty.types("\u{4}");
    assert_eq!(pty.end(), 0);
}

#[test]
fn for_a_screen_reader_nothing_is_redrawn_and_words_stand_for_marks() {
    let world = World::new();
    let fail = json!({ "name": "read_file", "args": { "path": "missing.txt" } });
    let model = world.script(
        "s.json",
        &json!({ "rules": [{ "when": { "turn": 0 }, "answer": { "calls": [fail] } }], "default": { "text": "It is not **there**." } }),
    );
    let mut pty = Pty::chat(&world, 80, &["--model", &model, "--screen-reader"]);
    pty.shows("> ");
    pty.types("Read missing.txt\r");
    pty.shows("It is not there.");
    pty.shows("begins: ");
    pty.until("the prompt again", |screen| screen.trim_end().ends_with('>'));
    pty.types("\u{4}");
    assert_eq!(pty.end(), 0);
    let bytes = String::from_utf8_lossy(&pty.bytes()).into_owned();
    assert!(bytes.contains("failed: "), "{bytes}");
    for mark in ["✓", "✗", "→", "⠋"] {
        assert!(!bytes.contains(mark), "{mark} in {bytes}");
    }
    // Nothing moves the cursor or removes what was written.
    for code in bytes.split("\u{1b}[").skip(1) {
        let end = code.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        assert_eq!(&code[end..=end], "m", "{code:?}");
    }
}

#[test]
fn a_mentioned_or_dropped_file_is_handed_over_and_a_picture_is_shown_to_the_model() {
    let world = World::new();
    let model = world.script("s.json", &json!({ "default": { "text": "I see." } }));
    std::fs::write(world.ws().join("dot.png"), PNG).unwrap();
    world.file("notes/plan.md", "# Plan\n");
    // A desktop whose clipboard holds the same picture.
    let desktop = world.home().join("bin");
    std::fs::create_dir_all(&desktop).unwrap();
    let program =
        format!("#!/bin/sh\n[ \"$1 $2\" = '--type image/png' ] && exec cat '{}/dot.png'\n", world.ws().display());
    std::fs::write(desktop.join("wl-paste"), program).unwrap();
    std::fs::set_permissions(desktop.join("wl-paste"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", desktop.display(), std::env::var("PATH").unwrap());
    let mut command = world.command(&["chat", "--model", &model]);
    command.env("LANG", "C.UTF-8").env("PATH", path).env("WAYLAND_DISPLAY", "wayland-0");
    let mut pty = Pty::start(&command, 200);
    pty.shows("/help lists commands");
    pty.types("Look at @pla");
    pty.shows("@notes/plan.md");
    pty.types("\t and ");
    pty.shows("› Look at @notes/plan.md  and");
    let dropped = world.ws().join("dot.png").canonicalize().unwrap();
    pty.types(&format!("\u{1b}[200~{}\u{1b}[201~", dropped.display()));
    pty.shows("@dot.png");
    // A picture from elsewhere, and the one in the clipboard.
    std::fs::write(world.home().join("screen shot.png"), PNG).unwrap();
    let outside = world.home().join("screen shot.png").canonicalize().unwrap();
    pty.types(&format!("\u{1b}[200~'{}'\u{1b}[201~", outside.display()));
    pty.shows("screen shot.png\"");
    pty.types("\u{16}");
    pty.shows("pasted-");
    pty.types("\r");
    pty.shows("I see.");
    let goal = world.updraft(&["events", "last", "--json"]).json()[0]["event"]["started"]["goal"].clone();
    assert_eq!(goal["files"], json!(["notes/plan.md", "dot.png"]), "{goal}");
    let pictures = goal["pictures"].as_array().unwrap();
    assert_eq!(pictures.len(), 3, "{goal}");
    assert_eq!((&pictures[0]["name"], &pictures[0]["mime"]), (&json!("dot.png"), &json!("image/png")));
    assert_eq!(pictures[1]["name"], "screen shot.png");
    assert!(pictures[2]["name"].as_str().unwrap().starts_with("pasted-"), "{goal}");
}

#[test]
fn a_plan_is_edited_before_it_runs() {
    let world = World::new();
    let plan = json!({ "steps": [{ "id": "one", "agent": "thinker", "description": "Think about it" }] });
    let rules = json!([{ "when": { "agent": "planner" }, "answer": { "json": plan } }]);
    let model = world.script("s.json", &json!({ "rules": rules, "default": { "text": "Thought about." } }));
    let editor = world.file("editor.sh", "sed -i s/one/first/ \"$1\"\n");
    let mut command = world.command(&["chat", "--model", &model]);
    command.env("EDITOR", format!("sh {}", editor.display())).env("LANG", "C.UTF-8").env_remove("VISUAL");
    let mut pty = Pty::start(&command, 100);
    pty.shows("/help lists commands");
    pty.types("/plan first\r");
    pty.shows("each plan is shown before it runs");
    pty.types("Think\r");
    pty.shows("carry it out?");
    pty.types("e\r");
    pty.shows("Thought about.");
    let events = world.updraft(&["events", "last"]).out;
    assert!(events.contains("first") && !events.contains("one (thinker)"), "{events}");
    pty.until("an idle console", |screen| !screen.contains("working"));
    // It comes back to the composer, and the terminal still works.
    pty.types("/quit\r");
    assert_eq!(pty.end(), 0);
}
