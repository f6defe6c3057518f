//! The console on a real pseudoterminal.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;

use serde_json::json;

use crate::pty::Pty;
use crate::shell_server::{server, tool};
use crate::world::World;

/// A model server whose answers arrive part by part, when the test says so.
struct StreamingModel {
    address: String,
    answers: mpsc::Receiver<TcpStream>,
    open: Option<TcpStream>,
}

impl StreamingModel {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let (send, answers) = mpsc::channel();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (mut read, mut piece) = (Vec::new(), [0; 4096]);
                while let Ok(n @ 1..) = stream.read(&mut piece) {
                    read.extend_from_slice(&piece[..n]);
                    if read.ends_with(b"}") || read.starts_with(b"GET") {
                        break;
                    }
                }
                // It lists no models.
                if read.starts_with(b"GET") {
                    let _ =
                        stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                    continue;
                }
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                if stream.write_all(head.as_bytes()).is_err() || send.send(stream).is_err() {
                    return;
                }
            }
        });
        Self { address, answers, open: None }
    }

    /// Waits for a question.
    fn asked(&mut self) {
        self.open = Some(self.answers.recv_timeout(std::time::Duration::from_secs(20)).unwrap());
    }

    fn says(&mut self, text: &str) {
        self.event(&json!({ "choices": [{ "delta": { "content": text } }] }).to_string());
    }

    fn ends(&mut self) {
        self.event(&json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }).to_string());
        self.event("[DONE]");
        self.open = None;
    }

    fn event(&mut self, data: &str) {
        self.open.as_mut().unwrap().write_all(format!("data: {data}\n\n").as_bytes()).unwrap();
    }

    /// The console with this model.
    fn chat(&self, world: &World, columns: u16) -> Pty {
        let mut command = world.command(&["chat", "--model", "openai/m"]);
        command.env("OPENAI_BASE_URL", &self.address).env("OPENAI_API_KEY", "a-key-of-ours");
        command.env_remove("NO_COLOR").env("LANG", "C.UTF-8").env_remove("LC_ALL").env_remove("LC_CTYPE");
        Pty::start(&command, columns)
    }
}

#[test]
fn an_answer_is_shown_as_it_arrives_and_again_after_a_resize() {
    let (world, mut model) = (World::new(), StreamingModel::start());
    let mut pty = model.chat(&world, 80);
    pty.shows("› ");
    pty.types("Explain the tides\r");
    model.asked();
    model.says("The moon **pulls");
    pty.shows("The moon");
    pty.shows("working");
    model.says("** the water.\n\nThe sun does so, too,");
    pty.shows("The moon pulls the water.");
    pty.resize(40, 20);
    pty.until("the new size", |screen| screen.contains("The sun does so, too,") && screen.contains("› "));
    model.says(" but half as much as the moon, and both together make spring tides.");
    pty.shows("spring tides.");
    model.ends();
    pty.shows("1 turn");
    let all = pty.all();
    assert_eq!(all.matches("The moon pulls").count(), 1, "{all}");
    assert_eq!(all.matches("The sun does so").count(), 1, "{all}");
    assert!(pty.screen().lines().all(|line| line.chars().count() <= 40), "{}", pty.screen());
    pty.types("\u{4}");
    assert_eq!(pty.end(), 0);
}

#[test]
fn escape_stops_an_answer_typing_tells_the_run_and_control_c_twice_leaves() {
    let (world, mut model) = (World::new(), StreamingModel::start());
    let mut pty = model.chat(&world, 80);
    pty.shows("› ");
    pty.types("Think for a long time\r");
    model.asked();
    model.says("Let me see");
    pty.shows("Let me see");
    pty.types("Be brief\r");
    World::until("the message is in the journal", || world.updraft(&["events", "last"]).out.contains("Be brief"));
    pty.types("\u{1b}");
    pty.shows("stopped; nothing is lost");
    pty.until("an idle console", |screen| !screen.contains("working"));
    pty.types("\u{3}");
    pty.shows("Ctrl-C again quits");
    pty.types("\u{3}");
    assert_eq!(pty.end(), 0);
    // The terminal is as it was.
    let bytes = String::from_utf8_lossy(&pty.bytes()).into_owned();
    assert!(bytes.contains("\u{1b}[?2004h") && bytes.contains("\u{1b}[?2004l"), "{bytes:?}");
}

#[test]
fn a_paste_of_ten_thousand_lines_is_folded_and_sent_whole() {
    let world = World::new();
    let model = world.script("s.json", &json!({ "default": { "text": "I have read it." } }));
    let mut pty = Pty::chat(&world, 80, &["--model", &model]);
    pty.shows("› ");
    let lines = (0..10_000).map(|n| format!("line {n}\r")).collect::<Vec<_>>().concat();
    pty.types(&format!("\u{1b}[200~{lines}\u{1b}[201~"));
    pty.shows("[pasted 10,000 lines]");
    pty.types(" Read it\r");
    pty.shows("I have read it.");
    let events = world.updraft(&["events", "last", "--json"]).json();
    let goal = events[0]["event"]["started"]["goal"]["text"].as_str().unwrap().to_owned();
    assert!(goal.starts_with("line 0\nline 1\n") && goal.ends_with("line 9999\n Read it"), "{}", goal.len());
    assert!(!pty.all().contains("line 500"), "the paste is not in the scrollback");
}

#[test]
fn control_z_gives_the_terminal_to_the_shell_and_fg_brings_the_console_back() {
    let world = World::new();
    let model = world.script("s.json", &json!({ "default": { "text": "Here I am." } }));
    let mut shell = world.command(&[]);
    shell.env("LANG", "C.UTF-8").env("PS1", "shell> ").env("HISTFILE", "/dev/null");
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-i"]).current_dir(world.ws());
    shell.get_envs().for_each(|(name, value)| {
        match value {
            Some(value) => bash.env(name, value),
            None => bash.env_remove(name),
        };
    });
    let mut pty = Pty::start(&bash, 160);
    pty.shows("shell>");
    pty.types(&format!("{} chat --model '{model}'\r", env!("CARGO_BIN_EXE_updraft")));
    pty.shows("/help lists commands");
    pty.types("half a thought");
    pty.shows("› half a thought");
    pty.types("\u{1a}");
    pty.until("the shell", |screen| screen.contains("Stopped") && screen.trim_end().ends_with("shell>"));
    // The shell reads lines again.
    pty.types("echo $((6 * 7))\r");
    pty.shows("42");
    pty.types("fg\r");
    pty.until("the console", |screen| screen.lines().rev().take(6).any(|line| line.contains("› half a thought")));
    pty.types("\r");
    pty.shows("Here I am.");
    pty.types("\u{4}");
    pty.until("the shell again", |screen| screen.trim_end().ends_with("shell>"));
}

#[test]
fn a_console_that_is_killed_goes_on_where_it_was() {
    let (world, mut model) = (World::new(), StreamingModel::start());
    let mut pty = model.chat(&world, 80);
    pty.shows("› ");
    pty.types("What is the answer?\r");
    model.asked();
    model.says("It is");
    pty.shows("It is");
    pty.child.kill().unwrap();
    pty.child.wait().unwrap();
    let mut command = world.command(&["chat", "--continue"]);
    command.env("OPENAI_BASE_URL", &model.address).env("OPENAI_API_KEY", "a-key-of-ours").env("LANG", "C.UTF-8");
    let mut pty = Pty::start(&command, 80);
    model.asked();
    pty.shows("What is the answer?");
    model.says("It is 42.");
    model.ends();
    pty.shows("It is 42.");
    pty.until("an idle console", |screen| !screen.contains("working"));
    assert_eq!(world.runs().len(), 1);
    pty.types("/quit\r");
    assert_eq!(pty.end(), 0);
}

#[test]
fn without_colour_or_unicode_there_is_neither() {
    let world = World::new();
    let call = json!({ "name": "read_file", "args": { "path": "a.txt" } });
    let model = world.script("s.json", &json!([{ "calls": [call] }, { "text": "Das heißt **hallo** … 日本" }]));
    let mut command = world.command(&["chat", "--model", &model]);
    command.env("LANG", "C").env("LC_ALL", "C").env("NO_COLOR", "1");
    let mut pty = Pty::start(&command, 80);
    pty.shows("- /help");
    pty.types("Read a.txt\r");
    pty.shows("hallo");
    pty.shows("+ read a.txt");
    pty.until("an idle console", |screen| !screen.contains("working"));
    pty.types("\u{4}");
    pty.end();
    let bytes = pty.bytes();
    let shown = String::from_utf8_lossy(&bytes).into_owned();
    assert!(bytes.is_ascii(), "{shown:?}");
    assert!(
        shown.split('\u{1b}').skip(1).all(|code| !code.starts_with('[') || !code.contains('m') || {
            let end = code.find(|c: char| c.is_ascii_alphabetic()).unwrap_or_default();
            &code[end..=end] != "m"
        }),
        "{shown:?}"
    );
}

#[test]
fn a_question_is_asked_in_place_and_typed_ahead_text_does_not_answer_it() {
    let world = World::new();
    let call = json!({ "name": "ask_user", "args": { "question": "Which colour?", "options": ["red", "blue"] } });
    let model = world.script("s.json", &json!([{ "calls": [call], "delay_ms": 300 }, { "text": "As you wish." }]));
    let mut pty = Pty::chat(&world, 80, &["--model", &model, "--agent", "clarification"]);
    pty.shows("› ");
    pty.types("Paint it\r");
    pty.types("not an answer");
    pty.shows("Which colour?");
    pty.shows("a question waits");
    assert!(pty.screen().contains("› not an answer"), "{}", pty.screen());
    pty.types("\u{15}");
    pty.until("an empty answer", |screen| screen.lines().any(|line| line.trim_end() == "?"));
    pty.types("2\r");
    pty.shows("As you wish.");
    assert!(world.updraft(&["events", "last"]).out.contains("blue"));
}

#[test]
fn commands_fork_a_conversation_and_come_from_files() {
    let world = World::new();
    let rules = json!([
        { "when": { "contains": "Review src for leaks" }, "answer": { "text": "No leaks." } },
        { "when": { "contains": "Which size?" }, "answer": { "text": "Large." } },
    ]);
    let model = world.script("s.json", &json!({ "rules": rules, "default": { "text": "Blue." } }));
    world.config("commands/review.md", "---\ndescription: Review a folder\n---\nReview $1 for leaks.\n");
    let mut pty = Pty::chat(&world, 100, &["--model", &model]);
    pty.shows("› ");
    pty.types("Which colour?\r");
    pty.shows("Blue.");
    pty.until("an idle console", |screen| !screen.contains("working"));
    pty.types("Which size?\r");
    pty.shows("Large.");
    pty.until("an idle console", |screen| !screen.contains("working"));
    pty.types("/rev");
    pty.shows("Review a folder");
    pty.types("\tsrc\r");
    pty.shows("No leaks.");
    pty.until("an idle console", |screen| !screen.contains("working"));
    pty.types("/fork\r");
    pty.shows("/fork N goes back");
    pty.types("/fork 2\r");
    pty.shows("before message 2");
    pty.until("the message to change", |screen| screen.lines().any(|line| line.trim_end() == "› Which size?"));
    pty.types(" Now\r");
    pty.until("the answer", |screen| {
        screen.split_once("Which size? Now").is_some_and(|(_, after)| after.contains("Large."))
    });
    let events = world.updraft(&["events", "last", "--json"]).json();
    let goal = &events[0]["event"]["started"]["goal"];
    assert_eq!(goal["text"], "Which size? Now");
    assert_eq!(goal["earlier"]["history"].as_array().unwrap().len(), 2);
    pty.types("/cost\r");
    pty.shows("  2  Which size? Now");
}

#[test]
fn another_terminal_watches_a_run_and_steers_it() {
    let (world, mut model) = (World::new(), StreamingModel::start());
    let mut first = model.chat(&world, 80);
    first.shows("› ");
    first.types("Work for long\r");
    model.asked();
    model.says("Working on");
    first.shows("Working on");
    let mut watch = world.command(&["attach", "last"]);
    watch.env("LANG", "C.UTF-8");
    let mut second = Pty::start(&watch, 80);
    second.shows("Esc leaves");
    second.types("Hurry up\r");
    World::until("the message is in the journal", || world.updraft(&["events", "last"]).out.contains("Hurry up"));
    second.types("/cancel\r");
    second.shows("was cancelled");
    first.shows("was cancelled");
    assert_eq!(second.end(), 1);
    // Without a terminal, and after its end.
    world.updraft(&["attach", "last"]).code(1).says("was cancelled");
    let lines = world.updraft(&["attach", "last", "--json"]).json();
    assert!(lines.len() > 2, "{lines:?}");
}

#[test]
fn a_server_is_started_once_for_all_messages() {
    let world = World::new();
    let script = server(&json!([tool("t")]), "text=here");
    world.file("server.sh", &format!("echo started >&2; echo $$ >> \"$PWD/starts\"\n{script}"));
    world.updraft(&["mcp", "add", "one", "--cwd", ".", "--", "sh", "server.sh"]).code(0);
    let call = json!({ "calls": [{ "name": "mcp_one_t", "args": {} }] });
    let model = world.script(
        "s.json",
        &json!({ "rules": [{ "when": { "turn": 0 }, "answer": call }], "default": { "text": "Called." } }),
    );
    let mut pty = Pty::chat(&world, 80, &["--model", &model, "--yes"]);
    pty.shows("› ");
    for n in 1..=2 {
        pty.types(&format!("Call it for time {n}\r"));
        pty.until("the answer", |screen| screen.matches("Called.").count() >= n);
        pty.until("an idle console", |screen| !screen.contains("working"));
    }
    assert_eq!(pty.all().matches("✓ mcp_one_t").count(), 2, "{}", pty.all());
    assert_eq!(std::fs::read_to_string(world.ws().join("starts")).unwrap().lines().count(), 1);
}

/// Bytes that are no text, for each character of a streamed answer: the smaller, the less flickers. Printed, so that other
/// programs can be measured in the same way.
#[test]
fn a_streamed_character_costs_few_bytes() {
    let (world, mut model) = (World::new(), StreamingModel::start());
    let mut pty = model.chat(&world, 80);
    pty.shows("› ");
    pty.types("Tell me a story\r");
    model.asked();
    let sentence = "The tide comes in and the tide goes out, twice a day and a little later each. ";
    let text = format!("{}\n\n", sentence.repeat(3)).repeat(6) + "The end.";
    let before = pty.bytes().len();
    for part in text.as_bytes().chunks(4) {
        model.says(std::str::from_utf8(part).unwrap());
        // As fast as a quick model: about 400 characters a second.
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    model.ends();
    pty.shows("The end.");
    pty.until("an idle console", |screen| !screen.contains("working"));
    let written = pty.bytes().len() - before;
    let overhead = (written - text.len()) as f64 / text.len() as f64;
    println!("{overhead:.2} bytes besides the text for each of {} characters", text.len());
    assert!(overhead < 2.5, "{overhead}");
}

#[test]
fn a_plan_is_shown_before_it_runs_and_a_call_waits_for_approval() {
    let world = World::new();
    world.config("config.toml", "[rules]\nask = [\"read_file\"]\n");
    let steps = json!([{ "id": "look", "agent": "coder", "description": "Read the file" },
        { "id": "say", "agent": "thinker", "description": "Say what it says", "after": ["look"] }]);
    let call = json!({ "calls": [{ "name": "read_file", "args": { "path": "a.txt" } }] });
    let rules = json!([
        { "when": { "step": "plan" }, "answer": { "json": { "steps": steps } } },
        { "when": { "step": "look", "turn": 0 }, "answer": call },
        { "when": { "step": "look" }, "answer": { "text": "It says hello." } },
    ]);
    let model = world.script("s.json", &json!({ "rules": rules, "default": { "text": "Hello it is." } }));
    let mut pty = Pty::chat(&world, 100, &["--model", &model, "--plan-first"]);
    pty.shows("› ");
    pty.types("What does a.txt say?\r");
    pty.shows("carry it out?");
    pty.shows("Say what it says");
    pty.types("go\r");
    pty.shows("allow it?");
    pty.types("y\r");
    pty.shows("Hello it is.");
    pty.until("an idle console", |screen| !screen.contains("working"));
    pty.types("\u{4}");
    assert_eq!(pty.end(), 0);
}

#[test]
fn what_models_and_people_write_does_not_steer_the_terminal() {
    let (world, mut model) = (World::new(), StreamingModel::start());
    let mut pty = model.chat(&world, 80);
    pty.shows("› ");
    pty.types("\u{1b}[200~Is \u{1b}[2J\u{9b}5A this shown?\u{1b}[201~\r");
    model.asked();
    model.says("\u{1b}[2J\u{1b}]0;title\u{7}Gone\u{8}\u{202e}?\n\n\u{1b}[?1049h`\u{1b}[31m`\n\nThe end.");
    model.ends();
    pty.shows("The end.");
    pty.until("an idle console", |screen| !screen.contains("working"));
    pty.types("\u{4}");
    pty.end();
    let bytes = String::from_utf8_lossy(&pty.bytes()).into_owned();
    for steering in ["\u{1b}[2J", "\u{1b}]0;", "\u{7}", "\u{8}", "\u{202e}", "\u{1b}[?1049h", "\u{9b}"] {
        assert!(!bytes.contains(steering), "{steering:?} in {bytes:?}");
    }
    assert!(pty.all().contains("Is ") && pty.all().contains("updraft 0."), "{}", pty.all());
}

#[test]
fn without_a_command_the_console_opens_on_a_terminal_only() {
    let world = World::new();
    let mut command = world.command(&[]);
    command.env("LANG", "C.UTF-8");
    let mut pty = Pty::start(&command, 80);
    pty.shows("Say what you want done");
    pty.types("/help\r");
    pty.shows("Ctrl-O shows the newest");
    pty.types("/quit\r");
    assert_eq!(pty.end(), 0);
    world.updraft(&[]).code(2).says("Usage:");
}
