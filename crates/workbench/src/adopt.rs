//! Adopting an imported run: it continues under the settings of this machine, not under those in the file.

use std::ops::ControlFlow;
use std::sync::Arc;

use updraft_journal::Journal;
use updraft_run::{Event, Input, Run, RunId, RunMode, RunSettings};

use crate::fault::Fault;
use crate::resume::{ResumeOutcome, open};
use crate::servers::WantedTools;
use crate::workbench::Workbench;

impl Workbench {
    /// Adopts a run in this folder with the model and the settings of this machine, then sends it `then`. The caller
    /// has already asked the user.
    pub async fn adopt(&self, id: &RunId, then: Vec<Input>) -> Result<ResumeOutcome, Fault> {
        let chosen = self.model().await?;
        let level = self.level().await?;
        let equipment = self.equipment(WantedTools::All).await?;
        let mut handle = match open(&equipment.engine, id).await? {
            ResumeOutcome::Here(handle) => handle,
            elsewhere @ ResumeOutcome::Elsewhere { .. } => return Ok(elsewhere),
        };
        self.tell_unused(id, handle.run())?;
        let run = handle.run();
        // The planner uses this model, too, whatever its file says.
        let window = match run.goal().mode {
            RunMode::Plan | RunMode::Swarm => chosen.model.window().await,
            RunMode::Agent(_) | RunMode::Given => None,
        };
        let settings = RunSettings {
            same_model: true,
            window,
            context: run.settings().context,
            // The person who started it wanted to see the plan.
            plan_first: run.settings().plan_first,
            models: self.model_names(None).await?,
            ..self.run_settings(id, run.goal(), &chosen.spec, level, equipment)
        };
        handle.send(Input::Adopt { settings: Arc::new(settings) });
        for input in then {
            handle.send(input);
        }
        Ok(ResumeOutcome::Here(handle))
    }
}

/// Refuses to fork an imported run at an event before it was adopted here: the settings from the file would apply
/// there.
pub(crate) fn may_be_cut(journal: &Journal, id: &RunId, at: u64) -> Result<(), Fault> {
    let (mut run, mut first_ours) = (Run::default(), 0);
    journal.read(id, 0, &mut |first, record| {
        if record.events.iter().any(|event| matches!(event, Event::Adopted { .. })) {
            first_ours = first + record.events.len() as u64 - 1;
        }
        run.record(&record);
        ControlFlow::Continue(())
    })?;
    if run.is_imported() && !run.is_over() {
        return Err(Fault::usage(format!("run {id} was imported, and has not been adopted yet"))
            .hint(format!("`updraft resume {id} --workspace DIR --mode workspace` adopts it")));
    }
    if at < first_ours {
        let why = format!("run {id} was imported; a fork must include event {first_ours}, where it was adopted");
        return Err(Fault::usage(why).hint(format!("fork it there or later: `--at {first_ours}`")));
    }
    Ok(())
}
