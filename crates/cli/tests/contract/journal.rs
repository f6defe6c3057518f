//! What a run's journal says, as far as the contract speaks of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Calls whose outcome is in doubt, as `step.n`.
pub(crate) fn doubts(events: &[Value]) -> BTreeSet<String> {
    let replied = events.iter().filter_map(|line| line["event"].get("replied"));
    let doubted = replied.filter(|replied| replied["reply"].to_string().contains("\"in_doubt\""));
    doubted.filter_map(|replied| call(replied["id"].as_str()?)).collect()
}

/// Calls that were refused, as `step.n`.
pub(crate) fn refused(events: &[Value]) -> BTreeSet<String> {
    events.iter().filter_map(|line| call(line["event"].get("rejected")?["id"].as_str()?)).collect()
}

/// `step/visit/turn/call.n` as `step.n`.
fn call(address: &str) -> Option<String> {
    let number = address.rsplit("call.").next()?;
    Some(format!("{}.{number}", step(address)))
}

/// The name that the model knows the step of an address by; an agent on its own is the step that acts.
fn step(address: &str) -> &str {
    match address.split('/').next().unwrap_or_default() {
        "doer" => "act",
        "route" | "router" => "plan",
        name => name,
    }
}

/// Where the model has been asked and its answer is recorded, as `step/turn`.
pub(crate) fn answered(events: &[Value]) -> Vec<String> {
    let place = |address: &String| Some(format!("{}/{}", step(address), address.split('/').nth(2)?));
    replies(events, "ask.").keys().filter_map(place).collect()
}

/// Effects of this form that have a reply, by address, and how many they have.
pub(crate) fn replies(events: &[Value], form: &str) -> BTreeMap<String, usize> {
    let mut replies = BTreeMap::new();
    for replied in events.iter().filter_map(|line| line["event"].get("replied")) {
        let id = replied["id"].as_str().unwrap_or_default();
        if id.rsplit('/').next().is_some_and(|last| last.starts_with(form)) {
            *replies.entry(id.to_owned()).or_default() += 1;
        }
    }
    replies
}

/// Whether a question to a model was cut off before and is open still.
pub(crate) fn is_cut_off(events: &[Value]) -> bool {
    let mut cut_off = BTreeSet::new();
    for line in events {
        let id = |kind: &str| line["event"].get(kind)?["id"].as_str();
        if let Some(id) = id("interrupted").filter(|id| id.contains("/ask.")) {
            cut_off.insert(id);
        }
        if let Some(id) = id("replied") {
            cut_off.remove(id);
        }
    }
    !cut_off.is_empty()
}

/// What was decided, in an order that does not depend on who was first. What the world answered counts by its kind only: a
/// command that is run in both recoveries takes another time in each.
pub(crate) fn decisions(events: &[Value]) -> Vec<String> {
    let mut decisions: Vec<String> = events.iter().map(|line| decision(&line["event"])).collect();
    decisions.sort();
    decisions
}

fn decision(event: &Value) -> String {
    if let Some(begun) = event.get("begun") {
        return format!("begun {}", begun["id"]);
    }
    let Some(replied) = event.get("replied") else { return event.to_string() };
    let reply = &replied["reply"];
    let is_the_worlds = reply.get("output").is_some();
    let kind = reply.as_object().and_then(|fields| fields.keys().next()).map_or("", String::as_str);
    format!("replied {} {}", replied["id"], if is_the_worlds { kind.to_owned() } else { reply.to_string() })
}

/// What only one of two runs decided.
pub(crate) fn difference(first: &[Value], second: &[Value]) -> Option<String> {
    let (first, second) = (decisions(first), decisions(second));
    let only = |one: &[String], other: &[String]| {
        let only = one.iter().filter(|line| !other.contains(line));
        only.map(|line| line.chars().take(300).collect()).collect::<Vec<String>>()
    };
    (first != second).then(|| format!("{:?} and {:?}", only(&first, &second), only(&second, &first)))
}

/// All events of a step, one a line.
pub(crate) fn of_step(events: &[Value], step: &str) -> String {
    let marks = [format!("\"id\":\"{step}/"), format!("\"step\":\"{step}\"")];
    let lines = events.iter().map(|line| line["event"].to_string());
    lines.filter(|line| marks.iter().any(|mark| line.contains(mark))).map(|line| line + "\n").collect()
}
