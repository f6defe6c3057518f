//! Separates a model's reasoning from its answer.
//!
//! Reasoning is recognised only at the beginning of the text, or if a closing tag on its own line ends it. So an answer
//! that mentions `<think>` is kept completely.

use serde::de::IgnoredAny;

/// The opening and closing marks of reasoning.
const TAGS: [(&str, &str); 3] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")];

const BRACKET: &str = "[Thinking:";

/// Takes the reasoning out of a text: `(reasoning, rest)`.
///
/// Reads `<think>…</think>`, `<thinking>…`, `<reasoning>…` and `[Thinking: …]` at the beginning, one after the other.
/// Without a closing mark, the rest of the text is reasoning, up to a `<tool_call>`. If the prompt already contained
/// the opening mark, the first `</think>` on its own line ends the reasoning, unless it is inside a fence. Valid JSON
/// is left unchanged.
pub fn split_reasoning(text: &str) -> (String, String) {
    if !text.contains('<') && !text.contains(BRACKET) || serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return (String::new(), text.to_owned());
    }
    let mut thoughts: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some((thought, after)) = leading(rest) {
        thoughts.push(thought);
        rest = after;
    }
    if rest.len() == text.len() {
        let Some((thought, after)) = ended(text) else { return (String::new(), text.to_owned()) };
        thoughts.push(thought);
        rest = after;
    }
    let thoughts: Vec<&str> = thoughts.into_iter().map(str::trim).filter(|thought| !thought.is_empty()).collect();
    (thoughts.join("\n\n"), rest.trim().to_owned())
}

/// The reasoning that a text begins with, and what follows.
fn leading(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if starts_with(text, BRACKET) {
        let inner = &text[BRACKET.len()..];
        let (end, next) = end_of_bracket(inner);
        return Some((&inner[..end], &inner[next..]));
    }
    let (open, close) = TAGS.into_iter().find(|(open, _)| starts_with(text, open))?;
    let inner = &text[open.len()..];
    match find(inner, close) {
        Some(end) => Some((&inner[..end], &inner[end + close.len()..])),
        None => Some(inner.split_at(find(inner, "<tool_call>").unwrap_or(inner.len()))),
    }
}

/// The text before the first closing mark that has no opening mark, and the text after it.
fn ended(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    let mut is_in_fence = false;
    for line in text.split_inclusive('\n') {
        let word = line.trim();
        is_in_fence ^= word.starts_with("```");
        if !is_in_fence && TAGS.iter().any(|(_, close)| word.eq_ignore_ascii_case(close)) {
            return Some((&text[..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

fn end_of_bracket(text: &str) -> (usize, usize) {
    let mut depth = 0_usize;
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' if depth == 0 => return (i, i + 1),
            b']' => depth -= 1,
            _ => {}
        }
    }
    (text.len(), text.len())
}

fn starts_with(text: &str, what: &str) -> bool {
    text.get(..what.len()).is_some_and(|start| start.eq_ignore_ascii_case(what))
}

fn find(text: &str, what: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text.get(at..)?.find('<')?;
        if starts_with(&text[at..], what) {
            return Some(at);
        }
        at += 1;
    }
}
