//! What an append costs, beside what the disk alone costs: a plain file that gets the same bytes and is synced.
//!
//! Prints ratios to that floor, taken in the same run on the same disk, so that numbers of different machines can be
//! compared. `cargo bench -p updraft-journal`.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use updraft_journal::{Batch, Journal, JournalOptions, Lease, RunHeader, SyncMode};
use updraft_run::{Event, Input, Record, RunId, Timestamp};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// About what a small tool call's reply takes.
const WORDS: usize = 560;

fn main() -> Outcome<()> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    println!("{:38} {:>12} {:>12} {:>8}", "", "ours", "plain file", "ratio");
    runtime.block_on(async {
        singles(folder.path(), 300).await?;
        groups(folder.path(), 64, 50).await?;
        groups(folder.path(), 1000, 10).await?;
        groups(folder.path(), 10_000, 3).await?;
        without_syncing(folder.path()).await?;
        loading(folder.path(), 10_000).await
    })
}

/// One append after another.
async fn singles(folder: &Path, times: u32) -> Outcome<()> {
    let (journal, mut leases) = open(folder, "singles", SyncMode::Full, 1).await?;
    let lease = leases.remove(0);
    let mut ours = Vec::new();
    let mut floor = Vec::new();
    let mut plain = File::create(folder.join("plain"))?;
    // Turn by turn, so that both meet the same mood of the disk.
    for _ in 0..times {
        let begun = Instant::now();
        journal.append(&lease, batch()).await?;
        ours.push(begun.elapsed());
        floor.push(write_plain(&mut plain, 1)?);
    }
    report("one append, synced", median(ours), median(floor), 1);
    Ok(())
}

/// Many runs that append at the same time: their commits are shared.
async fn groups(folder: &Path, runs: usize, times: u32) -> Outcome<()> {
    let (journal, leases) = open(folder, &format!("groups-{runs}"), SyncMode::Full, runs).await?;
    let mut leases: Vec<Lease> = leases;
    let mut ours = Vec::new();
    let mut floor = Vec::new();
    let mut plain = File::create(folder.join("plain"))?;
    for _ in 0..times {
        let begun = Instant::now();
        leases = append_together(&journal, leases).await?;
        ours.push(begun.elapsed());
        floor.push(write_plain(&mut plain, runs)?);
    }
    report(&format!("{runs} runs at once, synced, each"), median(ours), median(floor), runs as u32);
    Ok(())
}

/// What is left of the cost when the disk is not waited for: our own work.
async fn without_syncing(folder: &Path) -> Outcome<()> {
    let (journal, leases) = open(folder, "unsynced", SyncMode::Off, 64).await?;
    let mut ours = Vec::new();
    for _ in 0..2000 {
        let begun = Instant::now();
        journal.append(&leases[0], batch()).await?;
        ours.push(begun.elapsed());
    }
    println!("{:38} {:>9.1} µs", "one append, not synced", micros(median(ours)));
    let mut leases = leases;
    let mut ours = Vec::new();
    for _ in 0..100 {
        let begun = Instant::now();
        leases = append_together(&journal, leases).await?;
        ours.push(begun.elapsed());
    }
    println!("{:38} {:>9.1} µs", "64 runs at once, not synced, each", micros(median(ours)) / 64.0);
    Ok(())
}

/// Reading a long run back, beside parsing the same text without a database.
async fn loading(folder: &Path, events: usize) -> Outcome<()> {
    let (journal, leases) = open(folder, "loading", SyncMode::Off, 1).await?;
    for _ in 0..events / 100 {
        journal.append(&leases[0], Batch::of(vec![record(); 100])).await?;
    }
    let texts = (0..events).map(|_| record().to_json()).collect::<Result<Vec<_>, _>>()?;
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..10 {
        let begun = Instant::now();
        assert_eq!(journal.load(leases[0].run())?.len(), events);
        ours.push(begun.elapsed());
        let begun = Instant::now();
        for text in &texts {
            std::hint::black_box(Record::from_json(Timestamp(0), text)?);
        }
        floor.push(begun.elapsed());
    }
    let (ours, floor) = (median(ours), median(floor));
    println!(
        "{:38} {:>9.1} ms {:>9.1} ms {:>7.2}x   (beside parsing the same text)",
        format!("load of {events} events"),
        micros(ours) / 1e3,
        micros(floor) / 1e3,
        ours.as_secs_f64() / floor.as_secs_f64()
    );
    Ok(())
}

async fn open(folder: &Path, name: &str, sync: SyncMode, runs: usize) -> Outcome<(Journal, Vec<Lease>)> {
    let journal =
        Journal::open(&folder.join(format!("{name}.db")), JournalOptions { sync, ..JournalOptions::default() })?;
    let mut making = JoinSet::new();
    for n in 0..runs {
        let (journal, id) = (journal.clone(), RunId::parse(&format!("run-{n}"))?);
        making.spawn(async move { journal.create(RunHeader::new(id, "a goal", Timestamp(0)), Batch::default()).await });
    }
    let leases = making.join_all().await.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok((journal, leases))
}

async fn append_together(journal: &Journal, leases: Vec<Lease>) -> Outcome<Vec<Lease>> {
    let mut appends = JoinSet::new();
    for lease in leases {
        let journal = journal.clone();
        appends.spawn(async move { journal.append(&lease, batch()).await.map(|_| lease) });
    }
    Ok(appends.join_all().await.into_iter().collect::<Result<Vec<_>, _>>()?)
}

fn write_plain(file: &mut File, records: usize) -> Outcome<Duration> {
    let mut bytes = Vec::new();
    for _ in 0..records {
        bytes.extend(record().to_json()?);
    }
    let begun = Instant::now();
    file.write_all(&bytes)?;
    file.sync_data()?;
    Ok(begun.elapsed())
}

fn record() -> Record {
    let message = "w".repeat(WORDS);
    Record { at: Timestamp(1), input: Input::Tell { message: message.clone() }, events: vec![Event::Told { message }] }
}

fn batch() -> Batch {
    Batch::of(vec![record()])
}

fn report(what: &str, ours: Duration, floor: Duration, each: u32) {
    let ratio = ours.as_secs_f64() / floor.as_secs_f64();
    println!("{what:38} {:>9.1} µs {:>9.1} µs {ratio:>7.2}x", micros(ours / each), micros(floor / each));
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
