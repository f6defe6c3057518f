//! The inline screen against a real terminal emulator.

use super::*;

/// A terminal that has shown a prompt before.
struct Emulator {
    terminal: vt100::Parser,
    screen: InlineScreen,
    bytes: usize,
}

impl Emulator {
    fn new(columns: u16, rows: u16) -> Self {
        let mut terminal = vt100::Parser::new(rows, columns, 1000);
        terminal.process(b"$ updraft\r\n");
        Self { terminal, screen: InlineScreen::new(columns.into(), rows.into()), bytes: 0 }
    }

    fn frame(&mut self, above: &[&str], below: &[&str], cursor: (usize, usize)) {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let text = self.screen.frame(&owned(above), &owned(below), cursor);
        self.bytes = text.len();
        // A raw terminal gets its bytes unchanged.
        self.terminal.process(text.as_bytes());
    }

    /// Everything ever shown, with what has scrolled away.
    fn all(&mut self) -> Vec<String> {
        let (rows, columns) = self.terminal.screen().size();
        self.terminal.screen_mut().set_scrollback(usize::MAX);
        let mut lines = Vec::new();
        loop {
            let back = self.terminal.screen().scrollback();
            let shown: Vec<String> = self.terminal.screen().rows(0, columns).collect();
            lines.extend(shown.into_iter().take(if back == 0 { usize::from(rows) } else { back.min(rows.into()) }));
            if back == 0 {
                break;
            }
            self.terminal.screen_mut().set_scrollback(back.saturating_sub(rows.into()));
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}

#[test]
fn finished_lines_stay_above_and_the_rest_is_redrawn_in_place() {
    let mut emulator = Emulator::new(20, 6);
    emulator.frame(&[], &["", "> ", "help"], (1, 2));
    emulator.frame(&["one"], &["open", "", "> a", "help"], (2, 3));
    emulator.frame(&["open text"], &["", "> ab", "help"], (1, 4));
    assert_eq!(emulator.all(), ["$ updraft", "one", "open text", "", "> ab", "help"]);
    assert_eq!(emulator.terminal.screen().cursor_position(), (4, 4));
    // Many at once, more than the screen has rows, in their order.
    let many: Vec<String> = (0..25).map(|n| format!("line {n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    emulator.frame(&many, &["", "> ", "help"], (1, 2));
    let all = emulator.all();
    assert_eq!(all[3], "line 0");
    assert_eq!(all[26..], ["line 23", "line 24", "", ">", "help"]);
    emulator.frame(&[], &["> "], (0, 2));
    assert_eq!(emulator.all()[27..], ["line 24", ">"]);
}

#[test]
fn one_more_character_costs_a_few_bytes() {
    let mut emulator = Emulator::new(80, 24);
    emulator.frame(&[], &["The answer", "", "> ", "openai/gpt · /help"], (2, 2));
    emulator.frame(&[], &["The answer i", "", "> ", "openai/gpt · /help"], (2, 2));
    assert!(emulator.bytes <= 2 + 20, "{}", emulator.bytes);
    emulator.frame(&[], &["The answer i", "", "> ", "openai/gpt · /help"], (2, 2));
    assert_eq!(emulator.bytes, 0);
    // A row more moves the others without drawing them again.
    emulator.frame(&[], &["The answer i", "s", "", "> ", "openai/gpt · /help"], (3, 2));
    assert!(emulator.bytes <= 32, "{}", emulator.bytes);
    assert_eq!(emulator.all()[1..], ["The answer i", "s", "", ">", "openai/gpt · /help"]);
}

#[test]
fn wide_characters_and_long_lines_take_the_rows_they_take() {
    let mut emulator = Emulator::new(10, 8);
    emulator.frame(&["日本語の文章です"], &["> 日本語の文章です"], (0, 2));
    emulator.frame(&[&"x".repeat(25)], &["> 日本x語"], (0, 2));
    let expected = ["$ updraft", "日本語の文", "章です", "xxxxxxxxxx", "xxxxxxxxxx", "xxxxx", "> 日本x語"];
    assert_eq!(emulator.all(), expected);
    // The terminal has broken the line itself.
    assert!(emulator.terminal.screen().row_wrapped(3));
    emulator.frame(&[], &["> 日x本語"], (0, 2));
    assert_eq!(emulator.all()[6], "> 日x本語");
}

#[test]
fn another_size_and_an_end_leave_what_was_finished() {
    let mut emulator = Emulator::new(30, 8);
    emulator.frame(&["finished"], &["open", "> text that was typed", "help"], (1, 21));
    let text = emulator.screen.resize(40, 8);
    emulator.terminal.screen_mut().set_size(8, 40);
    emulator.terminal.process(text.as_bytes());
    emulator.frame(&[], &["open", "> text that was typed", "help"], (1, 21));
    assert_eq!(emulator.all(), ["$ updraft", "finished", "open", "> text that was typed", "help"]);
    let text = emulator.screen.clear();
    emulator.terminal.process(text.as_bytes());
    assert_eq!(emulator.all(), ["$ updraft", "finished"]);
}
