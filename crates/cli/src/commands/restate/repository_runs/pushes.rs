//! What runs change in their clones, committed and pushed: after each step, and at the end until it has worked.

use updraft_run::RunId;
use updraft_workbench::repositories::{PushFault, RunBranch, branch_of};

use super::{AT_FIRST, AT_MOST, RepositoryRuns};
use crate::{journal, out};

/// The longest subject of a commit.
const LONGEST_SUBJECT: usize = 100;

impl RepositoryRuns {
    /// Pushes what a finished step has changed. If that fails, the next push has it too.
    pub(super) async fn push_meanwhile(&self, id: &RunId, step: &str) {
        let message = self.message(id, Some(step));
        let kept = tokio::select! {
            () = self.0.stop.cancelled() => return,
            kept = self.keep(id, &message) => kept,
        };
        let (branch, _) = kept;
        if branch.commit.is_none() && branch.problem.is_none() {
            return;
        }
        if let Err(fault) = branch.note(&self.0.journal, id).await {
            tracing::warn!(run = %id, why = fault.in_one_line(), "the branch of a run was not noted");
        }
    }

    /// Pushes what a run that is over has changed, and removes its clone then. If somebody has to look at it, it stays.
    pub(super) async fn push_finally(&self, id: &RunId) {
        let (message, mut pause, mut told) = (self.message(id, None), AT_FIRST, None);
        // Whoever removes the run removes its clone.
        while self.0.mirror.clone_folder(id).is_dir() {
            let (branch, may_work_later) = tokio::select! {
                () = self.0.stop.cancelled() => return,
                kept = self.keep(id, &message) => kept,
            };
            let noted = branch.note(&self.0.journal, id).await;
            if told != branch.problem || branch.problem.is_none() {
                out::note(&out::harmless(&format!("run {id} is over; branch: {}", branch.in_words())));
                told.clone_from(&branch.problem);
            }
            if branch.problem.is_none() && noted.is_ok() {
                if !branch.left_out.is_empty() {
                    return;
                }
                if let Err(fault) = self.0.mirror.remove(id).await {
                    tracing::warn!(run = %id, why = fault.in_one_line(), "the clone of a run was not removed");
                }
                return;
            }
            if !may_work_later {
                return;
            }
            if !self.waits(pause).await {
                return;
            }
            pause = AT_MOST.min(pause * 2);
        }
    }

    /// Commits and pushes what a run has changed. Returns what became of its branch, and whether trying again may help.
    async fn keep(&self, id: &RunId, message: &str) -> (RunBranch, bool) {
        let mirror = &self.0.mirror;
        let before = RunBranch::of(&self.0.journal, id).ok().flatten().unwrap_or_default();
        let (repository, branch) = (mirror.address().url().to_owned(), branch_of(id));
        let mut kept = RunBranch { repository, branch, commit: before.commit, ..RunBranch::default() };
        let saved = match mirror.save(id, message).await {
            Ok(saved) => saved,
            Err(fault) => {
                kept.problem = Some(fault.message);
                return (kept, false);
            }
        };
        kept.left_out = saved.left_out;
        let Some(commit) = saved.commit else { return (kept, false) };
        match mirror.push(id, &commit).await {
            Ok(()) => kept.commit = Some(commit),
            Err(PushFault::Refused(why)) => kept.problem = Some(why),
            Err(PushFault::Later(why)) => {
                kept.problem = Some(why);
                return (kept, true);
            }
        }
        (kept, false)
    }

    /// The message of a commit.
    fn message(&self, id: &RunId, step: Option<&str>) -> String {
        let goal = journal::load(&self.0.journal, id).map(|run| run.goal().own_words().to_owned()).unwrap_or_default();
        let subject = goal.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("A run of Updraft");
        let subject = out::short(&out::harmless(subject), LONGEST_SUBJECT);
        let step = step.map(|step| format!("After step `{step}`.\n\n")).unwrap_or_default();
        format!("{subject}\n\n{step}Updraft-Run: {id}\n")
    }
}
