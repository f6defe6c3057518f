//! Resuming a run from the journal.

use std::path::PathBuf;

use updraft_engine::{Engine, RunHandle, outlives_its_process};
use updraft_journal::Journal;
use updraft_models::choose;
use updraft_run::{ApprovalMode, ChosenModel, EffectAddress, Input, ResumeTerms, Run, RunId, SharedTools};

use crate::fault::Fault;
use crate::flags::{Confine, Flags};
use crate::folders::{self, AppFolders};
use crate::notice::Notice;
use crate::servers::WantedTools;
use crate::settings::WorkspaceSettings;
use crate::workbench::{Purpose, RunCallbacks, Workbench};
use crate::{confinement, journal, model_access};

/// The result of resuming a run.
pub enum ResumeOutcome {
    /// It continues in this process, when the handle is driven.
    Here(Box<RunHandle>),
    /// Another process is driving it.
    Elsewhere {
        /// That process.
        pid: u32,
    },
}

/// A run in the journal, and the folder it continues in.
pub struct StoredRun<'a> {
    /// The run.
    pub run: &'a Run,
    /// The journal.
    pub journal: &'a Journal,
    /// The folder.
    pub folder: PathBuf,
}

impl<'a> StoredRun<'a> {
    /// A run that continues in its own folder.
    pub fn new(run: &'a Run, journal: &'a Journal) -> Result<Self, Fault> {
        Ok(Self { run, journal, folder: folder_of(run)? })
    }
}

/// The folder a run works in: where it began, or where it was adopted. The folder named in an imported file does not
/// count: until the run is adopted, this is the current folder.
pub fn folder_of(run: &Run) -> Result<PathBuf, Fault> {
    if run.is_imported() { folders::workspace(None) } else { Ok(PathBuf::from(&run.settings().workspace)) }
}

impl Workbench {
    /// Opens a workbench for one stored run, with the flags it began with unless others are given, and limited to what
    /// it was granted.
    pub fn open_for(
        stored: &StoredRun<'_>,
        folders: &AppFolders,
        mut flags: Flags,
        callbacks: RunCallbacks,
    ) -> Result<Self, Fault> {
        let StoredRun { run, journal, folder } = stored;
        let says_rights = !flags.confine.recorded().is_empty();
        let mut notices = Vec::new();
        let granted = run.settings().grants.as_ref();
        // Grants in an imported file were not given by the user of this machine.
        if let Some(began) = granted.filter(|_| !run.is_imported()) {
            notices.extend(confinement::keep(&began.flags, &mut flags.confine));
        }
        let mut settings = WorkspaceSettings::load(folders, folder, &flags)?;
        if let Some(began) = granted {
            notices.extend(confinement::lost(began, &settings.effective.sandbox, &flags.confine));
            notices.extend(confinement::hold_to(began, &mut settings.effective.sandbox, &flags.confine));
        }
        let only_reads = !run.is_imported() && run.settings().approvals == ApprovalMode::ReadOnly;
        if only_reads && flags.approvals.is_none() {
            settings.effective.approvals.value = ApprovalMode::ReadOnly;
        }
        let mut bench = Self::with(folders, folder, flags, settings, callbacks);
        bench.purpose = Purpose::OneRun { grants_rights: says_rights };
        bench.use_journal((*journal).clone());
        if run.awaits_first_approval() {
            bench.hold_to_reading();
        }
        for notice in notices {
            bench.tell(Notice::Rights(notice));
        }
        Ok(bench)
    }

    /// Resumes a run, then sends it `then`. Refused if the run would get more rights here than it began with, or if its
    /// folder is gone: without its files it would reach a wrong result.
    pub async fn resume(&self, id: &RunId, then: Vec<Input>) -> Result<ResumeOutcome, Fault> {
        if !self.folder.is_dir() && !journal::load(self.journal()?, id)?.is_over() {
            return Err(Fault::usage(format!("the folder of run {id} does not exist: `{}`", self.folder.display()))
                .hint("restore the folder, then resume; nothing was done"));
        }
        self.level().await?;
        let equipment = self.equipment(WantedTools::All).await?;
        let mut handle = match open(&equipment.engine, id).await? {
            ResumeOutcome::Here(handle) => handle,
            elsewhere @ ResumeOutcome::Elsewhere { .. } => return Ok(elsewhere),
        };
        self.tell_unused(id, handle.run())?;
        if !handle.run().is_over() {
            if let Some(terms) = self.resume_terms_input(handle.run()).await? {
                handle.send(terms);
            }
            handle.send(self.tighten(equipment));
        }
        for input in then {
            handle.send(input);
        }
        Ok(ResumeOutcome::Here(handle))
    }

    /// The input that lets a run continue with another model.
    pub async fn model_change(&self, model: &str) -> Result<Input, Fault> {
        let chosen = choose(&model_access::model_spec(model), &self.access).await?;
        let window = chosen.model.window().await;
        Ok(Input::ChangeModel { model: ChosenModel { model: chosen.spec, window } })
    }

    /// Opens a run only to stop it, which is always allowed.
    pub async fn reopen(&self, id: &RunId) -> Result<ResumeOutcome, Fault> {
        open(&self.equipment(WantedTools::All).await?.engine, id).await
    }

    /// The input with the terms for continuing a run here, or `None` if nothing has changed. Refused if the run would get more
    /// rights than it began with: on a workbench for many runs, more of any kind; on its own workbench, less confined
    /// commands without a flag that allows it. Rights given now are recorded together with those that were kept.
    pub async fn resume_terms_input(&self, run: &Run) -> Result<Option<Input>, Fault> {
        let level = self.level().await?;
        let is_shared = self.purpose == Purpose::ManyRuns;
        let shared = is_shared.then(|| SharedTools {
            approvals: self.settings.effective.approvals.value,
            grants: confinement::grants(&self.settings, &Confine::default()),
        });
        let says_rights = self.purpose == Purpose::OneRun { grants_rights: true };
        let terms = ResumeTerms {
            level,
            is_agreed: !is_shared && self.flags.confine.level.is_some(),
            shared,
            flags: says_rights.then(|| self.flags.confine.recorded()),
        };
        match run.check_terms(&terms) {
            Ok(level) if level == run.settings().sandbox && terms.flags.is_none() => Ok(None),
            Ok(_) => Ok(Some(Input::GoOn { terms: Box::new(terms) })),
            Err(denial) => Err(confinement::denied(&self.folders, denial, level, is_shared).await?),
        }
    }

    /// Reports answers that came too late: the previous process ended before it read them, and with it the call that
    /// had asked.
    pub(crate) fn tell_unused(&self, id: &RunId, run: &Run) -> Result<(), Fault> {
        let inbox = self.journal()?.inbox(id)?;
        let asked = inbox.iter().filter_map(|waiting| waiting.input.question());
        let is_lost = |at: &&EffectAddress| run.open().contains_key(*at) && !outlives_its_process(run, at);
        asked.filter(is_lost).for_each(|at| self.tell(Notice::Unused(at.clone())));
        Ok(())
    }
}

/// Opens a run, unless another process is driving it.
pub(crate) async fn open(engine: &Engine, id: &RunId) -> Result<ResumeOutcome, Fault> {
    match engine.open(id).await {
        Ok(handle) => Ok(ResumeOutcome::Here(Box::new(handle))),
        Err(updraft_engine::Error::Journal(updraft_journal::Error::Owned { pid, .. })) => {
            Ok(ResumeOutcome::Elsewhere { pid })
        }
        Err(other) => Err(other.into()),
    }
}
