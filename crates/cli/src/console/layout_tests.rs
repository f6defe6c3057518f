//! The rows below the scrollback at several widths.

use super::*;
use crate::console::completion::Completions;
use crate::console::composer::Composer;
use crate::console::history::MessageHistory;
use crate::console::news::{ConsoleNews, LinePrompt};
use crate::out::Paint;

fn state(columns: usize) -> ConsoleState {
    let commands = vec![("help".to_owned(), "show this".to_owned()), ("history".to_owned(), "show more".to_owned())];
    let completions = Completions::new(std::path::Path::new("/nowhere"), commands);
    let mut state =
        ConsoleState::new(Paint::off(), columns, "~/code/日本語".into(), MessageHistory::default(), completions);
    state.take(ConsoleNews::Began { model: "openai/gpt-5.4-mini".into(), talks: true });
    state.take(ConsoleNews::Cost("$0.02".into()));
    state
}

fn rows(state: &ConsoleState, strip: &[&str], columns: usize) -> (String, (usize, usize)) {
    let strip: Vec<String> = strip.iter().map(|line| view::cut(line, columns)).collect();
    let elapsed = Duration::from_millis(3_210);
    let layout = state.layout(&strip, FrameContext { columns, rows: 16, elapsed });
    assert!(layout.rows.iter().all(|row| view::width(row) <= columns), "{:#?}", layout.rows);
    let (rows, cursor) = (layout.rows, layout.cursor);
    (rows.iter().map(|row| row.trim_end()).collect::<Vec<_>>().join("\n"), cursor)
}

#[test]
fn an_idle_console_has_a_prompt_and_a_line_of_help() {
    let (shown, cursor) = rows(&state(80), &[], 80);
    assert_eq!((shown.as_str(), cursor), ("\n›\n  openai/gpt-5.4-mini · ~/code/日本語 · $0.02 · /help", (1, 2)));
    assert_eq!(rows(&state(40), &[], 40).0, "\n›\n  openai/gpt-5.4-mini · $0.02 · /help");
}

#[test]
fn work_under_way_is_above_the_composer() {
    for columns in [40, 80, 200] {
        let mut state = state(columns);
        state.take(ConsoleNews::Working(true));
        state.take(ConsoleNews::Delta("a/0/0/ask.0".parse().unwrap(), "これは長い答えです。".repeat(9)));
        state.composer = Composer::of("leave the tests as they are");
        let (shown, _) = rows(&state, &["  $ cargo test --workspace --all-features -- --nocapture"], columns);
        assert!(
            shown.contains("これは") && shown.contains("$ cargo test") && shown.contains("● working · 3 s"),
            "{shown}"
        );
        assert!(shown.contains("› leave the tests as they are\n  agents read what you send"), "{shown}");
    }
}

#[test]
fn a_question_waits_for_the_end_of_a_message_and_then_takes_the_place_of_the_composer() {
    let mut state = state(70);
    state.composer = Composer::of("half a thought");
    let (reply, answer) = std::sync::mpsc::channel();
    let text = "allow it? [y/n, a: always run_command(cargo) in this run, or n and a reason] ".to_owned();
    state.take(ConsoleNews::Asked(LinePrompt { text, reply }));
    insta::assert_snapshot!(rows(&state, &[], 70).0, @r"

    › half a thought
      a question waits: send what you write, or delete it with Ctrl-U
    ");
    state.composer = Composer::default();
    state.set_typing(false);
    insta::assert_snapshot!(rows(&state, &[], 60).0, @r"

    allow it? [y/n, a: always run_command(cargo) in this run,
    or n and a reason]
    ?
      Enter answers · Esc leaves it open
    ");
    state.event(crossterm::event::Event::Paste("y".into()));
    state.event(crossterm::event::Event::Key(crossterm::event::KeyCode::Enter.into()));
    assert_eq!(answer.recv().unwrap().as_deref(), Some("y"));
    assert!(state.composer.is_empty());
}

#[test]
fn completions_are_listed_below() {
    let mut state = state(40);
    state.composer = Composer::of("/h");
    state.completion = state.completions.find(&state.composer, false);
    insta::assert_snapshot!(rows(&state, &[], 40).0, @r"

    › /h
      /help     show this
      /history  show more
    ");
}
