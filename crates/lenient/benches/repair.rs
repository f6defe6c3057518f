//! How fast JSON is repaired: each input of a corpus (`--each`, JSON lines in, JSON lines out), and large texts in MB/s.
#![allow(
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark reads the clock, prints, and may stop at the first surprise"
)]

use std::hint::black_box;
use std::io::BufRead;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use updraft_lenient::{RepairedJson, repair, repair_with};

fn main() {
    if std::env::args().any(|arg| arg == "--each") {
        each();
    } else {
        large();
    }
}

/// Repairs the `input` of every line, and prints what came of it and how long that took.
fn each() {
    for line in std::io::stdin().lock().lines() {
        let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let (input, schema) = (case["input"].as_str().unwrap(), case.get("schema"));
        let repaired = repair_with(input, schema);
        let took = typical(|| repair_with(input, schema));
        let found = repaired.is_some();
        let RepairedJson { value, repairs } =
            repaired.unwrap_or(RepairedJson { value: Value::Null, repairs: Vec::new() });
        let risky = repairs.iter().any(|repair| repair.what.is_risky());
        let faults: Vec<_> = repairs.iter().map(|repair| repair.what).collect();
        println!(
            "{}",
            json!({"found": found, "value": value, "risky": risky, "faults": faults, "ns": took.as_nanos()})
        );
    }
}

/// The time of one call: the best of five rounds, each long enough for the clock.
fn typical<T>(call: impl Fn() -> T) -> Duration {
    let round = || {
        let begin = Instant::now();
        let mut calls = 0;
        while calls == 0 || begin.elapsed() < Duration::from_micros(200) {
            for _ in 0..16 {
                black_box(call());
            }
            calls += 16;
        }
        begin.elapsed() / calls
    };
    (0..5).map(|_| round()).min().unwrap_or_default()
}

/// Megabytes a second, for texts of one to ten megabytes: the figures of a row should be alike.
fn large() {
    const SIZES: [usize; 4] = [1, 2, 5, 10];
    println!("{:34}{}", "MB/s at", SIZES.map(|size| format!("{size:>6} MB")).concat());
    for (name, unit) in SHAPES {
        let speeds = SIZES.map(|size| {
            let text = unit.repeat((size << 20) / unit.len());
            let begin = Instant::now();
            black_box(repair(&text));
            format!("{:>9.1}", f64::from(u32::try_from(size).unwrap()) / begin.elapsed().as_secs_f64())
        });
        println!("{name:34}{}", speeds.concat());
    }
}

const SHAPES: [(&str, &str); 12] = [
    ("objects, a comma missing", "{\"id\": 1, \"name\": \"some words\" \"tags\": [1, 2, 3]},\n"),
    ("a Python dict", "{'id': 1, 'ok': True, 'none': None, 'words': 'it is so'}, "),
    ("quotes inside strings", "{\"text\": \"he said \"hi\" to me\", \"n\": 1},\n"),
    ("prose and values", "Some words, then {\"a\": 1} and [1, 2] and so on.\n"),
    ("one long string", "lorem ipsum dolor sit amet, "),
    ("quotes", "\""),
    ("opening braces", "{"),
    ("opening brackets and quotes", "[\""),
    ("fences", "```json\n"),
    ("comment openers", "{/*"),
    ("unended keys", "{\"a: "),
    ("mixed quotes", "\"'“‘"),
];
