//! `updraft show --proof`: what was required of a run, and the evidence for it.

use serde_json::{Value, json};
use updraft_engine::{EvidenceReport, RequirementReport, RunReport, proof_of};
use updraft_journal::Journal;
use updraft_run::Evidence;

use crate::fault::{CliExitCode, CliResult};
use crate::out::{self, Paint};
use crate::view;

/// Prints each requirement, its state and its evidence, compared with the files as they are now.
pub(super) fn print(journal: &Journal, report: &RunReport, as_json: bool) -> CliResult {
    let requirements = proof_of(journal, report)?;
    if as_json {
        let list: Vec<Value> = requirements.iter().map(RequirementReport::to_json).collect();
        let status = report.run.status_word();
        out::pretty(&json!({ "run": report.head.id, "status": status, "requirements": list }));
        return Ok(CliExitCode::Done);
    }
    if requirements.is_empty() {
        out::note(
            "nothing was required of this run\n  hint: `updraft run --require \"cargo test passes\" …` requires something",
        );
    }
    let paint = Paint::for_stdout();
    for one in &requirements {
        let status = match one.status() {
            "proved" => paint.green("proved"),
            "failed" => paint.red("failed"),
            other => paint.yellow(other),
        };
        let from = if one.derived { "  (from the goal)" } else { "" };
        out::line(&format!("{status}  {}{from}", paint.bold(&out::harmless(&one.text))));
        if one.how != one.text {
            out::line(&format!("  {}", out::harmless(&one.how)));
        }
        for evidence in &one.evidence {
            for line in lines(evidence, paint) {
                out::line(&format!("  {line}"));
            }
        }
        if !one.why.is_empty() {
            out::harmless(&one.why).lines().for_each(|line| out::line(&format!("  {line}")));
        }
    }
    Ok(CliExitCode::Done)
}

fn lines(one: &EvidenceReport, paint: Paint) -> Vec<String> {
    let mut lines = vec![out::harmless(&view::evidence_words(&one.evidence))];
    let quote = match &one.evidence {
        Evidence::Call { quote, .. } => quote.as_str(),
        Evidence::Citation { citation, .. } => citation.quote.as_str(),
        _ => "",
    };
    if !quote.is_empty() {
        lines.push(format!("  \"{}\"", out::short(quote, 300)));
    }
    if let Some(hash) = &one.output_hash
        && matches!(one.evidence, Evidence::Call { .. })
    {
        lines.push(paint.dim(&format!("  output SHA-256 {hash}")));
    }
    if let Some(why) = &one.unseen {
        lines.push(paint.dim(&format!("  compared with today: only the files that the run changed ({why})")));
    }
    if let Some(stale) = &one.stale {
        lines.push(paint.yellow(&format!("  stale: {}", out::harmless(stale))));
    }
    lines
}
