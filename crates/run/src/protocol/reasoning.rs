//! Tells what a model thought aloud from what it answered.

use serde::de::IgnoredAny;

/// The marks of reasoning: how they open, and how they close.
const TAGS: [(&str, &str); 3] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")];

const BRACKET: &str = "[Thinking:";

/// Takes the reasoning out of a text: `(reasoning, rest)`.
///
/// Reads `<think>…</think>`, `<thinking>…`, `<reasoning>…` and `[Thinking: …]`. Without an end, the rest of the text is
/// reasoning, up to a `<tool_call>`; without a beginning, everything before the end is. Valid JSON is left alone.
pub fn split_reasoning(text: &str) -> (String, String) {
    if !text.contains('<') && !text.contains(BRACKET) || serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return (String::new(), text.to_owned());
    }
    let mut thoughts: Vec<&str> = Vec::new();
    let mut rest = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|t| t.find(['<', '['])).map(|i| at + i) {
        let Some(mark) = mark_at(text, next, thoughts.is_empty()) else {
            at = next + 1;
            continue;
        };
        // An end without a beginning: all before it was thought.
        let begin = if mark.is_end_only { copied } else { next };
        rest.push_str(text.get(copied..begin).unwrap_or(""));
        let thought = if mark.is_end_only { text.get(begin..next) } else { text.get(mark.inner.0..mark.inner.1) };
        thoughts.extend(thought.map(str::trim).filter(|thought| !thought.is_empty()));
        at = mark.end;
        copied = at;
    }
    rest.push_str(text.get(copied..).unwrap_or(""));
    let rest = if thoughts.is_empty() && copied == 0 { rest } else { rest.trim().to_owned() };
    (thoughts.join("\n\n"), rest)
}

struct Mark {
    inner: (usize, usize),
    end: usize,
    is_end_only: bool,
}

fn mark_at(text: &str, at: usize, is_first: bool) -> Option<Mark> {
    // Someone who writes `<think>` in backticks writes about the tag.
    if at > 0 && text.as_bytes().get(at - 1) == Some(&b'`') {
        return None;
    }
    if starts_with(text, at, BRACKET) {
        let inner = at + BRACKET.len();
        let (inner_end, end) = end_of_bracket(text, inner);
        return Some(Mark { inner: (inner, inner_end), end, is_end_only: false });
    }
    for (open, close) in TAGS {
        if starts_with(text, at, open) {
            let inner = at + open.len();
            let Some(stop) = find(text, inner, close) else {
                let end = find(text, inner, "<tool_call>").unwrap_or(text.len());
                return Some(Mark { inner: (inner, end), end, is_end_only: false });
            };
            return Some(Mark { inner: (inner, stop), end: stop + close.len(), is_end_only: false });
        }
        if starts_with(text, at, close) {
            let end = at + close.len();
            // A second end closes nothing; it is dropped, and what stands before it stays.
            return Some(Mark { inner: (end, end), end, is_end_only: is_first });
        }
    }
    None
}

fn end_of_bracket(text: &str, from: usize) -> (usize, usize) {
    let mut depth = 0_usize;
    for (i, byte) in text.bytes().enumerate().skip(from) {
        match byte {
            b'[' => depth += 1,
            b']' if depth == 0 => return (i, i + 1),
            b']' => depth -= 1,
            _ => {}
        }
    }
    (text.len(), text.len())
}

fn starts_with(text: &str, at: usize, what: &str) -> bool {
    text.get(at..at + what.len()).is_some_and(|start| start.eq_ignore_ascii_case(what))
}

fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    let mut at = from;
    loop {
        at += text.get(at..)?.find('<')?;
        if starts_with(text, at, what) {
            return Some(at);
        }
        at += 1;
    }
}
