//! read_file: what it gives of files and of earlier outputs, and where it stops.
#![allow(clippy::unwrap_used, clippy::panic, clippy::format_collect, reason = "a test may")]

use std::sync::Arc;

use crate::common::{World, call};
use serde_json::{Value, json};
use updraft_run::{FailureKind, Reply};
use updraft_tools::{Registry, ToolLimits};

/// A world whose calls are made by code.
async fn by_code(world: &World, args: Value) -> String {
    let mut cx = world.cx();
    cx.around.by_code = true;
    match world.dispatcher.call(&call("read_file", args), &cx).await.reply {
        Reply::Output(output) => output.text.clone(),
        other => panic!("expected an output, found {other:?}"),
    }
}

#[tokio::test]
async fn a_file_is_read_with_its_lines_numbered_and_its_facts_as_data() {
    let world = World::new();
    world.put("a.txt", "one\n\ttwo\nthree");
    let output = world.output("read_file", json!({ "path": "./a.txt" })).await;
    assert_eq!(output.text, "1\tone\n2\t\ttwo\n3\tthree");
    let facts = json!({ "path": "a.txt", "start_line": 1, "end_line": 3, "lines_total": 3, "truncated": false, "numbered": true });
    assert_eq!(output.value, Some(facts));
    assert_eq!(by_code(&world, json!({ "path": "a.txt" })).await, "one\n\ttwo\nthree");
    world.put("empty", "");
    let output = world.output("read_file", json!({ "path": "empty" })).await;
    assert_eq!(output.text, "[`empty` is empty]\n");
    assert_eq!(output.value.as_ref().unwrap()["lines_total"], 0);
}

#[tokio::test]
async fn some_lines_say_where_they_stand_and_where_to_go_on() {
    let world = World::new();
    world.put("a.txt", "1st\n2nd\n3rd\n4th\n5th\n");
    let text = |args| world.text("read_file", args);
    let middle = "[lines 2-4 of 5; go on with offset 5]\n2\t2nd\n3\t3rd\n4\t4th\n";
    assert_eq!(text(json!({ "path": "a.txt", "offset": 2, "limit": 3 })).await, middle);
    assert_eq!(text(json!({ "path": "a.txt", "offset": 5, "limit": 99 })).await, "[lines 5-5 of 5]\n5\t5th\n");
    // JSON Schema counts 4.0 as an integer, and null for an optional argument is what some models write.
    let end = "[lines 4-5 of 5]\n4\t4th\n5\t5th\n";
    assert_eq!(text(json!({ "path": "a.txt", "offset": 4.0, "limit": null })).await, end);
    assert_eq!(
        text(json!({ "path": "a.txt", "offset": 0, "limit": 9 })).await,
        "1\t1st\n2\t2nd\n3\t3rd\n4\t4th\n5\t5th\n"
    );
    assert_eq!(by_code(&world, json!({ "path": "a.txt", "offset": 2, "limit": 2 })).await, "2nd\n3rd\n");
    // Models that were trained with other tools name the lines like this.
    assert_eq!(text(json!({ "file_path": "a.txt", "start_line": 2, "end_line": 4 })).await, middle);
    let beyond = world.failure("read_file", json!({ "path": "a.txt", "offset": 6 })).await;
    assert_eq!(beyond.message, "`a.txt` has 5 lines; offset 6 is beyond its end");
}

#[tokio::test]
async fn a_long_file_is_cut_after_a_whole_line_and_says_where_to_read_on() {
    let world = World::with(ToolLimits { read: 100, ..ToolLimits::default() });
    let lines: String = (1..=50).map(|n| format!("line {n}\n")).collect();
    world.put("a.txt", &lines);
    let output = world.output("read_file", json!({ "path": "a.txt" })).await;
    let value = output.value.as_ref().unwrap();
    assert!(output.text.starts_with("[lines 1-13 of 50; go on with offset 14]\n1\tline 1\n"), "{}", output.text);
    assert!(output.text.ends_with("\n13\tline 13\n"), "{}", output.text);
    assert_eq!((value["end_line"].as_u64(), value["truncated"].as_bool()), (Some(13), Some(true)));
    world.put("wide.txt", "é".repeat(200));
    let text = world.text("read_file", json!({ "path": "wide.txt" })).await;
    assert_eq!(text, format!("[line 1 of 1 is cut after 100 bytes]\n1\t{}", "é".repeat(50)));

    let world = World::new();
    world.put("long.txt", "x\n".repeat(5_000));
    let text = world.text("read_file", json!({ "path": "long.txt", "offset": 11 })).await;
    assert!(text.starts_with("[lines 11-2010 of 5000; go on with offset 2011]\n11\tx\n"), "{text:.60}");
    assert_eq!(by_code(&world, json!({ "path": "long.txt" })).await, "x\n".repeat(5_000));
    // One line of three megabytes, as programs write them.
    world.put("data.json", "0123456789".repeat(300_000));
    let text = world.text("read_file", json!({ "path": "data.json" })).await;
    assert_eq!(
        text,
        format!("1\t{}… [line of 3000000 characters cut; search_files finds what is in it]", "0123456789".repeat(200))
    );
    let more = world.text("read_file", json!({ "path": "data.json", "limit": 1 })).await;
    assert!((40_000..50_000).contains(&more.len()), "{}", more.len());
    let raw = by_code(&world, json!({ "path": "data.json" })).await;
    assert!(
        raw.ends_with("789\n[line 1 of 1 is cut after 126976 bytes]\n") || raw.contains("is cut after"),
        "{}",
        &raw[raw.len() - 80..]
    );
}

#[tokio::test]
async fn a_file_of_many_megabytes_is_read_without_being_held() {
    let world = World::new();
    let line = "x".repeat(99) + "\n";
    world.put("big.txt", line.repeat(400_000));
    let output = world.output("read_file", json!({ "path": "big.txt", "offset": 399_999 })).await;
    assert!(output.text.starts_with("[lines 399999-400000 of 400000]\n399999\txxx"), "{:.90}", output.text);
    assert_eq!(output.value.as_ref().unwrap()["lines_total"], 400_000);
    let output = world.output("read_file", json!({ "path": "big.txt" })).await;
    assert!(output.text.starts_with("[lines 1-491 of 400000; go on with offset 492]\n"), "{:.90}", output.text);
    assert_eq!(output.whole, None);
}

#[tokio::test]
async fn an_earlier_output_is_read_and_searched_by_its_name() {
    let world = World::new();
    let mut cx = world.cx();
    cx.around.outputs = Some(Arc::new(|n| (n == 3).then(|| (1..=9).map(|n| format!("row {n}\n")).collect())));
    let called = async |name: &str, args: Value| match world.dispatcher.call(&call(name, args), &cx).await.reply {
        Reply::Output(output) => output.text.clone(),
        Reply::Failed(failure) => failure.message,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        called("read_file", json!({ "path": "@out/3", "offset": 4, "limit": 2 })).await,
        "[lines 4-5 of 9; go on with offset 6]\n4\trow 4\n5\trow 5\n"
    );
    assert_eq!(
        called("search_files", json!({ "path": "@out/3", "pattern": "[27]", "context": 1 })).await,
        "@out/3\n1- row 1\n2: row 2\n3- row 3\n--\n6- row 6\n7: row 7\n8- row 8\n"
    );
    assert_eq!(called("read_file", json!({ "path": "@out/9" })).await, "this step has no output `@out/9`");
    assert_eq!(
        called("search_files", json!({ "path": "@out/9", "pattern": "x" })).await,
        "this step has no output `@out/9`"
    );
    assert!(called("list_files", json!({ "path": "@out/3" })).await.contains("not a folder"));
    // It is no path of the workspace, so no rule about paths concerns it.
    let prepared = world.dispatcher.prepare(&call("read_file", json!({ "path": "@out/3" })), &world.place);
    assert_eq!((prepared.reads, prepared.fault), (Vec::new(), None));
    world.put("@out/x", "a file\n");
    assert_eq!(world.text("read_file", json!({ "path": "@out/x" })).await, "1\ta file\n");
}

#[tokio::test]
async fn what_the_person_allows_outside_is_read_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    let put = |name: &str, text: &str| {
        std::fs::create_dir_all(real.join(name).parent().unwrap()).unwrap();
        std::fs::write(real.join(name), text).unwrap();
    };
    put("spec/a.md", "the spec\n");
    put("one.txt", "one\n");
    put("other.txt", "other\n");
    std::os::unix::fs::symlink(real.join("other.txt"), real.join("spec/link")).unwrap();
    let limits = ToolLimits { readable: vec![real.join("spec"), real.join("one.txt")], ..ToolLimits::default() };
    let world = World::within(folder, Registry::standard(&limits), limits.clone());
    let at = |name: &str| real.join(name).display().to_string();
    assert_eq!(world.text("read_file", json!({ "path": at("spec/a.md") })).await, "1\tthe spec\n");
    assert_eq!(world.text("read_file", json!({ "path": "../spec/a.md" })).await, "1\tthe spec\n");
    assert_eq!(world.text("read_file", json!({ "path": at("one.txt") })).await, "1\tone\n");
    assert_eq!(world.text("list_files", json!({ "path": "../spec" })).await, format!("{}\n", at("spec/a.md")));
    let found = world.text("search_files", json!({ "path": at("spec"), "pattern": "spec" })).await;
    assert_eq!(found, format!("{}\n1: the spec\n", at("spec/a.md")));
    let prepared = world.dispatcher.prepare(&call("read_file", json!({ "path": at("spec/a.md") })), &world.place);
    assert_eq!((prepared.reads, prepared.fault), (vec![at("spec/a.md")], None));

    let missing = world.failure("read_file", json!({ "path": at("spec/b.md") })).await.message;
    assert_eq!(missing, format!("there is no `b.md` in `{}`", at("spec")));
    for path in [at("other.txt"), "../other.txt".into(), at("spec/../other.txt"), at("one.txt/x"), at("spec2")] {
        let failure = world.failure("read_file", json!({ "path": path })).await;
        assert_eq!(failure.kind, FailureKind::Security, "{path}: {failure}");
        assert!(failure.message.contains("only the person can allow it, by `--read "), "{failure}");
    }
    assert_eq!(world.failure("read_file", json!({ "path": "../spec/link" })).await.kind, FailureKind::Security);
    // What may be read may not be written.
    let write = json!({ "path": "../spec/a.md", "content": "x" });
    assert!(world.fault("write_file", write).unwrap().contains("leaves the workspace"));
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
    assert_eq!(world.text("read_file", json!({ "path": "marked.txt" })).await, "1\thello\n");
    assert_eq!(world.text("read_file", json!({ "path": "little.txt" })).await, "1\tgrüße 🎈\n");
    assert_eq!(world.text("read_file", json!({ "path": "big.txt" })).await, "1\tgrüße 🎈\n");
    assert_eq!(
        world.text("search_files", json!({ "pattern": "^(grüße|hello)" })).await,
        "big.txt\n1: grüße 🎈\n\nlittle.txt\n1: grüße 🎈\n\nmarked.txt\n1: hello\n"
    );

    for (name, bytes, text) in [
        ("latin", &b"caf\xE9\nna\xEFve\n"[..], "[`latin` is windows-1252; shown as UTF-8]\n1\tcafé\n2\tnaïve\n"),
        ("half", b"\xFF\xFEa\x00\xDC", "[`half` is UTF-16LE; shown as UTF-8]\n1\ta\u{fffd}"),
        ("lone", b"\xFF\xFE\x00\xD8", "[`lone` is UTF-16LE; shown as UTF-8]\n1\t\u{fffd}"),
        ("bare", b"h\x00i\x00\n\x00", "[`bare` is UTF-16LE; shown as UTF-8]\n1\thi\n"),
    ] {
        world.put(name, bytes);
        assert_eq!(world.text("read_file", json!({ "path": name })).await, text);
    }
    assert_eq!(
        world.text("read_file", json!({ "path": "latin", "offset": 2 })).await,
        "[`latin` is windows-1252; shown as UTF-8]\n[lines 2-2 of 2]\n2\tnaïve\n"
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
async fn a_path_that_is_not_there_is_answered_with_the_nearest() {
    let world = World::new();
    world.put("markdown/extensions/toc.py", "x = 1\n");
    world.put("markdown/core.py", "x = 1\n");
    let why = async |path: &str| world.failure("read_file", json!({ "path": path })).await.message;
    let nearest = "the nearest is `markdown/extensions/toc.py`";
    assert_eq!(
        why("markdown/extension/toc.py").await,
        format!("there is no `markdown/extension/toc.py` in the workspace; {nearest}")
    );
    assert!(why("toc.py").await.ends_with(nearest));
    assert!(why("markdown/extensions/toc.pyi").await.ends_with(nearest));
    assert_eq!(why("quite/another.rs").await, "there is no `quite/another.rs` in the workspace");
    assert_eq!(why("markdown").await, "`markdown` is a folder. It has core.py, extensions/");
}
