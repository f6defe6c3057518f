//! Prints what bringing a folder in costs, and how long searching takes: `cargo run --release --example measure FOLDER`.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example speaks by printing and looks at the clock"
)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use updraft_knowledge::{Cancel, Embedder, Error, Index, IngestOptions, SearchRequest};

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
    search(&index, None)?;
    let noise = Noise;
    let begun = Instant::now();
    index.embed(&noise, &mut |_, _| {}, &Cancel::default())?;
    println!("vectors of noise stored in {:.2?}", begun.elapsed());
    search(&index, Some(&noise))?;
    Ok(())
}

fn search(index: &Index, embedder: Option<&dyn Embedder>) -> Result<(), Error> {
    let mut times = Vec::new();
    let before = processor_time();
    for round in 0..11 {
        for question in QUESTIONS {
            let begun = Instant::now();
            let request = SearchRequest { text: question.to_owned(), ..SearchRequest::default() };
            let answer = index.search(&request, embedder)?;
            let time = begun.elapsed();
            if round == 0 {
                let best = answer.passages.first().map(|passage| format!("{} {}", passage.path, passage.place));
                println!("{time:.1?} {question}: {}", best.unwrap_or_default());
            } else {
                times.push(time);
            }
        }
    }
    times.sort();
    let mean = processor_time().saturating_sub(before) / (11 * QUESTIONS.len() as u32);
    println!(
        "search p50 {:.1?} p99 {:.1?}, processor time {mean:.1?}",
        times[times.len() / 2],
        times[times.len() * 99 / 100]
    );
    Ok(())
}

/// A model that understands nothing, for the time that comparing takes.
struct Noise;

impl Embedder for Noise {
    fn name(&self) -> &'static str {
        "noise"
    }

    fn dimensions(&self) -> usize {
        384
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let vector = |text: &String| {
            let mut state = text
                .bytes()
                .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as f32 / (1 << 23) as f32 - 1.0
            };
            (0..384).map(|_| next()).collect()
        };
        Ok(texts.iter().map(vector).collect())
    }
}

/// What this process has used of the processors, on Linux; elsewhere nothing.
fn processor_time() -> Duration {
    let about = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = about.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

fn pass(index: &mut Index, root: &Path) -> Result<Duration, Error> {
    let begun = Instant::now();
    let before = processor_time();
    let options = IngestOptions::new(root, SystemTime::now());
    let report = index.ingest(&[root.to_owned()], &options, &mut |_| {}, &Cancel::default())?;
    let time = begun.elapsed();
    println!(
        "{} files, {} written, {} failed, {} chunks in {time:.2?} ({:.2?} of processors): {:.0} files/s",
        report.files,
        report.written,
        report.failed.len(),
        report.chunks,
        processor_time().saturating_sub(before),
        report.files as f64 / time.as_secs_f64()
    );
    Ok(time)
}
