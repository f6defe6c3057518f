//! The transcript at several widths.

use super::*;

fn at() -> EffectAddress {
    "coder/0/0/ask.0".parse().unwrap()
}

fn call(words: &str, end: CallEnd, diff: Option<&str>) -> FinishedCall {
    FinishedCall {
        step: None,
        words: words.into(),
        end,
        details: "out\n\u{1b}[2J".into(),
        diff: diff.map(str::to_owned),
    }
}

#[test]
fn an_answer_is_shown_once_however_it_arrives() {
    let text = "One.\n\nTwo **bold** words.\n\n- a\n- b\n";
    let expected = ["One.", "", "Two bold words.", "", "• a", "• b", ""];
    for size in [1, 7, 100] {
        let mut transcript = Transcript::new(Paint::off(), 80);
        for part in text.chars().collect::<Vec<_>>().chunks(size) {
            transcript.delta(&at(), &part.iter().collect::<String>());
        }
        transcript.spoken(&at(), text);
        transcript.answer(text);
        let lines: Vec<String> = transcript.take().iter().map(|line| line.replace("**", "")).collect();
        assert_eq!(lines, expected, "in parts of {size}");
    }
    // Without any part, or with lost ones.
    let mut transcript = Transcript::new(Paint::off(), 80);
    transcript.delta(&at(), "One.\n\nT");
    transcript.spoken(&at(), "One.\n\nTwo.");
    transcript.answer("Something else.");
    assert_eq!(transcript.take(), ["One.", "", "Two.", "", "Something else.", ""]);
}

#[test]
fn the_open_block_is_kept_back_and_data_is_not_shown() {
    let mut transcript = Transcript::new(Paint::off(), 40);
    transcript.delta(&at(), "Done.\n\nNow a paragraph that is longer than one row of the screen and still open");
    assert_eq!(transcript.take(), ["Done."]);
    assert_eq!(transcript.open_lines(9).len(), 3);
    assert_eq!(transcript.open_lines(1)[1..], ["row of the screen and still open"]);
    transcript.end_stream();
    transcript.delta(&"coder/0/1/ask.0".parse().unwrap(), "{\"plan\": [");
    assert!(transcript.open_lines(9).is_empty());
}

#[test]
fn calls_are_folded_to_a_line_with_what_they_changed() {
    let diff = (0..40).map(|n| format!("+line {n}\n")).collect::<Vec<_>>().concat();
    for columns in [40, 80, 200] {
        let mut transcript = Transcript::new(Paint::off(), columns);
        transcript.user("Fix it", "› ");
        transcript.call(call("read 日本語/とても長い名前のファイル/src/main.rs", CallEnd::Good, None));
        transcript.call(call(&"$ cargo test ".repeat(9), CallEnd::Bad("exit code 101".into()), None));
        transcript.call(call("edit a.rs", CallEnd::Good, Some(&format!("@@ -1 +1,40 @@\n{diff}"))));
        let lines = transcript.take();
        assert!(lines.iter().all(|line| view::width(line) <= columns), "{lines:#?}");
        assert_eq!(lines[..2], ["› Fix it", ""]);
        assert!(lines[2].starts_with("  ✓ read 日本語") && lines[3].ends_with("  exit code 101"), "{lines:#?}");
        assert!(lines.last().unwrap().contains("more lines"), "{lines:#?}");
        transcript.show_newest();
        let lines = transcript.take();
        assert!(lines.contains(&"  +line 39".to_owned()) && lines.contains(&"  \\u{1b}[2J".to_owned()), "{lines:#?}");
    }
}

#[test]
fn printed_text_may_come_in_pieces() {
    let mut transcript = Transcript::new(Paint::off(), 80);
    transcript.print("a lin");
    assert!(transcript.take().is_empty());
    transcript.print("e\nanother\n");
    assert_eq!(transcript.take(), ["a line", "another"]);
}

#[test]
fn calls_of_several_steps_stand_among_what_is_logged_and_printed_lines_break_at_words() {
    let mut transcript = Transcript::new(Paint::off(), 40);
    transcript.user("Fix it", "› ");
    transcript.log("→ fix (coder): Fix it");
    transcript.call(FinishedCall { step: Some("fix".into()), ..call("read a", CallEnd::Good, None) });
    transcript.log("✓ fix (coder) 2 turns");
    transcript.print("  hint: `updraft resume x` continues where it stopped\n");
    let lines = transcript.take();
    let expected = [
        "› Fix it",
        "",
        "  → fix (coder): Fix it",
        "  ✓ fix: read a",
        "  ✓ fix (coder) 2 turns",
        "  hint: `updraft resume x` continues",
        "    where it stopped",
    ];
    assert_eq!(lines, expected);
}
