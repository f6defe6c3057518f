//! `--plan-only`: stops as soon as there is a plan, before any step starts.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;
use updraft_engine::{DriveResult, RunHandle, RunWatcher, command_to_go_on, why_stopped};
use updraft_models::Delta;
use updraft_run::{EffectAddress, Event, Graph, PlanReason, Record, Run, RunId, StepRole};
use updraft_workbench::Workbench;

use crate::commands::plan_table;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::out;
use crate::signals::Signals;

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

/// Drives the run until it has a plan, or somebody stops it.
pub(super) async fn drive(handle: RunHandle, signals: &mut Signals) -> Result<DriveResult, CliError> {
    tokio::select! {
        rested = Box::pin(handle.drive()) => Ok(rested?),
        code = signals.second() => std::process::exit(code as i32),
    }
}

/// Prints the plan of the run, or says why there is none.
pub(super) async fn conclude(bench: &Workbench, rested: DriveResult, signals: &Signals, as_json: bool) -> CliResult {
    let DriveResult { id, run, .. } = rested;
    let steps: Vec<_> =
        run.steps().filter(|step| step.role == StepRole::Work).map(|step| (*step.spec).clone()).collect();
    if let Some(why) = why_stopped(&run).filter(|_| steps.is_empty()) {
        let fault =
            CliError { code: CliExitCode::Exhausted, ..CliError::failed(format!("run {id} made no plan yet: {why}")) };
        return Err(fault.hint(format!("`{}` continues where it stopped", command_to_go_on(&id, &run))));
    }
    if steps.is_empty() && signals.has_caught() {
        out::note(&format!(
            "stopped before there was a plan\n  hint: `updraft resume {id}` plans it and carries it out"
        ));
        return Ok(signals.code());
    }
    if steps.is_empty() {
        let why = updraft_engine::failure_of(&run).map(|why| format!(": {why}")).unwrap_or_default();
        return Err(
            CliError::failed(format!("run {id} made no plan{why}")).hint(format!("`updraft events {id}` shows how"))
        );
    }
    let plan = Graph { steps };
    plan_table::print(&plan, &run.proof().requirements, &bench.outlook(&plan).await?, as_json);
    if let Some(why) = run.planned_instead() {
        out::note(&format!("this is one step instead of a plan: {}", out::harmless(why)));
    }
    out::note(&format!("planned; no step has started\n  hint: `updraft resume {id}` carries it out"));
    Ok(CliExitCode::Done)
}
