//! Exports a run as a Markdown document for people.

use std::fmt::Write as _;

use updraft_engine::RunReport;

use crate::time_format;
use crate::view::figures;

/// The goal, the answer, and every step with its output.
pub(super) fn of(report: &RunReport) -> String {
    let head = &report.head;
    let mut text = format!("# {}\n\n", title(&report.run.goal().text));
    let _ = writeln!(
        text,
        "Run `{}`, {}, begun {}. Model `{}`, {}.\n",
        head.id,
        report.run.status(),
        time_format::date_time(head.created),
        head.model,
        figures(&report.run)
    );
    let goal = report.run.goal().text.trim();
    if goal != title(goal) {
        let _ = writeln!(text, "## Goal\n\n{goal}\n");
    }
    let answer = report.answer();
    if !answer.trim().is_empty() {
        let _ = writeln!(text, "## Answer\n\n{}\n", answer.trim());
    }
    if let Some(why) = updraft_engine::failure_of(&report.run) {
        let _ = writeln!(text, "## Failure\n\n{} ({})\n", why.message, why.kind.name());
    }
    text.push_str("## Steps\n\n| step | agent | status | turns | calls | time |\n|---|---|---|---|---|---|\n");
    for step in &report.steps {
        let took = step
            .began
            .zip(step.ended)
            .map(|(began, ended)| time_format::length(ended.since(began)))
            .unwrap_or_default();
        let (spec, ledger) = (&step.step.spec, &step.step.ledger);
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {took} |",
            spec.id,
            spec.agent,
            step.step.status(),
            ledger.requests(),
            ledger.calls
        );
    }
    for step in &report.steps {
        let spec = &step.step.spec;
        let _ = writeln!(text, "\n### {}\n", spec.id);
        if !spec.description.is_empty() {
            let _ = writeln!(text, "{}\n", spec.description);
        }
        match (step.step.output.as_deref().map(str::trim).filter(|output| !output.is_empty()), step.error()) {
            (_, Some(error)) => {
                let _ = writeln!(text, "{error}");
            }
            (Some(output), None) => {
                let _ = writeln!(text, "{output}");
            }
            (None, None) => {}
        }
    }
    text
}

fn title(goal: &str) -> &str {
    goal.trim().lines().next().unwrap_or_default()
}
