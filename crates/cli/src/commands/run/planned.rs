//! `--plan-only`: stops the moment there is a plan, before any of it begins.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;
use updraft_engine::{Rested, Watch, command_to_go_on, why_stopped};
use updraft_models::Delta;
use updraft_run::{Address, Because, Event, Graph, Record, Role, Run, RunId};

use crate::fault::{Code, Fault, Outcome};
use crate::out;

/// Stops the engine when the plan is written down: what it wants is then not begun.
struct UntilPlanned(Mutex<CancellationToken>);

pub(super) fn until_planned(stop: &CancellationToken) -> Arc<dyn Watch> {
    Arc::new(UntilPlanned(Mutex::new(stop.clone())))
}

impl Watch for UntilPlanned {
    fn record(&self, _: &RunId, _: u64, record: &Record, _: &Run) {
        let planned = |event: &Event| matches!(event, Event::Planned { because: Because::First, .. });
        if record.events.iter().any(planned) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).cancel();
        }
    }

    fn delta(&self, _: &RunId, _: &Address, _: Delta<'_>) {}
}

/// Prints the plan, as a file for `--plan`.
pub(super) fn print(graph: &Graph) {
    out::pretty(&serde_json::to_value(graph).unwrap_or_default());
}

/// Prints the plan the run has made, or says why there is none.
pub(super) fn conclude(rested: Rested) -> Outcome {
    let Rested { id, run, .. } = rested;
    let steps: Vec<_> = run.steps().filter(|step| step.role == Role::Work).map(|step| (*step.spec).clone()).collect();
    if let Some(why) = why_stopped(&run).filter(|_| steps.is_empty()) {
        let fault = Fault { code: Code::Exhausted, ..Fault::failed(format!("run {id} made no plan yet: {why}")) };
        return Err(fault.hint(format!("`{}` goes on where it stopped", command_to_go_on(&id, &run))));
    }
    if steps.is_empty() {
        let why = updraft_engine::failure_of(&run).map(|why| format!(": {why}")).unwrap_or_default();
        return Err(
            Fault::failed(format!("run {id} made no plan{why}")).hint(format!("`updraft events {id}` shows how"))
        );
    }
    print(&Graph { steps });
    out::note(&format!("planned, and nothing begun\n  hint: `updraft resume {id}` carries it out"));
    Ok(Code::Done)
}
