//! What owners do with runs and rules besides: runs brought in from files and adopted, old ones removed, rules and marks
//! changed, files put back that were moved aside.

use std::time::Duration;

use updraft_run::{Input, RunId, StepId, Timestamp, close_to};

use super::runs::LiveRuns;
use super::service_types::RunView;
use crate::aside::{self, AsideEntry};
use crate::fault::{Fault, blocking};
use crate::flags::Flags;
use crate::import::{ImportFile, ImportOrder, ImportReport};
use crate::permissions::{self, PermissionList};
use crate::removal::PruneOrder;
use crate::resume::{ResumeOutcome, StoredRun};
use crate::time_format;
use crate::workbench::Workbench;

impl LiveRuns {
    /// Brings in a run from a file, as one of this workspace.
    pub async fn import(
        &self,
        file: ImportFile,
        id: Option<RunId>,
        model: Option<String>,
    ) -> Result<ImportReport, Fault> {
        let bench = self.bench();
        let flags = Flags { model: model.or_else(|| bench.flags.model.clone()), ..bench.flags.clone() };
        let (shown, folder) = ("the body".to_owned(), bench.folder.clone());
        let order = ImportOrder { shown, id, folder, listed_in_folder: true, flags };
        file.import(&bench.folders, self.journal(), &order).await
    }

    /// Lets an imported run continue here, with the model, the rules and the limits of this service.
    pub async fn adopt(&self, run: &str) -> Result<RunView, Fault> {
        let id = self.find(run)?;
        let turn = self.opening().lock().await;
        if self.is_stopping() {
            return Err(Fault::failed("the server is stopping; ask again when it is back"));
        }
        let loaded = self.load(&id).await?;
        if !loaded.is_imported() || loaded.is_over() || self.drives(&id) {
            return Err(Fault::usage(format!("run {id} does not wait for being adopted; it is {}", loaded.status())));
        }
        let budget = Some(self.settings().effective.budget());
        let resume = Input::Resume { budget, approvals: None };
        let shared = self.bench();
        // Nothing may be changed before its plan is approved, so its tools are held to reading.
        let own = if loaded.awaits_first_approval() {
            let stored = StoredRun { run: &loaded, journal: self.journal(), folder: shared.folder.clone() };
            let (flags, callbacks) = (shared.flags.clone(), shared.callbacks.clone());
            Some(Workbench::open_for(&stored, &shared.folders, flags, callbacks)?)
        } else {
            None
        };
        match Box::pin(own.as_ref().unwrap_or(shared).adopt(&id, vec![resume])).await? {
            ResumeOutcome::Here(handle) => self.drive_on(*handle, own),
            ResumeOutcome::Elsewhere { pid } => {
                return Err(Fault::usage(format!("run {id} is being run by process {pid}")));
            }
        }
        drop(turn);
        self.view(id.as_str()).await
    }

    /// Stops one step of a run for good. The journal holds who did.
    pub async fn cancel_step(&self, run: &str, step: &StepId, by: &str) -> Result<RunView, Fault> {
        self.say(run, |run| {
            if run.step(step).is_none() {
                let steps: Vec<&str> = run.steps().map(|step| step.spec.id.as_str()).collect();
                let close = close_to(step.as_str(), &steps);
                return Err(Fault::usage(format!("the run has no step `{step}`")).hint(format!("available: {close}")));
            }
            Ok(Input::Cancel { by: by.to_owned(), step: Some(step.clone()) })
        })
        .await
    }

    /// Removes the runs of this workspace that ended longer ago than this, or only names them.
    pub async fn prune(&self, older_than: Duration, dry_run: bool) -> Result<Vec<RunId>, Fault> {
        let length = i64::try_from(older_than.as_millis()).unwrap_or(i64::MAX);
        let before = Timestamp(time_format::now().0.saturating_sub(length));
        let order = PruneOrder { before, workspace: Some(self.workspace().to_owned()) };
        if dry_run {
            let journal = self.journal().clone();
            return blocking(move || Ok(order.runs(&journal)?.into_iter().map(|run| run.id).collect())).await;
        }
        order.carry_out(&self.bench().folders, self.journal()).await
    }

    /// What decides about calls in this workspace. Blocks on the disk.
    pub fn permissions(&self) -> Result<PermissionList, Fault> {
        let bench = self.bench();
        permissions::list(&bench.folders, &bench.folder, &bench.settings)
    }

    /// Allows what a rule says from now on in this workspace, and gives the rule as it is stored. Blocks on the disk.
    pub fn allow_rule(&self, rule: &str) -> Result<String, Fault> {
        permissions::allow(&self.bench().folders, &self.bench().folder, rule)
    }

    /// Removes a rule that was allowed with "always" in this workspace. Blocks on the disk.
    pub fn forget_rule(&self, rule: &str) -> Result<(), Fault> {
        permissions::forget(&self.bench().folders, &self.bench().folder, rule)
    }

    /// Trusts a marked file as the user's own again, or all of them, and gives the number of marks. Blocks on the disk.
    pub fn clear_marks(&self, file: Option<&str>) -> Result<usize, Fault> {
        let bench = self.bench();
        match file {
            Some(file) => permissions::clear(&bench.folders, &bench.folder, file),
            None => permissions::clear_all(&bench.folders, &bench.folder),
        }
    }

    /// The files that were moved out of this workspace because other programs would run them. Blocks on the disk.
    pub fn aside_files(&self) -> Vec<AsideEntry> {
        let bench = self.bench();
        let mut all = aside::kept(&bench.folders);
        all.retain(|one| one.moved.path.starts_with(&bench.folder));
        all
    }
}
