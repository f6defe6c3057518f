//! The summary at the end of a run: files changed, calls refused, cost of each agent, and what to do next.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use updraft_engine::{ChangedFile, changed_files};
use updraft_journal::Journal;
use updraft_run::{Cost, Event, FailureKind, Reply, Run, RunId, StepId, ToolCall};

use super::call::call_words;
use super::describe::count;
use super::fit::{cut, width};
use crate::out::{self, Paint};

/// Most files that are named.
const FILES: usize = 10;
/// Most refusals that are shown.
const REFUSALS: usize = 3;
/// Columns for the labels: the length of the longest.
const LABEL: usize = 9;

/// What to print about a run at rest, besides its answer.
#[derive(Debug, Default)]
pub(crate) struct RunEnding {
    files: Vec<ChangedFile>,
    refused: Vec<String>,
}

impl RunEnding {
    /// Reads it from the journal. What cannot be read is left out.
    pub(crate) fn of(journal: &Journal, id: &RunId, run: &Run) -> Self {
        let mut files = changed_files(journal, id, Path::new(&run.settings().workspace)).unwrap_or_default();
        // Text files come first, since only the first files are named.
        files.sort_by_key(|file| file.lines.is_none());
        let mut refused = Vec::new();
        // The last calls that each step asked for.
        let mut asked: BTreeMap<StepId, Vec<ToolCall>> = BTreeMap::new();
        let read = journal.read(id, 0, &mut |_, record| {
            for event in &record.events {
                match event {
                    Event::Replied { id, reply: Reply::Answer(answer), .. } => {
                        asked.insert(id.step.clone(), answer.calls.clone());
                    }
                    Event::Rejected { id, why } if why.kind == FailureKind::Security => {
                        let call = asked.get(&id.step).and_then(|calls| calls.get(id.n as usize));
                        let call = call.map(|call| format!("{}: ", call_words(call))).unwrap_or_default();
                        refused.push(out::short(&format!("{call}{}", why.message), 300));
                    }
                    _ => {}
                }
            }
            ControlFlow::Continue(())
        });
        Self { files, refused: if read.is_ok() { refused } else { Vec::new() } }
    }

    /// Without the refusals, if they are reported elsewhere.
    pub(crate) fn without_refusals(self) -> Self {
        Self { refused: Vec::new(), ..self }
    }

    /// Whether there are changes that can be undone.
    pub(crate) fn has_changes(&self) -> bool {
        !self.files.is_empty()
    }

    /// Files and refusals, a few lines each, at most `columns` wide.
    pub(crate) fn lines_without_costs(&self, columns: usize, paint: Paint) -> Vec<String> {
        let mut lines = labelled("changed", &self.file_lines(columns.saturating_sub(LABEL), paint), paint);
        let mut refused: Vec<String> = self.refused.clone();
        refused.dedup();
        let more = refused.len().saturating_sub(REFUSALS);
        refused.truncate(REFUSALS);
        let mut refused: Vec<String> = refused.iter().map(|why| cut(why, columns.saturating_sub(LABEL))).collect();
        if more > 0 {
            refused.push(format!("… and {more} more"));
        }
        if !refused.is_empty() {
            refused.insert(0, format!("{}:", count(self.refused.len() as u64, "call")));
        }
        lines.extend(labelled("refused", &refused, paint));
        lines
    }

    /// The same, and the cost of each agent if there were several.
    pub(crate) fn lines(&self, run: &Run, columns: usize, paint: Paint) -> Vec<String> {
        let mut lines = self.lines_without_costs(columns, paint);
        let costs: Vec<String> = costs(run).into_iter().map(|(agent, cost)| format!("{agent} {cost}")).collect();
        if costs.len() > 1 {
            lines.extend(labelled("cost", &filled(&costs, columns.saturating_sub(LABEL)), paint));
        }
        lines
    }

    fn file_lines(&self, columns: usize, paint: Paint) -> Vec<String> {
        let shown = &self.files[..self.files.len().min(FILES)];
        let longest = shown.iter().map(|file| width(&file.path)).max().unwrap_or_default();
        let room = columns.saturating_sub(16).max(12).min(longest);
        let mut lines: Vec<String> = shown
            .iter()
            .map(|file| {
                let path = cut(&out::on_one_line(&file.path), room);
                let space = " ".repeat(room.saturating_sub(width(&path)));
                let (added, removed) = file.lines.unwrap_or_default();
                let word = match (file.was_there, file.is_there) {
                    (false, _) => Some("new"),
                    (true, false) => Some("deleted"),
                    (true, true) => None,
                };
                let about = [
                    (added > 0).then(|| paint.green(&format!("+{added}"))),
                    (removed > 0).then(|| paint.red(&format!("-{removed}"))),
                    word.map(|word| paint.dim(word)),
                ];
                let about: Vec<String> = about.into_iter().flatten().collect();
                format!("{path}{space}  {}", about.join(" ")).trim_end().to_owned()
            })
            .collect();
        let more = self.files.len() - shown.len();
        if more > 0 {
            lines.push(format!("… and {more} more file{}", if more == 1 { "" } else { "s" }));
        }
        lines
    }
}

/// Lines behind a label.
fn labelled(label: &str, lines: &[String], paint: Paint) -> Vec<String> {
    let label = |n: usize| if n == 0 { format!("{label:LABEL$}") } else { " ".repeat(LABEL) };
    lines.iter().enumerate().map(|(n, line)| format!("{}{line}", paint.dim(&label(n)))).collect()
}

/// Short texts side by side, on as many lines as they need.
fn filled(parts: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if width(line) + 3 + width(part) <= columns => {
                line.push_str(" · ");
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
}

/// The cost of each agent in words; empty if nothing cost anything.
fn costs(run: &Run) -> Vec<(String, String)> {
    let mut agents: BTreeMap<&str, (u64, bool, bool)> = BTreeMap::new();
    for step in run.steps().filter(|step| step.ledger.turns > 0) {
        let (cost, is_estimate, is_unknown) = agents.entry(&step.spec.agent).or_default();
        *cost = cost.saturating_add(step.ledger.at_most().0);
        *is_estimate |= step.ledger.usage.estimated;
        *is_unknown |= step.ledger.unpriced > 0;
    }
    if agents.values().all(|(cost, _, is_unknown)| *cost == 0 && !is_unknown) {
        return Vec::new();
    }
    let in_words = |(agent, (cost, is_estimate, is_unknown)): (&str, (u64, bool, bool))| {
        let cost = match (is_unknown, cost) {
            (true, _) => "unknown".to_owned(),
            (false, cost) if is_estimate && cost > 0 => format!("about {}", Cost(cost)),
            (false, cost) => Cost(cost).to_string(),
        };
        (agent.to_owned(), cost)
    };
    let costs: Vec<(String, String)> = agents.into_iter().map(in_words).collect();
    // If every price is unknown, the total says so already.
    if costs.iter().all(|(_, cost)| cost == "unknown") { Vec::new() } else { costs }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, lines: Option<(usize, usize)>, was_there: bool, is_there: bool) -> ChangedFile {
        ChangedFile { path: path.into(), was_there, is_there, lines }
    }

    #[test]
    fn files_and_refusals_are_named_within_the_width_and_the_rest_is_counted() {
        let mut files = vec![
            file("src/cart.py", Some((1, 1)), true, true),
            file("artifacts/a/very/long/path/to/some/report.md", Some((12, 0)), false, true),
            file("logo.png", None, true, false),
        ];
        files.extend((0..9).map(|n| file(&format!("z{n}"), Some((1, 0)), false, true)));
        let ending =
            RunEnding { files, refused: vec!["`run_command` would reach example.org, which was not allowed".into()] };
        let lines = ending.lines(&Run::default(), 48, Paint::off());
        assert!(lines.iter().all(|line| width(line) <= 48), "{lines:#?}");
        insta::assert_snapshot!(lines.join("\n"), @r"
        changed  src/cart.py              +1 -1
                 artifacts/a/very/long/…  +12 new
                 logo.png                 deleted
                 z0                       +1 new
                 z1                       +1 new
                 z2                       +1 new
                 z3                       +1 new
                 z4                       +1 new
                 z5                       +1 new
                 z6                       +1 new
                 … and 2 more files
        refused  1 call:
                 `run_command` would reach example.org,…
        ");
    }
}
