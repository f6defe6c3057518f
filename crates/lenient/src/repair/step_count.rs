//! Counts the parser's steps, to show that they grow no faster than the text.

use std::cell::Cell;

use super::repair;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts bytes that were examined.
pub(super) fn count(bytes: usize) {
    STEPS.set(STEPS.get() + bytes);
}

fn steps(text: &str) -> usize {
    STEPS.set(0);
    repair(text);
    STEPS.get()
}

/// Pieces that may make a parser read a text again and again if they are repeated.
const UNITS: &[&str] = &[
    "{",
    "[",
    "(",
    "}",
    "]",
    ")",
    "\"",
    "'",
    "`",
    "\u{201c}",
    "\u{201d}",
    "\u{2018}",
    "\u{201e}",
    "\u{ab}",
    "\u{bb}",
    ",",
    ":",
    "=",
    "-",
    ".",
    "\\",
    "#",
    "//",
    "/*",
    "<!--",
    "```",
    "\n```",
    "\n",
    " ",
    "a",
    "1",
    "\u{e9}",
    "\\b",
    "\\u",
    "C:\\n",
    "{\"",
    "[\"",
    "{\"a\":",
    "{a:",
    "{a b ",
    "[a ",
    "{'a: ",
    "{\"a: ",
    "{\u{201c}a: ",
    "{\u{2018}a: ",
    "{\u{ab}a: ",
    "{\u{201e}a: ",
    "{`a: ",
    "{\"a\n```",
    "{\"a: b\n```\n",
    "[,",
    "{:",
    "{}",
    "{{",
    "[{",
    "}{",
    "\",",
    "\", \"",
    "\"a\" ",
    "\"\"",
    "\"\"\"",
    "'''\"",
    "\"}",
    "\"]",
    "\"}]",
    "{\"a\":\"\"\"",
    "{\"k\": \"v\" \"",
    "{\"a\": \"b\"c",
    "{\"a\": \"x\n",
    "{\"a\": \"x {",
    "{\"a\": \"x\", {",
    "+\"",
    "\"+",
    "\"x\" \"y\" ",
    "1,",
    "1{",
    "1\"",
    "{a:1,",
    "{\"a\":1}\n",
    "{\"a\":1} x ",
    "f(",
    "f([",
    "{f:function(){",
    "(x)=>",
    "b'",
    "...",
    "\u{2026} ",
    "[1, 2] ",
    "[a](b) ",
    "\"a\": ",
    "\"a\" = ",
    "key: value\n",
    "\", \u{201c}",
    "\"'\u{201c}\u{2018}",
];

/// How many steps each byte may cost. The parser looks ahead by fixed lengths, so even the worst text stays below this.
/// If the work grew with the square of the length, it would be thousands.
const MOST_FOR_A_BYTE: usize = 600;

/// The texts that cost more than this.
fn slow(texts: impl Iterator<Item = String>) -> Vec<String> {
    let too_many = |text: &String| steps(text) > MOST_FOR_A_BYTE * text.len();
    let mut slow: Vec<String> = texts.filter(too_many).collect();
    for text in &mut slow {
        text.truncate(text.floor_char_boundary(80));
    }
    slow
}

#[test]
fn a_thing_repeated_costs_no_more_for_being_repeated_more_often() {
    let prefixes = ["", "{\"a\": \"", "[\"", "{a: ", "\"a\": \"b\", \""];
    let texts = UNITS
        .iter()
        .flat_map(|unit| prefixes.iter().map(|prefix| (*prefix).to_owned() + &unit.repeat(30_000 / unit.len())));
    assert_eq!(slow(texts), Vec::<String>::new());
}

#[test]
fn nor_does_another_thing_repeated_behind_it() {
    let texts = UNITS
        .iter()
        .flat_map(|one| UNITS.iter().map(|other| one.repeat(3_000 / one.len()) + &other.repeat(3_000 / other.len())));
    assert_eq!(slow(texts), Vec::<String>::new());
}

#[test]
fn eight_megabytes_cost_eight_times_one() {
    for unit in [
        "{\"a\": \"b\" \"c\": [1, 2], 'd': True}, ",
        "{\"t\": \"he said \"hi\" to me\", \"n\": 1},\n",
        "\"",
        "{",
        "```",
    ] {
        let [one, two, four, eight] = [1, 2, 4, 8].map(|size: usize| steps(&unit.repeat((size << 20) / unit.len())));
        assert!(two <= one * 2 * 11 / 10 && four <= one * 4 * 11 / 10 && eight <= one * 8 * 11 / 10, "{unit}");
    }
}
