//! The same goal through each dialect leaves the same journal, and streams while it does.

use serde_json::{Value, json};

use crate::judge::judge;
use crate::place::{Place, SAID};
use crate::providers::{PROVIDERS, Provider};
use crate::service::Service;

#[test]
fn every_dialect_leaves_the_same_journal() {
    let Some(judge) = judge() else { return };
    let first = Place::new(Service::plain(judge));
    let mut journals: Vec<(String, Value)> = Vec::new();
    for provider in &PROVIDERS {
        let place = Place::beside(&first, Service::plain(judge));
        let heard = place.run(&provider.spec(), &["--json"]).done().json();
        let events = place.events();
        assert_eq!(streamed(&heard, "message"), told(&place.answers(), "text"), "{provider:?}");
        assert_eq!(streamed(&heard, "reasoning"), told(&place.answers(), "reasoning"), "{provider:?}");
        assert_eq!(heard.last().unwrap()["answer"], SAID, "{provider:?}");
        assert_usage(&place, provider);
        place.replays();
        assert_eq!(place.service().asked().len(), 2, "{provider:?}");
        let alike = events.iter().filter(|event| event["type"] != "window_learnt");
        journals.push((provider.spec(), in_order(alike.map(|event| plain(event, provider)).collect())));
    }
    for (name, journal) in &journals[1..] {
        assert_eq!((name, journal), (name, &journals[0].1));
    }
}

/// The pieces of each answer that came while it was written, put together.
fn streamed(heard: &[Value], kind: &str) -> Vec<String> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for line in heard.iter().filter(|line| line["type"] == "item.updated" && line["item"]["kind"] == kind) {
        let id = line["item"]["id"].as_str().unwrap();
        if texts.last().is_none_or(|(last, _)| last != id) {
            texts.push((id.to_owned(), String::new()));
        }
        texts.last_mut().unwrap().1.push_str(line["item"]["delta"].as_str().unwrap());
    }
    texts.into_iter().map(|(_, text)| text).collect()
}

/// The same part of each answer, where it has it.
fn told(answers: &[Value], part: &str) -> Vec<String> {
    answers.iter().filter_map(|answer| answer[part].as_str().map(str::to_owned)).collect()
}

/// Tokens are counted alike, however the provider counts them. Ollama tells no details.
fn assert_usage(place: &Place, provider: &Provider) {
    let counted: Vec<Value> = place.answers().into_iter().map(|answer| answer["usage"].clone()).collect();
    let tells_details = provider.name != "ollama";
    for (usage, [input, output, cached, reasoning]) in counted.iter().zip([[257, 59, 0, 17], [321, 38, 256, 8]]) {
        assert_eq!((&usage["input"], &usage["output"]), (&json!(input), &json!(output)), "{provider:?}");
        let detail = |name: &str| usage[name].as_u64().unwrap_or(0);
        let expected = if tells_details { (cached, reasoning) } else { (0, 0) };
        assert_eq!((detail("cached"), detail("reasoning")), expected, "{provider:?}");
    }
}

/// Two files are read at once, and either may be read first: results stand in the order of their calls.
fn in_order(mut events: Vec<Value>) -> Value {
    let is_result = |event: &Value| event["event"]["replied"]["reply"].get("output").is_some();
    let first = events.iter().position(is_result).unwrap();
    assert!(is_result(&events[first + 1]), "{events:?}");
    events[first..first + 2].sort_by_key(|event| event["event"]["replied"]["id"].to_string());
    for (at, event) in events.iter_mut().enumerate() {
        assert!(event["seq"].is_u64());
        event["seq"] = json!(at + 1);
    }
    Value::Array(events)
}

/// An event without what differs from run to run and from provider to provider.
fn plain(event: &Value, provider: &Provider) -> Value {
    let mut event = event.clone();
    for name in ["run", "at"] {
        event[name] = Value::Null;
    }
    let inside = &mut event["event"];
    if let Some(settings) = inside.pointer_mut("/started/settings") {
        assert_eq!(settings["model"], provider.spec());
        for name in ["model", "models", "copies", "window"] {
            settings[name] = Value::Null;
        }
    }
    // Each model is told of the edit tool that it was trained with.
    for words in ["/started/roster/words", "/started/words"] {
        if let Some(words) = inside.pointer_mut(words) {
            *words = Value::Null;
        }
    }
    // What a question may cost at most goes by the provider's prices, and how long it is by its dialect.
    if let Some(facts) = inside.pointer_mut("/begun/facts").and_then(Value::as_object_mut) {
        facts.remove("ceiling");
        facts.remove("bytes");
        facts.remove("prompt");
    }
    // The second prompt holds the ids of the calls.
    if inside.pointer("/begun/id") == Some(&json!("retriever/0/1/ask.0")) {
        inside["begun"]["facts"]["prompt"] = Value::Null;
    }
    if let Some(answer) = inside.pointer_mut("/replied/reply/answer") {
        let answer = answer.as_object_mut().unwrap();
        answer.remove("usage");
        answer.remove("opaque");
        answer.remove("omitted");
        // A server that nobody knows is not asked to think, and shows no thoughts.
        let thought = answer.remove("reasoning");
        assert_eq!(thought.is_some(), provider.thinks, "{provider:?}");
        for call in answer.get_mut("calls").and_then(Value::as_array_mut).into_iter().flatten() {
            call["id"] = Value::Null;
        }
    }
    event
}
