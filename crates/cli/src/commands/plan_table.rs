//! A plan as a table: who does what with which model, at what price, and what each step may do.

use std::io::IsTerminal as _;

use updraft_run::{Graph, Requirement, StepId, StepSpec, Tries};
use updraft_workbench::{StepOutlook, plan_file};

use crate::{out, view};

const HEAD: [&str; 9] = ["step", "agent", "model", "price", "rights", "reads", "writes", "after", "description"];

/// Prints a plan and what it requires: as a table, or as a file for `--plan`.
pub(super) fn print(plan: &Graph, requirements: &[Requirement], outlook: &[StepOutlook], as_json: bool) {
    if as_json {
        let mut value = plan_file(plan, requirements);
        value["outlook"] = serde_json::to_value(outlook).unwrap_or_default();
        out::pretty(&value);
        return;
    }
    let columns = std::io::stdout().is_terminal().then(|| view::size().1);
    for line in lines(plan, outlook, columns).iter().chain(&required(requirements)) {
        out::line(line);
    }
}

/// A line for each requirement of the plan: what must hold at the end, and the command that is run for it.
pub(super) fn required(requirements: &[Requirement]) -> Vec<String> {
    let own = requirements.iter().filter(|one| one.derived);
    own.map(|one| format!("requires {}: {}", out::short(&one.text, 200), out::harmless(&one.how()))).collect()
}

/// A row for each step, fitted to the columns of the terminal.
pub(super) fn lines(plan: &Graph, outlook: &[StepOutlook], columns: Option<usize>) -> Vec<String> {
    let list = |names: &[String]| if names.is_empty() { "-".to_owned() } else { names.join(", ") };
    let rows = plan.steps.iter().map(|step| {
        let own = outlook.iter().find(|own| own.step == step.id);
        let after: Vec<String> = step.after.iter().map(ToString::to_string).collect();
        [
            step.id.to_string(),
            step.agent.clone(),
            own.map(|own| model(&own.model)).unwrap_or_default(),
            own.map(StepOutlook::price_in_words).unwrap_or_default(),
            own.map(|own| own.rights.clone()).unwrap_or_default(),
            list(&step.reads),
            list(&step.writes),
            list(&after),
            out::short(&description(step), 200),
        ]
    });
    let rows: Vec<[String; 9]> = std::iter::once(HEAD.map(str::to_owned)).chain(rows).collect();
    let mut widths: Vec<usize> =
        (0..9).map(|n| rows.iter().map(|row| view::width(&row[n])).max().unwrap_or_default()).collect();
    while columns.is_some_and(|columns| widths.iter().sum::<usize>() + 16 > columns) {
        let widest = (0..9).filter(|n| widths[*n] > 5).max_by_key(|n| widths[*n]);
        let Some(widest) = widest else { break };
        widths[widest] -= 1;
    }
    let line = |row: &[String; 9]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| view::column(cell, *width));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// What a step does, and its part in work that is done several times.
fn description(step: &StepSpec) -> String {
    let part = match step.tries.as_deref() {
        None => return step.description.clone(),
        Some(Tries::Wanted { count, models, tests }) => {
            let by = if models.is_empty() { String::new() } else { format!(" by {}", models.join(", ")) };
            let tests = tests.as_ref().map(|tests| format!(", chosen by `{tests}`")).unwrap_or_default();
            format!("{} tries{by}{tests}", (*count as usize).max(models.len()))
        }
        Some(Tries::One { in_copy: true }) => "in a copy of the workspace".to_owned(),
        Some(Tries::One { in_copy: false }) => "one of several tries".to_owned(),
        Some(Tries::Choice { among, tests, .. }) => {
            let among: Vec<&str> = among.iter().map(StepId::as_str).collect();
            match tests {
                Some(tests) => format!("the first of {} for which `{tests}` succeeds", among.join(", ")),
                None => format!("chooses among {}", among.join(", ")),
            }
        }
    };
    format!("{} [{part}]", step.description).trim_start().to_owned()
}

/// A model without its settings and fallbacks.
fn model(text: &str) -> String {
    let first = text.split(" | ").next().unwrap_or(text);
    out::short(first.split('?').next().unwrap_or(first), 60)
}
