//! Records the facts that evidence is judged by: which calls were made, how they ended, and which files they changed.

use crate::answer_calls::outcome_words;
use crate::id::EffectAddress;
use crate::proof::{CallEnd, CallFact, FileFact};
use crate::reply::{FileChange, Reply};
use crate::requirement::Requirement;
use crate::state::Run;
use crate::step::ToolCallOutcome;

/// How much of a call's output is kept, in bytes: enough to quote from.
const KEPT: usize = 600;
/// How much of a call's arguments is kept, in bytes.
const KEPT_ARGUMENTS: usize = 200;

/// Folders that tools keep their own files in. A command that only writes there has changed nothing of the work.
const CACHES: [&str; 14] = [
    ".cache",
    ".git",
    ".gradle",
    ".hypothesis",
    ".mypy_cache",
    ".next",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "__pycache__",
    "node_modules",
    "target",
];

/// Whether a file is in a folder that tools keep their own files in.
pub fn is_in_cache(path: &str) -> bool {
    path.split('/').any(|part| CACHES.contains(&part))
}

impl Run {
    /// Forgets what an earlier plan required: another takes its place.
    pub(super) fn drop_derived(&mut self) {
        let before = self.proof.requirements.len();
        self.proof.requirements.retain(|one| !one.derived);
        if self.proof.requirements.len() != before {
            self.proof.findings.clear();
        }
    }

    /// Adds the requirements of a plan in place of those of an earlier one. One that was given in the same words stays as
    /// it is.
    pub(super) fn required(&mut self, requirements: &[Requirement]) {
        self.drop_derived();
        for new in requirements {
            let is_known = |known: &Requirement| known.text == new.text || (known.check == new.check && !is_free(new));
            if !self.proof.requirements.iter().any(is_known) {
                self.proof.requirements.push(new.clone());
            }
        }
    }

    pub(super) fn call_is_wanted(&mut self, id: &EffectAddress) {
        if !self.proof.is_wanted() {
            return;
        }
        let (Some(call), Some(prepared)) = (self.call_at(id), self.prepared_at(id)) else { return };
        let named = || prepared.reads.iter().chain(&prepared.writes).cloned().collect();
        let covers = if prepared.may_touch_any_file() || prepared.only_reads { None } else { Some(named()) };
        let arguments = || format!("{} {}", call.name, head(&call.args.to_string(), KEPT_ARGUMENTS));
        let what = prepared.command.clone().unwrap_or_else(arguments);
        self.proof.calls.insert(id.clone(), CallFact { wanted: self.events, what, covers, ended: None });
    }

    pub(super) fn step_has_answered(&mut self, id: &EffectAddress) {
        if self.proof.is_wanted() {
            self.proof.answers.insert(id.step.clone(), id.clone());
        }
    }

    pub(super) fn call_has_replied(&mut self, id: &EffectAddress, reply: &Reply) {
        if !self.open.contains_key(id) {
            return;
        }
        let Some(mut fact) = self.proof.calls.remove(id) else { return };
        let is_check = self.is_check(id);
        let prepared = self.prepared_at(id);
        let may_touch_any = prepared.is_some_and(|prepared| prepared.may_touch_any_file() && !prepared.only_reads);
        let lists = prepared.is_some_and(|prepared| prepared.lists_changes);
        let (mut exit, mut is_listed, runs) = (None, lists, fact.covers.is_none());
        match reply {
            Reply::Output(output) => {
                exit = output.value.as_ref().and_then(|value| value.get("exit_code")?.as_i64());
                output.changes.iter().for_each(|change| self.file_is_changed(id, change, runs, is_check));
                is_listed &= output.unlisted.is_none() && output.more.is_none_or(|more| more.changes == 0);
            }
            Reply::Answer(_) | Reply::Said(_) | Reply::Verdict(_) => {}
            Reply::Failed(_) | Reply::TimedOut { .. } | Reply::Cancelled | Reply::InDoubt { .. } => is_listed = false,
        }
        // What a check changes without listing it is not part of the work.
        if may_touch_any && !is_listed && !is_check {
            self.proof.unlisted = Some((id.clone(), self.events));
        }
        let outcome = ToolCallOutcome::Replied(reply.clone());
        let words = outcome_words(&outcome);
        let words = if runs { tail(&words, KEPT) } else { head(&words, KEPT) };
        fact.ended = Some(CallEnd { is_good: outcome.is_good(), exit, words: words.to_owned() });
        self.proof.calls.insert(id.clone(), fact);
    }

    fn file_is_changed(&mut self, by: &EffectAddress, change: &FileChange, by_command: bool, by_check: bool) {
        if by_command && is_in_cache(&change.path) {
            return;
        }
        let known = self.proof.changes.get(&change.path);
        let is_new = change.before.is_none() && change.was.is_none();
        let is_of_check = by_check && known.map_or(is_new, |known| known.is_of_check);
        let fact = FileFact { by: by.clone(), at: self.events, hash: change.after, is_of_check };
        self.proof.changes.insert(change.path.clone(), fact);
    }
}

fn is_free(one: &Requirement) -> bool {
    one.check == crate::requirement::Check::FreeText
}

/// The beginning of a text, in at most this many bytes.
fn head(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The end of a text, in at most this many bytes.
pub(crate) fn tail(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}
