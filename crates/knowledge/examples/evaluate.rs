//! Prints how well searching does on collections.
//!
//! `cargo run --example evaluate FOLDER…`, or with vectors
//! `cargo run --features minilm --example evaluate MODEL FOLDER…`.

#![allow(clippy::print_stdout, reason = "an example speaks by printing")]

use std::path::{Path, PathBuf};

use updraft_knowledge::{Cancel, Collection, Embedder, Error, Index, SearchQuality};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let embedder = model(&mut folders)?;
    println!("collection       words: nDCG@10 recall@10 @100           vectors            hybrid");
    for folder in folders {
        measure(&folder, embedder.as_deref())?;
    }
    Ok(())
}

#[cfg(feature = "minilm")]
fn model(folders: &mut Vec<PathBuf>) -> Result<Option<Box<dyn Embedder>>, Error> {
    Ok(Some(Box::new(updraft_knowledge::MiniLm::load(&folders.remove(0))?)))
}

#[cfg(not(feature = "minilm"))]
fn model(_: &mut Vec<PathBuf>) -> Result<Option<Box<dyn Embedder>>, Error> {
    Ok(None)
}

fn measure(folder: &Path, embedder: Option<&dyn Embedder>) -> Result<(), Box<dyn std::error::Error>> {
    let collection = Collection::read(folder)?;
    let file = tempfile::tempdir()?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut index = Index::open(&file.path().join("index.db"))?;
    collection.fill(&mut index)?;
    if let Some(embedder) = embedder {
        index.embed(embedder, &mut |_, _| {}, &Cancel::default())?;
    }
    let report = collection.measure(&index, embedder)?;
    let shown =
        |quality: SearchQuality| format!("{:.3} {:.3} {:.3}", quality.ndcg_10, quality.recall_10, quality.recall_100);
    let vectors = report.vectors.map_or("-".to_owned(), shown);
    println!("{name:<16} {:>20} {vectors:>28} {:>20}", shown(report.words), shown(report.hybrid));
    Ok(())
}
