//! Reads tool calls and reasoning out of plain model text, for models that do not call tools natively.
//!
//! The reader goes through the text once. JSON objects, tags such as `<tool_call>` and lines such as `Action:` are
//! checked as they occur. Those that name a known tool become calls; everything else stays as it was written.

mod forms;
mod lines;
mod reasoning;
mod tags;

use serde_json::Value;

use crate::repair::{FoundValue, JsonFault, Repair, ValueFinder};

pub use reasoning::split_reasoning;

/// A call to a tool that was written as text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextCall {
    /// The tool's name; the caller said that it is known.
    pub name: String,
    /// The arguments: an object, unless the model wrote something else.
    pub args: Value,
    /// What had to be repaired to read the call. Offsets count from the beginning of the call's JSON.
    pub repairs: Vec<Repair>,
}

/// A model's text, split into its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedText {
    /// The model's reasoning.
    pub reasoning: String,
    /// The answer, without reasoning and calls.
    pub text: String,
    /// The calls, in the order they were written.
    pub calls: Vec<TextCall>,
}

/// Says whether a name is that of a tool.
type ToolNameCheck<'k> = &'k dyn Fn(&str) -> bool;

/// A part of the text that contains calls.
struct CallSection {
    calls: Vec<TextCall>,
    /// Where the text after it begins.
    end: usize,
}

/// Broken JSON may swallow the rest of a text, including calls. The reader goes back into it this many times; the limit
/// keeps reading linear.
const MOST_RETURNS: usize = 16;

/// Splits a model's text into reasoning, calls and answer.
///
/// `known` says whether a name is that of a tool: JSON that looks like a call but names no tool stays text. So does
/// `call_self`, which is not a tool. Text that a model writes after an `Observation:` it made up is dropped.
pub fn read(text: &str, known: &dyn Fn(&str) -> bool) -> ParsedText {
    let (reasoning, rest) = split_reasoning(text);
    let mut reader = TextCallReader::new(&rest, known);
    reader.run();
    let text = if reader.calls.is_empty() { reader.out } else { tags::without_wrappers(reader.out) };
    ParsedText { reasoning, text: text.trim().to_owned(), calls: reader.calls }
}

/// The calls of a text that contains only calls, apart from reasoning and a code fence. Empty for every other text.
///
/// Any name counts, so that a call to an unknown tool can be refused with a message. An object that has one of the keys
/// in `results` is a result, not a call.
pub fn calls_alone(text: &str, results: &[String]) -> Vec<TextCall> {
    let is_result =
        || crate::whole_object(text).is_some_and(|object| results.iter().any(|name| object.contains_key(name)));
    let parsed = read(text, &is_name);
    if parsed.calls.is_empty() || !without_thoughts(&parsed.text).is_empty() || is_result() {
        return Vec::new();
    }
    parsed.calls
}

/// Whether a word can be a tool's name.
fn is_name(word: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    (1..=128).contains(&word.len()) && word.chars().all(fits)
}

/// The text without the lines in which models describe their thoughts before they act.
fn without_thoughts(text: &str) -> &str {
    let mut rest = text.trim();
    while rest.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("thought:")) {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest.trim_start());
    }
    rest
}

struct TextCallReader<'t, 'k> {
    text: &'t str,
    known: ToolNameCheck<'k>,
    finder: ValueFinder<'t>,
    tags: tags::Tags<'t>,
    pos: usize,
    /// The text that is left so far, up to `copied`.
    out: String,
    copied: usize,
    calls: Vec<TextCall>,
    /// Whether the opening of a fence around the last call was dropped and its end is still to come.
    in_call_fence: bool,
    /// Whether a call was written as `Action:`, so that a following `Observation:` is made up by the model.
    has_acted: bool,
    returns: usize,
}

impl<'t, 'k> TextCallReader<'t, 'k> {
    fn new(text: &'t str, known: ToolNameCheck<'k>) -> Self {
        Self {
            text,
            known,
            finder: ValueFinder::new(text),
            tags: tags::Tags::new(text),
            pos: 0,
            out: String::new(),
            copied: 0,
            calls: Vec::new(),
            in_call_fence: false,
            has_acted: false,
            returns: 0,
        }
    }

    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.pos) {
            let at_line_start = self.pos.checked_sub(1).is_none_or(|before| bytes.get(before) == Some(&b'\n'));
            if at_line_start && self.has_acted && lines::is_observation(self.rest()) {
                self.copy_to(self.pos);
                return;
            }
            match byte {
                b'{' | b'[' => self.json(),
                b'<' => self.tag(),
                b'`' if self.in_call_fence && self.rest().starts_with("```") => self.drop_fence(),
                _ if at_line_start && lines::may_begin(byte) => self.line(),
                _ => self.pos += 1,
            }
        }
        self.copy_to(self.text.len());
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.pos..).unwrap_or("")
    }

    fn copy_to(&mut self, end: usize) {
        self.out.push_str(self.text.get(self.copied..end).unwrap_or(""));
        self.copied = end;
    }

    fn json(&mut self) {
        let Some(found) = self.finder.at(self.pos) else {
            self.pos += 1;
            return;
        };
        if let Some(at) = self.hidden_tag(&found)
            && self.returns < MOST_RETURNS
        {
            self.returns += 1;
            self.pos = at;
            return;
        }
        match forms::calls(&found, self.known) {
            Some(calls) => self.take(CallSection { calls, end: found.end }),
            None => self.pos = found.end.max(self.pos + 1),
        }
    }

    /// A tag that broken JSON has swallowed, as opposed to one inside a string.
    fn hidden_tag(&self, found: &FoundValue) -> Option<usize> {
        let is_torn = found.repairs.iter().any(|r| matches!(r.what, JsonFault::StrayText | JsonFault::TruncatedString));
        let inner = self.text.get(found.start..found.end).filter(|_| is_torn)?;
        tags::first(inner).map(|at| found.start + at)
    }

    fn tag(&mut self) {
        match self.tags.section(self.pos, self.known) {
            Some(section) if !section.calls.is_empty() => self.take(section),
            Some(section) => self.pos = section.end.max(self.pos + 1),
            None => self.pos += 1,
        }
    }

    fn line(&mut self) {
        match lines::section(self.text, self.pos, self.known) {
            Some(section) => {
                self.has_acted = true;
                self.take(section);
            }
            None => self.pos += 1,
        }
    }

    /// Removes calls from the text, and the opening of a fence that contained nothing before them.
    fn take(&mut self, section: CallSection) {
        self.copy_to(self.pos);
        if let Some(before) = without_fence_opening(&self.out) {
            self.out.truncate(before);
            self.in_call_fence = true;
        }
        self.calls.extend(section.calls);
        self.pos = section.end.max(self.pos + 1).min(self.text.len());
        self.copied = self.pos;
    }

    fn drop_fence(&mut self) {
        self.copy_to(self.pos);
        self.in_call_fence = false;
        self.pos += 3;
        self.copied = self.pos;
    }
}

/// The length of the text without the opening of a fence at its end, if there is one.
fn without_fence_opening(out: &str) -> Option<usize> {
    // A fence and a word are short; looking no further back keeps many calls on one line cheap.
    let start = out.floor_char_boundary(out.len().saturating_sub(64));
    let last = out.get(start..)?.trim_end();
    let fence = last.rfind("```")?;
    let word = last.get(fence + 3..)?;
    let is_opening = word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    is_opening.then_some(start + fence)
}
