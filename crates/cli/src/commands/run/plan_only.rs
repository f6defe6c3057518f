//! `--plan-only`: stops as soon as there is a plan, before any step starts.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;
use updraft_engine::{DriveResult, RunWatcher, command_to_go_on, why_stopped};
use updraft_models::Delta;
use updraft_run::{EffectAddress, Event, Graph, PlanReason, Record, Run, RunId, StepRole};

use crate::fault::{CliError, CliExitCode, CliResult};
use crate::{out, view};

/// Stops the engine when the plan is recorded, before anything of it starts.
struct PlanStopper(Mutex<CancellationToken>);

pub(super) fn until_planned(stop: &CancellationToken) -> Arc<dyn RunWatcher> {
    Arc::new(PlanStopper(Mutex::new(stop.clone())))
}

impl RunWatcher for PlanStopper {
    fn record(&self, _: &RunId, _: u64, record: &Record, _: &Run) {
        let planned = |event: &Event| matches!(event, Event::Planned { because: PlanReason::First, .. });
        if record.events.iter().any(planned) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).cancel();
        }
    }

    fn delta(&self, _: &RunId, _: &EffectAddress, _: Delta<'_>) {}
}

/// Prints the plan: as a table, or as a file for `--plan`.
pub(super) fn print(graph: &Graph, as_json: bool) {
    if as_json {
        out::pretty(&serde_json::to_value(graph).unwrap_or_default());
    } else {
        let columns = std::io::stdout().is_terminal().then(|| view::size().1);
        for line in table(graph, columns) {
            out::line(&line);
        }
    }
}

/// A row for each step, fitted to the columns of the terminal; descriptions get the space that is left.
fn table(graph: &Graph, columns: Option<usize>) -> Vec<String> {
    let list = |names: &[String]| if names.is_empty() { "-".to_owned() } else { names.join(", ") };
    let head = ["step", "agent", "description", "reads", "writes", "after"].map(str::to_owned);
    let rows = graph.steps.iter().map(|step| {
        let after: Vec<String> = step.after.iter().map(ToString::to_string).collect();
        let description = out::short(&step.description, 200);
        [step.id.to_string(), step.agent.clone(), description, list(&step.reads), list(&step.writes), list(&after)]
    });
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(rows).collect();
    let mut widths: Vec<usize> =
        (0..6).map(|n| rows.iter().map(|row| view::width(&row[n])).max().unwrap_or_default()).collect();
    while columns.is_some_and(|columns| widths.iter().sum::<usize>() + 10 > columns) {
        let widest = (0..6).filter(|n| widths[*n] > 5).max_by_key(|n| widths[*n]);
        let Some(widest) = widest else { break };
        widths[widest] -= 1;
    }
    let line = |row: &[String; 6]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| view::column(cell, *width));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Prints the plan of the run, or says why there is none.
pub(super) fn conclude(rested: DriveResult, as_json: bool) -> CliResult {
    let DriveResult { id, run, .. } = rested;
    let steps: Vec<_> =
        run.steps().filter(|step| step.role == StepRole::Work).map(|step| (*step.spec).clone()).collect();
    if let Some(why) = why_stopped(&run).filter(|_| steps.is_empty()) {
        let fault =
            CliError { code: CliExitCode::Exhausted, ..CliError::failed(format!("run {id} made no plan yet: {why}")) };
        return Err(fault.hint(format!("`{}` continues where it stopped", command_to_go_on(&id, &run))));
    }
    if steps.is_empty() {
        let why = updraft_engine::failure_of(&run).map(|why| format!(": {why}")).unwrap_or_default();
        return Err(
            CliError::failed(format!("run {id} made no plan{why}")).hint(format!("`updraft events {id}` shows how"))
        );
    }
    print(&Graph { steps }, as_json);
    out::note(&format!("planned; no step has started\n  hint: `updraft resume {id}` carries it out"));
    Ok(CliExitCode::Done)
}
