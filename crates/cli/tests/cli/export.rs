//! Runs as files, out and in again.

use serde_json::json;

use crate::world::World;

fn with_a_run() -> (World, String) {
    let world = World::new();
    let model = world.script(
        "s.json",
        &json!([{"calls": [{"name": "read_file", "args": {"path": "a.txt"}}]}, {"text": "It says hello."}]),
    );
    world.updraft(&["run", "--model", &model, "--agent", "coder", "what is in a.txt?"]).code(0);
    let id = world.last();
    (world, id)
}

#[test]
fn what_is_exported_is_imported_again_and_replays() {
    let (world, id) = with_a_run();
    let exported = world.updraft(&["export", &id]).code(0).out;
    let file = world.file("run.jsonl", &exported);

    world.updraft(&["import", file.to_str().unwrap()]).code(1).says("already exists").says("--id");
    world.updraft(&["rm", &id]).code(0);
    assert_eq!(world.updraft(&["import", file.to_str().unwrap()]).code(0).out.trim(), id);

    // All is as it was, but that it is known to have come from a file.
    let again = world.updraft(&["export", &id]).code(0).out;
    let (marks, same): (Vec<&str>, Vec<&str>) = again.lines().partition(|line| line.ends_with("\"e\":[\"imported\"]}"));
    assert!(marks.len() == 1 && same == exported.lines().collect::<Vec<_>>(), "{again}");
    world.updraft(&["replay", &id, "--strict"]).code(0);
    world.fed(&["import", "-", "--id", "copy"], exported.as_bytes()).code(0);
    world.updraft(&["show", "copy"]).code(0);
    world.updraft(&["rerun", "copy"]).code(2).says("was imported");
}

#[test]
fn all_runs_are_written_into_folders_by_day() {
    let (world, id) = with_a_run();
    let folder = world.ws().join("sessions");
    let ran = world.updraft(&["export", "--all", "--format", "node-link", "--out", folder.to_str().unwrap()]).code(0);
    let file = ran.out.trim();
    assert!(
        file.ends_with(&format!("session_{id}.json")) && file.split('/').rev().nth(1).is_some_and(|day| day.len() == 2),
        "{file}"
    );
    let graph: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!((graph["directed"].as_bool(), graph["nodes"].as_array().unwrap().len()), (Some(true), 2));
}

#[test]
fn a_run_reads_as_a_document() {
    let (world, _) = with_a_run();
    let text = world.updraft(&["export", "last", "--format", "markdown"]).code(0).out;
    assert!(
        text.starts_with("# what is in a.txt?\n")
            && text.contains("## Answer\n\nIt says hello.")
            && text.contains("| `coder` |"),
        "{text}"
    );
}

#[test]
fn every_prompt_can_be_read() {
    let (world, _) = with_a_run();
    assert!(world.updraft(&["show", "last", "--prompts"]).code(0).out.contains("===== 2. coder/0/1/ask.0"));
    let folder = world.ws().join("prompts");
    world.updraft(&["show", "last", "--prompts", "--out", folder.to_str().unwrap()]).code(0);
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 2);
}

#[test]
fn a_damaged_file_is_refused_with_its_line() {
    let (world, id) = with_a_run();
    let exported = world.updraft(&["export", &id]).code(0).out.replacen("\"seq\":4,", "\"seq\":5,", 1);
    world.fed(&["import", "-", "--id", "copy"], exported.as_bytes()).code(2).says("line ").says("event 4");
    world.fed(&["import", "-"], b"hello").code(2).says("line 1");
}

/// A run of somebody else's that waits for approval to write a file, with everything allowed but that.
pub(crate) fn from_elsewhere() -> (World, String) {
    let elsewhere = World::new();
    elsewhere.config("config.toml", "[rules]\nask = [\"write_file\"]\n");
    let write = json!({"calls": [{"name": "write_file", "args": {"path": "out.txt", "content": "x"}}]});
    let model = elsewhere.script("s.json", &json!([write, {"text": "done"}]));
    elsewhere.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "write it"]).code(3);
    let exported = elsewhere.updraft(&["export", "last"]).code(0).out;
    (elsewhere, exported)
}

#[test]
fn what_an_imported_run_says_it_did_is_neither_taken_back_nor_done_again_here() {
    let elsewhere = World::new();
    let write = |path: &str| json!({"calls": [{"name": "write_file", "args": {"path": path, "content": "x"}}]});
    let model = elsewhere.script("s.json", &json!([write("out.txt"), write("more.txt"), {"text": "done"}]));
    elsewhere.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "write it"]).code(0);
    let exported = elsewhere.updraft(&["export", "last"]).code(0).out;
    // The folder that the file names is there, too, and what the run left lies in it.
    let here = World::new();
    here.fed(&["import", "-"], exported.as_bytes()).code(0);
    assert_eq!(here.runs()[0]["status"], "done");
    here.updraft(&["undo", "last", "--yes"]).code(2).says("was imported").says("were made elsewhere");
    assert!(elsewhere.ws().join("out.txt").exists());
    let there = elsewhere.ws().canonicalize().unwrap();
    let listed = here.command(&["undo", "--list"]).current_dir(&there).output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stderr).contains("no run has worked in"), "{listed:?}");

    std::fs::remove_file(there.join("out.txt")).unwrap();
    here.updraft(&["fork", "last", "--at", "3"]).code(0).says("which was imported").says("--workspace DIR");
    here.updraft(&["resume", "last", "--yes"]).code(2).says("was imported");
    assert!(!there.join("out.txt").exists() && !here.ws().join("out.txt").exists());
    let mine = here.script("mine.json", &json!({"rules": [], "default": {"text": "went on"}}));
    here.config("config.toml", &format!("model = {mine:?}\n"));
    here.updraft(&["resume", "last", "--workspace", ".", "--mode", "workspace"]).code(0);
    assert!(!there.join("out.txt").exists());
}

#[test]
fn an_imported_run_goes_on_only_where_and_how_its_user_says() {
    let (elsewhere, exported) = from_elsewhere();
    let here = World::new();
    let write = json!({"calls": [{"name": "write_file", "args": {"path": "again.txt", "content": "x"}}]});
    let rules = json!([{"when": {"turn": 0, "contains": "the run was imported"}, "answer": write}]);
    let model = here.script("mine.json", &json!({"rules": rules, "default": {"text": "went on"}}));
    here.config("config.toml", &format!("model = {model:?}\n"));
    here.fed(&["import", "-"], exported.as_bytes()).code(0).says("--workspace DIR");
    assert_eq!(here.runs()[0]["status"], "paused");

    for flags in [&[][..], &["--yes"], &["--workspace", "."]] {
        let args = [&["resume", "last"], flags].concat();
        here.updraft(&args).code(2).says("was imported").says("--mode workspace");
    }
    here.updraft(&["fork", "last", "--at", "1"]).code(2).says("was imported");
    here.updraft(&["approve", "last"]).code(0);

    let resumed = here.updraft(&["resume", "last", "--workspace", ".", "--mode", "workspace"]).code(0);
    assert_eq!(resumed.out, "went on\n");
    let told = here.updraft(&["show", "last", "--prompts"]).code(0).out;
    assert!(here.ws().join("again.txt").exists() && !here.ws().join("out.txt").exists(), "{told}");
    assert!(!elsewhere.ws().join("out.txt").exists() && !elsewhere.ws().join("again.txt").exists());
    let ws = here.ws().canonicalize().unwrap().display().to_string();
    let events = here.updraft(&["events", "last"]).code(0).out;
    assert!(events.contains("imported") && events.contains("adopted") && events.contains(&ws), "{events}");
    here.updraft(&["replay", "last", "--strict"]).code(0);
    here.updraft(&["fork", "last", "--at", "1"]).code(2).says("where it was adopted");
    here.updraft(&["resume", "last", "--workspace", ".", "--yes"]).code(2).says("already");
}

#[test]
fn an_imported_run_that_goes_on_has_the_guardrails_of_this_machine() {
    let (_elsewhere, exported) = from_elsewhere();
    let here = World::new();
    here.config("guardrails/short.md", "---\nwhen: output\naction: stop\ncheck: length\nmost: 3\n---\n");
    let model = here.script("mine.json", &json!({"rules": [], "default": {"text": "went on"}}));
    here.config("config.toml", &format!("model = {model:?}\n"));
    here.fed(&["import", "-"], exported.as_bytes()).code(0);
    let resumed = here.updraft(&["resume", "last", "--workspace", ".", "--mode", "workspace"]).code(1);
    resumed.says("the guardrail `short`: it has 7 characters; at most 3 are allowed");
}
