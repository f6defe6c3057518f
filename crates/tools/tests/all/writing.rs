//! write_file, edit_file and append_line: what they do to a file, and what can be told after a crash.
#![allow(clippy::unwrap_used, clippy::panic, clippy::format_collect, clippy::unnecessary_wraps, reason = "a test may")]

use std::os::unix::fs::PermissionsExt;

use crate::common::{World, call};
use serde_json::json;
use sha2::{Digest, Sha256};
use updraft_run::{
    CallOrder, ContentHash, EffectClass, EffectFacts, ExpectedWrite, FileChange, PreparedCall, RecoveryOutcome, Reply,
};
use updraft_tools::ToolLimits;

fn hash(bytes: impl AsRef<[u8]>) -> Option<ContentHash> {
    Some(ContentHash(Sha256::digest(bytes).into()))
}

type Told<'a> = (&'a str, Option<ContentHash>, Option<ContentHash>, Option<u32>, Option<u32>);

/// Path, hashes and modes of changes.
fn told(changes: &[FileChange]) -> Vec<Told<'_>> {
    let mode = |form: Option<updraft_run::FileMetadata>| form.map(|form| form.mode);
    changes.iter().map(|one| (one.path.as_str(), one.before, one.after, mode(one.was), mode(one.now))).collect()
}

#[tokio::test]
async fn what_was_there_before_is_kept_ahead_and_with_the_reply() {
    let world = World::new();
    world.put("a.txt", "old\n");
    for (tool, args) in [
        ("write_file", json!({ "path": "a.txt", "content": "new\n" })),
        ("edit_file", json!({ "path": "a.txt", "old": "new", "new": "newer" })),
    ] {
        let before = world.content("a.txt");
        let call = call(tool, args);
        assert_eq!(
            world.dispatcher.previous_contents(&call, &world.place).await,
            std::slice::from_ref(&before),
            "{tool}"
        );
        assert_eq!(world.dispatcher.call(&call, &world.cx()).await.kept, [before], "{tool}");
    }
    let again = call("write_file", json!({ "path": "a.txt", "content": "newer\n" }));
    assert_eq!(world.dispatcher.previous_contents(&again, &world.place).await, [] as [Vec<u8>; 0]);
    assert_eq!(world.dispatcher.call(&again, &world.cx()).await.kept, [] as [Vec<u8>; 0]);
}

#[tokio::test]
async fn a_new_file_is_written_with_its_folders() {
    let world = World::new();
    let args = json!({ "path": "a/b/c.txt", "content": "one\ntwo\n" });
    let prepared = world.dispatcher.prepare(&call("write_file", args.clone()), &world.place);
    assert_eq!(
        prepared,
        PreparedCall {
            class: EffectClass::Checkable,
            order: CallOrder::Alone,
            writes: vec!["a/b/c.txt".into()],
            ..PreparedCall::default()
        }
    );

    let output = world.output("write_file", args).await;
    assert_eq!(world.content("a/b/c.txt"), b"one\ntwo\n");
    assert_eq!(output.text, "wrote `a/b/c.txt`: 8 bytes, a new file\n");
    let paths: Vec<&str> = output.changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["a", "a/b", "a/b/c.txt"]);
    assert!(output.changes.iter().all(|change| change.was.is_none() && change.before.is_none()));
    assert_eq!(output.changes[2].after, hash("one\ntwo\n"));
    let value = output.value.as_ref().unwrap();
    assert_eq!(value["diff"], "--- a/a/b/c.txt\n+++ b/a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n");
    assert_eq!((value["created"].as_bool(), value["added"].as_u64()), (Some(true), Some(2)));
}

#[tokio::test]
async fn a_file_is_replaced_whole_and_keeps_its_permissions() {
    let world = World::new();
    world.put("run.sh", "old\n");
    std::fs::set_permissions(world.path("run.sh"), std::fs::Permissions::from_mode(0o750)).unwrap();
    let output = world.output("write_file", json!({ "path": "run.sh", "content": "new\r\n" })).await;
    assert_eq!(world.content("run.sh"), b"new\r\n");
    assert_eq!(std::fs::metadata(world.path("run.sh")).unwrap().permissions().mode() & 0o7777, 0o750);
    assert_eq!(told(&output.changes), [("run.sh", hash("old\n"), hash("new\r\n"), Some(0o750), Some(0o750))]);
    assert_eq!(world.names(), ["run.sh"]);
}

#[tokio::test]
async fn writing_what_is_there_already_changes_nothing() {
    let world = World::new();
    world.put("a.txt", "same\n");
    let before = std::fs::metadata(world.path("a.txt")).unwrap().modified().unwrap();
    let output = world.output("write_file", json!({ "path": "a.txt", "content": "same\n" })).await;
    assert_eq!(output.text, "`a.txt` has that content already; nothing was changed\n");
    assert_eq!(output.changes, []);
    assert_eq!(std::fs::metadata(world.path("a.txt")).unwrap().modified().unwrap(), before);
}

#[tokio::test]
async fn a_write_that_fails_leaves_the_folder_as_it_was() {
    let world = World::with(ToolLimits { file: 1_000, ..ToolLimits::default() });
    world.put("a.txt", "old\n");
    let name = "x".repeat(300);
    assert!(world.failure("write_file", json!({ "path": name, "content": "x" })).await.message.contains("too long"));
    assert!(
        world
            .failure("write_file", json!({ "path": "a.txt", "content": "x".repeat(1_001) }))
            .await
            .message
            .contains("at most 1000")
    );
    assert!(
        world
            .failure("edit_file", json!({ "path": "a.txt", "old": "gone", "new": "x" }))
            .await
            .message
            .contains("nothing was changed")
    );
    assert!(
        world.failure("write_file", json!({ "path": "new/", "content": "x" })).await.message.contains("names a folder")
    );
    assert_eq!(world.names(), ["a.txt"]);
    assert_eq!(world.content("a.txt"), b"old\n");
}

#[tokio::test]
async fn readers_see_the_old_content_or_the_new_and_nothing_between() {
    let world = World::new();
    let (old, new) = ("a".repeat(200_000), "b".repeat(300_000));
    world.put("a.txt", &old);
    let path = world.path("a.txt");
    let reading = std::thread::spawn({
        let (old, new) = (old.clone(), new.clone());
        move || {
            for _ in 0..300 {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(text == old || text == new, "{} bytes", text.len());
            }
        }
    });
    let mut turn = 0;
    while !reading.is_finished() {
        turn += 1;
        let content = if turn % 2 == 0 { &old } else { &new };
        world.output("write_file", json!({ "path": "a.txt", "content": content })).await;
    }
    reading.join().unwrap();
}

#[tokio::test]
async fn an_edit_replaces_the_one_place_that_is_meant() {
    let world = World::new();
    world.put("a.rs", "let a = 1;\nlet b = 1;\n");
    let output = world.output("edit_file", json!({ "path": "a.rs", "old": "b = 1", "new": "b = 2" })).await;
    assert_eq!(output.text, "edited `a.rs`: replaced 1 place\n");
    assert_eq!(world.content("a.rs"), b"let a = 1;\nlet b = 2;\n");
    let diff = output.value.as_ref().unwrap()["diff"].as_str().unwrap().to_owned();
    assert_eq!(diff, "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n let a = 1;\n-let b = 1;\n+let b = 2;\n");

    let several = world.failure("edit_file", json!({ "path": "a.rs", "old": "let ", "new": "const " })).await;
    assert_eq!(
        several.message,
        "nothing was changed in `a.rs`: `old` occurs 2 times, on lines 1, 2; give more of the lines around it so that it occurs once, or set replace_all:\n1\tlet a = 1;\n2\tlet b = 2;"
    );
    let all =
        world.text("edit_file", json!({ "path": "a.rs", "old": "let ", "new": "const ", "replace_all": true })).await;
    assert_eq!(all, "edited `a.rs`: replaced 2 places\n");
    assert_eq!(world.content("a.rs"), b"const a = 1;\nconst b = 2;\n");

    let near = world.failure("edit_file", json!({ "path": "a.rs", "old": "const b = 3;", "new": "x" })).await;
    assert_eq!(
        near.message,
        "nothing was changed in `a.rs`: `old` does not occur in it; the nearest is line 2: `const b = 2;`"
    );
    let gone = world.failure("edit_file", json!({ "path": "b.rs", "old": "x", "new": "y" })).await;
    assert_eq!(gone.message, "there is no `b.rs` in the workspace; write_file creates new files");
}

#[tokio::test]
async fn several_edits_are_made_in_order_and_together() {
    let world = World::new();
    world.put("a.rs", "let a = 1;\nlet b = 1;\n");
    let edits = json!([{ "old": "let a", "new": "let mut a" }, { "old": "mut a = 1", "new": "mut a = 2" }, { "old": " = ", "new": "=", "replace_all": true }]);
    let text = world.text("edit_file", json!({ "path": "a.rs", "edits": edits })).await;
    assert_eq!(text, "edited `a.rs`: replaced 4 places\n");
    assert_eq!(world.content("a.rs"), b"let mut a=2;\nlet b=1;\n");

    let edits = json!([{ "old": "b=1", "new": "b=2" }, { "old": "let c=1;", "new": "c=2" }]);
    let failed = world.failure("edit_file", json!({ "path": "a.rs", "edits": edits })).await;
    assert_eq!(
        failed.message,
        "nothing was changed in `a.rs`: edit 2: `old` does not occur in it; the nearest is line 2: `let b=2;`"
    );
    assert_eq!(world.content("a.rs"), b"let mut a=2;\nlet b=1;\n");
    // Models that were trained with other tools.
    let theirs = json!({ "file_path": "a.rs", "old_string": "b=1", "new_string": "b=3" });
    assert_eq!(world.text("edit_file", theirs).await, "edited `a.rs`: replaced 1 place\n");
    let filled = json!({ "path": "a.rs", "old": "", "new": "", "edits": [{ "old": "b=3", "new": "b=4" }] });
    assert_eq!(world.text("edit_file", filled).await, "edited `a.rs`: replaced 1 place\n");
    for (args, why) in [
        (json!({ "path": "a.rs" }), "what to replace, `old` and `new` or a list of `edits`, is missing"),
        (json!({ "path": "a.rs", "old": "b" }), "`new`, the text to put in place of `old`, is missing"),
        (json!({ "path": "a.rs", "new": "b" }), "`old`, the text to replace by `new`, is missing"),
    ] {
        assert_eq!(world.fault("edit_file", args).as_deref(), Some(why));
    }
    let numbered = world.failure("edit_file", json!({ "path": "a.rs", "old": "2\tlet b", "new": "let c" })).await;
    assert!(
        numbered.message.ends_with("leave out each number and the tab after it (without them it is at line 2)"),
        "{numbered}"
    );
}

#[tokio::test]
async fn an_edit_keeps_line_endings_and_encoding() {
    let world = World::new();
    world.put("crlf.txt", "one\r\ntwo\r\nthree\r\n");
    world.output("edit_file", json!({ "path": "crlf.txt", "old": "one\ntwo\n", "new": "1\n2\n2b\n" })).await;
    assert_eq!(world.content("crlf.txt"), b"1\r\n2\r\n2b\r\nthree\r\n");
    world.output("edit_file", json!({ "path": "crlf.txt", "old": "three", "new": "3\n4" })).await;
    assert_eq!(world.content("crlf.txt"), b"1\r\n2\r\n2b\r\n3\r\n4\r\n");

    world.put("marked.txt", b"\xEF\xBB\xBFone\n");
    world.output("edit_file", json!({ "path": "marked.txt", "old": "one", "new": "two" })).await;
    assert_eq!(world.content("marked.txt"), b"\xEF\xBB\xBFtwo\n");

    let wide = |text: &str| -> Vec<u8> {
        [0xFE, 0xFF].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect()
    };
    world.put("wide.txt", wide("grüße\r\n"));
    world.output("edit_file", json!({ "path": "wide.txt", "old": "grüße\n", "new": "🎈\n" })).await;
    assert_eq!(world.content("wide.txt"), wide("🎈\r\n"));

    world.put("binary", b"a\0b");
    assert!(
        world
            .failure("edit_file", json!({ "path": "binary", "old": "a", "new": "c" }))
            .await
            .message
            .contains("is not text")
    );
}

#[tokio::test]
async fn edits_of_one_file_at_once_all_count() {
    let world = World::new();
    let lines: String = (0..20).map(|n| format!("<{n}>\n")).collect();
    world.put("a.txt", lines);
    let mut edits = tokio::task::JoinSet::new();
    for n in 0..20 {
        let (dispatcher, cx) = (world.dispatcher.clone(), world.cx());
        let edit = call("edit_file", json!({ "path": "a.txt", "old": format!("<{n}>"), "new": format!("[{n}]") }));
        edits.spawn(async move { dispatcher.call(&edit, &cx).await.reply });
    }
    for reply in edits.join_all().await {
        assert!(matches!(reply, Reply::Output(_)), "{reply:?}");
    }
    let expected: String = (0..20).map(|n| format!("[{n}]\n")).collect();
    assert_eq!(world.content("a.txt"), expected.as_bytes());
}

#[tokio::test]
async fn the_hashes_before_and_after_tell_what_became_of_a_write() {
    let world = World::new();
    let write = call("write_file", json!({ "path": "a.txt", "content": "new\n" }));
    for before in [None, Some("old\n")] {
        let _ = std::fs::remove_file(world.path("a.txt"));
        if let Some(before) = before {
            world.put("a.txt", before);
        }
        let facts = world.dispatcher.facts(&write, &world.place).await;
        let expected = ExpectedWrite { path: "a.txt".into(), before: before.and_then(hash), after: hash("new\n") };
        assert_eq!(facts, EffectFacts { files: vec![expected.clone()], ..EffectFacts::default() });
        assert_eq!(world.dispatcher.reconcile(&write, &facts, &world.place).await, RecoveryOutcome::DidNotHappen);

        let Reply::Output(done) = world.dispatcher.call(&write, &world.cx()).await.reply else { panic!("no output") };
        let RecoveryOutcome::Happened(Reply::Output(found)) =
            world.dispatcher.reconcile(&write, &facts, &world.place).await
        else {
            panic!("it happened")
        };
        assert_eq!((&found.text, told(&found.changes)), (&done.text, told(&done.changes)));

        world.put("a.txt", "someone else\n");
        let RecoveryOutcome::CannotTell(evidence) = world.dispatcher.reconcile(&write, &facts, &world.place).await
        else {
            panic!("nobody can tell")
        };
        assert!(evidence.contains("neither as it was before"), "{evidence}");
        assert!(evidence.contains(&hash("someone else\n").unwrap().to_string()), "{evidence}");
    }
}

#[tokio::test]
async fn the_hashes_tell_what_became_of_an_edit() {
    let world = World::new();
    world.put("a.txt", "one\r\ntwo\r\n");
    let edit = call("edit_file", json!({ "path": "a.txt", "old": "one\n", "new": "1\n" }));
    let facts = world.dispatcher.facts(&edit, &world.place).await;
    assert_eq!(facts.files[0].after, hash("1\r\ntwo\r\n"));
    assert_eq!(world.dispatcher.reconcile(&edit, &facts, &world.place).await, RecoveryOutcome::DidNotHappen);
    world.dispatcher.call(&edit, &world.cx()).await;
    assert!(matches!(
        world.dispatcher.reconcile(&edit, &facts, &world.place).await,
        RecoveryOutcome::Happened(Reply::Output(_))
    ));

    // An edit that would fail has no hashes, so nothing can be said about it later.
    let facts = world.dispatcher.facts(&edit, &world.place).await;
    assert_eq!(facts, EffectFacts::default());
    assert!(matches!(world.dispatcher.reconcile(&edit, &facts, &world.place).await, RecoveryOutcome::CannotTell(_)));
}

#[tokio::test]
async fn lines_are_appended_one_after_the_other() {
    let world = World::new();
    let prepared =
        world.dispatcher.prepare(&call("append_line", json!({ "path": "log/a", "line": "x" })), &world.place);
    assert_eq!(
        prepared,
        PreparedCall {
            class: EffectClass::Opaque,
            order: CallOrder::Alone,
            writes: vec!["log/a".into()],
            ..PreparedCall::default()
        }
    );
    for line in ["one", "", "three"] {
        assert_eq!(
            world.text("append_line", json!({ "path": "log/a", "line": line })).await,
            "added a line to `log/a`\n"
        );
    }
    assert_eq!(world.content("log/a"), b"one\n\nthree\n");
    world.put("open", "no end");
    let output = world.output("append_line", json!({ "path": "open", "line": "next" })).await;
    assert_eq!(world.content("open"), b"no end\nnext\n");
    let told = told(&output.changes);
    assert_eq!(
        told.iter().map(|one| (one.0, one.1, one.2)).collect::<Vec<_>>(),
        [("open", hash("no end"), hash("no end\nnext\n"))]
    );
    assert!(world.fault("append_line", json!({ "path": "open", "line": "two\nlines" })).unwrap().contains("`/line`"));
    let facts =
        world.dispatcher.facts(&call("append_line", json!({ "path": "open", "line": "x" })), &world.place).await;
    assert_eq!(facts, EffectFacts::default());
}

#[tokio::test]
async fn a_line_is_added_to_text_only_and_in_its_encoding() {
    let world = World::new();
    let odd_wide: &[u8] = b"\xff\xfea\0b";
    let late = ["a\n".repeat(20_000).as_bytes(), b"\xe9\n".as_slice(), "a\n".repeat(20_000).as_bytes()].concat();
    let refused: [(&str, &[u8], &str); 5] = [
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", "x"),
        ("packed", b"\x1f\x8b\x08\xff\xfe\xe9", "x"),
        ("latin.txt", b"caf\xe9\n", "caf\u{e9}"),
        ("late.txt", &late, "caf\u{e9}"),
        ("wide", odd_wide, "x"),
    ];
    for (path, bytes, line) in refused {
        world.put(path, bytes);
        let failure = world.failure("append_line", json!({ "path": path, "line": line })).await;
        assert!(failure.message.contains("is not text") || failure.message.contains("is not UTF-8"), "{failure}");
        assert_eq!(world.content(path), bytes, "{path}");
    }
    world.output("append_line", json!({ "path": "latin.txt", "line": "plain" })).await;
    assert_eq!(world.content("latin.txt"), b"caf\xe9\nplain\n");
    // Wherever a letter is cut by what is looked at.
    for length in 8190..8195 {
        world.put("long", format!("{}{}\n", "a".repeat(length), "\u{20ac}".repeat(9000)));
        world.output("append_line", json!({ "path": "long", "line": "\u{20ac}" })).await;
    }
}

#[tokio::test]
async fn encodings_and_line_endings_are_kept() {
    let world = World::new();
    let wide = |text: &str| {
        "\u{feff}"
            .chars()
            .chain(text.chars())
            .flat_map(|c| u16::try_from(u32::from(c)).unwrap().to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let put = |path: &str, bytes: &[u8]| world.put(path, bytes);
    put("wide", &wide("a\r\nb"));
    put("dos", b"a\r\nb\r\n");
    put("marked", b"\xef\xbb\xbfa\n");
    put("empty", b"");
    for path in ["wide", "dos", "marked", "empty"] {
        world.output("append_line", json!({ "path": path, "line": "x" })).await;
    }
    assert_eq!(world.content("wide"), wide("a\r\nb\r\nx\r\n"));
    assert_eq!(world.content("dos"), b"a\r\nb\r\nx\r\n");
    assert_eq!(world.content("marked"), b"\xef\xbb\xbfa\nx\n");
    assert_eq!(world.content("empty"), b"x\n");

    let write = async |path: &str| world.text("write_file", json!({ "path": path, "content": "new\nlines\n" })).await;
    assert_eq!(
        write("wide").await,
        "wrote `wide`: 10 bytes, replacing the previous content, with its encoding (UTF-16) and line endings (CRLF) kept\n"
    );
    assert_eq!(world.content("wide"), wide("new\r\nlines\r\n"));
    write("dos").await;
    assert_eq!(world.content("dos"), b"new\r\nlines\r\n");
    write("marked").await;
    assert_eq!(world.content("marked"), b"\xef\xbb\xbfnew\nlines\n");
    write("empty").await;
    assert_eq!(world.content("empty"), b"new\nlines\n");
    put("latin", b"caf\xe9\n");
    assert!(write("latin").await.ends_with("now UTF-8, which it was not before\n"));
    // What says how its lines end is taken at its word.
    put("dos", b"a\r\nb\r\n");
    world.output("write_file", json!({ "path": "dos", "content": "a\r\nb\n" })).await;
    assert_eq!(world.content("dos"), b"a\r\nb\n");
}
