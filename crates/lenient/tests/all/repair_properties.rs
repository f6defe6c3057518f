//! What must hold of the repairing parser for every text: no panic, no loss of valid JSON, an end to its repairs.

use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::Index;
use proptest::strategy::{Just, Strategy};
use serde_json::{Value, json};
use updraft_lenient::{JsonFault, repair, repair_with};

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~é“”\n\\\\\"]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,6}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Pieces of JSON in any order, so that the parser meets every fault next to every other.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just("("),
        Just(")"),
        Just("\""),
        Just("'"),
        Just("“"),
        Just("”"),
        Just(","),
        Just(":"),
        Just("\\"),
        Just("\\u"),
        Just("a"),
        Just("é"),
        Just(" "),
        Just("\n"),
        Just("```"),
        Just("//"),
        Just("/*"),
        Just("#"),
        Just("1"),
        Just("-"),
        Just("."),
        Just("..."),
        Just("true"),
        Just("None"),
        Just("\"a\":"),
        Just("+"),
        Just("=")
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// A schema that asks for a little of everything.
fn schema() -> Value {
    json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "array", "items": {"$ref": "#"}},
        "d_e": {"anyOf": [{"type": "boolean"}, {"type": "null"}, {"$ref": "#"}]}
    }})
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn valid_json_comes_back_equal(value in values()) {
        let repaired = repair(&value.to_string());
        prop_assert_eq!(repaired.map(|r| (r.value, r.repairs)), Some((value, vec![])));
    }

    #[test]
    fn the_repairing_parser_reads_valid_json_too(value in values().prop_filter("brackets", |v| v.is_object() || v.is_array())) {
        // A byte order mark keeps the fast path from taking it.
        let repaired = repair(&format!("\u{FEFF}{value}"));
        prop_assert_eq!(repaired.map(|r| (r.value, r.repairs.iter().any(|r| r.what.is_risky()))), Some((value, false)));
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = repair(&text);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = repair(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_pieces_make_it_panic_with_a_schema(text in pieces()) {
        let _ = repair_with(&text, Some(&schema()));
    }

    #[test]
    fn what_was_repaired_needs_no_more_repair(text in pieces()) {
        if let Some(repaired) = repair(&text) {
            let again = repair(&repaired.value.to_string());
            prop_assert_eq!(again.map(|r| (r.value, r.repairs)), Some((repaired.value, vec![])));
        }
    }

    #[test]
    fn what_was_not_valid_is_reported(text in pieces()) {
        if let Some(repaired) = repair(&text) {
            prop_assert_eq!(repaired.repairs.is_empty(), serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
        }
    }

    #[test]
    fn no_pieces_make_it_panic(text in pieces()) {
        if let Some(repaired) = repair(&text) {
            prop_assert!(repaired.repairs.iter().all(|r| r.at <= text.len()));
        }
    }

    #[test]
    fn no_change_to_valid_json_makes_it_panic(value in values(), at in any::<Index>(), with in pieces(), cut in 0..4usize) {
        let mut text: Vec<char> = format!("{value:#}").chars().collect();
        let at = at.index(text.len());
        let end = (at + cut).min(text.len());
        text.splice(at..end, with.chars());
        let _ = repair(&text.into_iter().collect::<String>());
    }
}

#[test]
fn a_million_brackets_are_cut_off_without_a_panic() {
    for unit in
        ["[", "{", "(", "[{", "{\"a\":", "{\"a\":[", "[(", "f([", "{a:{", "{\"a\": (", "\"[", "}", "]", "[]", "{}"]
    {
        for text in [unit.repeat(1_000_000 / unit.len()), format!("{{\"a\": {}", unit.repeat(1_000_000 / unit.len()))] {
            let repaired = repair(&text);
            assert!(repaired.is_none_or(|r| r.repairs.len() <= 300), "{unit}");
        }
    }
    let deep = format!("{}1{}", "[".repeat(500_000), "]".repeat(500_000));
    assert!(repair(&deep).is_some_and(|r| r.is_risky() && r.repairs.iter().any(|r| r.what == JsonFault::TooDeep)));
}
