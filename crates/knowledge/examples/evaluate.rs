//! Prints how well searching does on collections: `cargo run --example evaluate FOLDER…`.

#![allow(clippy::print_stdout, reason = "an example speaks by printing")]

use std::path::Path;

use updraft_knowledge::{Collection, Error, Index, SearchQuality};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    println!("collection            words            vectors          hybrid   (nDCG@10 recall@10 recall@100)");
    for (at, argument) in std::env::args().skip(1).enumerate() {
        measure(Path::new(&argument), &folder.path().join(format!("{at}.db")))?;
    }
    Ok(())
}

fn measure(folder: &Path, file: &Path) -> Result<(), Error> {
    let collection = Collection::read(folder)?;
    let mut index = Index::open(file)?;
    collection.fill(&mut index)?;
    let report = collection.measure(&index, None)?;
    let shown =
        |quality: SearchQuality| format!("{:.3} {:.3} {:.3}", quality.ndcg_10, quality.recall_10, quality.recall_100);
    let vectors = report.vectors.map_or("-".to_owned(), shown);
    println!("{:<16} {:>20} {vectors:>20} {:>20}", folder.display(), shown(report.words), shown(report.hybrid));
    Ok(())
}
