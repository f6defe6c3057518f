//! The sign of a state, so that nothing is told by colour alone.

use crate::markup;

/// The class for a state's colours: `state-running` for "running", `state-not-done` for "not_done".
pub fn state_class(state: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("state-{}", state.chars().take(24).map(word).collect::<String>())
}

/// The sign of a state as an SVG of 16 by 16, hidden from screen readers: the word must stand beside it.
pub fn icon(state: &str) -> String {
    let mut out = String::from("<svg");
    markup::attribute(&mut out, "class", &format!("icon {}", state_class(state)));
    out.push_str(
        " viewBox=\"0 0 16 16\" width=\"16\" height=\"16\" aria-hidden=\"true\" focusable=\"false\"><path d=\"",
    );
    out.push_str(sign(state));
    out.push_str("\"/></svg>");
    out
}

/// The sign as a path on a grid of 16 by 16, made of strokes.
pub(crate) fn sign(state: &str) -> &'static str {
    match state {
        "done" | "completed" => "M3 8.5 6.5 12 13 4.5",
        "running" => "M5.5 3.5v9l7-4.5z",
        "waiting" | "asking" | "needs you" => "M5.6 6a2.4 2.4 0 1 1 3.6 2.1c-.8.5-1.2.9-1.2 1.9M8 12.6v.2",
        "failed" | "not_done" | "not done" => "M4 4l8 8M12 4l-8 8",
        "skipped" => "M3 8h10M9.5 4.5 13 8l-3.5 3.5",
        "cancelled" | "cancelling" => "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M4.2 11.8l7.6-7.6",
        "dropped" => "M3.5 8h9",
        "paused" => "M5.5 4v8M10.5 4v8",
        "halted" | "exhausted" | "unproved" | "done, unproved" | "damaged" => "M8 2.5 14 13H2zM8 6.5v3M8 11.2v.2",
        "ready" | "new" => "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11",
        _ => "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M8 5v3.2l2 1.6",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_one_word_whatever_the_state() {
        assert_eq!(state_class("not_done"), "state-not-done");
        assert_eq!(state_class("\"><x y"), "state----x-y");
    }

    #[test]
    fn states_that_look_alike_in_grey_have_different_signs() {
        let signs =
            ["done", "running", "asking", "failed", "skipped", "cancelled", "paused", "ready", "pending"].map(sign);
        assert!((0..signs.len()).all(|one| signs[one + 1..].iter().all(|other| *other != signs[one])));
    }
}
