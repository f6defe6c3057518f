//! list_files and search_files: what they give, and where they stop.
#![allow(clippy::unwrap_used, clippy::panic, clippy::format_collect, reason = "a test may")]

use std::time::{Duration, Instant};

use crate::common::{World, call};
use serde_json::json;
use updraft_run::Reply;
use updraft_tools::ToolLimits;

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
    std::fs::create_dir(world.path("empty")).unwrap();
    let output = world.output("list_files", json!({ "recursive": false })).await;
    assert_eq!(output.text, "a.txt\nb/  1 file\nc.txt\nempty/  0 files\n");
    assert_eq!(
        output.value,
        Some(
            json!({ "files": [{ "path": "a.txt", "bytes": 3 }, { "path": "c.txt", "bytes": 3 }], "folders": ["b", "empty"], "more": 0 })
        )
    );
    assert_eq!(world.text("list_files", json!({ "path": "b" })).await, "b/x\n");
    let few = World::with(ToolLimits { listed: 2, ..ToolLimits::default() });
    for path in ["a.txt", "b.txt", "c.txt"] {
        few.put(path, "");
    }
    let output = few.output("list_files", json!({})).await;
    assert_eq!(output.text, "a.txt\nb.txt\n[1 more are left out; narrow path or glob]\n");
    assert_eq!(output.value.as_ref().unwrap()["more"], 1);

    let small = World::with(ToolLimits { walked: 10, ..ToolLimits::default() });
    for n in 0..30 {
        small.put(&format!("{n}"), "");
    }
    let text = small.text("list_files", json!({})).await;
    assert!(text.contains("not looked at"), "{text}");
}

#[tokio::test]
async fn a_listing_shows_sizes_takes_a_glob_and_counts_what_it_has_no_room_for() {
    let world = World::with(ToolLimits { output: 1_000, ..ToolLimits::default() });
    world.put("big.bin", vec![0; 1_250_000]);
    world.put("mid.csv", "x".repeat(123_456));
    for n in 0..40 {
        world.put(&format!("src/deep/module{n}/file.rs"), "x");
    }
    world.put("src/main.rs", "x");
    assert_eq!(
        world.text("list_files", json!({})).await,
        "big.bin  1.2 MB\nmid.csv  123 kB\nsrc/deep/  40 files\nsrc/main.rs\n\
         [43 files; those of counted folders are not listed: narrow path or glob]\n"
    );
    assert_eq!(world.text("list_files", json!({ "glob": "*.{csv,bin}" })).await, "big.bin  1.2 MB\nmid.csv  123 kB\n");
    let some = world.text("list_files", json!({ "path": "src", "glob": "module1*/*.rs" })).await;
    assert_eq!(some, "[no files in `src`]\n");
    let some = world.text("list_files", json!({ "path": "src/deep", "glob": "module1*/*.rs" })).await;
    assert!(some.starts_with("src/deep/module1/file.rs\nsrc/deep/module10/file.rs\n"), "{some}");
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
    assert_eq!(output.text, "a.rs\n2: fn three() {}\n\nb.rs\n1: fn one() {}\n2: fn two() {}\n");
    let value = output.value.as_ref().unwrap();
    assert_eq!(value["matches"][0], json!({ "path": "a.rs", "line": 2, "text": "fn three() {}" }));
    assert_eq!((value["files_searched"].as_u64(), value["more"].as_bool()), (Some(2), Some(false)));

    assert_eq!(
        world.text("search_files", json!({ "pattern": "STRUCT", "ignore_case": true })).await,
        "a.rs\n1: struct X;\n"
    );
    assert_eq!(world.text("search_files", json!({ "pattern": "STRUCT" })).await, "[no line matches in 2 files]\n");
    let cut = world.text("search_files", json!({ "pattern": "fn", "limit": 1, "path": "b.rs" })).await;
    assert_eq!(
        cut,
        "b.rs\n1: fn one() {}\n[the first 1 matching lines; there are more: narrow path, glob or pattern, or take show: count]\n"
    );
    let shown = async |show: &str| world.text("search_files", json!({ "pattern": "fn", "show": show })).await;
    assert_eq!(shown("files").await, "a.rs\nb.rs\n");
    assert_eq!(shown("count").await, "a.rs: 1\nb.rs: 2\n[3 lines in 2 files]\n");
    let only = json!({ "pattern": "fn", "output_mode": "files_with_matches", "include": "b*" });
    assert_eq!(world.text("search_files", only).await, "b.rs\n");
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
    let wanted = "c.txt\n2: hit c\n\ne.txt\n1: hit e\n[not everything was searched: narrow path or glob]\n\
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
    assert_eq!(text, "a\n2- 2\n3: hit\n4- 4\n5: hit\n6- 6\n--\n9- 9\n10: hit\n");
    world.put("b", "hit\n");
    let text = world.text("search_files", json!({ "pattern": "hit", "context": 1 })).await;
    assert!(text.ends_with("\n10: hit\n\nb\n1: hit\n"), "{text}");
}

#[tokio::test]
async fn a_long_line_is_cut_around_what_was_found() {
    let world = World::new();
    world.put("min.js", format!("{}needle{}", "é".repeat(1000), "y".repeat(1000)));
    let text = world.text("search_files", json!({ "pattern": "needle" })).await;
    assert!(text.starts_with("min.js\n1: …é") && text.ends_with("y…\n") && text.contains("needle"), "{text}");
    assert!(text.len() < 400);
    world.put("min.js", format!("{}\nneedle", "x".repeat(100_000) + "y" + &"x".repeat(16_383) + "needle"));
    let found = world.output("search_files", json!({ "pattern": "needle$" })).await;
    let lines: Vec<_> =
        found.value.as_ref().unwrap()["matches"].as_array().unwrap().iter().map(|hit| &hit["line"]).collect();
    assert_eq!(lines, [1, 2]);
    assert_eq!(world.text("search_files", json!({ "pattern": "^needle|^y" })).await, "min.js\n2: needle\n");
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
    assert_eq!(output.text, "[no line matches in 3 files]\n[not everything was searched: narrow path or glob]\n");
}

#[tokio::test]
async fn a_search_finds_nothing_inside_documents_and_binary_files() {
    let world = World::new();
    world.put("a.pdf", "%PDF-1.4\nstream\nneedle\nendstream\n");
    world.put("b.bin", [b"needle\n".repeat(2_000), vec![0]].concat());
    world.put("c.txt", "needle\n");
    let text = world.text("search_files", json!({ "pattern": "needle" })).await;
    assert_eq!(text, "c.txt\n1: needle\n[documents are not searched: `a.pdf`]\n");
    let alone = world.failure("search_files", json!({ "pattern": "needle", "path": "a.pdf" })).await.message;
    assert_eq!(alone, "`a.pdf` is a document and not text; read_file shows it as text");
}

#[tokio::test]
async fn a_search_with_many_matches_stays_short_and_says_how_to_narrow_it() {
    let world = World::new();
    for n in 0..30 {
        world.put(&format!("file{n}.txt"), format!("hit {}\n", "x".repeat(400)).repeat(20));
    }
    let text = world.text("search_files", json!({ "pattern": "hit", "context": 2 })).await;
    assert!(text.len() <= 16 << 10, "{}", text.len());
    assert!(text.ends_with("there are more: narrow path, glob or pattern, or take show: count]\n"), "{text}");
    let counted = world.text("search_files", json!({ "pattern": "hit", "show": "count" })).await;
    assert!(counted.ends_with("file9.txt: 20\n[600 lines in 30 files]\n"), "{counted}");
}
