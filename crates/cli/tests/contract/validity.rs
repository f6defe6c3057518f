//! Journals that are damaged, old or elsewhere: refused with a clear word or taken up as they are, and never half.
//!
//! A damage is a line in `damages`: what is done to the files of a journal whose run was cut off.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::Trial;
use crate::cell::{Kind, Way};
use crate::outside::Gate;
use crate::stage::Stage;
use crate::table::{Property, Table, must};

/// What is done to the journal, given the path of its database.
type Damage = fn(&Path);

fn damages() -> Vec<(&'static str, Damage)> {
    vec![
        ("the database is cut in half", |path| cut(path, 2)),
        ("the database is cut to a few bytes", |path| cut(path, 1000)),
        ("the database is garbage", |path| std::fs::write(path, vec![b'x'; 10_000]).unwrap()),
        ("the database is empty space", |path| std::fs::write(path, vec![0; 8192]).unwrap()),
        ("the log is garbage", |path| std::fs::write(path.with_extension("db-wal"), vec![b'x'; 10_000]).unwrap()),
        ("the log is cut in half", |path| cut(&path.with_extension("db-wal"), 2)),
        ("the log ends in garbage", |path| {
            let log = path.with_extension("db-wal");
            let mut bytes = std::fs::read(&log).unwrap_or_default();
            bytes.extend([b'x'; 5_000]);
            std::fs::write(log, bytes).unwrap();
        }),
        ("a recorded text has other letters", |path| reword(path, "carry it out", "carry at out")),
    ]
}

/// Changes letters in the database, once all of the log is in it.
fn reword(path: &Path, old: &str, new: &str) {
    let home = path.parent().unwrap();
    Command::new(env!("CARGO_BIN_EXE_updraft")).arg("runs").env("UPDRAFT_HOME", home).output().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    let places: Vec<usize> =
        bytes.windows(old.len()).enumerate().filter(|(_, part)| *part == old.as_bytes()).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "`{old}` is not in the database");
    for at in places {
        bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
    }
    std::fs::write(path, bytes).unwrap();
}

fn cut(path: &Path, parts: usize) {
    let bytes = std::fs::read(path).unwrap_or_default();
    std::fs::write(path, &bytes[..bytes.len() / parts]).unwrap();
}

pub(crate) fn trials(way: Way) -> Vec<Trial> {
    let mut trials: Vec<Trial> = Vec::new();
    let mut cell = |name: &'static str, check: Box<dyn FnOnce() -> Result<(), String> + Send>| {
        trials.push(Box::new(move |table: &Table| {
            table.note(Property::Validity, &format!("{way:?}, {name}"), check());
        }));
    };
    for (name, damage) in damages() {
        cell(name, Box::new(move || damaged(way, damage)));
    }
    cell("it is exported, imported and taken up", Box::new(move || moved(way)));
    cell("it was written by an older version", Box::new(old));
    trials
}

/// A run that was cut off after its effect. Nobody has opened its journal since: the log is as the process left it.
fn cut_off(way: Way) -> Stage {
    let stage = Stage::of(Kind::Command);
    stage.live(&stage.goal(way), Some(Gate::After("act.0".into())));
    stage
}

/// Either it is refused in words, or it goes on to the end with what was recorded; the effect is not repeated in either case.
fn damaged(way: Way, damage: Damage) -> Result<(), String> {
    let stage = cut_off(way);
    let journal = stage.world.home().join("journal.db");
    must(journal.with_extension("db-wal").exists(), || "there is no log to damage".to_owned())?;
    damage(&journal);
    let ran = stage.updraft(&["resume"]);
    let count = stage.outside.seen().effects.get("act.0").copied().unwrap_or_default();
    must(count == 1, || format!("the effect happened {count} times: {} {}", ran.code, ran.err))?;
    must(!ran.err.contains("panicked"), || ran.err.clone())?;
    if ran.code == 0 {
        let goal = stage.updraft(&["runs", "--json"]).out;
        must(goal.contains("carry it out"), || "it goes on with another goal".to_owned())?;
        let replayed = stage.updraft(&["replay", "--strict"]);
        return must(replayed.code == 0, || format!("it goes on and does not replay: {}", replayed.err));
    }
    let is_clear = ran.err.contains("journal") || ran.err.contains("no run");
    must(ran.code != 124 && is_clear, || format!("it is refused without a clear word: {} {}", ran.code, ran.err))
}

/// Under another id it goes on from the same state: the doubt is told, and nothing is repeated.
fn moved(way: Way) -> Result<(), String> {
    let stage = cut_off(way);
    let exported = stage.updraft(&["export", "last"]);
    let file = stage.world.file("run.jsonl", &exported.out);
    let imported = stage.updraft(&["import", file.to_str().unwrap_or_default(), "--id", "copy"]);
    must(imported.code == 0, || format!("it is not imported: {}", imported.err))?;
    let again = stage.updraft(&["export", "copy"]).out;
    let is_mark = |line: &&str| !line.ends_with("\"e\":[\"imported\"]}");
    let same = again.lines().filter(is_mark).skip(1).eq(exported.out.lines().skip(1));
    must(same, || "what was imported is not what was exported".to_owned())?;
    let ran = stage.updraft(&["resume", "copy", "--workspace", ".", "--mode", "full"]);
    must(ran.code == 0, || format!("the copy ends with {}: {}", ran.code, ran.err))?;
    let seen = stage.outside.seen();
    must(seen.effects.get("act.0") == Some(&1), || format!("effects happened: {:?}", seen.effects))?;
    must(stage.updraft(&["replay", "copy", "--strict"]).code == 0, || "the copy does not replay".to_owned())
}

/// Journals of earlier versions, which nobody rewrites: each is read, and can be shown.
fn old() -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../run/tests/journals");
    let stage = Stage::of(Kind::Model);
    let files = std::fs::read_dir(folder).map_err(|why| why.to_string())?.flatten();
    let mut count = 0;
    for path in files.map(|file| file.path()) {
        count += 1;
        let id = format!("old{count}");
        let text = std::fs::read_to_string(&path).map_err(|why| why.to_string())?;
        let file = stage.world.file("old.jsonl", &as_exported(&id, &text));
        let read = stage.updraft(&["import", file.to_str().unwrap_or_default()]);
        must(read.code == 0, || format!("{} is not read: {}", path.display(), read.err))?;
        let shown = stage.updraft(&["show", &id]);
        must(shown.code == 0, || format!("{} is not shown: {}", path.display(), shown.err))?;
    }
    must(count > 0, || "there are no old journals".to_owned())
}

/// Records as `updraft export` writes them.
fn as_exported(id: &str, records: &str) -> String {
    let head = r#""goal":"the goal","workspace":"","model":"builtin","status":"done","created":1,"version":"0.1.0""#;
    let mut text = format!("{{\"updraft\":1,\"run\":\"{id}\",{head}}}\n");
    let mut seq = 1;
    for line in records.lines() {
        let kept: Value = serde_json::from_str(line).unwrap_or_default();
        let mut record = kept["record"].clone();
        record["seq"] = json!(seq);
        record["at"] = kept["at"].clone();
        seq += record["e"].as_array().map_or(0, Vec::len);
        text += &record.to_string();
        text.push('\n');
    }
    text
}
