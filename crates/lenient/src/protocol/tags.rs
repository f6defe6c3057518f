//! Calls written in tags: `<tool_call>`, `<function_call>`, `<function=…>`, `<invoke name="…">`.

use serde_json::{Map, Value};

use super::{CallSection, TextCall, ToolNameCheck, forms};
use crate::repair::{FoundValue, ValueFinder};

/// The opening and closing tags of calls.
const TAGS: [(&str, &str); 4] = [
    ("<tool_call>", "</tool_call>"),
    ("<function_call>", "</function_call>"),
    ("<function=", "</function>"),
    ("<invoke name=", "</invoke>"),
];

/// What may stand around calls: tags, and marks of the templates of Qwen, Mistral, Llama and Phi.
const WRAPPERS: [&str; 12] = [
    "<function_calls>",
    "</function_calls>",
    "<tool_calls>",
    "</tool_calls>",
    "</tool_call>",
    "</function_call>",
    "<tools>",
    "</tools>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<|tool_call|>",
    "<|/tool_call|>",
];

/// The tags of one text.
pub(super) struct Tags<'t> {
    text: &'t str,
    /// The last closing tag of each kind, so that no search runs for one that does not exist.
    last_close: [Option<usize>; TAGS.len()],
}

impl<'t> Tags<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, last_close: TAGS.map(|(_, close)| text.rfind(close)) }
    }

    /// The section that a tag at `at` opens, with its calls to known tools; there may be none.
    pub(super) fn section(&self, at: usize, known: ToolNameCheck<'_>) -> Option<CallSection> {
        let rest = self.text.get(at..)?;
        let kind = TAGS.iter().position(|(open, _)| rest.starts_with(open))?;
        let (open, close) = TAGS.get(kind)?;
        let begin = at + open.len();
        if is_json_tag(open)
            && let Some(section) = self.strict_section(begin, close, known)
        {
            return Some(section);
        }
        let (inner_end, end) = self.ends(begin, kind, open, close);
        let inner = self.text.get(begin..inner_end).unwrap_or("");
        let calls = if !is_json_tag(open) {
            function(inner, known).into_iter().collect()
        } else if let Some(nested) = inner.find("<function=").or(inner.find("<invoke name=")) {
            let nested = inner.get(nested..).unwrap_or("");
            Self::new(nested).all(known)
        } else {
            ValueFinder::new(inner).filter_map(|found| forms::calls(&found, known)).flatten().collect()
        };
        Some(CallSection { calls, end })
    }

    /// A section of valid JSON, which may contain the closing tag in a string.
    fn strict_section(&self, begin: usize, close: &str, known: ToolNameCheck<'_>) -> Option<CallSection> {
        let rest = self.text.get(begin..)?;
        let open = begin + (rest.len() - rest.trim_start().len());
        let found = strict(self.text, open)?;
        let behind = self.text.get(found.end..)?;
        let blank = behind.len() - behind.trim_start().len();
        behind.trim_start().strip_prefix(close)?;
        let calls = forms::calls(&found, known).unwrap_or_default();
        Some(CallSection { calls, end: found.end + blank + close.len() })
    }

    /// Where the content of a tag ends, and where the text after it begins.
    fn ends(&self, begin: usize, kind: usize, open: &str, close: &str) -> (usize, usize) {
        let rest = self.text.get(begin..).unwrap_or("");
        let has_close = self.last_close.get(kind).copied().flatten().is_some_and(|last| last >= begin);
        if has_close && let Some(length) = rest.find(close) {
            return (begin + length, begin + length + close.len());
        }
        let end = begin + rest.find(open).unwrap_or(rest.len());
        (end, end)
    }

    fn all(&self, known: ToolNameCheck<'_>) -> Vec<TextCall> {
        let mut calls = Vec::new();
        let mut at = 0;
        while let Some(next) = self.text.get(at..).and_then(first) {
            at += next;
            match self.section(at, known) {
                Some(section) => {
                    calls.extend(section.calls);
                    at = section.end.max(at + 1);
                }
                None => at += 1,
            }
        }
        calls
    }
}

/// The position of the first tag that may contain a call.
pub(super) fn first(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find('<')?;
        let rest = text.get(at..)?;
        if TAGS.iter().any(|(open, _)| rest.starts_with(open)) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// The value at `at`, if it is valid JSON without repairs.
pub(super) fn strict(text: &str, at: usize) -> Option<FoundValue> {
    let rest = text.get(at..)?;
    if !rest.starts_with(['{', '[']) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some(FoundValue { value, repairs: Vec::new(), start: at, end: at + values.byte_offset() })
}

/// The text without the tags that surround calls.
pub(super) fn without_wrappers(text: String) -> String {
    WRAPPERS.into_iter().fold(text, |text, tag| if text.contains(tag) { text.replace(tag, "") } else { text })
}

fn is_json_tag(open: &str) -> bool {
    open.ends_with('>')
}

/// Reads `name><parameter=key>value</parameter>` and `"name"><parameter name="key">value</parameter>`.
fn function(inner: &str, known: ToolNameCheck<'_>) -> Option<TextCall> {
    let (name, body) = inner.split_once('>')?;
    let name = bare_name(name);
    if !known(name) {
        return None;
    }
    let mut repairs = Vec::new();
    let args = if body.contains("<parameter") {
        Value::Object(parameters(body))
    } else {
        // Some models put one JSON object where the parameters belong.
        forms::arguments(&Value::String(body.trim().to_owned()), &mut repairs)
    };
    Some(TextCall { name: name.to_owned(), args, repairs })
}

fn parameters(body: &str) -> Map<String, Value> {
    const OPEN: &str = "<parameter";
    const CLOSE: &str = "</parameter>";
    let mut map = Map::new();
    let last_close = body.rfind(CLOSE);
    let mut at = 0;
    while let Some(open) = body.get(at..).and_then(|rest| rest.find(OPEN)).map(|i| at + i + OPEN.len()) {
        let Some((key, rest)) = body.get(open..).and_then(|rest| rest.split_once('>')) else { break };
        let begin = body.len() - rest.len();
        let is_closed = last_close.is_some_and(|last| last >= begin);
        let length = if is_closed { rest.find(CLOSE) } else { rest.find(OPEN) };
        let end = begin + length.unwrap_or(rest.len());
        let key = key.trim().trim_start_matches("name").trim_start();
        map.insert(bare_name(key.trim_start_matches('=')).to_owned(), parameter(body.get(begin..end).unwrap_or("")));
        at = end;
    }
    map
}

/// A value that is valid JSON is read as JSON, any other as text.
fn parameter(written: &str) -> Value {
    let text = written.strip_prefix('\n').unwrap_or(written);
    let text = text.strip_suffix('\n').unwrap_or(text);
    serde_json::from_str(text.trim()).unwrap_or_else(|_| Value::String(text.to_owned()))
}

fn bare_name(name: &str) -> &str {
    name.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '='))
}
