//! Prints what bringing a folder in costs, and how long searching takes: `cargo run --release --example measure FOLDER`.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example speaks by printing and looks at the clock"
)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use updraft_knowledge::{Cancel, Error, Index, IngestOptions, SearchRequest};

const QUESTIONS: [&str; 10] = [
    "how is a connection closed when the peer resets the stream",
    "parse a header value",
    "hash map with a custom allocator",
    "Utf8Error",
    "what happens if the buffer is too small to hold the decoded bytes",
    "atomic reference counted pointer drop",
    "time zone database lookup",
    "is this function safe to call from several threads",
    "regex that matches an empty string",
    "recieve buffer overflow",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args_os().nth(1).map(PathBuf::from).unwrap_or_default();
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("index.db");
    let mut index = Index::open(&file)?;
    let first = pass(&mut index, &root)?;
    let second = pass(&mut index, &root)?;
    index.compact()?;
    let totals = index.totals()?;
    let size: u64 = ["index.db", "index.db-wal"]
        .iter()
        .filter_map(|name| folder.path().join(name).metadata().ok())
        .map(|about| about.len())
        .sum();
    println!("{totals:?}");
    println!("size {size}, {:.2} of the text", size as f64 / totals.bytes as f64);
    println!("second pass / first: {:.4}", second.as_secs_f64() / first.as_secs_f64());
    let mut times = Vec::new();
    for round in 0..11 {
        for question in QUESTIONS {
            let begun = Instant::now();
            let request = SearchRequest { text: question.to_owned(), ..SearchRequest::default() };
            let answer = index.search(&request, None)?;
            let time = begun.elapsed();
            if round == 0 {
                let best = answer.passages.first().map(|passage| format!("{} {}", passage.path, passage.place));
                println!("{time:?} {question}: {}", best.unwrap_or_default());
            } else {
                times.push(time);
            }
        }
    }
    times.sort();
    println!("search p50 {:?} p99 {:?}", times[times.len() / 2], times[times.len() * 99 / 100]);
    Ok(())
}

fn pass(index: &mut Index, root: &Path) -> Result<Duration, Error> {
    let begun = Instant::now();
    let options = IngestOptions::new(root, SystemTime::now());
    let report = index.ingest(&[root.to_owned()], &options, &mut |_| {}, &Cancel::default())?;
    let time = begun.elapsed();
    println!(
        "{} files, {} written, {} failed, {} chunks in {time:.2?}: {:.0} files/s",
        report.files,
        report.written,
        report.failed.len(),
        report.chunks,
        report.files as f64 / time.as_secs_f64()
    );
    Ok(time)
}
