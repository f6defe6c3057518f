//! Citations as models write them, quotations as they are found, and what holds.

use std::sync::Arc;

use serde_json::{Value, json};

use super::entry::{CitationEntry, entries};
use super::{Citation, CitationFinding, Reading, check, find_quotation, mark};
use crate::reply::ToolOutput;

fn one(line: &str) -> Option<(u32, String, String, String)> {
    let read = entries(line);
    let [CitationEntry { n, source, place, quote, .. }] = read.as_slice() else { return None };
    Some((*n, source.clone(), place.clone(), quote.clone()))
}

#[test]
fn citations_are_read_in_the_ways_models_write_them() {
    for (line, source, place) in [
        ("[1]: docs/tides.md:12-14 \"high water\"", "docs/tides.md", "12-14"),
        ("[1] docs/tides.md:12 — “high water”", "docs/tides.md", "12"),
        ("[1] `docs/tides.md:12`: \"high water\"", "docs/tides.md", "12"),
        ("- [1] docs/tides.md, lines 12-14: \"high water\"", "docs/tides.md", "lines 12-14"),
        ("- **[1]** docs/tides.md (line 12): „high water“", "docs/tides.md", "line 12"),
        ("[^1]: docs/tides.md#L12-L14 \"high water\"", "docs/tides.md", "12-14"),
        ("[1] docs/tides.md:12-24 (Tides › In Brest) \"high water\"", "docs/tides.md", "12-24"),
        ("[1]: docs/tides.md:12:5 \"high water\"", "docs/tides.md", "12"),
        ("[1] docs/tides.md:12-13\n> high water", "docs/tides.md", "12-13"),
        ("[1] src/tide.rs:7 `high water`", "src/tide.rs", "7"),
        ("[1]: report.pdf page 3 \"high water\"", "report.pdf", "page 3"),
        ("[1]: report.pdf, p. 3, \"high water\"", "report.pdf", "p. 3"),
        ("[1]: Ports 2024.xlsx Sales!A2 \"high water\"", "Ports 2024.xlsx", "Sales!A2"),
        ("[1]: Makefile:3 \"high water\"", "Makefile", "3"),
        ("[1]: https://example.org/tides?x=1 \"high water\"", "https://example.org/tides?x=1", ""),
        ("[1]: [Tides](https://example.org/tides) - \"high water\"", "https://example.org/tides", ""),
    ] {
        let expected = (1, source.to_owned(), place.to_owned(), "high water".to_owned());
        assert_eq!(one(line), Some(expected), "{line}");
    }
}

#[test]
fn other_lists_and_code_are_not_read_as_citations() {
    for text in [
        "[1]: https://example.org",
        "[1] Smith et al. (2020), \"High water\", Nature 3",
        "[1] says \"high water\" and version 2.1 follows",
        "[1](https://example.org/a.md) calls it \"high water\"",
        "```\n[1]: docs/tides.md:12 \"high water\"\n```",
        "see a[1] in src/main.rs:3 \"x\"",
        "[high]: docs/tides.md:12 \"high water\"",
        "See the [tide tables][1].\n\n[1]: https://example.org \"Tide tables\"",
    ] {
        assert_eq!(entries(text), Vec::new(), "{text}");
    }
}

#[test]
fn a_number_in_the_text_makes_a_link_target_a_citation() {
    for text in ["High water [1], see the [tables][1].", "High water [2][1].", ""] {
        let text = format!("{text}\n\n[1]: https://example.org \"high water\"");
        assert_eq!(entries(&text).len(), 1, "{text}");
    }
}

#[test]
fn quoted_words_are_found_whatever_their_whitespace_and_marks() {
    let text = "# Tides\n\nHigh water in **Brest** isn't at\n  the \"same\" time – it moves.\n| Brest | 2.05 |\n";
    for (quote, lines) in [
        ("High water in Brest isn’t at the “same” time - it moves.", (3, 4)),
        ("high   water\nin brest", (3, 3)),
        ("High water … moves", (3, 4)),
        ("Brest | 2.05", (5, 5)),
    ] {
        assert_eq!(find_quotation(text, quote), [lines], "{quote}");
    }
    for quote in ["Low water in Brest", "Brest | 2.0", "rest isn't", "moves … High water", "…"] {
        assert_eq!(find_quotation(text, quote), [], "{quote}");
    }
    assert_eq!(find_quotation("/// Reads a\n/// file.\nfn read() {}", "Reads a file."), [(1, 2)]);
}

fn reading(args: Value, text: &str, value: Value) -> Reading {
    let value = (!value.is_null()).then_some(value);
    Reading { args, output: Arc::new(ToolOutput { text: text.into(), value, ..ToolOutput::default() }) }
}

fn finding(readings: &[Reading], line: &str) -> CitationFinding {
    let entry = entries(line).remove(0);
    check(entry, readings, false).finding
}

#[test]
fn a_citation_holds_only_in_its_source_and_at_its_place() {
    let elsewhere = |at: &str| CitationFinding::Elsewhere { at: at.into() };
    let passages = json!({ "passages": [
        { "path": "ports.csv", "place": { "lines": [1, 3] }, "text": "port,M2\nBrest,2.05\nSaint-Malo,3.7", "hash": "ab" },
        { "path": "rows.csv", "place": { "lines": [50, 51] }, "text": "| port | M2 |\n|---|---|\n| Caen | 1.5 |\n| Vannes | 1.1 |" },
        { "path": "report.pdf", "place": { "page": 3 }, "text": "The harbour silts up." },
        { "path": "book.xlsx", "place": { "sheet": "Sales", "cells": "A2:B2" }, "text": "Brest 7" },
    ] });
    let readings = [
        reading(json!({ "path": "a.md" }), "one\ntwo\nthree\n", json!({ "path": "a.md", "start_line": 40 })),
        reading(json!({ "query": "Brest" }), "[1] ports.csv:1-3", passages),
        reading(json!({ "pattern": "x" }), "src/a.rs:7: let x = 1;\nsrc/b.rs:9: let y = 2;\n", Value::Null),
        reading(
            json!({ "url": "http://example.org/x/" }),
            "The page says hello.",
            json!({ "url": "https://example.org/x" }),
        ),
        reading(json!({ "command": "cat notes/b.md" }), "beta and gamma", Value::Null),
    ];
    for (line, expected) in [
        ("[1]: a.md:41 \"two\"", CitationFinding::Holds),
        ("[1]: ./a.md \"two\"", CitationFinding::Holds),
        ("[1]: a.md:1-3 \"two\"", elsewhere("line 41")),
        ("[1]: a.md:41 \"four\"", CitationFinding::NotFound),
        ("[1]: c.md:41 \"two\"", CitationFinding::Unread),
        ("[1]: ports.csv:2 \"Brest,2.05\"", CitationFinding::Holds),
        ("[1]: ports.csv:1-2 \"port,M2 … Brest,2.05\"", CitationFinding::Holds),
        ("[1]: ports.csv:2 \"Brest,2.5\"", CitationFinding::NotFound),
        ("[1]: ports.csv:2 \"The harbour silts up.\"", CitationFinding::NotFound),
        ("[1]: rows.csv:50 \"port | M2 … Caen | 1.5\"", CitationFinding::Holds),
        ("[1]: rows.csv:60 \"Caen | 1.5\"", elsewhere("lines 50-51")),
        ("[1]: report.pdf page 3 \"harbour silts\"", CitationFinding::Holds),
        ("[1]: report.pdf page 4 \"harbour silts\"", elsewhere("page 3")),
        ("[1]: book.xlsx Sales!A2 \"Brest 7\"", CitationFinding::Holds),
        ("[1]: book.xlsx Costs!A2 \"Brest 7\"", elsewhere("sheet Sales")),
        ("[1]: src/a.rs:7 \"let x = 1\"", CitationFinding::Holds),
        ("[1]: src/a.rs:9 \"let y = 2\"", CitationFinding::NotFound),
        ("[1]: https://example.org/x#part \"says hello\"", CitationFinding::Holds),
        ("[1]: notes/b.md \"beta\" and \"gamma\"", CitationFinding::Holds),
    ] {
        assert_eq!(finding(&readings, line), expected, "{line}");
    }
    let forgotten = check(entries("[1]: c.md:1 \"two\"").remove(0), &readings, true);
    assert_eq!(forgotten.finding, CitationFinding::Unchecked);
    assert_eq!(check(entries("[1]: ports.csv:2 \"Brest\"").remove(0), &readings, false).hash.as_deref(), Some("ab"));
}

#[test]
fn lines_around_a_match_and_neighbouring_lines_can_be_quoted() {
    let text = "src/a.rs-6- /// Opens\nsrc/a.rs:7: /// the lock\nsrc/a.rs-8- fn open() {}\n--\nsrc/a.rs:20: lock();\nb.md:3: see src/a.rs\n";
    let matches = json!([
        { "path": "src/a.rs", "line": 7, "text": "/// the lock" },
        { "path": "src/a.rs", "line": 20, "text": "lock();" },
        { "path": "b.md", "line": 3, "text": "see src/a.rs" },
    ]);
    for args in [json!({ "pattern": "lock" }), json!({ "pattern": "lock", "path": "src/a.rs" })] {
        let readings = [reading(args, text, json!({ "matches": matches }))];
        for (line, expected) in [
            ("[1]: src/a.rs:8 \"fn open() {}\"", CitationFinding::Holds),
            ("[1]: ./src/a.rs:6-7 \"Opens the lock\"", CitationFinding::Holds),
            ("[1]: src/a.rs:1 \"Opens the lock\"", CitationFinding::Elsewhere { at: "lines 6-7".into() }),
            ("[1]: src/a.rs:8-20 \"fn open() {} lock();\"", CitationFinding::NotFound),
            ("[1]: src/a.rs:3 \"see src/a.rs\"", CitationFinding::NotFound),
        ] {
            assert_eq!(finding(&readings, line), expected, "{line}");
        }
    }
}

#[test]
fn numbered_lines_and_lines_below_their_path_can_be_quoted() {
    let numbered = json!({ "path": "a.md", "start_line": 40, "numbered": true });
    let text = "[lines 40-42 of 90; go on with offset 43]\n40\tone\n41\t2\ttwo\n42\tthree\n";
    let found = "src/a.rs\n6- /// Opens\n7: /// the lock\n--\n20: lock();\n\nb.md\n3: see\n[documents are not searched: `c.pdf`]\n";
    let matches = json!([
        { "path": "src/a.rs", "line": 7, "text": "/// the lock" },
        { "path": "src/a.rs", "line": 20, "text": "lock();" },
        { "path": "b.md", "line": 3, "text": "see" },
    ]);
    let readings = [
        reading(json!({ "path": "a.md" }), text, numbered),
        reading(json!({ "pattern": "lock" }), found, json!({ "matches": matches })),
    ];
    for (line, expected) in [
        ("[1]: a.md:40-41 \"one … two\"", CitationFinding::Holds),
        ("[1]: a.md:41-42 \"two three\"", CitationFinding::Holds),
        ("[1]: a.md:50 \"three\"", CitationFinding::Elsewhere { at: "line 42".into() }),
        ("[1]: src/a.rs:6-7 \"Opens the lock\"", CitationFinding::Holds),
        ("[1]: src/a.rs:1 \"lock();\"", CitationFinding::Elsewhere { at: "line 20".into() }),
        ("[1]: src/a.rs:3 \"see\"", CitationFinding::NotFound),
        ("[1]: b.md:3 \"see\"", CitationFinding::Holds),
    ] {
        assert_eq!(finding(&readings, line), expected, "{line}");
    }
}

#[test]
fn a_list_with_other_keys_is_read_as_text() {
    let value = json!({ "results": [{ "link": "https://example.org/a", "description": "High water at noon." }] });
    let readings = [reading(json!({ "q": "tides" }), &value.to_string(), value)];
    assert_eq!(finding(&readings, "[1]: https://example.org/a \"High water at noon\""), CitationFinding::Holds);
    assert_eq!(finding(&readings, "[1]: https://example.org/b \"High water at noon\""), CitationFinding::Unread);
}

fn citation(n: u32, finding: CitationFinding) -> Citation {
    Citation { n, source: "a.md".into(), place: String::new(), quote: "x".into(), hash: None, finding }
}

#[test]
fn what_does_not_hold_is_marked_in_the_text_and_in_the_list() {
    let citations = [citation(1, CitationFinding::Holds), citation(2, CitationFinding::NotFound)];
    let text = "True [1], false [2], a[2] and `[2]`.\n```\n[2]\n```\n[1]: a.md \"x\"\n[2]: a.md \"x\"";
    assert_eq!(
        mark(text, &citations),
        "True [1], false [2: not found in the source], a[2] and `[2]`.\n```\n[2]\n```\n[1]: a.md \"x\"\n\
         [2: not found in the source]: a.md \"x\""
    );
    assert_eq!(entries("[2: not found in the source]: a.md \"x\""), Vec::new());
}

#[test]
fn of_a_number_listed_twice_only_the_false_line_is_marked() {
    let text = "One [1].\n[1]: a.md \"x\"\n\nTwo [1][2].\n[1]: a.md \"y\"\n[2]: a.md \"y [1]\"\n";
    let of_first =
        |finding| [citation(1, finding), citation(1, CitationFinding::NotFound), citation(2, CitationFinding::Unread)];
    assert_eq!(
        mark(text, &of_first(CitationFinding::Holds)),
        "One [1].\n[1]: a.md \"x\"\n\nTwo [1][2: source not read].\n[1: not found in the source]: a.md \"y\"\n\
         [2: source not read]: a.md \"y [1]\"\n"
    );
    let marked = mark(text, &of_first(CitationFinding::NotFound));
    assert!(marked.starts_with("One [1: not found in the source].\n"), "{marked}");
}
