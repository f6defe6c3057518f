//! read_file, list_files and search_files: what they give, and where they stop.
#![allow(clippy::unwrap_used, clippy::panic, clippy::format_collect, reason = "a test may")]

use std::time::{Duration, Instant};

use crate::common::{World, call};
use serde_json::json;
use updraft_run::Reply;
use updraft_tools::ToolLimits;

#[tokio::test]
async fn a_file_is_read_as_it_is_with_its_facts_as_data() {
    let world = World::new();
    world.put("a.txt", "one\ntwo\nthree");
    let output = world.output("read_file", json!({ "path": "./a.txt" })).await;
    assert_eq!(output.text, "one\ntwo\nthree");
    assert_eq!(
        output.value,
        Some(json!({ "path": "a.txt", "start_line": 1, "end_line": 3, "lines_total": 3, "truncated": false }))
    );
    world.put("empty", "");
    let output = world.output("read_file", json!({ "path": "empty" })).await;
    assert_eq!(output.text, "[`empty` is empty]\n");
    assert_eq!(output.value.as_ref().unwrap()["lines_total"], 0);
}

#[tokio::test]
async fn a_range_of_lines_is_read_and_a_wrong_one_explained() {
    let world = World::new();
    world.put("a.txt", "1\n2\n3\n4\n5\n");
    assert_eq!(world.text("read_file", json!({ "path": "a.txt", "start_line": 2, "end_line": 4 })).await, "2\n3\n4\n");
    assert_eq!(world.text("read_file", json!({ "path": "a.txt", "start_line": 5, "end_line": 99 })).await, "5\n");
    // JSON Schema counts 4.0 as an integer, and null for an optional argument is what some models write.
    assert_eq!(
        world.text("read_file", json!({ "path": "a.txt", "start_line": 4.0, "end_line": null })).await,
        "4\n5\n"
    );
    let beyond = world.failure("read_file", json!({ "path": "a.txt", "start_line": 6 })).await;
    assert_eq!(beyond.message, "`a.txt` has 5 lines; start_line 6 is beyond its end");
    let backwards = world.failure("read_file", json!({ "path": "a.txt", "start_line": 3, "end_line": 2 })).await;
    assert_eq!(backwards.message, "end_line 2 is before start_line 3");
}

#[tokio::test]
async fn a_long_file_is_cut_after_a_whole_line_and_says_where_to_read_on() {
    let world = World::with(ToolLimits { read: 100, ..ToolLimits::default() });
    let lines: String = (1..=50).map(|n| format!("line {n}\n")).collect();
    world.put("a.txt", &lines);
    let output = world.output("read_file", json!({ "path": "a.txt" })).await;
    let value = output.value.as_ref().unwrap();
    assert!(output.text.ends_with("line 13\n[lines 1 to 13 of 50; read on with start_line 14]\n"), "{}", output.text);
    assert_eq!((value["end_line"].as_u64(), value["truncated"].as_bool()), (Some(13), Some(true)));
    let rest = world.text("read_file", json!({ "path": "a.txt", "start_line": 48 })).await;
    assert_eq!(rest, "line 48\nline 49\nline 50\n");

    world.put("wide.txt", "é".repeat(200));
    let text = world.text("read_file", json!({ "path": "wide.txt", "max_bytes": 5 })).await;
    assert_eq!(text, "éé\n[line 1 of 1 is cut after 4 bytes]\n");
}

#[tokio::test]
async fn a_file_of_many_megabytes_is_read_without_being_held() {
    let world = World::new();
    let line = "x".repeat(99) + "\n";
    world.put("big.txt", line.repeat(400_000));
    let output = world.output("read_file", json!({ "path": "big.txt", "start_line": 399_999 })).await;
    assert_eq!(output.text.len(), 200);
    assert_eq!(output.value.as_ref().unwrap()["lines_total"], 400_000);
    let output = world.output("read_file", json!({ "path": "big.txt" })).await;
    assert!((100_000..100_200).contains(&output.text.len()));
}

#[tokio::test]
async fn text_in_any_encoding_is_understood_and_binary_is_refused() {
    let world = World::new();
    world.put("marked.txt", b"\xEF\xBB\xBFhello\n");
    let little: Vec<u8> =
        [0xFF, 0xFE].into_iter().chain("grüße 🎈\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let big: Vec<u8> = [0xFE, 0xFF].into_iter().chain("grüße 🎈\n".encode_utf16().flat_map(u16::to_be_bytes)).collect();
    world.put("little.txt", little);
    world.put("big.txt", big);
    assert_eq!(world.text("read_file", json!({ "path": "marked.txt" })).await, "hello\n");
    assert_eq!(world.text("read_file", json!({ "path": "little.txt" })).await, "grüße 🎈\n");
    assert_eq!(world.text("read_file", json!({ "path": "big.txt" })).await, "grüße 🎈\n");
    assert_eq!(
        world.text("search_files", json!({ "pattern": "^(grüße|hello)" })).await,
        "big.txt:1: grüße 🎈\nlittle.txt:1: grüße 🎈\nmarked.txt:1: hello\n"
    );

    for (name, bytes, text) in [
        ("latin", &b"caf\xE9\nna\xEFve\n"[..], "[`latin` is windows-1252; shown as UTF-8]\ncafé\nnaïve\n"),
        ("half", b"\xFF\xFEa\x00\xDC", "[`half` is UTF-16LE; shown as UTF-8]\na\u{fffd}"),
        ("lone", b"\xFF\xFE\x00\xD8", "[`lone` is UTF-16LE; shown as UTF-8]\n\u{fffd}"),
        ("bare", b"h\x00i\x00\n\x00", "[`bare` is UTF-16LE; shown as UTF-8]\nhi\n"),
    ] {
        world.put(name, bytes);
        assert_eq!(world.text("read_file", json!({ "path": name })).await, text);
    }
    assert_eq!(
        world.text("read_file", json!({ "path": "latin", "start_line": 2 })).await,
        "[`latin` is windows-1252; shown as UTF-8]\nnaïve\n"
    );
    world.put("nul", b"a\0\0b");
    let message = world.failure("read_file", json!({ "path": "nul" })).await.message;
    assert_eq!(
        message,
        "`nul` was not read: not text, and not a kind of file that can be read (it begins with 61 00 00 62)"
    );
    world.put("book.epub", b"PK\x03\x04");
    let message = world.failure("read_file", json!({ "path": "book.epub" })).await.message;
    assert_eq!(message, "`book.epub` was not read: files that have to be unpacked are not read here");
}

#[tokio::test]
async fn a_listing_honours_gitignore_at_every_level() {
    let world = World::new();
    world.put(".gitignore", "target/\n*.log\n!keep.log\n/only-here\n");
    world.put(".git/info/exclude", "private.txt\n");
    for path in [
        "a.txt",
        "a/b.txt",
        "a-b.txt",
        "target/x",
        "deep/target/y",
        "x.log",
        "keep.log",
        "only-here",
        "deep/only-here",
        "private.txt",
        ".env",
        ".hidden/x",
        ".context/notes.md",
        ".updraft/agents/a.md",
        ".git/HEAD",
        "sub/gen/z",
        "sub/src/z",
    ] {
        world.put(path, "x");
    }
    world.put("sub/.gitignore", "gen\n!y.log\n");
    world.put("sub/y.log", "x");
    let text = world.text("list_files", json!({})).await;
    let expected = ".context/notes.md\n.updraft/agents/a.md\na-b.txt\na.txt\na/b.txt\ndeep/only-here\nkeep.log\nsub/src/z\nsub/y.log\n";
    assert_eq!(text, expected);
    // A folder that is named is listed even if it is ignored, but the rules above it still count inside.
    world.put("target/z.log", "x");
    assert_eq!(world.text("list_files", json!({ "path": "target" })).await, "target/x\n");
    assert_eq!(world.text("list_files", json!({ "path": "sub" })).await, "sub/src/z\nsub/y.log\n");
}

#[tokio::test]
async fn a_listing_of_one_level_shows_folders_and_a_long_one_says_how_many_more() {
    let world = World::new();
    for path in ["b/x", "a.txt", "c.txt"] {
        world.put(path, "123");
    }
    let output = world.output("list_files", json!({ "recursive": false })).await;
    assert_eq!(output.text, "a.txt\nb/\nc.txt\n");
    assert_eq!(
        output.value,
        Some(
            json!({ "files": [{ "path": "a.txt", "bytes": 3 }, { "path": "c.txt", "bytes": 3 }], "folders": ["b"], "more": 0 })
        )
    );
    let output = world.output("list_files", json!({ "limit": 2 })).await;
    assert_eq!(output.text, "a.txt\nb/x\n[and 1 more; list a subfolder]\n");
    assert_eq!(output.value.as_ref().unwrap()["more"], 1);
    assert_eq!(world.text("list_files", json!({ "path": "b", "limit": 5 })).await, "b/x\n");

    let small = World::with(ToolLimits { walked: 10, ..ToolLimits::default() });
    for n in 0..30 {
        small.put(&format!("{n}"), "");
    }
    let text = small.text("list_files", json!({})).await;
    assert!(text.contains("not looked at"), "{text}");
}

#[tokio::test]
async fn a_search_gives_path_line_and_text_in_a_fixed_order() {
    let world = World::new();
    world.put("b.rs", "fn one() {}\nfn two() {}\n");
    world.put("a.rs", "struct X;\r\nfn three() {}\r\n");
    world.put("bin", b"fn\0fn");
    world.put(".gitignore", "ignored\n");
    world.put("ignored", "fn four() {}\n");
    let output = world.output("search_files", json!({ "pattern": r"^fn \w+\(\) \{\}$" })).await;
    assert_eq!(output.text, "a.rs:2: fn three() {}\nb.rs:1: fn one() {}\nb.rs:2: fn two() {}\n");
    let value = output.value.as_ref().unwrap();
    assert_eq!(value["matches"][0], json!({ "path": "a.rs", "line": 2, "text": "fn three() {}" }));
    assert_eq!((value["files_searched"].as_u64(), value["more"].as_bool()), (Some(2), Some(false)));

    assert_eq!(
        world.text("search_files", json!({ "pattern": "STRUCT", "ignore_case": true })).await,
        "a.rs:1: struct X;\n"
    );
    assert_eq!(world.text("search_files", json!({ "pattern": "STRUCT" })).await, "[no line matches in 2 files]\n");
    let cut = world.text("search_files", json!({ "pattern": "fn", "limit": 1, "path": "b.rs" })).await;
    assert_eq!(cut, "b.rs:1: fn one() {}\n[there is more; narrow the pattern or the path]\n");
}

#[tokio::test]
async fn one_large_file_hides_no_other_and_is_named() {
    let world = World::with(ToolLimits { file: 1000, searched: 1500, ..ToolLimits::default() });
    world.put("a.log", "hit\n".repeat(300));
    world.put("b.img", vec![0; 5000]);
    world.put("c.txt", format!("{}\nhit c\n", "-".repeat(900)));
    world.put("d.txt", format!("{}\nhit d\n", "-".repeat(900)));
    world.put("e.txt", "hit e\n");
    let text = world.text("search_files", json!({ "pattern": "hit" })).await;
    let wanted = "c.txt:2: hit c\ne.txt:1: hit e\n[there is more; narrow the pattern or the path]\n\
                  [too large, so not searched: `a.log`]\n";
    assert_eq!(text, wanted);
    let alone = world.failure("search_files", json!({ "pattern": "hit", "path": "a.log" })).await;
    assert!(alone.message.contains("too large to be searched"), "{alone}");
}

#[tokio::test]
async fn context_is_shown_once_even_where_matches_are_close() {
    let world = World::new();
    world.put("a", "1\n2\nhit\n4\nhit\n6\n7\n8\n9\nhit\n");
    let text = world.text("search_files", json!({ "pattern": "hit", "context": 1 })).await;
    assert_eq!(text, "a-2- 2\na:3: hit\na-4- 4\na:5: hit\na-6- 6\n--\na-9- 9\na:10: hit\n");
    world.put("b", "hit\n");
    let text = world.text("search_files", json!({ "pattern": "hit", "context": 1 })).await;
    assert!(text.ends_with("a:10: hit\n--\nb:1: hit\n"), "{text}");
}

#[tokio::test]
async fn a_long_line_is_cut_around_what_was_found() {
    let world = World::new();
    world.put("min.js", format!("{}needle{}", "é".repeat(1000), "y".repeat(1000)));
    let text = world.text("search_files", json!({ "pattern": "needle" })).await;
    assert!(text.starts_with("min.js:1: …é") && text.ends_with("y…\n") && text.contains("needle"), "{text}");
    assert!(text.len() < 400);
    world.put("min.js", format!("{}\nneedle", "x".repeat(100_000) + "y" + &"x".repeat(16_383) + "needle"));
    let found = world.output("search_files", json!({ "pattern": "needle$" })).await;
    let lines: Vec<_> =
        found.value.as_ref().unwrap()["matches"].as_array().unwrap().iter().map(|hit| &hit["line"]).collect();
    assert_eq!(lines, [1, 2]);
    assert_eq!(world.text("search_files", json!({ "pattern": "^needle|^y" })).await, "min.js:2: needle\n");
}

#[tokio::test]
async fn hostile_expressions_are_refused_or_quick() {
    let world = World::new();
    world.put("a", "a".repeat(50_000) + "!");
    let begun = Instant::now();
    for pattern in ["(a+)+$", "(a|aa)+$", "(.*)*x", "^(([a-z])+.)+[A-Z]([a-z])+$"] {
        world.output("search_files", json!({ "pattern": pattern })).await;
    }
    for (pattern, why) in [
        ("(a{1000}){1000}", "repeats too much"),
        (r"\w{5000}", "repeats too much"),
        ("(", "not a regular expression"),
        ("(?=x)", "not a regular expression"),
        (&"(".repeat(3_000), "not a regular expression"),
        (&"a".repeat(5_000), "at most 4096"),
    ] {
        let message = world.failure("search_files", json!({ "pattern": pattern })).await.message;
        assert!(message.contains(why), "{pattern:.20}: {message}");
    }
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_search_stops_when_it_is_cancelled() {
    let world = World::with(ToolLimits { file: 256 << 20, ..ToolLimits::default() });
    world.put("big.txt", "some words on a line\n".repeat(5_000_000));
    let cx = world.cx();
    let stop = cx.cancel.clone();
    let searching = call("search_files", json!({ "pattern": r"(\w+\s+){1,40}never" }));
    let search = world.dispatcher.call(&searching, &cx);
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        stop.cancel();
        Instant::now()
    };
    let (called, stopped) = tokio::join!(search, cancel);
    assert_eq!(called.reply, Reply::Cancelled);
    assert!(stopped.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_search_reads_no_more_than_its_limit() {
    let world = World::with(ToolLimits { searched: 1_000, ..ToolLimits::default() });
    for n in 0..10 {
        world.put(&format!("{n}.txt"), "word\n".repeat(60));
    }
    let output = world.output("search_files", json!({ "pattern": "nothing" })).await;
    assert_eq!(output.text, "[no line matches in 3 files]\n[there is more; narrow the pattern or the path]\n");
}
