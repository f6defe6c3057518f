//! Taking back what a run changed, and looking at what it touched.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::world::{Ran, World};

/// A run that makes these calls, one a turn.
pub(crate) fn run(world: &World, calls: &[(&str, Value)]) -> Ran {
    let mut answers: Vec<Value> =
        calls.iter().map(|(name, args)| json!({"calls": [{"name": name, "args": args}]})).collect();
    answers.push(json!({"text": "done"}));
    let model = world.script("calls.json", &json!(answers));
    world.updraft(&["run", "--model", &model, "--agent", "coder", "--max-turns", "100", "work"])
}

pub(crate) fn content(world: &World, name: &str) -> String {
    std::fs::read_to_string(world.ws().join(name)).unwrap_or_else(|error| format!("<{}>", error.kind()))
}

fn changing(world: &World) {
    let calls = [
        ("write_file", json!({"path": "new/deep/file.txt", "content": "made\n"})),
        ("edit_file", json!({"path": "a.txt", "old": "hello", "new": "goodbye"})),
        ("append_line", json!({"path": "a.txt", "line": "and more"})),
        ("write_file", json!({"path": "run.sh", "content": "echo two\n"})),
    ];
    run(world, &calls).code(0);
}

#[test]
fn everything_is_as_it_was_and_then_as_the_run_left_it_again() {
    let world = World::new();
    let script = world.file("run.sh", "echo one\n");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o750)).unwrap();
    changing(&world);
    assert_eq!(content(&world, "a.txt"), "goodbye\nand more\n");

    let listed = world.updraft(&["undo", "--list"]).code(0).out;
    let verbs: Vec<&str> = listed.lines().map(|line| line.split_whitespace().nth(2).unwrap()).collect();
    assert_eq!(verbs, ["changed", "changed", "changed", "created", "created", "created"], "{listed}");
    let planned = world.updraft(&["undo", "--dry-run"]).code(0).out;
    assert!(planned.contains("restore  a.txt") && planned.contains("remove   new/deep/file.txt"), "{planned}");
    world.updraft(&["undo"]).code(3).says("--yes");
    assert_eq!(content(&world, "a.txt"), "goodbye\nand more\n");

    world.updraft(&["undo", "--yes"]).code(0).says("5 paths restored");
    assert_eq!(content(&world, "a.txt"), "hello\n");
    assert_eq!(content(&world, "run.sh"), "echo one\n");
    assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    assert!(!world.ws().join("new").exists());
    world.updraft(&["undo", "--yes"]).code(0).says("nothing to undo");

    world.updraft(&["undo", "--redo", "--yes"]).code(0).says("reverted the undo");
    assert_eq!(content(&world, "a.txt"), "goodbye\nand more\n");
    assert_eq!(content(&world, "new/deep/file.txt"), "made\n");
    world.updraft(&["undo", "--redo", "--yes"]).code(1).says("no undo");
    world.updraft(&["undo", "--yes"]).code(0);
    assert_eq!(content(&world, "a.txt"), "hello\n");
    assert!(!world.ws().join("new").exists());
}

#[test]
fn what_somebody_else_changed_since_is_left_and_named() {
    let world = World::new();
    world.file("run.sh", "echo one\n");
    changing(&world);
    world.file("a.txt", "mine\n");
    world.file("new/deep/other.txt", "mine too\n");

    let undone = world.updraft(&["undo", "--yes", "--json"]).code(1).value();
    let left: Vec<(&str, &str)> = undone["left"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left| (left["path"].as_str().unwrap(), left["why"].as_str().unwrap()))
        .collect();
    assert_eq!(left, [("new/deep", "not_empty"), ("new", "not_empty"), ("a.txt", "conflict")]);
    assert_eq!(content(&world, "a.txt"), "mine\n");
    assert_eq!(content(&world, "run.sh"), "echo one\n");
    assert_eq!(content(&world, "new/deep/other.txt"), "mine too\n");
    assert!(!world.ws().join("new/deep/file.txt").exists());

    world.updraft(&["undo", "--yes", "--force"]);
    assert_eq!(content(&world, "a.txt"), "hello\n");
    world.updraft(&["undo", "--redo", "--yes"]).code(0);
    assert_eq!(content(&world, "a.txt"), "mine\n", "what was overwritten was kept");
}

#[test]
fn what_is_too_large_to_keep_is_not_replaced_even_by_force() {
    let world = World::new();
    world.file("run.sh", "echo one\n");
    changing(&world);
    let large = 257 << 20;
    std::fs::File::create(world.ws().join("a.txt")).unwrap().set_len(large).unwrap();
    world.updraft(&["undo", "--yes", "--force"]).code(1).says("too large to keep");
    assert_eq!(world.ws().join("a.txt").metadata().unwrap().len(), large);
    assert_eq!(content(&world, "run.sh"), "echo one\n", "the rest is put back");
}

#[test]
fn one_call_can_be_taken_back_and_an_earlier_one_that_others_build_on_cannot() {
    let world = World::new();
    world.file("run.sh", "echo one\n");
    changing(&world);
    let listed = world.updraft(&["undo", "--list", "--json"]).code(0).value();
    let call = |path: &str, at: usize| {
        let all: Vec<&Value> =
            listed["changes"].as_array().unwrap().iter().filter(|change| change["path"] == path).collect();
        all[at]["call"].as_str().unwrap().to_owned()
    };
    world.updraft(&["undo", "--yes", "--call", &call("a.txt", 1)]).code(1).says("changed since");
    world.updraft(&["undo", "--yes", "--call", &call("a.txt", 0)]).code(0);
    assert_eq!((content(&world, "a.txt"), content(&world, "run.sh")), ("goodbye\n".into(), "echo two\n".into()));
}

#[test]
fn an_undo_that_was_cut_off_is_finished_by_the_next() {
    let world = World::new();
    world.file("run.sh", "echo one\n");
    changing(&world);
    world.updraft(&["undo", "--yes"]).code(0);
    // As it stands when the power goes in the middle: written down, one file put back, the others not yet.
    world.updraft(&["undo", "--redo", "--yes"]).code(0);
    let record = world.home().join("undone").join(world.last()).join("1.json");
    let text = std::fs::read_to_string(&record).unwrap().replace("\"is_done\":true", "\"is_done\":false");
    std::fs::write(&record, text).unwrap();
    world.file("run.sh", "echo one\n");

    world.updraft(&["undo", "--yes"]).code(0).says("finished the interrupted undo");
    assert_eq!(content(&world, "a.txt"), "hello\n");
    assert_eq!(content(&world, "run.sh"), "echo one\n");
    assert!(!world.ws().join("new").exists());
}

#[test]
fn a_run_that_is_at_work_is_not_undone_and_a_removed_one_cannot_be() {
    let world = World::new();
    let calls = json!([
        {"calls": [{"name": "write_file", "args": {"path": "b.txt", "content": "x"}}]},
        {"text": "done", "delay_ms": 6000}
    ]);
    let model = world.script("s.json", &calls);
    let running = world.begin(&["run", "--model", &model, "--agent", "coder", "work"]);
    World::until("it has written", || world.ws().join("b.txt").exists());
    world.updraft(&["undo", "--yes"]).code(1).says("is being run by process");
    running.wait().code(0);

    world.updraft(&["undo", "--yes"]).code(0);
    let id = world.last();
    assert!(world.home().join("undone").join(&id).exists());
    world.updraft(&["rm", &id]).code(0).says("can no longer be undone");
    assert!(!world.home().join("undone").join(&id).exists());
    world.updraft(&["undo", "--yes"]).code(2).says("no run has worked in");
}

#[test]
fn the_audit_names_what_each_call_touched() {
    let world = World::new();
    let calls = [
        ("edit_file", json!({"path": "a.txt", "old": "hello", "new": "goodbye"})),
        ("run_command", json!({"command": "exit 3"})),
        ("write_file", json!({"path": ".git/objects/aa", "content": "evil"})),
    ];
    run(&world, &calls).code(0);
    let audit = world.updraft(&["audit", "last", "--json"]).code(0).json();
    let told: Vec<(&str, &str)> =
        audit.iter().map(|call| (call["tool"].as_str().unwrap(), call["outcome"].as_str().unwrap())).collect();
    assert_eq!(told, [("edit_file", "done"), ("run_command", "failed"), ("write_file", "rejected")]);
    assert_eq!(audit[0]["changes"][0]["path"], "a.txt");
    assert_eq!(audit[0]["diff"], "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-hello\n+goodbye\n");
    assert_eq!((&audit[1]["command"], &audit[1]["exit_code"]), (&json!("exit 3"), &json!(3)));
    assert!(audit[2]["because"].as_str().unwrap().contains("git's own storage"));
    let words = world.updraft(&["audit", "last", "--diff"]).code(0).out;
    assert!(
        words.contains("changed   a.txt") && words.contains("+goodbye") && words.contains("exit code 3"),
        "{words}"
    );
}

/// Whether what commands change can be gathered here. If not, says so past the test runner's capture.
pub(crate) fn can_stage(world: &World) -> bool {
    use std::io::Write;
    let can = world.updraft(&["sandbox", "probe", "--json"]).value()["level"] == "full";
    if !can {
        std::io::stderr().write_all(b"!! SKIP: no full sandbox here, so commands cannot be undone\n").unwrap();
    }
    can
}

/// Everything in the workspace: what it is, its mode and its content.
pub(crate) fn tree(world: &World) -> std::collections::BTreeMap<String, String> {
    fn walk(root: &std::path::Path, folder: &std::path::Path, tree: &mut std::collections::BTreeMap<String, String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let about = path.symlink_metadata().unwrap();
            let mode = about.permissions().mode() & 0o7777;
            let what = if about.is_dir() {
                walk(root, &path, tree);
                format!("folder {mode:o}")
            } else if about.is_symlink() {
                format!("link {}", std::fs::read_link(&path).unwrap().display())
            } else if about.len() > 1 << 20 {
                format!("file {mode:o} of {} bytes", about.len())
            } else {
                format!("file {mode:o} {:?}", std::fs::read(&path).unwrap())
            };
            tree.insert(path.strip_prefix(root).unwrap().display().to_string(), what);
        }
    }
    let mut all = std::collections::BTreeMap::new();
    walk(&world.ws(), &world.ws(), &mut all);
    all
}

#[test]
fn what_commands_changed_is_taken_back_and_put_there_again() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    world.file("src/main.c", "int main;\n");
    world.file("src/old/x.c", "x\n");
    let before = tree(&world);
    let script = "echo more >> a.txt; rm -r src/old; mv src lib; chmod 600 lib/main.c; ln -s a.txt link; \
                  for i in $(seq 150); do echo $i > made-$i; done; exit 4";
    run(&world, &[("run_command", json!({"command": script}))]).code(0);
    let after = tree(&world);
    assert!(after.len() > 150 && !after.contains_key("src"), "{after:?}");
    let audit = world.updraft(&["audit", "last", "--json"]).code(0).json();
    assert!(audit[0]["changes"].as_array().unwrap().len() > 150);
    assert!(audit[0]["diff"].as_str().unwrap().contains("+more"), "{}", audit[0]["diff"]);

    world.updraft(&["undo", "--yes"]).code(0);
    assert_eq!(tree(&world), before);
    world.updraft(&["undo", "--redo", "--yes"]).code(0);
    assert_eq!(tree(&world), after);
    assert_eq!(std::fs::read_dir(world.home().join("staged")).unwrap().count(), 0, "nothing stays behind");
}

#[test]
fn commands_that_are_not_gathered_are_listed_as_not_undoable() {
    let world = World::new();
    world.config("config.toml", "[undo]\ncommands = false\n");
    run(&world, &[("run_command", json!({"command": "echo more >> a.txt; echo new > b.txt"}))]).code(0);
    let listed = world.updraft(&["undo", "--list"]).code(0).out;
    assert_eq!(listed.matches("not undoable: what was there before was not kept").count(), 2, "{listed}");
    world.updraft(&["undo", "--yes"]).code(1).says("not kept");
    assert_eq!(content(&world, "a.txt"), "hello\nmore\n");
}

#[test]
fn an_agent_is_told_why_what_its_command_changed_cannot_be_undone() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    world.config("config.toml", "[sandbox]\nlevel = \"landlock\"\n");
    let commands = ["true", "echo more >> a.txt"].map(|command| ("run_command", json!({ "command": command })));
    run(&world, &commands).code(0);
    let events = world.updraft(&["export", "last"]).code(0).out;
    let told = "what the command changed cannot be undone: changes are collected only at the sandbox's full level";
    assert_eq!(events.matches(told).count(), 1, "{events}");
}

#[test]
fn a_repository_that_was_used_since_is_left_whole() {
    let world = World::new();
    if !can_stage(&world) || std::process::Command::new("git").arg("--version").output().is_err() {
        return;
    }
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=n", "-c", "user.email=e@x"]).args(args).current_dir(world.ws());
        let ran = command.env("HOME", world.home()).output().unwrap();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).trim().to_owned()
    };
    git(&["init", "-q", "."]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "first"]);
    let first = git(&["rev-parse", "HEAD"]);
    let commit = "echo two > two.txt; git add -A && git -c user.name=n -c user.email=e@x commit -qm second";
    run(&world, &[("run_command", json!({"command": commit}))]).code(0);
    let second = git(&["rev-parse", "HEAD"]);
    assert_ne!(first, second, "the commit reached the workspace");

    world.updraft(&["undo", "--yes"]).code(0);
    assert_eq!(git(&["rev-parse", "HEAD"]), first);
    assert_eq!(git(&["status", "--porcelain"]), "");
    world.updraft(&["undo", "--redo", "--yes"]).code(0);
    assert_eq!(git(&["rev-parse", "HEAD"]), second);

    world.file("three.txt", "mine\n");
    git(&["add", "-A"]);
    git(&["commit", "-qm", "third"]);
    world.updraft(&["undo", "--yes"]).code(1).says(".git/index: it was changed since");
    git(&["fsck", "--strict"]);
    assert_eq!(git(&["log", "--format=%s"]), "third\nsecond\nfirst");
}

/// A sequence of numbers that looks random and can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// A call that changes something, or tries to.
    fn call(&mut self, has_commands: bool) -> (&'static str, Value) {
        let paths = ["a.txt", "b.txt", "d/one", "d/e/two", "d/e/three", "x/y/z"];
        let (path, other) = (paths[self.below(paths.len())], paths[self.below(paths.len())]);
        let folder = ["d", "d/e", "x", "x/y", "n"][self.below(5)];
        let text = format!("{}\n", self.below(4));
        let command = match self.below(9) {
            0 => format!("mkdir -p $(dirname {path}); echo {text}> {path}"),
            1 => format!("rm -rf {folder}"),
            2 => format!("mv {path} {other}"),
            3 => format!("chmod 6{}{} {path}", self.below(8), self.below(8)),
            4 => format!("rm -f {path}; ln -s {other} {path}"),
            5 => format!("rm -rf {folder}; echo {text}> {folder}"),
            6 => format!("rm -rf {path}; mkdir -p {path}/in; echo {text}> {path}/in/side"),
            7 => format!("echo {text}>> {path}; cp -r d copy; rm -r x"),
            _ => format!("mv {folder} moved; chmod 711 d"),
        };
        match self.below(if has_commands { 6 } else { 3 }) {
            0 => ("write_file", json!({"path": path, "content": text.repeat(3)})),
            1 => ("edit_file", json!({"path": path, "old": "0", "new": "00", "all": true})),
            2 => ("append_line", json!({"path": path, "line": text.trim()})),
            _ => ("run_command", json!({"command": command})),
        }
    }
}

#[test]
fn whatever_a_run_does_undo_leads_back_and_somebody_elses_file_stays() {
    let has_commands = can_stage(&World::new());
    for seed in 1..=10 {
        let world = World::new();
        let script = world.file("d/e/two", "0\n1\n");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        world.file("d/one", "0\n");
        world.file("x/keep", "0\n");
        let before = tree(&world);
        let mut dice = Dice(seed);
        let calls: Vec<(&str, Value)> = (0..8).map(|_| dice.call(has_commands)).collect();
        run(&world, &calls).code(0);
        let after = tree(&world);
        world.updraft(&["undo", "--yes"]).code(0);
        assert_eq!(tree(&world), before, "seed {seed}: {calls:?}");
        world.updraft(&["undo", "--redo", "--yes"]);
        assert_eq!(tree(&world), after, "seed {seed}, taken back: {calls:?}");

        // Somebody changes one of the files that the run left.
        let is_left = |(path, what): (&String, &String)| {
            (what.starts_with("file") && before.get(path) != Some(what)).then(|| path.clone())
        };
        let Some(theirs) = after.iter().find_map(is_left) else { continue };
        std::fs::write(world.ws().join(&theirs), "theirs\n").unwrap();
        let undone = world.updraft(&["undo", "--yes", "--json"]).code(1).value();
        assert!(undone["left"].as_array().unwrap().iter().any(|left| left["path"] == *theirs), "{undone}");
        assert_eq!(content(&world, &theirs), "theirs\n", "seed {seed}");
    }
}

#[test]
fn what_a_write_of_ours_left_when_it_was_killed_is_not_brought_back() {
    let world = World::new();
    if !can_stage(&world) {
        return;
    }
    // No process has so high a number.
    let draft = ".updraft-7ffffff0-0.tmp";
    world.file(draft, "half");
    let command = format!("rm {draft}; echo b > b.txt");
    let calls = json!({"name": "run_command", "args": {"command": command}});
    let model = world.script("s.json", &json!([{"calls": [calls]}, {"text": "done"}]));
    world.updraft(&["run", "--model", &model, "--agent", "coder", "--yes", "work"]).code(0);
    assert!(world.ws().join("b.txt").exists() && !world.ws().join(draft).exists());
    world.updraft(&["undo", "--yes"]).code(0);
    assert!(!world.ws().join("b.txt").exists() && !world.ws().join(draft).exists());
}
