//! Places and trails of chunks.

use updraft_knowledge::chunks;
use updraft_reader::{ReadOptions, read};

fn shown(text: &str, name: &str) -> Vec<String> {
    let document = read(text.as_bytes(), name, &ReadOptions::default()).unwrap();
    let shown = |chunk: updraft_knowledge::Chunk| {
        format!("{} | {} | {}", chunk.place, chunk.trail.join(" > "), chunk.text.replace('\n', " "))
    };
    chunks(&document).into_iter().map(shown).collect()
}

#[test]
fn sections_of_markdown_have_their_headings() {
    let text = "# Guide\n\nIntro.\n\n## Install\n\nRun it.\n\n### Linux\n\nUse make.\n\n## Use\n\nCall it.\n";
    let expected = [
        "lines 1-3 | Guide | # Guide  Intro.",
        "lines 5-7 | Guide > Install | ## Install  Run it.",
        "lines 9-11 | Guide > Install > Linux | ### Linux  Use make.",
        "lines 13-15 | Guide > Use | ## Use  Call it.",
    ];
    assert_eq!(shown(text, "guide.md"), expected);
}

#[test]
fn rows_repeat_the_header_of_their_table() {
    let rows: Vec<String> = (1..=200).map(|row| format!("station {row},{row},{}", row * 2)).collect();
    let found = shown(&format!("name,first,second\n{}\n", rows.join("\n")), "data.csv");
    assert!(found.len() > 2, "{}", found.len());
    assert!(found.iter().all(|chunk| chunk.contains("| name | first | second |")), "{found:?}");
    assert!(found.last().unwrap().contains("| station 200 | 200 | 400 |"));
}

#[test]
fn long_code_is_cut_between_functions() {
    let function =
        |name: &str| format!("def {name}(value):\n{}    return value\n\n\n", "    value = value + 1\n".repeat(30));
    let text: String = ["first", "second", "third"].map(function).concat();
    let found = shown(&text, "steps.py");
    let heads: Vec<&str> = found.iter().map(|chunk| chunk.split(" | ").nth(1).unwrap()).collect();
    assert_eq!(heads, ["def first(value)", "def second(value)", "def third(value)"]);
    assert!(found[1].starts_with("lines 35-66 "), "{}", found[1]);
}
