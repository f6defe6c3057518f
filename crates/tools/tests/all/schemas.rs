//! Arguments against schemas: mismatches in words, and schemas that mean harm.
#![allow(clippy::unwrap_used, clippy::panic, clippy::format_collect, reason = "a test may")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::scripted::{Scripted, at_once, says, world};
use crate::common::{World, call};
use serde_json::{Value, json};
use updraft_run::{EffectClass, Reply, ToolCall};
use updraft_tools::{Error, Registry};

#[tokio::test]
async fn arguments_that_do_not_fit_are_explained_by_place_and_rule() {
    let world = World::new();
    let fault = |name, args| world.fault(name, args).unwrap();
    let start = |rest: &str| format!("the arguments of `read_file` do not fit its schema: {rest}");
    assert_eq!(fault("read_file", json!({})), start("`path` is missing"));
    assert_eq!(fault("read_file", Value::Null), start("`path` is missing"));
    assert_eq!(fault("read_file", json!({ "path": 5 })), start("`/path`: expected a string, found 5"));
    assert_eq!(
        fault("read_file", json!({ "path": "a", "offset": "ten" })),
        start("`/offset`: expected an integer, found the string \"ten\"")
    );
    assert_eq!(
        fault("search_files", json!({ "pattern": "" })),
        "the arguments of `search_files` do not fit its schema: `/pattern`: expected at least 1 characters, found the string \"\""
    );
    assert_eq!(fault("read_file", json!({ "path": "a", "file": "b" })), start("`file` is not known here"));
    assert_eq!(fault("read_file", json!(["a"])), start("expected an object, found an array of 1"));
    let long = fault("read_file", json!({ "path": "a", "offset": "x".repeat(1_000_000) }));
    assert!(long.len() < 300, "{long}");
    let unreadable = ToolCall { fault: Some("the JSON ends too early".into()), ..call("read_file", json!({})) };
    assert_eq!(
        world.dispatcher.prepare(&unreadable, &world.place).fault.unwrap().message,
        "the arguments of `read_file` could not be read: the JSON ends too early"
    );
    assert!(matches!(world.dispatcher.call(&unreadable, &world.cx()).await.reply, Reply::Failed(_)));
}

#[test]
fn hostile_schemas_are_refused_in_no_time() {
    let doubling: serde_json::Map<String, Value> = (0..60)
        .map(|n| {
            let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
            (format!("d{n}"), json!({ "allOf": [next, next] }))
        })
        .chain([("d60".into(), json!({ "type": "string" }))])
        .collect();
    let chain: serde_json::Map<String, Value> =
        (0..2_000).map(|n| (format!("d{n}"), json!({ "$ref": format!("#/$defs/d{}", (n + 1) % 2_000) }))).collect();
    let deep = (0..100).fold(json!({}), |inner, _| json!({ "items": inner }));
    let begun = Instant::now();
    for (schema, why) in [
        (json!(true), "expected a JSON object"),
        (json!({ "type": "nonsense" }), "nonsense"),
        (json!({ "$ref": "https://example.com/schema.json" }), "may only point inside"),
        (json!({ "$ref": "file:///etc/passwd" }), "may only point inside"),
        (json!({ "properties": { "a": { "$ref": "#/$defs/none" } } }), "points to nothing"),
        (json!({ "$ref": "#" }), "without end"),
        (json!({ "anyOf": [{ "$ref": "#/$defs/a" }], "$defs": { "a": { "not": { "$ref": "#" } } } }), "without end"),
        (
            json!({ "properties": { "x": { "$ref": "#/$defs/b" } }, "$defs": { "a": { "properties": { "y": { "$ref": "#/$defs/b" } }, "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
            "without end",
        ),
        (json!({ "$ref": "#/$defs/d0", "$defs": doubling }), "more than"),
        (json!({ "$ref": "#/$defs/d0", "$defs": chain }), "refer to one another"),
        (deep, "nested deeper"),
        (json!({ "description": "x".repeat(1 << 20) }), "bytes"),
        (json!({ "properties": { "a": { "pattern": "(a{1000}){1000}" } } }), "pattern"),
        (json!({ "$schema": "https://example.com/mine", "type": "object" }), ""),
        (json!({ "$dynamicRef": "#x" }), "not supported"),
    ] {
        let mut registry = Registry::default();
        let tool = Scripted::new(EffectClass::Pure, |_, _| at_once(says(""))).with_parameters(schema.clone());
        match registry.insert(Arc::new(tool)) {
            Err(Error::Schema { why: found, .. }) => assert!(found.contains(why), "{found}"),
            other => panic!("{schema} gave {other:?}"),
        }
    }
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_schema_that_refers_to_itself_is_used_as_deep_as_is_cheap() {
    let tree = json!({
        "$ref": "#/$defs/node",
        "$defs": { "node": {
            "type": "object",
            "properties": { "left": { "$ref": "#/$defs/node" }, "right": { "$ref": "#/$defs/node" } },
            "additionalProperties": false
        } }
    });
    let world = world(Scripted::new(EffectClass::Pure, |_, _| at_once(says("fine"))).with_parameters(tree));
    let nested = |depth| (0..depth).fold(json!({}), |inner, _| json!({ "left": inner }));
    assert_eq!(world.text("scripted", nested(10)).await, "fine");
    assert!(
        world.fault("scripted", json!({ "left": { "up": 1 } })).unwrap().contains("`/left`: `up` is not known here")
    );
    let begun = Instant::now();
    assert!(world.fault("scripted", nested(100)).unwrap().contains("nested deeper"));

    let doubling = json!({ "anyOf": [{ "properties": { "a": { "$ref": "#" } } }, { "properties": { "a": { "$ref": "#" } } }], "required": ["z"] });
    let world = self::world(Scripted::new(EffectClass::Pure, |_, _| at_once(says("fine"))).with_parameters(doubling));
    let nested = (0..60).fold(json!({}), |inner, _| json!({ "a": inner }));
    assert!(world.fault("scripted", nested).unwrap().contains("nested deeper"));
    let nested = (0..15).fold(json!({}), |inner, _| json!({ "a": inner }));
    assert!(world.fault("scripted", nested).unwrap().contains("`z` is missing"));
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_pattern_that_backtracks_does_not_hold_up_the_call() {
    let schema = json!({ "properties": { "a": { "pattern": "^(?!x)(a|a)*(?<!b)c$" } } });
    let world = world(Scripted::new(EffectClass::Pure, |_, _| at_once(says("fine"))).with_parameters(schema));
    let begun = Instant::now();
    assert!(world.fault("scripted", json!({ "a": "a".repeat(10_000) })).is_some());
    assert_eq!(world.text("scripted", json!({ "a": "aac" })).await, "fine");
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
}
