//! Keys, and what they ask for.

use super::*;

fn state() -> ConsoleState {
    let completions = Completions::new(std::path::Path::new("/nowhere"), vec![("help".into(), String::new())]);
    ConsoleState::new(Paint::off(), 80, String::new(), MessageHistory::default(), completions)
}

fn press(state: &mut ConsoleState, code: KeyCode, modifiers: KeyModifiers) -> KeyEffect {
    state.event(Event::Key(KeyEvent::new(code, modifiers)))
}

fn types(state: &mut ConsoleState, text: &str) -> KeyEffect {
    let mut last = KeyEffect::None;
    for c in text.chars() {
        let code = if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
        last = press(state, code, KeyModifiers::NONE);
    }
    last
}

fn control(state: &mut ConsoleState, letter: char) -> KeyEffect {
    press(state, KeyCode::Char(letter), KeyModifiers::CONTROL)
}

fn said(text: &str) -> KeyEffect {
    KeyEffect::Request(ConsoleRequest::Say(text.into()))
}

#[test]
fn enter_sends_and_a_new_line_is_written_with_alt_or_a_backslash() {
    let mut state = state();
    types(&mut state, "one\\\n");
    press(&mut state, KeyCode::Enter, KeyModifiers::ALT);
    assert_eq!(types(&mut state, "two\n"), said("one\n\ntwo"));
    assert_eq!(types(&mut state, "\n"), KeyEffect::None);
    assert_eq!(
        types(&mut state, "/model x y\n"),
        KeyEffect::Request(ConsoleRequest::Command("model".into(), "x y".into()))
    );
    assert_eq!(types(&mut state, "/etc/hosts is what?\n"), said("/etc/hosts is what?"));
    // A command is completed, and sent when it is complete.
    assert_eq!(types(&mut state, "/he\n"), KeyEffect::None);
    assert_eq!(types(&mut state, "\n"), KeyEffect::Request(ConsoleRequest::Command("help".into(), String::new())));
}

#[test]
fn escape_stops_the_work_and_control_c_twice_quits() {
    let mut state = state();
    assert_eq!(press(&mut state, KeyCode::Esc, KeyModifiers::NONE), KeyEffect::None);
    state.take(ConsoleNews::Working(true));
    assert_eq!(press(&mut state, KeyCode::Esc, KeyModifiers::NONE), KeyEffect::Request(ConsoleRequest::Interrupt));
    assert_eq!(control(&mut state, 'c'), KeyEffect::Request(ConsoleRequest::Interrupt));
    state.take(ConsoleNews::Working(false));
    types(&mut state, "text");
    // Another key in between: it is the first one again, and it empties the composer.
    assert_eq!(control(&mut state, 'c'), KeyEffect::None);
    assert!(state.composer.is_empty());
    assert_eq!(control(&mut state, 'c'), KeyEffect::Request(ConsoleRequest::Quit));
    assert_eq!(control(&mut state, 'd'), KeyEffect::Request(ConsoleRequest::Quit));
    assert_eq!(control(&mut state, 'z'), KeyEffect::Stop);
}

#[test]
fn earlier_messages_are_recalled_and_found() {
    let mut state = state();
    types(&mut state, "the first\n");
    types(&mut state, "the second\n");
    press(&mut state, KeyCode::Up, KeyModifiers::NONE);
    press(&mut state, KeyCode::Up, KeyModifiers::NONE);
    assert_eq!(state.composer.whole(), "the first");
    press(&mut state, KeyCode::Down, KeyModifiers::NONE);
    assert_eq!(state.composer.whole(), "the second");
    control(&mut state, 'u');
    control(&mut state, 'r');
    types(&mut state, "the");
    control(&mut state, 'r');
    assert_eq!(types(&mut state, "\n"), said("the first"));
}

#[test]
fn a_question_that_is_not_answered_stays_open_and_typed_text_does_not_answer_it() {
    let mut state = state();
    types(&mut state, "y");
    let (reply, answer) = std::sync::mpsc::channel();
    state.take(ConsoleNews::Asked(LinePrompt { text: "allow it?".into(), reply }));
    // However long the user thinks about the sentence, it does not become an answer.
    state.set_typing(false);
    assert!(state.prompt.is_none() && state.has_held_question());
    assert_eq!(types(&mut state, "es, go on\n"), said("yes, go on"));
    assert!(answer.try_recv().is_err());
    state.set_typing(false);
    assert!(state.prompt.is_some() && !state.has_held_question());
    assert_eq!(press(&mut state, KeyCode::Esc, KeyModifiers::NONE), KeyEffect::None);
    assert_eq!(answer.recv().unwrap(), None);
}

#[test]
fn a_question_appears_when_the_user_has_deleted_what_they_wrote_and_makes_a_pause() {
    let mut state = state();
    types(&mut state, "y");
    let (reply, answer) = std::sync::mpsc::channel();
    state.take(ConsoleNews::Asked(LinePrompt { text: "allow it?".into(), reply }));
    control(&mut state, 'u');
    // Another sentence may begin.
    state.set_typing(true);
    assert!(state.prompt.is_none());
    state.set_typing(false);
    assert!(state.prompt.is_some());
    types(&mut state, "n\n");
    assert_eq!(answer.recv().unwrap(), Some("n".to_owned()));
    assert!(state.composer.is_empty());
}

#[test]
fn a_command_answers_no_question_and_a_path_does() {
    let mut state = state();
    let (reply, answer) = std::sync::mpsc::channel();
    state.take(ConsoleNews::Asked(LinePrompt { text: "where?".into(), reply }));
    assert_eq!(types(&mut state, "/help\n"), KeyEffect::Request(ConsoleRequest::Command("help".into(), String::new())));
    assert!(answer.try_recv().is_err() && state.prompt.is_some());
    assert_eq!(types(&mut state, "/tmp\n"), KeyEffect::None);
    assert_eq!(answer.try_recv(), Ok(Some("/tmp".into())));
}

#[test]
fn where_only_questions_are_asked_control_c_is_for_the_program() {
    let mut state = state();
    state.mode = ConsoleMode::Ask;
    let (reply, answer) = std::sync::mpsc::channel();
    state.take(ConsoleNews::Asked(LinePrompt { text: "allow it?".into(), reply }));
    assert_eq!(control(&mut state, 'c'), KeyEffect::Signal);
    assert!(answer.try_recv().is_err());
    types(&mut state, "y");
    // What programs type ends with a line feed.
    control(&mut state, 'j');
    assert_eq!(answer.try_recv(), Ok(Some("y".into())));
}
