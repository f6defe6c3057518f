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

/// The sign as a path on a grid of 16 by 16, made of strokes. All of it is relative, so that it can begin anywhere.
pub(crate) fn sign(state: &str) -> &'static str {
    match state {
        "done" | "completed" => "m3 8.5 3.5 3.5 6.5-7.5",
        "running" => "m5.5 3.5v9l7-4.5z",
        "waiting" | "asking" | "needs you" => "m5.6 6a2.4 2.4 0 1 1 3.6 2.1c-.8.5-1.2.9-1.2 1.9m0 2.6v.2",
        "failed" | "not_done" | "not done" => "m4 4 8 8m0-8-8 8",
        "skipped" => "m3 8h10m-3.5-3.5 3.5 3.5-3.5 3.5",
        "cancelled" | "cancelling" => "m8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11m-3.8 9.3 7.6-7.6",
        "dropped" => "m3.5 8h9",
        "paused" => "m5.5 4v8m5-8v8",
        "halted" | "exhausted" | "unproved" | "done, unproved" | "damaged" => "m8 2.5 6 10.5h-12zm0 4v3m0 1.7v.2",
        "ready" | "new" => "m8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11",
        _ => "m8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11m0 2.5v3.2l2 1.6",
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
