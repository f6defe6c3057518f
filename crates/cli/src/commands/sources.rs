//! `updraft show --sources`: the citations in a run's answer, and whether they hold.

use serde_json::{Value, json};
use updraft_engine::{CitedSource, RunReport, sources_of};

use crate::out::{self, Paint};

/// Prints the citations of the steps whose results are the answer.
pub(super) fn print(report: &RunReport, as_json: bool) {
    let sources = sources_of(report);
    if as_json {
        let sources: Vec<Value> = sources.iter().map(CitedSource::to_json).collect();
        out::pretty(&json!({ "run": report.head.id, "sources": sources }));
        return;
    }
    if sources.is_empty() {
        out::note("the answer cites nothing");
    }
    let has_several = sources.iter().any(|source| source.step != sources[0].step);
    for source in &sources {
        let step = if has_several { format!("  ({})", source.step) } else { String::new() };
        out::line(&(in_words(source) + &step));
        if !source.citation.quote.is_empty() {
            out::line(&format!("    \"{}\"", out::short(&source.citation.quote, 300)));
        }
    }
}

fn in_words(source: &CitedSource) -> String {
    let (paint, citation) = (Paint::for_stdout(), &source.citation);
    let status = match citation.finding.fault() {
        Some(_) => paint.red(&source.status()),
        None if source.status() == "holds" => paint.green("holds"),
        None => paint.yellow(&source.status()),
    };
    format!("[{}] {}  {status}", citation.n, paint.bold(&out::harmless(&citation.source_and_place())))
}
