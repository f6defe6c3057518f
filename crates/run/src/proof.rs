//! The proof that a run has done what was required: the evidence for each requirement, and what makes it stale.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::citation::Citation;
use crate::id::{ContentHash, EffectAddress, EffectKind, StepId};
use crate::requirement::Requirement;
use crate::state::Run;
use crate::step::{StepRole, StepState};

/// What was found about one requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofFinding {
    /// Whether it is met.
    pub state: ProofState,
    /// Why it is not proved, in a sentence or more.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What shows it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

/// Whether a requirement is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofState {
    /// The evidence shows that it is met.
    Proved,
    /// The evidence shows that it is not met.
    Failed,
    /// Nothing shows it.
    Unproved,
}

/// Something in the journal that shows whether a requirement is met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Evidence {
    /// A call and its outcome.
    Call {
        /// The call's address.
        at: EffectAddress,
        /// The command, or the tool with its arguments.
        what: String,
        /// The exit code of a command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i64>,
        /// Words of its output.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        quote: String,
    },
    /// A file as it was when it was looked at.
    File {
        /// The address of the call that looked at it.
        at: EffectAddress,
        /// Relative to the workspace.
        path: String,
        /// SHA-256 of its content, in hexadecimal.
        hash: String,
    },
    /// Words of a step's result.
    Answer {
        /// The address of the answer.
        at: EffectAddress,
        /// The words.
        quote: String,
    },
    /// A citation that holds.
    Citation {
        /// The step whose result contains it.
        step: StepId,
        /// The citation.
        citation: Citation,
    },
}

/// The requirements of a run, and what is known about them. Nothing is recorded in a run without requirements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// What must hold.
    pub requirements: Vec<Requirement>,
    /// What was found about each of them; empty before they were checked.
    pub findings: Vec<ProofFinding>,
    /// The calls of the run.
    pub(crate) calls: BTreeMap<EffectAddress, CallFact>,
    /// The last change of each file.
    pub(crate) changes: BTreeMap<String, FileFact>,
    /// The last call that may have changed files which nobody listed.
    pub(crate) unlisted: Option<(EffectAddress, u64)>,
    /// The last answer of each step.
    pub(crate) answers: BTreeMap<StepId, EffectAddress>,
}

/// One call of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFact {
    /// How many events there were when it was wanted.
    pub(crate) wanted: u64,
    /// The command, or the tool with its arguments.
    pub what: String,
    /// The files that its outcome depends on; absent if it may have read any.
    pub(crate) covers: Option<Vec<String>>,
    /// How it ended; absent while it is open.
    pub ended: Option<CallEnd>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallEnd {
    /// Whether it succeeded.
    pub is_good: bool,
    /// The exit code of a command.
    pub exit: Option<i64>,
    /// A part of its output: the end of a command's, the beginning of others'.
    pub words: String,
}

/// The last change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFact {
    /// The call that changed it.
    pub by: EffectAddress,
    /// How many events there were then.
    pub(crate) at: u64,
    /// Its content after the change; absent if it is gone or was not read.
    pub hash: Option<ContentHash>,
    /// A check made the file, so it is not part of the work.
    pub(crate) is_of_check: bool,
}

impl Evidence {
    /// The address of the call or answer.
    pub fn address(&self) -> Option<&EffectAddress> {
        match self {
            Evidence::Call { at, .. } | Evidence::File { at, .. } | Evidence::Answer { at, .. } => Some(at),
            Evidence::Citation { .. } => None,
        }
    }
}

impl CallFact {
    /// Whether its outcome depends on a file.
    fn concerns(&self, name: &str) -> bool {
        self.covers.as_ref().is_none_or(|paths| paths.iter().any(|path| crate::paths_meet(path, name)))
    }
}

impl Proof {
    /// Whether something is required.
    pub fn is_wanted(&self) -> bool {
        !self.requirements.is_empty()
    }

    /// Each requirement with what was found about it.
    pub fn findings(&self) -> impl Iterator<Item = (&Requirement, Option<&ProofFinding>)> {
        self.requirements.iter().enumerate().map(|(n, one)| (one, self.findings.get(n)))
    }

    /// Whether every requirement is proved.
    pub fn is_complete(&self) -> bool {
        self.findings().all(|(_, found)| found.is_some_and(|found| found.state == ProofState::Proved))
    }

    /// The requirements that were found not to be met.
    pub(crate) fn failed(&self) -> impl Iterator<Item = (&Requirement, &ProofFinding)> {
        let found = self.findings().filter_map(|(one, found)| Some((one, found?)));
        found.filter(|(_, found)| found.state == ProofState::Failed)
    }

    /// The files that a piece of evidence covers, with their content then. For a command, these are all files that
    /// the run had changed before it.
    pub fn covered<'a>(&'a self, evidence: &'a Evidence) -> Vec<(&'a str, Option<String>)> {
        match evidence {
            Evidence::File { path, hash, .. } => vec![(path.as_str(), Some(hash.clone()))],
            Evidence::Call { at, .. } => {
                let Some(call) = self.calls.get(at) else { return Vec::new() };
                let before = |(name, fact): &(&String, &FileFact)| {
                    !fact.is_of_check && (fact.at <= call.wanted || fact.by == *at) && call.concerns(name)
                };
                let before = self.changes.iter().filter(before);
                before.map(|(path, fact)| (path.as_str(), fact.hash.map(|hash| hash.to_string()))).collect()
            }
            Evidence::Answer { .. } => Vec::new(),
            Evidence::Citation { citation, .. } => match &citation.hash {
                Some(hash) => vec![(citation.source.as_str(), Some(hash.clone()))],
                None => Vec::new(),
            },
        }
    }
}

impl Run {
    /// The requirements, and what is known about them.
    pub fn proof(&self) -> &Proof {
        &self.proof
    }

    /// Why a piece of evidence no longer shows anything: what it covers has changed since.
    pub fn stale(&self, evidence: &Evidence) -> Option<String> {
        match evidence {
            Evidence::Call { at, .. } | Evidence::File { at, .. } => self.changed_since(at),
            Evidence::Answer { at, .. } => {
                let is_current = self.step(&at.step).is_some_and(|step| step.visit == at.visit);
                (!is_current).then(|| format!("step `{}` was done again since", at.step))
            }
            Evidence::Citation { step, citation } => {
                let has_it = self.step(step).is_some_and(|step| step.citations.contains(citation));
                (!has_it).then(|| format!("step `{step}` was done again since"))
            }
        }
    }

    /// What changed of the files that a call depends on, after the call was wanted.
    pub(crate) fn changed_since(&self, at: &EffectAddress) -> Option<String> {
        let Some(call) = self.proof.calls.get(at) else { return Some("there is no such call".to_owned()) };
        // A call never makes itself stale, and neither do the calls of the code that it runs.
        let is_later = |by: &EffectAddress, when: u64| when > call.wanted && by != at && !by.is_within(at);
        let changed = self.proof.changes.iter().filter(|(name, fact)| call.concerns(name) && !fact.is_of_check);
        let mut changed = changed.filter(|(_, fact)| is_later(&fact.by, fact.at));
        if let Some((name, _)) = changed.next() {
            let more = changed.count();
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            return Some(format!("{name}{more} changed since"));
        }
        let (by, when) =
            self.proof.unlisted.as_ref().filter(|_| call.covers.as_ref().is_none_or(|paths| !paths.is_empty()))?;
        is_later(by, *when).then(|| format!("`{by}` may have changed files since, which are not listed"))
    }

    /// The step that checks the requirements, if its result counts.
    pub(crate) fn proving_step(&self) -> Option<&crate::Step> {
        let is_it = |step: &&crate::Step| {
            step.role == StepRole::Prove && !matches!(step.state, StepState::Skipped { .. } | StepState::Dropped)
        };
        self.steps.iter().rev().find(is_it)
    }

    /// Whether a call belongs to the check of the requirements.
    pub(crate) fn is_check(&self, id: &EffectAddress) -> bool {
        id.kind == EffectKind::Call && self.step(&id.step).is_some_and(|step| step.role == StepRole::Prove)
    }
}
