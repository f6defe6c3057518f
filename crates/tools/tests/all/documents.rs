//! Files that are read in a confined child: the same document as in this process, and one message for a bomb.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use std::io::Write;
use std::time::Duration;

use serde_json::json;
use updraft_reader::{ReadError, ReadLimits, ReadOptions};
use updraft_sandbox::SandboxLevel;
use updraft_tools::{DocumentLimits, DocumentReader, Registry, ToolLimits};

use crate::common::confined::confinement;
use crate::common::packed::zip;
use crate::common::{World, sample};

async fn reader(limits: DocumentLimits) -> Option<DocumentReader> {
    Some(DocumentReader::new(confinement().await?, limits))
}

#[tokio::test]
async fn a_child_reads_what_this_process_would_read() {
    let Some(reader) = reader(DocumentLimits::default()).await else { return };
    for name in ["paper.pdf", "report.docx", "sales.xlsx", "slides.pptx", "scan.pdf"] {
        let bytes = sample(name);
        let here = updraft_reader::read(&bytes, name, &ReadOptions::default());
        assert_eq!(reader.read(bytes, name, &ReadOptions::default()).await, here, "{name}");
    }
    let unpaired = reader.read(b"PK\x03\x04 and no more".to_vec(), "half.docx", &ReadOptions::default()).await;
    assert!(matches!(unpaired, Err(ReadError::Damaged { .. })), "{unpaired:?}");
}

#[tokio::test]
async fn text_is_read_in_this_process() {
    let mut confinement = updraft_tools::Confinement::new("/nonexistent", updraft_sandbox::Policy::strict("/none"));
    confinement.level = Some(SandboxLevel::Full);
    let reader = DocumentReader::new(confinement, DocumentLimits::default());
    let document = reader.read(b"caf\xE9".to_vec(), "a.txt", &ReadOptions::default()).await.unwrap();
    assert_eq!(document.to_markdown(), "café\n");
    let refused = reader.read(sample("report.docx"), "report.docx", &ReadOptions::default()).await.unwrap_err();
    assert!(refused.to_string().starts_with("the process that reads files could not be run: "), "{refused}");
}

#[tokio::test]
async fn a_file_that_needs_too_much_memory_or_time_costs_one_message() {
    let limits = DocumentLimits { memory: 48 << 20, ..DocumentLimits::default() };
    let Some(small) = reader(limits).await else { return };
    let mut body = b"<w:document><w:body>".to_vec();
    while body.len() < 40 << 20 {
        body.write_all(b"<w:p><w:r><w:t>x</w:t></w:r></w:p>").unwrap();
    }
    body.extend(b"</w:body></w:document>");
    let bomb = zip(&[("[Content_Types].xml", b"<Types/>"), ("word/document.xml", &body)]);
    assert!(bomb.len() < 1 << 20);
    let options =
        ReadOptions { limits: ReadLimits { decompressed: 1 << 30, ..ReadLimits::default() }, ..ReadOptions::default() };
    let why = small.read(bomb, "bomb.docx", &options).await.unwrap_err();
    assert_eq!(why, ReadError::Stopped("it needs more than 48 MiB of memory".to_owned()));

    let hasty = reader(DocumentLimits { time: Duration::from_millis(1), ..DocumentLimits::default() }).await.unwrap();
    let why = hasty.read(sample("paper.pdf"), "paper.pdf", &ReadOptions::default()).await.unwrap_err();
    assert_eq!(why, ReadError::Stopped("it takes longer than 0.001 s to read".to_owned()));
}

#[tokio::test]
async fn without_a_sandbox_the_limits_still_hold() {
    let Some(mut confinement) = confinement().await else { return };
    confinement.level = Some(SandboxLevel::None);
    let limits = DocumentLimits { memory: 32 << 20, ..DocumentLimits::default() };
    let reader = DocumentReader::new(confinement, limits);
    let document = reader.read(sample("report.docx"), "report.docx", &ReadOptions::default()).await.unwrap();
    assert!(!document.blocks.is_empty());
    let large = vec![b' '; 64 << 20];
    let mut file = b"%PDF-1.4\n".to_vec();
    file.extend(large);
    let why = reader.read(file, "large.pdf", &ReadOptions::default()).await.unwrap_err();
    assert_eq!(why, ReadError::Stopped("it needs more than 32 MiB of memory".to_owned()));
}

#[tokio::test]
async fn a_thread_that_waits_can_read_while_the_runtime_stands_still() {
    let Some(reader) = reader(DocumentLimits::default()).await else { return };
    let read = |name: &str| reader.read_blocking(&sample(name), name, &ReadOptions::default());
    // This thread drives the only runtime, and waits here.
    let blocks = std::thread::scope(|scope| {
        let threads = ["paper.pdf", "sales.xlsx", "report.docx"].map(|name| scope.spawn(move || read(name)));
        threads.map(|thread| thread.join().unwrap().unwrap().blocks.len())
    });
    assert!(blocks.iter().all(|count| *count > 0), "{blocks:?}");
}

async fn world() -> Option<World> {
    world_with(ToolLimits::default()).await
}

async fn world_with(limits: ToolLimits) -> Option<World> {
    let reader = reader(DocumentLimits::default()).await?;
    let world = World::of(Registry::standard(&limits).with_documents(&limits, reader), limits);
    for name in ["paper.pdf", "report.docx", "sales.xlsx", "slides.pptx", "scan.pdf"] {
        world.put(name, sample(name));
    }
    Some(world)
}

#[tokio::test]
async fn read_file_gives_documents_as_markdown_with_their_places() {
    let Some(world) = world().await else { return };
    let output = world.output("read_file", json!({ "path": "paper.pdf" })).await;
    assert!(output.text.starts_with("[`paper.pdf`: PDF file"), "{}", output.text);
    assert!(output.text.contains("\n[page 1]\n") && output.text.contains("\n[page 2]\n"), "{}", output.text);
    assert_eq!(output.value.as_ref().unwrap()["kind"], "PDF");
    let second = world.text("read_file", json!({ "path": "paper.pdf", "pages": "2" })).await;
    assert!(!second.contains("\n[page 1]\n") && second.contains("\n[page 2]\n"), "{second}");

    let text = world.text("read_file", json!({ "path": "sales.xlsx" })).await;
    assert!(text.contains("\n[sheet ") && text.contains("!A1:"), "{text}");
    let first = world.text("read_file", json!({ "path": "sales.xlsx", "sheet": "1" })).await;
    assert!(first.len() < text.len(), "{first}");
    let text = world.text("read_file", json!({ "path": "slides.pptx", "pages": "1-" })).await;
    assert!(text.contains("\n[page 1]\n"), "{text}");
    assert!(world.text("read_file", json!({ "path": "report.docx" })).await.starts_with("[`report.docx`: DOCX file"));
}

#[tokio::test]
async fn a_long_document_is_cut_and_says_how_to_read_on() {
    let Some(world) = world().await else { return };
    let whole = world.output("read_file", json!({ "path": "paper.pdf" })).await;
    let total = whole.value.as_ref().unwrap()["lines_total"].as_u64().unwrap();
    let small = ToolLimits { read: 200, ..ToolLimits::default() };
    let Some(small) = world_with(small).await else { return };
    let cut = small.output("read_file", json!({ "path": "paper.pdf" })).await;
    let value = cut.value.as_ref().unwrap();
    assert_eq!((value["truncated"].as_bool(), value["lines_total"].as_u64()), (Some(true), Some(total)));
    let next = value["end_line"].as_u64().unwrap() + 1;
    assert!(cut.text.contains(&format!("of {total}; go on with offset {next}]\n")), "{}", cut.text);
    assert!(cut.text.ends_with("[this ends on page 1; pages `1-` begins there]\n"), "{}", cut.text);
    let rest = world.output("read_file", json!({ "path": "paper.pdf", "offset": next })).await;
    let lines = |text: &str| text.lines().filter(|line| !line.starts_with("[`") && !line.contains("go on")).count();
    assert_eq!(lines(&whole.text), lines(&cut.text) - 1 + lines(&rest.text));
}

#[tokio::test]
async fn what_cannot_be_read_is_named_with_the_reason() {
    let Some(world) = world().await else { return };
    world.put("cut.docx", &sample("report.docx")[..500]);
    world.put("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and more");
    world.put("a.txt", "text\n");
    for (args, why) in [
        (json!({ "path": "scan.pdf" }), "`scan.pdf` was not read: the PDF has no text: its "),
        (json!({ "path": "cut.docx" }), "`cut.docx` was not read: damaged "),
        (
            json!({ "path": "old.doc" }),
            "`old.doc` was not read: not text, and not a kind of file that can be read (an old",
        ),
        (json!({ "path": "paper.pdf", "pages": "900" }), "`paper.pdf` was not read: none of the wanted pages: "),
        (json!({ "path": "paper.pdf", "pages": "two" }), "`two` is no choice of pages"),
        (json!({ "path": "paper.pdf", "sheet": "1" }), "`paper.pdf` was not read: PDF files have no sheets"),
        (
            json!({ "path": "sales.xlsx", "sheet": "none" }),
            "`sales.xlsx` was not read: no sheet `none`; the workbook has ",
        ),
        (json!({ "path": "a.txt", "pages": "1" }), "`a.txt` is text, which has no pages and sheets"),
    ] {
        let message = world.failure("read_file", args).await.message;
        assert!(message.starts_with(why), "{message}");
    }
}
