//! Hundreds of damages to the files of a journal: each is noticed and named, or does no harm.
//!
//! Several runs perform effects, which are counted, in the order of the engine: begun on disk, then the effect, then done
//! on disk. The files are then damaged in one way after another, and whoever opens them goes on with the runs. No effect
//! may happen twice, and no run may be missing without a word.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests fail by panicking, as tests do")]

use std::collections::BTreeMap;
use std::path::Path;

use updraft_journal::{Batch, Blob, Error, Journal, JournalOptions, RunFilter, Status};
use updraft_run::{Event, Record};

use crate::tape::Chance;
use crate::world::{World, head, run, says};

const RUNS: [&str; 4] = ["finished", "half-way", "waiting", "large"];
/// Effects that each run has to perform.
const EFFECTS: usize = 12;
const FILES: [&str; 4] = ["journal.db", "journal.db-wal", "journal.db-heads", "journal.db-shm"];

/// How often each effect of each run has happened.
type Counts = BTreeMap<(String, usize), usize>;

/// The files of a journal, by name.
type Files = BTreeMap<&'static str, Vec<u8>>;

fn read_files(folder: &Path) -> Files {
    FILES.into_iter().filter_map(|name| Some((name, std::fs::read(folder.join(name)).ok()?))).collect()
}

/// A journal as it was left, how often effects had happened by then, and what was in it.
struct Story {
    files: Files,
    counts: Counts,
    records: BTreeMap<&'static str, Vec<Record>>,
    /// The same journal some time before.
    earlier: Files,
}

/// Performs what a run has still to do, up to so many effects in all.
async fn go_on(journal: &Journal, name: &str, until: usize, counts: &mut Counts) -> Result<(), Error> {
    let lease = journal.acquire(&run(name)).await?;
    let done = journal.load(&run(name))?.iter().filter(|record| message(record).starts_with("done")).count();
    for effect in done..until {
        journal.append(&lease, step(name, "begun", effect)).await?;
        *counts.entry((name.to_owned(), effect)).or_default() += 1;
        journal.append(&lease, step(name, "done", effect)).await?;
    }
    let status = if until == EFFECTS { Status::Done } else { Status::Running };
    journal.append(&lease, Batch { status: Some(status), ..Batch::default() }).await?;
    journal.release(lease).await
}

fn step(name: &str, what: &str, effect: usize) -> Batch {
    // Some are larger than a page, and some larger than a row may be.
    let len = if name == "large" { 9_000 * effect } else { 40 * effect };
    let words = format!("{what} {effect} {}", "x".repeat(len));
    let blobs = if effect == 3 { vec![Blob::new(words.clone().into_bytes())] } else { Vec::new() };
    Batch { blobs, ..Batch::of(vec![says(effect as i64, &words, 1), says(effect as i64, "late", 0)]) }
}

fn message(record: &Record) -> &str {
    match record.events.first() {
        Some(Event::Told { message }) => message,
        _ => "",
    }
}

/// Runs at different stages, with half of what they did in the main file and the rest in the log, unless it was closed.
async fn tell(closed: bool) -> Story {
    let world = World::quick();
    let folder = world.path().parent().unwrap().to_path_buf();
    let journal = world.journal();
    let mut counts = Counts::new();
    for name in RUNS {
        drop(journal.create(head(name), Batch::of(vec![says(0, "a goal", 1)])).await.unwrap());
    }
    for (name, until) in RUNS.into_iter().zip([EFFECTS, 5, 3, 7]) {
        go_on(&journal, name, until, &mut counts).await.unwrap();
    }
    journal.close().await;
    let earlier = read_files(&folder);
    let journal = world.journal();
    for (name, until) in RUNS.into_iter().zip([EFFECTS, 9, 4, EFFECTS]) {
        go_on(&journal, name, until, &mut counts).await.unwrap();
    }
    let records = RUNS.into_iter().map(|name| (name, journal.load(&run(name)).unwrap())).collect();
    let mut files = read_files(&folder);
    if closed {
        journal.close().await;
        files = read_files(&folder);
    }
    Story { files, counts, records, earlier }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    Flip,
    Zeros,
    Cut,
    Delete,
    Older,
}

/// Damages one file; `None` if there is nothing to damage.
fn damage(story: &Story, name: &'static str, damage: Damage, chance: &mut Chance) -> Option<Files> {
    let mut files = story.files.clone();
    let len = files.get(name)?.len();
    let place = chance.of(len as u64) as usize;
    let bytes = files.get_mut(name)?;
    match damage {
        Damage::Flip => bytes[place] ^= 1 << chance.of(8),
        Damage::Zeros => bytes.iter_mut().skip(place).take(512).for_each(|byte| *byte = 0),
        Damage::Cut => bytes.truncate(place),
        Damage::Delete => drop(files.remove(name)),
        Damage::Older => bytes.clone_from(story.earlier.get(name)?),
    }
    (files != story.files).then_some(files)
}

/// What came of a damage.
#[derive(Debug, PartialEq)]
enum Outcome {
    Noticed,
    Harmless,
}

/// Opens what is left, looks at everything, goes on with every run, and looks again.
async fn outcome(story: &Story, files: &Files) -> Result<Outcome, String> {
    let world = World::quick();
    let folder = world.path().parent().unwrap().to_path_buf();
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let mut counts = story.counts.clone();
    let mut noticed = 0;
    // Twice: what the first round wrote must not hide anything from the second.
    for _ in 0..2 {
        let journal = match Journal::open_existing(&world.path(), JournalOptions::default()) {
            Ok(Some(journal)) => journal,
            Ok(None) => return Err("no journal, it was said".into()),
            Err(error) => return named(&error).map(|()| Outcome::Noticed),
        };
        match journal.list(&RunFilter::default()) {
            Ok(list) => {
                for name in RUNS {
                    let entry = list.iter().find(|entry| entry.id == run(name));
                    let entry = entry.ok_or_else(|| format!("`{name}` is silently missing in the list"))?;
                    noticed += usize::from(entry.status == Status::Damaged);
                }
            }
            Err(error) => {
                named(&error)?;
                noticed += 1;
            }
        }
        for name in RUNS {
            match journal.load(&run(name)) {
                Ok(records) if records.starts_with(&story.records[name]) => {}
                Ok(_) => return Err(format!("`{name}` has other records than before")),
                Err(error) => {
                    named(&error)?;
                    noticed += 1;
                    continue;
                }
            }
            if let Err(error) = go_on(&journal, name, EFFECTS, &mut counts).await {
                named(&error)?;
                noticed += 1;
            }
        }
        journal.close().await;
    }
    match counts.iter().find(|(_, count)| **count > 1) {
        Some((effect, count)) => Err(format!("{effect:?} happened {count} times")),
        None if noticed > 0 => Ok(Outcome::Noticed),
        None if counts.len() < RUNS.len() * EFFECTS => Err("an effect never happened".into()),
        None => Ok(Outcome::Harmless),
    }
}

/// An error names the damage if it says which file, run or value is concerned.
fn named(error: &Error) -> Result<(), String> {
    match error {
        Error::DamagedRun { .. } | Error::Damaged { .. } | Error::NotAJournal { .. } | Error::Newer { .. } => Ok(()),
        Error::BadBlob { .. } | Error::Malformed { .. } => Ok(()),
        other => Err(format!("not named: {other:?}")),
    }
}

#[tokio::test]
async fn every_damage_is_noticed_or_does_no_harm() {
    let mut chance = Chance(11);
    let mut table: BTreeMap<(&str, Damage), [usize; 2]> = BTreeMap::new();
    let mut faults = Vec::new();
    for closed in [false, true] {
        let story = tell(closed).await;
        assert_eq!(outcome(&story, &story.files).await, Ok(Outcome::Harmless), "without any damage");
        for (name, kind, times) in plan() {
            for n in 0..times {
                let Some(files) = damage(&story, name, kind, &mut chance) else { continue };
                let counts = table.entry((name, kind)).or_default();
                match outcome(&story, &files).await {
                    Ok(Outcome::Noticed) => counts[0] += 1,
                    Ok(Outcome::Harmless) => counts[1] += 1,
                    Err(fault) => faults.push(format!("{name} {kind:?} {n}, closed {closed}: {fault}")),
                }
            }
        }
    }
    println!("{:18} {:8} {:>8} {:>9}", "file", "damage", "noticed", "harmless");
    for ((name, kind), [noticed, harmless]) in &table {
        println!("{name:18} {:8} {noticed:>8} {harmless:>9}", format!("{kind:?}"));
    }
    let all: usize = table.values().flatten().sum();
    println!("{all} damages, {} of them neither noticed nor harmless", faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(all >= 200, "only {all} damages");
}

/// Which file is damaged how, and how often.
fn plan() -> impl Iterator<Item = (&'static str, Damage, usize)> {
    FILES.into_iter().flat_map(|name| {
        let many = if matches!(name, "journal.db" | "journal.db-wal") { 40 } else { 8 };
        [
            (name, Damage::Flip, many),
            (name, Damage::Zeros, many / 2),
            (name, Damage::Cut, many / 4),
            (name, Damage::Delete, 1),
            (name, Damage::Older, 1),
        ]
    })
}

#[tokio::test]
async fn a_run_is_cut_back_to_what_can_be_trusted_and_goes_on() {
    let world = World::new();
    let journal = world.journal();
    let mut counts = Counts::new();
    for name in RUNS {
        drop(journal.create(head(name), Batch::of(vec![says(0, "a goal", 1)])).await.unwrap());
        go_on(&journal, name, 4, &mut counts).await.unwrap();
    }
    assert_eq!(journal.cut_back(&run("waiting")).await.unwrap(), None);
    journal.close().await;
    let edit = rusqlite::Connection::open(world.path()).unwrap();
    let changed = edit.execute("UPDATE records SET at = at + 1 WHERE seq = 7 AND part = 1 AND run = 3", []).unwrap();
    assert_eq!(changed, 1);
    drop(edit);

    let journal = world.journal();
    let said = journal.load(&run("waiting")).unwrap_err();
    assert_eq!(
        said.to_string(),
        "the journal is damaged: run `waiting`, event 7: it is not what was written: its hash differs"
    );
    assert!(
        said.hint().unwrap().contains("`updraft resume waiting --from-damaged` continues after event 6"),
        "{said:?}"
    );
    assert_eq!(journal.load(&run("large")).unwrap().len(), 17, "other runs are not affected");

    let whole = journal.load(&run("half-way")).unwrap();
    assert_eq!(journal.cut_back(&run("waiting")).await.unwrap(), Some((7, 9)));
    assert_eq!(journal.load(&run("waiting")).unwrap(), whole[..11], "both had done the same");
    go_on(&journal, "waiting", EFFECTS, &mut counts).await.unwrap();
    assert_eq!(counts[&("waiting".to_owned(), 2)], 2, "what was given up is done again");
}

/// Changes a bit of the n-th place where these words stand.
fn flip(path: &Path, words: &[u8], n: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    let places = bytes.windows(words.len()).enumerate().filter(|(_, found)| *found == words).map(|(place, _)| place);
    let place = places.collect::<Vec<_>>()[n];
    bytes[place] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn a_restored_backup_is_noticed_run_by_run() {
    let story = tell(true).await;
    let world = World::new();
    let mut files = story.earlier.clone();
    files.insert("journal.db-heads", story.files["journal.db-heads"].clone());
    for (name, bytes) in files {
        std::fs::write(world.path().with_file_name(name), bytes).unwrap();
    }
    let journal = world.journal();
    let said = journal.acquire(&run("half-way")).await.unwrap_err().to_string();
    assert_eq!(
        said,
        "the journal is damaged: run `half-way`, event 12: it is missing, although the run had reached event 19"
    );
    assert_eq!(journal.load(&run("finished")).unwrap(), story.records["finished"], "the backup has all of it");
    let damaged = journal.list(&RunFilter { status: None, ..RunFilter::default() }).unwrap();
    let damaged: Vec<_> =
        damaged.iter().filter(|entry| entry.status == Status::Damaged).map(|entry| entry.id.as_str()).collect();
    assert_eq!(damaged, ["large", "waiting", "half-way"]);
}

#[tokio::test]
async fn a_lost_run_is_named_until_it_is_removed() {
    let world = World::new();
    let journal = world.journal();
    drop(journal.create(head("kept"), Batch::of(vec![says(0, "a goal", 1)])).await.unwrap());
    journal.close().await;
    let before = std::fs::read(world.path()).unwrap();
    let journal = world.journal();
    drop(journal.create(head("lost"), Batch::of(vec![says(0, "a goal", 1)])).await.unwrap());
    journal.close().await;
    std::fs::write(world.path(), before).unwrap();

    let journal = world.journal();
    let said = journal.load(&run("lost")).unwrap_err().to_string();
    assert_eq!(
        said,
        "the journal is damaged: run `lost`, event 1: the whole run is missing, although it had reached event 1"
    );
    assert_eq!(journal.find("lost").unwrap(), run("lost"));
    assert_eq!(journal.list(&RunFilter::default()).unwrap().len(), 2);
    drop(journal.create(head("next"), Batch::of(vec![says(0, "a goal", 1)])).await.unwrap());
    assert!(matches!(journal.load(&run("lost")), Err(Error::DamagedRun { .. })), "a new run has not taken its place");
    journal.delete(&run("lost"), false).await.unwrap();
    assert!(matches!(journal.load(&run("lost")), Err(Error::UnknownRun { .. })));
    assert_eq!(journal.list(&RunFilter::default()).unwrap().len(), 2);
}

#[tokio::test]
async fn a_journal_whose_files_are_gone_is_not_taken_for_a_new_one() {
    let world = World::new();
    let journal = world.journal();
    drop(journal.create(head("r"), Batch::of(vec![says(0, "a goal", 1)])).await.unwrap());
    journal.close().await;
    std::fs::remove_file(world.path()).unwrap();
    for opened in [
        Journal::open(&world.path(), JournalOptions::default()).map(Some),
        Journal::open_existing(&world.path(), JournalOptions::default()),
    ] {
        let said = opened.unwrap_err().to_string();
        assert!(said.contains("is damaged: it is empty or missing, although it had 1 runs"), "{said}");
    }
}

#[tokio::test]
async fn a_journal_without_hashes_is_read_as_it_is_and_gets_hashes_from_then_on() {
    let world = World::new();
    let journal = world.journal();
    drop(journal.create(head("r"), Batch::of(vec![says(1, "one", 1), says(2, "two", 1)])).await.unwrap());
    journal.close().await;
    let edit = rusqlite::Connection::open(world.path()).unwrap();
    edit.execute_batch("DROP TRIGGER keep_hashes").unwrap();
    for (table, column) in [("records", "chain"), ("runs", "sum"), ("inbox", "sum")] {
        edit.execute_batch(&format!("ALTER TABLE {table} DROP COLUMN {column}")).unwrap();
    }
    edit.execute_batch("PRAGMA user_version = 1").unwrap();
    drop(edit);
    std::fs::remove_file(world.path().with_file_name("journal.db-heads")).unwrap();

    let journal = world.journal();
    let said = [says(1, "one", 1), says(2, "two", 1), says(3, "three", 1)];
    assert_eq!(journal.load(&run("r")).unwrap(), said[..2]);
    assert_eq!(journal.list(&RunFilter::default()).unwrap()[0].events, 2);
    let lease = journal.acquire(&run("r")).await.unwrap();
    journal.append(&lease, Batch::of(vec![says(3, "three", 1)])).await.unwrap();
    assert_eq!(journal.load(&run("r")).unwrap(), said);
    // A process of the older version that is still at work is kept from it.
    let older = rusqlite::Connection::open(world.path()).unwrap();
    let add = "INSERT INTO records(id, events, at, body) SELECT max(id) + 4096, 1, 0, body FROM records";
    let kept_out = older.execute_batch(add).unwrap_err().to_string();
    assert!(kept_out.contains("a newer version of Updraft works on this run"), "{kept_out}");
    drop((lease, older));
    journal.close().await;
    assert_eq!(world.journal().load(&run("r")).unwrap(), said);
    flip(&world.path(), b"three", 0);
    assert!(matches!(world.journal().load(&run("r")), Err(Error::DamagedRun { seq: 3, .. })));
}

#[tokio::test]
async fn a_fork_and_an_import_are_checked_like_other_runs() {
    let world = World::new();
    let journal = world.journal();
    let records = vec![says(1, "one", 3), says(2, "two", 0), says(3, "three", 2)];
    drop(journal.create(head("r"), Batch::of(records.clone())).await.unwrap());
    let lease = journal.fork(&run("r"), 4, head("forked")).await.unwrap();
    journal.append(&lease, Batch::of(vec![says(4, "four", 1)])).await.unwrap();
    journal.import(head("imported"), records, Vec::new()).await.unwrap();
    for (name, count) in [("forked", 4), ("imported", 3)] {
        assert_eq!(journal.load(&run(name)).unwrap().len(), count);
    }
    let mut from_the_middle = Vec::new();
    let visit = &mut |seq, _| {
        from_the_middle.push(seq);
        std::ops::ControlFlow::Continue(())
    };
    journal.read(&run("forked"), 5, visit).unwrap();
    assert_eq!(from_the_middle, [5]);
    drop(lease);
    journal.close().await;
    let edit = rusqlite::Connection::open(world.path()).unwrap();
    edit.execute("UPDATE records SET at = at + 1 WHERE seq = 4", []).unwrap();
    drop(edit);
    for name in ["r", "forked", "imported"] {
        assert!(matches!(world.journal().load(&run(name)), Err(Error::DamagedRun { seq: 4, .. })), "{name}");
    }
}

#[tokio::test]
async fn files_deleted_or_replaced_under_a_writer_are_noticed_at_the_next_beat() {
    for (name, replaced) in [("journal.db", false), ("journal.db", true), ("journal.db-wal", false)] {
        let world = World::new();
        let options = JournalOptions { beat: std::time::Duration::from_millis(20), ..JournalOptions::default() };
        let journal = Journal::open(&world.path(), options).unwrap();
        let lease = journal.create(head("r"), Batch::of(vec![says(0, "a goal", 1)])).await.unwrap();
        let file = world.path().with_file_name(name);
        let bytes = std::fs::read(&file).unwrap();
        // The first beat may come before this; what it looks at is there by then.
        journal.append(&lease, Batch::of(vec![says(1, "more", 1)])).await.unwrap();
        std::fs::remove_file(&file).unwrap();
        if replaced {
            std::fs::write(file.with_extension("other"), bytes).unwrap();
            std::fs::rename(file.with_extension("other"), &file).unwrap();
        }
        let said = journal.lost().await;
        let why = if replaced { "was replaced by another file" } else { "was deleted" };
        assert!(
            said.to_string().ends_with(&format!("{name}` {why} while it was in use; nothing more is written")),
            "{said}"
        );
        let refused = journal.append(&lease, Batch::of(vec![says(2, "late", 1)])).await;
        assert!(matches!(refused, Err(Error::Replaced { .. })), "{refused:?}");
    }
}
