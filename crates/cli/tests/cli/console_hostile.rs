//! Text that tries to steer the terminal, as goals, answers, tool names and file names: nothing of it gets there.
//!
//! The strings are the big list of naughty strings (`naughty_strings.json`, MIT license, © Max Woolf), the payloads of DOMPurify's
//! own tests, which the page is tried with too (`tests/page/dompurify.json`), and escape sequences.

use serde_json::{Value, json};

use crate::pty::Pty;
use crate::world::World;

/// Sequences that clear, move, colour, retitle, copy, link, ask the terminal something, or switch its modes.
const SEQUENCES: [&str; 22] = [
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}[10A\u{1b}[1;1Hover",
    "\u{1b}[31;5mred",
    "\u{1b}]0;title\u{7}",
    "\u{1b}]2;title\u{1b}\\",
    "\u{1b}]52;c;ZXZpbA==\u{7}",
    "\u{1b}]8;;https://example.org\u{1b}\\link\u{1b}]8;;\u{1b}\\",
    "\u{1b}[?1049h",
    "\u{1b}[?25l",
    "\u{1b}[?1000h",
    "\u{1b}[6n\u{1b}[c",
    "\u{1b}P+q544e\u{1b}\\",
    "\u{1b}_Ga=T;AAAA\u{1b}\\",
    "\u{1b}c\u{1b}7\u{1b}8",
    "\u{9b}2J\u{9d}0;title\u{9c}",
    "\u{8}\u{8}\u{8}\u{7f}\u{7}\u{b}\u{c}\r over",
    "\u{202e}txt.exe\u{202c}\u{2066}a\u{2069}\u{200f}",
    "zero\u{200b}width\u{feff}\u{2060}",
    "e\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}",
    "👩‍👩‍👧‍👦🏳️‍🌈🇩🇪日本語",
    "\u{0}\u{1}\u{2}\u{e}\u{f}",
    "tab\there and\ttwo",
];

fn strings() -> Vec<String> {
    let listed: Vec<String> = serde_json::from_str(include_str!("naughty_strings.json")).unwrap();
    assert!(listed.len() > 480);
    let mut all: Vec<String> = SEQUENCES.map(str::to_owned).to_vec();
    all.extend(listed.into_iter().filter(|text| !text.is_empty()));
    all.extend(payloads());
    all.push("0123456789".repeat(5_000));
    all
}

/// HTML that wants to run something.
fn payloads() -> Vec<String> {
    let file: Value = serde_json::from_str(include_str!("../../../../tests/page/dompurify.json")).unwrap();
    let listed: Vec<String> = serde_json::from_value(file["payloads"].clone()).unwrap();
    assert!(listed.len() > 200);
    listed
}

/// A file name that a file system takes.
fn name(text: &str) -> Option<String> {
    let name: String = text.chars().filter(|c| *c != '/' && *c != '\0').collect();
    (!name.trim().is_empty() && name.len() < 200 && !name.starts_with('.')).then_some(name)
}

/// Fails if the program has written anything but text and the few sequences that we write.
#[track_caller]
fn only_ours(pty: &Pty) {
    let bytes = pty.bytes();
    let text = std::str::from_utf8(&bytes).unwrap();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        let around = || {
            format!(
                "{:?}",
                &text[text.floor_char_boundary(at.saturating_sub(80))..][..].chars().take(160).collect::<String>()
            )
        };
        if c == '\u{1b}' {
            assert_eq!(chars.next().map(|(_, c)| c), Some('['), "{}", around());
            let parameters: String = chars.clone().map(|(_, c)| c).take_while(|c| !c.is_ascii_alphabetic()).collect();
            let last = chars.nth(parameters.chars().count()).map(|(_, c)| c).unwrap();
            let is_mode = ["?2004", "?1049", "?25"].contains(&parameters.as_str());
            let is_plain = parameters.chars().all(|c| c.is_ascii_digit() || c == ';');
            let fits = match last {
                'h' | 'l' => is_mode,
                'm' | 'A' | 'B' | 'G' | 'H' | 'J' | 'K' | 'L' | 'M' => is_plain,
                _ => false,
            };
            assert!(fits, "{parameters:?} {last:?} in {}", around());
            continue;
        }
        assert!(matches!(c, '\r' | '\n') || !c.is_control(), "{c:?} in {}", around());
        assert!(
            !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'),
            "{}",
            around()
        );
    }
}

/// The console still takes keys, and shows what is typed at its prompt.
#[track_caller]
fn is_intact(pty: &mut Pty) {
    pty.until("an idle console", |screen| !screen.contains("working"));
    pty.types("still here");
    pty.until("the prompt", |screen| screen.lines().any(|line| line.trim_end() == "› still here"));
    pty.types("\u{15}");
}

/// A model that says all of it, and calls tools with such names and on such files.
fn hostile(world: &World, strings: &[String]) -> String {
    let call = |name: &str, args: Value| json!({ "name": name, "args": args });
    // All escape sequences, and some of each list.
    let few = |step| strings[..SEQUENCES.len()].iter().chain(strings[SEQUENCES.len()..].iter().step_by(step));
    let tools = few(18).filter(|text| text.len() < 500);
    let named: Vec<Value> = tools.map(|text| call(text, json!({ "path": text }))).collect();
    let files: Vec<String> = few(24).filter_map(|text| name(text)).collect();
    let written: Vec<Value> =
        files.iter().map(|file| call("write_file", json!({ "path": file, "content": strings.join("\n") }))).collect();
    let said = strings.join("\n\n");
    let rules = json!([
        { "when": { "turn": 0 }, "answer": { "text": "Names.", "calls": named } },
        { "when": { "turn": 1 }, "answer": { "text": "Files.", "calls": written } },
    ]);
    world.script("s.json", &json!({ "rules": rules, "default": { "text": format!("{said}\n\nThat was all.") } }))
}

#[test]
fn nothing_that_models_tools_files_and_goals_contain_steers_the_terminal() {
    let (world, strings) = (World::new(), strings());
    let model = hostile(&world, &strings);
    for text in strings.iter().filter_map(|text| name(text)) {
        let _ = std::fs::write(world.ws().join(text), "x");
    }
    let mut pty = Pty::chat(&world, 80, &["--model", &model, "--yes"]);
    pty.shows("› ");
    // What a paste contains, without what ends a paste.
    let goal = strings.join("\n").replace("\u{1b}[201~", "");
    pty.types(&format!("\u{1b}[200~{goal}\u{1b}[201~"));
    pty.shows("[pasted ");
    pty.types("\r");
    pty.until("the end of the answer", |screen| screen.contains("That was all.") && !screen.contains("working"));
    is_intact(&mut pty);
    // Single messages are shown as they were typed; files are offered by name.
    for text in SEQUENCES {
        pty.types(&format!("\u{1b}[200~{text}\u{1b}[201~\u{15}"));
    }
    pty.types("@t");
    pty.shows("@t");
    pty.types("\u{1b}\u{15}");
    pty.types("\u{f}");
    for command in ["/runs\r", "/show\r", "/diff\r", "/fork\r", "/cost\r", "/log 500\r"] {
        pty.types(command);
    }
    is_intact(&mut pty);
    // The same on the full screen, step by step.
    pty.types("\u{7}");
    pty.shows("── log");
    pty.types("\t\u{1b}[B\t");
    for _ in 0..12 {
        pty.types("\r\u{1b}[6~\u{1b}[A");
    }
    pty.shows("Enter unfolds");
    pty.types("q");
    is_intact(&mut pty);
    pty.types("\u{4}");
    assert_eq!(pty.end(), 0);
    only_ours(&pty);
}

/// What Markdown, entities and line breaks leave of any text. Characters that are not printed are shown by their numbers.
fn letters(text: &str) -> String {
    let is_shown_by_number = |c: char| c == '\u{2028}' || c.is_control() && !c.is_whitespace();
    let numbered = text.chars().map(|c| if is_shown_by_number(c) { c.escape_unicode().to_string() } else { c.into() });
    numbered.collect::<String>().chars().filter(char::is_ascii_alphanumeric).collect()
}

#[test]
fn html_in_an_answer_is_shown_as_text() {
    let (world, payloads) = (World::new(), payloads());
    let said = payloads.join("\n\n");
    let model = world.script("s.json", &json!({ "default": { "text": format!("{said}\n\nThat was all.") } }));
    let mut pty = Pty::chat(&world, 400, &["--model", &model]);
    pty.shows("› ");
    pty.types("Say it\r");
    pty.until("the end of the answer", |screen| screen.contains("That was all.") && !screen.contains("working"));
    is_intact(&mut pty);
    let shown = letters(&pty.all());
    // Those that Markdown would change are left out: entities are decoded, and the address of a link is shown after its text.
    let plain = payloads.iter().filter(|text| !text.contains(['&', '[', '\\', '\0']));
    let missing: Vec<&String> = plain.clone().filter(|text| !shown.contains(&letters(text))).collect();
    assert!(plain.count() > 80 && missing.is_empty(), "{missing:#?}");
    pty.types("\u{4}");
    assert_eq!(pty.end(), 0);
    only_ours(&pty);
}

#[test]
fn a_stopped_terminal_does_not_stop_the_run() {
    let world = World::new();
    let rules = json!([{ "when": { "turn": 0 }, "answer": { "calls": [{ "name": "write_file", "args": { "path": "b.txt", "content": "x" } }] } }]);
    let lines = (0..20_000).map(|n| format!("line {n}\n\n")).collect::<Vec<_>>().concat();
    let model = world.script("s.json", &json!({ "rules": rules, "default": { "text": lines } }));
    let mut pty = Pty::chat(&world, 80, &["--model", &model]);
    pty.shows("› ");
    let terminal = pty.terminal();
    let held = terminal.lock().unwrap();
    pty.types("Write much\r");
    World::until("the run has ended", || world.runs().first().is_some_and(|run| run["status"] == "done"));
    drop(held);
    pty.until("the last line", |screen| screen.contains("line 19999"));
}
