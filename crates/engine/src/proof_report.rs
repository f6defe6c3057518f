//! The proof of a run for people and scripts: each requirement with its evidence, compared with the files as they are now.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Value, json};
use updraft_journal::{Journal, hash_of};
use updraft_run::{EffectAddress, Event, Evidence, ProofState, Record, Reply, Run, Timestamp, is_in_cache};
use updraft_workspace::{LinkPolicy, Workspace};

use crate::files_since::FilesSince;
use crate::undo::{ChangeFilter, made_by};
use crate::{Error, RunReport};

/// Larger files are not compared.
const LARGEST: u64 = 256 << 20;

/// A requirement, what was found about it, and whether that still holds.
#[derive(Clone, Debug)]
pub struct RequirementReport {
    /// In the words of the user or the planner.
    pub text: String,
    /// How it is checked.
    pub how: String,
    /// The planner took it from the goal.
    pub derived: bool,
    /// What was found; absent if it was never checked.
    pub state: Option<ProofState>,
    /// Why it is not proved.
    pub why: String,
    /// What shows it.
    pub evidence: Vec<EvidenceReport>,
}

/// A piece of evidence now.
#[derive(Clone, Debug)]
pub struct EvidenceReport {
    /// The evidence, as it was recorded.
    pub evidence: Evidence,
    /// SHA-256 of the output of a call, in hexadecimal.
    pub output_hash: Option<String>,
    /// What has changed since, if it no longer shows anything.
    pub stale: Option<String>,
    /// Why the files that a command may have read could not be compared.
    pub unseen: Option<String>,
}

/// What the journal says about a call that is evidence.
struct CallRecord {
    /// SHA-256 of its output, in hexadecimal.
    hash: String,
    /// When it was decided.
    at: Timestamp,
}

/// Each requirement of a run, with its evidence.
pub fn proof_of(journal: &Journal, report: &RunReport) -> Result<Vec<RequirementReport>, Error> {
    let run = &report.run;
    let proof = run.proof();
    let all = || proof.findings.iter().flat_map(|found| &found.evidence);
    let calls = calls(journal, report, all().filter_map(Evidence::address))?;
    let root = Path::new(&report.head.workspace);
    let workspace = Workspace::open(root).ok();
    let made = made_by(journal, &report.head.id, &ChangeFilter::default())?.made;
    let files = FilesSince::new(root, made, Vec::new());
    let look = |evidence: &Evidence| {
        let call = evidence.address().and_then(|at| calls.get(at));
        let mut stale = run.stale(evidence).or_else(|| changed_on_disk(run, evidence, workspace.as_ref()));
        let mut unseen = None;
        if let (None, Evidence::Call { exit: Some(_), .. }, Some(call)) = (&stale, evidence, call) {
            match files.others_changed(call.at) {
                Ok(others) => stale = changed_since(others.into_iter().filter(|path| !is_in_cache(path))),
                Err(why) => unseen = Some(why.to_owned()),
            }
        }
        EvidenceReport { evidence: evidence.clone(), output_hash: call.map(|call| call.hash.clone()), stale, unseen }
    };
    let requirements = proof.findings().map(|(one, found)| RequirementReport {
        text: one.text.clone(),
        how: one.how(),
        derived: one.derived,
        state: found.map(|found| found.state),
        why: found.map(|found| found.why.clone()).unwrap_or_default(),
        evidence: found.iter().flat_map(|found| &found.evidence).map(look).collect(),
    });
    Ok(requirements.collect())
}

impl RequirementReport {
    /// The state in a word: `proved`, `failed`, `unproved`; `stale` if it was proved and no longer is.
    pub fn status(&self) -> &'static str {
        match self.state {
            Some(ProofState::Proved) if self.evidence.iter().any(|one| one.stale.is_some()) => "stale",
            Some(ProofState::Proved) => "proved",
            Some(ProofState::Failed) => "failed",
            Some(ProofState::Unproved) | None => "unproved",
        }
    }

    /// The requirement as JSON, for scripts.
    pub fn to_json(&self) -> Value {
        let evidence: Vec<Value> = self.evidence.iter().map(EvidenceReport::to_json).collect();
        json!({ "requirement": self.text, "check": self.how, "from_goal": self.derived, "state": self.status(),
                "why": self.why, "evidence": evidence })
    }
}

impl EvidenceReport {
    fn to_json(&self) -> Value {
        let mut value = match &self.evidence {
            Evidence::Call { at, what, exit, quote } => {
                json!({ "kind": "call", "at": at, "call": what, "exit": exit, "quote": quote,
                        "output_sha256": self.output_hash })
            }
            Evidence::File { at, path, hash } => json!({ "kind": "file", "at": at, "path": path, "sha256": hash }),
            Evidence::Answer { at, quote } => json!({ "kind": "answer", "at": at, "quote": quote }),
            Evidence::Citation { step, citation } => {
                json!({ "kind": "citation", "step": step, "n": citation.n, "source": citation.source,
                        "place": citation.place, "quote": citation.quote, "sha256": citation.hash })
            }
            _ => json!({}),
        };
        value["stale"] = json!(self.stale);
        if let Some(why) = &self.unseen {
            value["unseen"] = json!(why);
        }
        value
    }
}

/// What the journal says about these calls.
fn calls<'a>(
    journal: &Journal,
    report: &RunReport,
    wanted: impl Iterator<Item = &'a EffectAddress>,
) -> Result<BTreeMap<EffectAddress, CallRecord>, Error> {
    let wanted: BTreeSet<&EffectAddress> = wanted.collect();
    let (mut begins, mut calls) = (BTreeMap::new(), BTreeMap::new());
    if wanted.is_empty() {
        return Ok(calls);
    }
    journal.read(&report.head.id, 0, &mut |_, record: Record| {
        for event in &record.events {
            match event {
                Event::Wanted { id, .. } if wanted.contains(id) => drop(begins.insert(id.clone(), record.at)),
                Event::Replied { id, reply: Reply::Output(output), .. } if wanted.contains(id) => {
                    let hash = output.whole.map_or_else(|| hash_of(output.text.as_bytes()), |whole| whole.hash);
                    let at = begins.get(id).copied().unwrap_or(record.at);
                    calls.insert(id.clone(), CallRecord { hash: hash.to_string(), at });
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(calls)
}

/// What differs now from the files that the evidence covers.
fn changed_on_disk(run: &Run, evidence: &Evidence, workspace: Option<&Workspace>) -> Option<String> {
    let covered = run.proof().covered(evidence);
    let Some(workspace) = workspace else {
        let needs_files = !covered.is_empty() || matches!(evidence, Evidence::Call { exit: Some(_), .. });
        return needs_files.then(|| "its files cannot be compared: the workspace cannot be opened".to_owned());
    };
    let changed = covered.iter().filter(|(path, was)| !is_same(workspace, path, was.as_deref()));
    changed_since(changed.map(|(path, _)| *path))
}

/// Names the first file, and how many more there are.
fn changed_since<'a>(mut changed: impl Iterator<Item = &'a str>) -> Option<String> {
    let first = changed.next()?;
    let more = changed.count();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!("{first}{more} changed since"))
}

/// Whether a file has this content. What cannot be compared counts as the same.
fn is_same(workspace: &Workspace, path: &str, was: Option<&str>) -> bool {
    if path.contains("://") {
        return true;
    }
    let Ok(located) = workspace.locate(path) else { return true };
    let Ok((file, about)) = workspace.open_file(&located, LinkPolicy::Inside) else {
        // It was gone, or its content was not read. If it is there no longer, that is a change only if it was read.
        return was.is_none();
    };
    let Some(was) = was else { return true };
    let mut bytes = Vec::new();
    if about.len > LARGEST || file.take(LARGEST).read_to_end(&mut bytes).is_err() {
        return true;
    }
    hash_of(&bytes).to_string() == was
}
