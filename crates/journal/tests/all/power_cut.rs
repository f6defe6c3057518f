//! The power goes at any moment: what was acknowledged is there, nothing is torn, and the rest is a clean cut.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests fail by panicking, as tests do")]

use std::sync::Arc;

use rusqlite::Connection;
use tokio::task::JoinSet;
use updraft_journal::{Batch, Blob, Journal, JournalOptions, Lease, SyncMode};
use updraft_run::Record;

use crate::tape::{Chance, Replay, Tape, Unsynced, write_to};
use crate::world::{World, head, run, says};

const RUNS: [&str; 3] = ["one", "two", "three"];

/// What was sent, and at which moments of the tape how much of it had been acknowledged.
struct Story {
    tape: Arc<Tape>,
    sent: [Vec<Record>; 3],
    acknowledged: Vec<(usize, [usize; 3])>,
    /// At the same moments, how far runs had come by the file beside the journal, which is not synced.
    heads: Vec<(usize, Vec<u8>)>,
}

/// A few hundred appends to three runs, alone and at the same time, small and large, with a log that is short enough to
/// be copied into the main file and begun anew again and again.
async fn tell(name: &str, sync: SyncMode) -> Story {
    let tape = Tape::install(name);
    let world = World::quick();
    let options = JournalOptions { sync, vfs: Some(name.into()), checkpoint: 40, ..JournalOptions::default() };
    let journal = Journal::open(&world.path(), options).unwrap();
    let mut story = Story { tape, sent: Default::default(), acknowledged: Vec::new(), heads: Vec::new() };
    let mut leases: Vec<Arc<Lease>> = Vec::new();
    for name in RUNS {
        leases.push(Arc::new(journal.create(head(name), Batch::default()).await.unwrap()));
    }
    let mut chance = Chance(7);
    for round in 0..150 {
        let mut appends = JoinSet::new();
        for which in 0..RUNS.len() {
            if chance.of(3) == 0 {
                continue;
            }
            // The largest are too large for a row.
            let most = [10, 100, 1000, 5000][chance.of(4) as usize];
            let len = if chance.of(50) == 0 { 70_000 } else { chance.of(most) };
            let words = format!("{round} {} {}", RUNS[which], "x".repeat(len as usize));
            let records = vec![says(round, &words, 1 + chance.of(3) as usize), says(round, "late", 0)];
            story.sent[which].extend(records.clone());
            let blobs = if chance.of(8) == 0 { vec![Blob::new(words.into_bytes())] } else { Vec::new() };
            let (journal, lease) = (journal.clone(), Arc::clone(&leases[which]));
            let batch = Batch { records, blobs, ..Batch::default() };
            appends.spawn(async move { journal.append(&lease, batch).await });
        }
        while let Some(appended) = appends.join_next().await {
            appended.unwrap().unwrap();
        }
        let so_far = [0, 1, 2].map(|which| story.sent[which].len());
        story.acknowledged.push((story.tape.position(), so_far));
        story.heads.push((story.tape.position(), std::fs::read(heads_of(&world)).unwrap()));
    }
    story
}

fn heads_of(world: &World) -> std::path::PathBuf {
    world.path().with_file_name("journal.db-heads")
}

/// Opens the disk as it is after a cut, and tells how much of each run is on it. What is there must be what was sent.
fn left(
    story: &Story,
    replay: &Replay,
    position: usize,
    unsynced: Unsynced,
) -> Result<[usize; 3], updraft_journal::Error> {
    let world = World::quick();
    write_to(&replay.disk(unsynced), world.path().parent().unwrap());
    // All of it has reached the disk though nothing waited for that: it must not be ahead of the journal.
    if let Some((_, heads)) = story.heads.iter().rev().find(|(at, _)| *at <= position) {
        std::fs::write(heads_of(&world), heads).unwrap();
    }
    let journal = Journal::open(&world.path(), JournalOptions::default())?;
    let mut found = [0; 3];
    for which in 0..RUNS.len() {
        let records = match journal.load(&run(RUNS[which])) {
            Ok(records) => records,
            Err(updraft_journal::Error::UnknownRun { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        assert!(story.sent[which].starts_with(&records), "what is left of `{}` is not what was sent", RUNS[which]);
        found[which] = records.len();
    }
    drop(journal);
    let check: String =
        Connection::open(world.path()).unwrap().query_row("PRAGMA quick_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    Ok(found)
}

/// How much had been acknowledged at a moment.
fn promised(story: &Story, position: usize) -> [usize; 3] {
    let earlier = story.acknowledged.iter().rev().find(|(at, _)| *at <= position);
    earlier.map_or([0; 3], |(_, so_far)| *so_far)
}

fn assert_kept(story: &Story, replay: &Replay, position: usize, unsynced: Unsynced) {
    let found = left(story, replay, position, unsynced)
        .unwrap_or_else(|error| panic!("cut at {position}, {unsynced:?}: {error}"));
    let promised = promised(story, position);
    let kept = promised.iter().zip(&found).all(|(promised, found)| found >= promised);
    assert!(kept, "cut at {position}, {unsynced:?}: acknowledged {promised:?}, found {found:?}");
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_power_cut_right_after() {
    let story = tell("tape-after", SyncMode::Full).await;
    let mut replay = story.tape.replay();
    for (position, _) in &story.acknowledged {
        replay.advance_to(*position);
        assert_kept(&story, &replay, *position, Unsynced::Lost);
        assert_kept(&story, &replay, *position, Unsynced::Kept);
        for seed in 0..2 {
            assert_kept(&story, &replay, *position, Unsynced::Torn(seed));
        }
    }
}

#[tokio::test]
async fn a_power_cut_in_the_middle_of_writing_loses_nothing_from_before() {
    let story = tell("tape-amid", SyncMode::Full).await;
    let mut replay = story.tape.replay();
    assert!(replay.len() > 2000, "only {} things were done to the disk", replay.len());
    for position in (0..replay.len()).step_by(5) {
        replay.advance_to(position);
        let unsynced = if position % 2 == 0 { Unsynced::Lost } else { Unsynced::Torn(position as u64) };
        assert_kept(&story, &replay, position, unsynced);
    }
}

#[tokio::test]
async fn without_syncing_the_same_power_cut_loses_what_was_acknowledged() {
    let story = tell("tape-off", SyncMode::Off).await;
    let mut replay = story.tape.replay();
    let mut lost = 0;
    for (position, promised) in &story.acknowledged {
        replay.advance_to(*position);
        // Without syncs the disk may also be in no order at all, and then opening it is refused.
        let found = left(&story, &replay, *position, Unsynced::Lost).unwrap_or_default();
        lost += usize::from(promised.iter().zip(&found).any(|(promised, found)| found < promised));
    }
    assert!(lost > story.acknowledged.len() / 2, "{lost} of {}", story.acknowledged.len());
}
