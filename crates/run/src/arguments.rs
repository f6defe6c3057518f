//! The arguments of a call, value by value: how a person sees them, and how "always" compares them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::effect::PreparedCall;
use crate::message::ToolCall;
use crate::origins::harmless_within;

/// How many lines are shown of one call.
const MOST_LINES: usize = 12;
/// How many characters are shown of one value.
const LONGEST: usize = 160;
/// A text with more words than this is written again for each call, so "always" does not require it to be the same.
const WORDS_OF_A_NAME: usize = 5;

/// The arguments that matter. If the tool only passes the call on, these are the arguments of the tool it passes it to.
pub(crate) fn effective_arguments<'a>(call: &'a ToolCall, prepared: &PreparedCall) -> &'a Value {
    let passed = call.args.get("arguments").filter(|args| prepared.passed_on_to.is_some() && args.is_object());
    passed.unwrap_or(&call.args)
}

/// Every value that contains no other value, with its path: `recipient`, `to[0]`, `file.name`. Sorted by path.
pub(crate) fn leaves(args: &Value) -> BTreeMap<String, &Value> {
    let mut found = BTreeMap::new();
    gather(String::new(), args, &mut found);
    found
}

fn gather<'a>(place: String, value: &'a Value, found: &mut BTreeMap<String, &'a Value>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let inner = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                gather(inner, value, found);
            }
        }
        Value::Array(list) => {
            for (n, value) in list.iter().enumerate() {
                gather(format!("{place}[{n}]"), value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => drop(found.insert(place, value)),
    }
}

/// The arguments of a call for the person who decides about it: one line each, short ones first, cut to size and
/// stripped of control characters.
pub fn argument_lines(args: &Value) -> Vec<String> {
    let leaves = leaves(args);
    let shown = leaves.iter().filter(|(_, value)| !matches!(value, Value::Null) && **value != "");
    let mut lines: Vec<(bool, String)> = shown
        .map(|(place, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), one_line);
            let long = text.chars().count() > LONGEST;
            (long, format!("{}: {}", harmless_within(place, LONGEST), cut(&text)))
        })
        .collect();
    lines.sort_by_key(|(long, _)| *long);
    let more = lines.len().saturating_sub(MOST_LINES);
    let mut lines: Vec<String> = lines.into_iter().take(MOST_LINES).map(|(_, line)| line).collect();
    if more > 0 {
        lines.push(format!("and {more} more arguments"));
    }
    lines
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    match text.chars().count() {
        all if all > LONGEST => format!("{} ({all} characters)", harmless_within(text, LONGEST)),
        _ => harmless_within(text, LONGEST),
    }
}

/// Matches calls like one that a person allowed: the same tool with the same values. Long texts may differ. If the call
/// acts on a page, all actions on pages of the same host are like it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallMatcher {
    /// The tool.
    pub tool: String,
    /// Paths, and the value that each must have.
    pub same: BTreeMap<String, Value>,
    /// Paths where any text is accepted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub free: BTreeSet<String>,
    /// The hosts of the page, if any action there is accepted. Then there are no other values to compare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

impl CallMatcher {
    /// Builds the matcher for calls like this one. Returns `None` if it would require no value at all. Texts may differ
    /// only for a server's tool: for other tools, a text can be a program.
    pub(crate) fn of(call: &ToolCall, prepared: &PreparedCall) -> Option<Self> {
        let tool = prepared.effective_name(&call.name).to_owned();
        let mut like = Self { tool, same: BTreeMap::new(), free: BTreeSet::new(), hosts: Vec::new() };
        if acts_on_page(prepared) {
            return Some(Self { hosts: prepared.hosts.clone(), ..like });
        }
        for (place, value) in leaves(effective_arguments(call, prepared)) {
            let words = value.as_str().map_or(0, |text| text.split_whitespace().count());
            if prepared.served && words > WORDS_OF_A_NAME {
                like.free.insert(place);
            } else {
                like.same.insert(place, value.clone());
            }
        }
        let names_something =
            like.same.values().any(|value| value.is_number() || value.as_str().is_some_and(|s| !s.is_empty()));
        names_something.then_some(like)
    }

    /// Whether a call matches.
    pub(crate) fn holds(&self, call: &ToolCall, prepared: &PreparedCall) -> bool {
        if !self.hosts.is_empty() {
            let is_there = prepared.hosts.iter().all(|host| self.hosts.contains(host));
            return prepared.effective_name(&call.name) == self.tool && acts_on_page(prepared) && is_there;
        }
        let leaves = leaves(effective_arguments(call, prepared));
        let fits = |(place, value): (&String, &&Value)| {
            self.same.get(place) == Some(*value) || (self.free.contains(place) && value.is_string())
        };
        prepared.effective_name(&call.name) == self.tool
            && self.same.keys().all(|place| leaves.contains_key(place))
            && leaves.iter().all(fits)
    }
}

/// Whether a call only sends its arguments to pages of the hosts that it names: no file, and no program.
fn acts_on_page(prepared: &PreparedCall) -> bool {
    let names_hosts = prepared.elsewhere && !prepared.served && !prepared.hosts.is_empty();
    names_hosts && !prepared.destroys && prepared.reads.is_empty() && prepared.writes.is_empty()
}

impl fmt::Display for CallMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.hosts.is_empty() {
            let hosts: Vec<String> = self.hosts.iter().map(|host| harmless_within(host, LONGEST)).collect();
            return write!(f, "{}(anything on {})", self.tool, hosts.join(", "));
        }
        let same = self.same.iter().map(|(place, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), one_line);
            format!("{}: {}", harmless_within(place, LONGEST), cut(&text))
        });
        let free = self.free.iter().map(|place| format!("{}: any text", harmless_within(place, LONGEST)));
        write!(f, "{}({})", self.tool, same.chain(free).collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(args: Value) -> ToolCall {
        ToolCall { id: String::new(), name: "send".into(), args, fault: None }
    }

    #[test]
    fn arguments_are_shown_one_line_each_short_ones_first_cut_and_harmless() {
        let body = format!("first line\nsecond \u{1b}[2J {}", "x".repeat(400));
        let lines = argument_lines(&json!({"body": body, "to": ["a@x", "b@x"], "amount": 12.5, "cc": null, "z": ""}));
        assert_eq!(lines[..3], ["amount: 12.5", "to[0]: a@x", "to[1]: b@x"]);
        assert!(
            lines[3].starts_with("body: first line second \u{fffd}[2J xxx") && lines[3].ends_with("(423 characters)")
        );
        assert_eq!(lines.len(), 4);
        let many: Vec<usize> = (0..40).collect();
        assert_eq!(argument_lines(&json!({ "n": many })).last().unwrap(), "and 28 more arguments");
    }

    #[test]
    fn a_call_is_like_another_with_the_same_values_whatever_long_text_it_holds() {
        let served = PreparedCall { served: true, ..PreparedCall::default() };
        let text = |text: &str| call(json!({"to": "bob", "body": text}));
        let like = CallMatcher::of(&text("one two three four five six"), &served).unwrap();
        assert_eq!(like.to_string(), "send(to: bob, body: any text)");
        assert!(like.holds(&text("any other"), &served));
        for other in
            [json!({"to": "eve", "body": "x"}), json!({"to": "bob", "body": "x", "cc": "eve"}), json!({"body": "x"})]
        {
            assert!(!like.holds(&call(other.clone()), &served), "{other}");
        }
        let program = CallMatcher::of(&text("one two three four five six"), &PreparedCall::default()).unwrap();
        assert!(!program.holds(&text("rm -r / and then some more"), &PreparedCall::default()));
        assert_eq!(CallMatcher::of(&call(json!({"all": true})), &served), None);
    }

    #[test]
    fn an_action_on_a_page_is_like_every_other_on_that_host_and_nothing_more() {
        let on = |host: &str| PreparedCall {
            class: crate::EffectClass::Opaque,
            elsewhere: true,
            hosts: vec![host.to_owned()],
            ..PreparedCall::default()
        };
        let like = CallMatcher::of(&call(json!({"ref": "e1"})), &on("shop.example")).unwrap();
        assert_eq!(like.to_string(), "send(anything on shop.example)");
        let other = call(json!({"ref": "e2", "text": "x"}));
        assert!(like.holds(&other, &on("shop.example")));
        let file = PreparedCall { reads: vec!["a".into()], ..on("shop.example") };
        let script = PreparedCall { destroys: true, ..on("shop.example") };
        let none = PreparedCall { hosts: Vec::new(), ..on("shop.example") };
        for other_call in [on("evil.example"), file.clone(), script, none] {
            assert!(!like.holds(&other, &other_call), "{other_call:?}");
        }
        assert!(CallMatcher::of(&other, &file).unwrap().hosts.is_empty());
    }
}
