//! Faulty JSON as models write it, each with what was meant: `repair/corpus.jsonl`, one case a line.

use serde::Deserialize;
use serde_json::Value;
use updraft_lenient::{RepairedJson, repair_with};

const CORPUS: &str = include_str!("../repair/corpus.jsonl");

#[derive(Deserialize)]
struct Case {
    class: String,
    input: String,
    /// Nothing where the input holds no value. A value may be `null`.
    #[serde(default, deserialize_with = "present")]
    expected: Option<Value>,
    /// Whether the repair may have changed what was meant; said only where it is beyond doubt.
    risky: Option<bool>,
    schema: Option<Value>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn cases() -> impl Iterator<Item = Case> {
    CORPUS.lines().filter_map(|line| serde_json::from_str(line).ok())
}

fn read(case: &Case) -> Option<RepairedJson> {
    repair_with(&case.input, case.schema.as_ref())
}

/// Equal, but `5.0` is as good as `5`.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

#[test]
fn every_case_is_read_as_it_was_meant() {
    let mut wrong = Vec::new();
    for case in cases() {
        let value = read(&case).map(|repaired| repaired.value);
        let is_right = match (&value, &case.expected) {
            (Some(value), Some(expected)) => same(value, expected),
            (value, expected) => value.is_none() && expected.is_none(),
        };
        if !is_right {
            wrong.push(format!("{}: {:?}\n  meant {:?}\n  read  {value:?}", case.class, case.input, case.expected));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_guess_at_text_is_told_from_a_matter_of_punctuation() {
    let mut wrong = Vec::new();
    for case in cases() {
        let is_risky = read(&case).is_some_and(|repaired| repaired.is_risky());
        if case.risky.is_some_and(|risky| risky != is_risky) {
            wrong.push(format!("{}: {:?} is risky: {is_risky}", case.class, case.input));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_repair_is_reported() {
    let is_valid = |case: &Case| serde_json::from_str::<Value>(&case.input).is_ok();
    let says_nothing = |case: &Case| read(case).is_some_and(|repaired| repaired.repairs.is_empty());
    let silent: Vec<String> =
        cases().filter(|case| !is_valid(case) && says_nothing(case)).map(|case| case.input).collect();
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn the_corpus_is_large_and_of_many_classes() {
    let mut classes: Vec<String> = cases().map(|case| case.class).collect();
    let count = classes.len();
    classes.sort();
    classes.dedup();
    assert_eq!(count, CORPUS.lines().count(), "every line is a case");
    assert!(count >= 300 && classes.len() >= 20, "{count} cases of {} classes", classes.len());
}
