//! retrieve, ingest_document and list_documents: what they find, what they leave out, and what they say.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use std::path::PathBuf;
use std::sync::Arc;

use crate::common::{World, call};
use serde_json::{Value, json};
use updraft_knowledge::{Index, read_here};
use updraft_run::{EffectClass, ReadRules, Reply, Rule, Rules, ToolOutput};
use updraft_tools::{IndexConfig, Registry, ToolLimits, WorkspaceIndex};

/// A workspace with an index in another folder.
struct Library {
    world: World,
    _folder: tempfile::TempDir,
    file: PathBuf,
}

fn library(files: &[(&str, &str)]) -> Library {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("knowledge/one.db");
    let config = IndexConfig {
        file: file.clone(),
        own: Vec::new(),
        rules: ReadRules::default(),
        read: Arc::new(read_here),
        embedder: None,
    };
    let limits = ToolLimits::default();
    let registry = Registry::standard(&limits).with_index(&Arc::new(WorkspaceIndex::new(config)), &limits);
    let world = World::of(registry, limits);
    for (name, text) in files {
        world.put(name, text);
    }
    Library { world, _folder: folder, file }
}

impl Library {
    async fn find(&self, args: Value) -> Arc<ToolOutput> {
        self.world.output("retrieve", args).await
    }

    async fn paths(&self, query: &str) -> Vec<String> {
        paths(&self.find(json!({ "query": query })).await)
    }
}

fn paths(output: &Arc<ToolOutput>) -> Vec<String> {
    let passages = output.value.as_ref().unwrap()["passages"].as_array().unwrap();
    passages.iter().map(|passage| passage["path"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn passages_are_found_with_place_trail_and_hash() {
    let guide = "# Tides\n\nIntro.\n\n## Harbours\n\nThe harbour of Brest has two constituents.\n";
    let library = library(&[("docs/guide.md", guide), ("other.txt", "nothing of note\n")]);
    let output = library.find(json!({ "query": "harbour of Brset" })).await;
    assert!(output.text.starts_with("[1] docs/guide.md:"), "{}", output.text);
    assert!(output.text.contains("[`brset` occurs nowhere; searched for `brest`]"), "{}", output.text);
    let value = output.value.as_ref().unwrap();
    let passage = &value["passages"][0];
    assert_eq!(passage["n"], 1);
    assert_eq!(passage["path"], "docs/guide.md");
    assert_eq!(passage["hash"], updraft_hash(guide));
    assert!(passage["where"].as_str().unwrap().starts_with("line"), "{passage}");
    assert!(
        passage["why"].as_array().unwrap().iter().any(|why| why.as_str().unwrap().contains("harbour")),
        "{passage}"
    );
    assert_eq!((&value["documents"], &value["indexed"]), (&json!(2), &json!(true)));
    assert!(!output.untrusted, "files of the workspace are not from outside");

    let nothing = library.find(json!({ "query": "zeppelin" })).await;
    assert!(nothing.text.starts_with("[nothing found]\n[these words occur nowhere: zeppelin]"), "{}", nothing.text);
}

fn updraft_hash(text: &str) -> String {
    updraft_workspace::hash(text.as_bytes()).to_string()
}

#[tokio::test]
async fn the_index_follows_the_files_and_leaves_out_what_searches_leave_out() {
    let library = library(&[
        ("a.md", "the loom\n"),
        (".hidden/b.md", "the loom\n"),
        ("out/c.md", "the loom\n"),
        (".gitignore", "out/\n"),
    ]);
    assert_eq!(library.paths("loom").await, ["a.md"]);
    library.world.put("new.md", "a second loom\n");
    std::fs::remove_file(library.world.path("a.md")).unwrap();
    assert_eq!(library.paths("loom").await, ["new.md"]);
    let listed = library.world.output("list_documents", json!({})).await;
    assert_eq!(listed.text, "new.md (markdown, 14 bytes)\n");
}

#[tokio::test]
async fn of_too_many_lines_those_of_the_most_relevant_files_come_first() {
    let passing = format!("{}the loom, in passing\n", "about other things altogether, at length\n".repeat(40));
    let about = "# The loom\n\nThe loom is a loom: every loom weaves.\n";
    let library = library(&[("a.md", &passing), ("b.md", &passing), ("z/loom.md", about)]);
    let lines = async |args: Value| {
        let output = library.world.output("search_files", args).await;
        let matches = output.value.as_ref().unwrap()["matches"].as_array().unwrap().clone();
        matches.iter().map(|line| line["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let in_order = ["a.md", "b.md", "z/loom.md", "z/loom.md"];
    assert_eq!(lines(json!({ "pattern": "[lL]oom", "limit": 1 })).await, ["a.md"], "there is no index yet");
    library.find(json!({ "query": "loom" })).await;
    assert_eq!(lines(json!({ "pattern": "[lL]oom", "limit": 2 })).await, ["z/loom.md", "z/loom.md"]);
    assert_eq!(lines(json!({ "pattern": "loom", "limit": 1 })).await, ["z/loom.md"]);
    assert_eq!(lines(json!({ "pattern": "[lL]oom" })).await, in_order, "all fit, so they come in order");
    assert_eq!(lines(json!({ "pattern": "passing", "limit": 1, "path": "b.md" })).await, ["b.md"]);
}

#[tokio::test]
async fn filters_are_by_path_kind_and_date() {
    let files = [("docs/a.md", "the loom\n"), ("docs/deep/b.md", "the loom\n"), ("c.txt", "the loom\n")];
    let library = library(&files);
    for (path, expected) in [
        ("docs", vec!["docs/a.md", "docs/deep/b.md"]),
        ("docs/deep/", vec!["docs/deep/b.md"]),
        ("*.txt", vec!["c.txt"]),
        ("docs/*.md", vec!["docs/a.md", "docs/deep/b.md"]),
        (".", vec!["c.txt", "docs/a.md", "docs/deep/b.md"]),
    ] {
        let mut found = paths(&library.find(json!({ "query": "loom", "path": path })).await);
        found.sort();
        assert_eq!(found, expected, "{path}");
    }
    assert_eq!(paths(&library.find(json!({ "query": "loom", "kind": "text" })).await), ["c.txt"]);
    assert_eq!(paths(&library.find(json!({ "query": "loom", "since": "2020-01-31" })).await).len(), 3);
    assert!(paths(&library.find(json!({ "query": "loom", "since": "2999-01-01" })).await).is_empty());
    let wrong = library.world.failure("retrieve", json!({ "query": "loom", "since": "soon" })).await;
    assert_eq!(wrong.message, "`since` is `soon`; expected a date such as 2026-01-31");
}

#[tokio::test]
async fn passages_of_files_that_may_not_be_read_never_appear() {
    let mut files: Vec<(String, String)> =
        (0..40).map(|at| (format!("secret/{at}.md"), "the password of the loom, the loom\n".to_owned())).collect();
    files.push(("open.md".to_owned(), "a long text about many things, and about a loom as well\n".to_owned()));
    let library = library(&[]);
    for (name, text) in &files {
        library.world.put(name, text);
    }
    let deny = vec![Rule::parse("read_file(secret/**)", "").unwrap()];
    let rules = Arc::new(ReadRules::of([&Rules { deny, ..Rules::default() }]));
    for (tool, args) in [("retrieve", json!({ "query": "loom password", "limit": 3 })), ("list_documents", json!({}))] {
        let mut cx = library.world.cx();
        cx.around.read_rules = Arc::clone(&rules);
        let reply = library.world.dispatcher.call(&call(tool, args), &cx).await.reply;
        let Reply::Output(output) = reply else { panic!("{reply:?}") };
        assert!(output.text.contains("open.md") && !output.text.contains("secret"), "{tool}: {}", output.text);
        assert!(!output.value.as_ref().unwrap().to_string().contains("secret"), "{tool}");
    }
}

#[tokio::test]
async fn calls_say_what_they_read_and_that_they_leave_out_what_is_denied() {
    let library = library(&[("docs/a.md", "x\n")]);
    let prepared = |tool: &str, args: Value| library.world.dispatcher.prepare(&call(tool, args), &library.world.place);
    for (args, reads) in [
        (json!({ "query": "x" }), "."),
        (json!({ "query": "x", "path": "docs/*.md" }), "docs"),
        (json!({ "query": "x", "path": "docs/a.md" }), "docs/a.md"),
        (json!({ "query": "x", "path": "*.md" }), "."),
        (json!({ "query": "x", "path": "/elsewhere/*" }), "."),
    ] {
        let call = prepared("retrieve", args);
        assert_eq!((call.reads, call.leaves_out, call.class), (vec![reads.to_owned()], true, EffectClass::Pure));
    }
    let ingest = prepared("ingest_document", json!({ "path": "docs/a.md" }));
    assert_eq!((ingest.reads.as_slice(), ingest.class), (&["docs/a.md".to_owned()][..], EffectClass::Idempotent));
    assert!(ingest.changes() && !ingest.may_touch_any_file() && !ingest.outside);
}

#[tokio::test]
async fn a_named_file_and_a_text_are_documents_too() {
    let library = library(&[("build/notes.md", "the loom\n"), (".gitignore", "build/\n")]);
    assert!(library.paths("loom").await.is_empty());
    let output = library.world.output("ingest_document", json!({ "path": "build" })).await;
    assert_eq!(output.text, "`build`: 1 files in the index, 1 of them new or changed\n");
    let text = json!({ "title": "Weaving / basics", "text": "A shuttle carries the weft." });
    let kept = library.world.output("ingest_document", text).await;
    assert!(kept.text.contains("retrieve finds it"), "{}", kept.text);
    assert_eq!(library.paths("loom").await, ["build/notes.md"], "it stays though git ignores it");
    let found = library.find(json!({ "query": "shuttle" })).await;
    assert!(found.text.contains("A shuttle carries the weft."), "{}", found.text);
    assert!(found.untrusted && found.origins == paths(&found), "a text that an agent kept may come from anywhere");
    for args in [json!({}), json!({ "path": "a", "text": "b" }), json!({ "title": "a" })] {
        let refused = library.world.failure("ingest_document", args).await;
        assert_eq!(refused.message, "expected `path`, or `title` and `text`");
    }
    let outside = library.world.failure("ingest_document", json!({ "path": "/etc" })).await;
    assert!(outside.message.contains("outside the workspace"), "{}", outside.message);
}

#[tokio::test]
async fn links_lead_nowhere_not_even_in_place_of_a_named_folder() {
    let library = library(&[("data/a.md", "the loom\n"), (".gitignore", "data/\n")]);
    library.world.output("ingest_document", json!({ "path": "data" })).await;
    assert_eq!(library.paths("loom").await, ["data/a.md"]);
    std::fs::create_dir(library.world.path("../private")).unwrap();
    std::fs::write(library.world.path("../private/a.md"), "the password of the safe\n").unwrap();
    std::fs::remove_dir_all(library.world.path("data")).unwrap();
    library.world.link(library.world.path("../private"), "data");
    library.world.link(library.world.path("../private/a.md"), "linked.md");
    let found = library.find(json!({ "query": "password safe" })).await;
    assert!(!found.text.contains("password of"), "{}", found.text);
    let refused = library.world.failure("ingest_document", json!({ "path": "data" })).await;
    assert!(refused.message.contains("`data`"), "{}", refused.message);
}

#[tokio::test]
async fn a_damaged_index_is_made_again_and_this_is_said() {
    let library = library(&[("a.md", "the loom\n")]);
    assert_eq!(library.paths("loom").await, ["a.md"]);
    std::fs::write(&library.file, "no database at all, but a text that is long enough to be read").unwrap();
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{ending}", library.file.display()));
    }
    let found = library.find(json!({ "query": "loom" })).await;
    assert_eq!(paths(&found), ["a.md"], "{}", found.text);
    let aside = PathBuf::from(format!("{}.damaged", library.file.display()));
    assert!(aside.exists());
    Index::open(&library.file).unwrap().check().unwrap();
    assert!(found.text.contains("[the index was damaged and has been made again]"), "{}", found.text);
    assert_eq!(library.paths("loom").await, ["a.md"]);
}

#[tokio::test]
async fn patterns_mean_what_people_mean_by_them() {
    let library = library(&[("a.md", "harbour\n"), ("docs/b.md", "harbour\n"), ("app/[slug]/c.md", "harbour\n")]);
    for (pattern, expected) in [
        ("**/*.md", vec!["a.md", "app/[slug]/c.md", "docs/b.md"]),
        ("docs/**/*.md", vec!["docs/b.md"]),
        ("app/[slug]", vec!["app/[slug]/c.md"]),
        ("app/[slug]/c.md", vec!["app/[slug]/c.md"]),
    ] {
        let mut found = paths(&library.find(json!({ "query": "harbour", "path": pattern })).await);
        found.sort();
        assert_eq!(found, expected, "{pattern}");
    }
}
