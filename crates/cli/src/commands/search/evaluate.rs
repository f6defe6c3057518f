//! Measures searching on collections of documents, questions and judgements.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use updraft_knowledge::{Cancel, Collection, CollectionReport, Index, SearchQuality};
use updraft_workbench::knowledge;

use crate::args::SearchArgs;
use crate::commands::ingest::{fault, vectors_in_words};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::out;
use crate::settings::WorkspaceSettings;
use crate::view::ProgressLine;

pub(super) fn run(
    folders: &AppFolders,
    workspace: &Path,
    settings: &WorkspaceSettings,
    args: &SearchArgs,
) -> CliResult {
    let embedder = knowledge::embedder(folders, workspace, settings);
    let embedder = embedder.map(|load| load()).transpose().map_err(CliError::config)?;
    let mut text = String::new();
    if !args.place.json {
        let _ = writeln!(
            text,
            "{:16} {:10} {:>8} {:>10} {:>11}",
            "collection", "method", "nDCG@10", "recall@10", "recall@100"
        );
    }
    for folder in &args.eval {
        let collection = Collection::read(folder).map_err(|error| {
            fault(&error).hint("a collection has documents.jsonl, questions.jsonl and judgements.tsv")
        })?;
        let mut index = Index::open(Path::new(":memory:")).map_err(|error| fault(&error))?;
        collection.fill(&mut index).map_err(|error| fault(&error))?;
        if let Some(embedder) = &embedder {
            let mut line = ProgressLine::new(args.place.json, std::time::Duration::from_secs(1));
            let begun = std::time::Instant::now();
            let mut progress = |done, all| line.show(|| vectors_in_words(done, all, begun));
            index.embed(embedder.as_ref(), &mut progress, &Cancel::default()).map_err(|error| fault(&error))?;
            line.clear();
        }
        let report = collection.measure(&index, embedder.as_deref()).map_err(|error| fault(&error))?;
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
        if args.place.json {
            let mut line = json!(report);
            line["collection"] = json!(name);
            let _ = writeln!(text, "{line}");
        } else {
            text.push_str(&rows(&name, &report));
        }
    }
    out::print(&text);
    Ok(CliExitCode::Done)
}

fn rows(name: &str, report: &CollectionReport) -> String {
    let mut text = String::new();
    let methods = [
        ("words", Some(report.words)),
        ("vectors", report.vectors),
        ("hybrid", report.vectors.and(Some(report.hybrid))),
    ];
    for (method, quality) in methods {
        let Some(SearchQuality { ndcg_10, recall_10, recall_100 }) = quality else { continue };
        let name = if method == "words" { out::on_one_line(name) } else { String::new() };
        let _ = writeln!(text, "{name:16} {method:10} {ndcg_10:8.3} {recall_10:10.3} {recall_100:11.3}");
    }
    text
}
