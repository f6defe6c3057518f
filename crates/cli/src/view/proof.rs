//! What was required of a run and what was found about it, one line for each requirement.

use updraft_run::{Evidence, ProofFinding, ProofState, Requirement, Run};

use super::fit::cut;
use crate::out::{self, Paint};

/// Columns for the label, as in the summary at the end of a run.
const LABEL: usize = 9;

/// What agents assumed because nobody was asked, at most `columns` wide.
pub(crate) fn assumption_lines(run: &Run, columns: usize, paint: Paint) -> Vec<String> {
    let lines = run.assumptions().iter().enumerate().map(|(n, one)| {
        let label = if n == 0 { format!("{:LABEL$}", "assumed") } else { " ".repeat(LABEL) };
        let words = format!("{} ({})", out::short(&one.assumption, 200), out::short(&one.question, 200));
        format!("{}{}", paint.dim(&label), cut(&words, columns.saturating_sub(LABEL)))
    });
    lines.collect()
}

/// A line for each requirement, at most `columns` wide; none if nothing was required.
pub(crate) fn proof_lines(run: &Run, columns: usize, paint: Paint) -> Vec<String> {
    let lines = run.proof().findings().enumerate().map(|(n, (one, found))| {
        let label = if n == 0 { format!("{:LABEL$}", "required") } else { " ".repeat(LABEL) };
        let sign = match found.map(|found| found.state) {
            Some(ProofState::Proved) => paint.green("✓"),
            Some(ProofState::Failed) => paint.red("✗"),
            Some(ProofState::Unproved) | None => paint.yellow("?"),
        };
        format!("{}{sign} {}", paint.dim(&label), cut(&words(one, found), columns.saturating_sub(LABEL + 2)))
    });
    lines.collect()
}

fn words(one: &Requirement, found: Option<&ProofFinding>) -> String {
    let text = out::short(&one.text, 200);
    let Some(found) = found else { return format!("{text}: not checked") };
    let shown = match found.state {
        ProofState::Proved => found.evidence.first().map(short_words).unwrap_or_default(),
        ProofState::Failed | ProofState::Unproved => found.why.lines().next().unwrap_or_default().to_owned(),
    };
    if shown.is_empty() { text } else { format!("{text}: {}", out::short(&shown, 200)) }
}

/// A piece of evidence beside its requirement, which mostly names the command or file already.
fn short_words(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Call { at, exit: Some(exit), .. } => format!("exit code {exit} ({at})"),
        Evidence::File { at, hash, .. } => format!("SHA-256 {} ({at})", start_of(hash)),
        other => evidence_words(other),
    }
}

/// The first digits of a hash.
fn start_of(hash: &str) -> &str {
    &hash[..hash.floor_char_boundary(12)]
}

/// A piece of evidence in a few words.
pub(crate) fn evidence_words(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Call { at, what, exit: Some(exit), .. } => format!("`{what}` exit code {exit} ({at})"),
        Evidence::Call { at, what, exit: None, .. } => format!("{what} ({at})"),
        Evidence::File { at, path, hash } => format!("{path} SHA-256 {} ({at})", start_of(hash)),
        Evidence::Answer { at, quote } => format!("\"{quote}\" ({at})"),
        Evidence::Citation { citation, .. } => format!("[{}] {}", citation.n, citation.source_and_place()),
        _ => String::new(),
    }
}
