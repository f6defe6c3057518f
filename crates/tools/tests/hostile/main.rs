//! Files that are made to hurt, each made here and read as agents and ingest read them: every one ends within bounded
//! processor time and memory, with a document or a message that names it, and harms nothing else.
//!
//! A program of its own, since it measures its children.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a test may")]

#[path = "../common/mod.rs"]
mod common;
mod other_files;
mod packed_files;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use common::confined::confinement;
use common::{World, sample};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::json;
use updraft_reader::{ReadOptions, is_packed};
use updraft_run::Reply;
use updraft_tools::{DocumentLimits, DocumentReader, Registry, ToolLimits};

/// What one file may cost its child.
const MEMORY: u64 = 512 << 20;
const TIME: Duration = Duration::from_secs(20);
/// What a child has besides: its program, and what the kernel counts differently.
const PROGRAM: u64 = 128 << 20;
/// The memory that this process needs for all of them together.
const OURS: u64 = 512 << 20;

/// What bombs unpack to: more than the reader unpacks of one file.
const BOMB: usize = 300 << 20;

struct HostileFile {
    name: String,
    bytes: Vec<u8>,
}

/// Blocks of Deflate that unpack to spaces. Made once, since it takes the longest.
fn packed_spaces() -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let block = vec![b' '; 1 << 20];
    for _ in 0..BOMB >> 20 {
        encoder.write_all(&block).unwrap();
    }
    encoder.finish().unwrap()
}

/// Processor time and highest memory of this process, or of all its children that have ended.
fn usage(of: libc::c_int) -> (Duration, u64) {
    #[expect(unsafe_code, reason = "no safe function tells what children have used")]
    // SAFETY: the structure is plain data, and the call fills it.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        assert_eq!(libc::getrusage(of, &raw mut usage), 0);
        usage
    };
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    (Duration::from_micros(micros(usage.ru_utime) + micros(usage.ru_stime)), usage.ru_maxrss as u64 * 1024)
}

/// The highest memory of this process so far.
fn ours() -> u64 {
    usage(libc::RUSAGE_SELF).1
}

/// The processor time of this process and its children so far.
fn spent() -> Duration {
    usage(libc::RUSAGE_SELF).0 + usage(libc::RUSAGE_CHILDREN).0
}

fn left_behind() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks
        .flat_map(|task| std::fs::read_to_string(task.path().join("children")))
        .filter(|list| !list.is_empty())
        .collect()
}

#[tokio::test]
async fn sixty_hostile_files_cost_a_message_each() {
    let Some(confinement) = confinement().await else { return };
    let limits = DocumentLimits { memory: MEMORY, time: TIME, ..DocumentLimits::default() };
    let reader = DocumentReader::new(confinement, limits);
    let tools = ToolLimits::default();
    let world = World::of(Registry::standard(&tools).with_documents(&tools, reader.clone()), tools);
    let spaces = packed_spaces();
    let mut files = packed_files::all(&spaces);
    files.extend(other_files::all(&spaces));
    assert!(files.len() >= 60, "{}", files.len());
    let before = ours();
    let mut sums = BTreeMap::new();
    for HostileFile { name, bytes } in files {
        world.put(&name, &bytes);
        sums.insert(name.clone(), updraft_workspace::hash(&bytes));
        let begun = spent();
        let outcome = if is_packed(&bytes, &name, &ReadOptions::default()) {
            match world.call("read_file", json!({ "path": name })).await {
                Reply::Output(output) => format!("{} bytes of text", output.text.len()),
                Reply::Failed(failure) => {
                    let clear = format!("`{name}` was not read: ");
                    assert!(failure.message.starts_with(&clear), "{name}: {failure}");
                    failure.message[clear.len()..].to_owned()
                }
                other => panic!("{name}: {other:?}"),
            }
        } else {
            // As ingest reads it; read_file shows text as it stands.
            match reader.read(bytes, &name, &ReadOptions::default()).await {
                Ok(document) => format!("{} pieces, {:?}", document.blocks.len(), document.warnings),
                Err(error) => error.to_string(),
            }
        };
        assert!(!outcome.contains("root:"), "{name}: {outcome}");
        let (took, peak) = (spent().saturating_sub(begun), usage(libc::RUSAGE_CHILDREN).1);
        eprintln!("{name:<20} {:>6} ms, {:>4} MB: {outcome:.100}", took.as_millis(), peak >> 20);
        assert!(took <= TIME + Duration::from_secs(15), "{name}: {took:?}");
        assert!(peak <= MEMORY + PROGRAM, "{name}: {peak}");
        assert!(ours() - before <= OURS, "{name}: {}", ours());
    }
    assert!(world.text("read_file", json!({ "path": "laughs.docx" })).await.len() < 1_000);

    // Nothing else was harmed: the files are as they were, no process is left, and other files are read as ever.
    for (name, sum) in sums {
        assert_eq!(updraft_workspace::hash(&world.content(&name)), sum, "{name}");
    }
    assert_eq!(left_behind(), Vec::<String>::new());
    world.put("report.docx", sample("report.docx"));
    assert!(world.text("read_file", json!({ "path": "report.docx" })).await.contains(": DOCX file"));
}

/// The same for files of the size that people really have; needs a gigabyte of disk.
#[tokio::test]
#[ignore = "writes a gigabyte"]
async fn a_table_of_a_gigabyte_on_one_line_is_read_in_bounded_memory() {
    let tools = ToolLimits::default();
    let world = World::of(Registry::standard(&tools), tools);
    let piece = b"12345,".repeat(1 << 20);
    let mut file = std::fs::File::create(world.path("line.csv")).unwrap();
    for _ in 0..170 {
        file.write_all(&piece).unwrap();
    }
    drop(file);
    let before = ours();
    let output = world.output("read_file", json!({ "path": "line.csv" })).await;
    assert!(output.text.len() < 200_000 && output.text.ends_with("bytes]\n"), "{}", output.text.len());
    let found = world.call("search_files", json!({ "pattern": "99999" })).await;
    assert!(matches!(found, Reply::Output(_)), "{found:?}");
    assert!(ours() - before < 300 << 20, "{}", ours());
}
