//! Decides what the checks of a run's requirements have shown.

use serde_json::{Map, Value};
use updraft_lenient::whole_object;

use crate::apply::tail;
use crate::citation::{CitationFinding, find_quotation};
use crate::id::{EffectAddress, EffectKind};
use crate::proof::{CallFact, Evidence, ProofFinding, ProofState};
use crate::reply::{Reply, ToolOutput};
use crate::requirement::{Check, Requirement};
use crate::state::Run;
use crate::step::{Step, ToolCallOutcome};

use super::prove::{CheckRun, runs_of};

/// How much of a failed command's output the agent is shown, in bytes.
const LAST_LINES: usize = 2_000;
/// How many calls are offered as evidence.
const MOST_SHOWN: usize = 40;

impl Run {
    /// The requirements that a model is asked about, by number from 1.
    pub fn asked_of_model(&self) -> Vec<(usize, &Requirement)> {
        let all = self.proof.requirements.iter().enumerate();
        let open = all.filter(|(n, one)| one.check == Check::FreeText && !self.is_still_proved(*n));
        open.map(|(n, one)| (n + 1, one)).collect()
    }

    /// The calls that are offered as evidence: the newest that have ended, oldest first.
    pub fn shown_calls(&self) -> Vec<(&EffectAddress, &CallFact)> {
        let ended = self.proof.calls.iter().filter(|(_, call)| call.ended.is_some());
        let mut ended: Vec<_> = ended.collect();
        ended.sort_by_key(|(_, call)| call.wanted);
        ended.split_off(ended.len().saturating_sub(MOST_SHOWN))
    }

    /// The results that are offered as evidence, each with the address of the answer it was taken from.
    pub fn shown_results(&self) -> Vec<(&EffectAddress, &str)> {
        let answer = |step: &Step| self.proof.answers.get(&step.spec.id);
        let shown = self.answering_steps().into_iter();
        shown.filter_map(|step| Some((answer(step)?, step.output.as_deref()?))).collect()
    }

    /// What was found about each requirement in this visit, or earlier if nothing has changed since.
    pub(super) fn findings_of(&self, step: &Step) -> Vec<ProofFinding> {
        let said = step.side_answer.as_ref().and_then(|answer| whole_object(&answer.text));
        let trouble = step.trouble.as_ref().map(ToString::to_string);
        let found = self.proof.requirements.iter().enumerate().map(|(n, one)| {
            if let Some(run) = runs_of(step, n).last() {
                return self.found_by_call(one, run);
            }
            if self.is_still_proved(n) {
                return self.proof.findings[n].clone();
            }
            match &one.check {
                Check::Citations => self.found_in_citations(),
                Check::FreeText => match (&said, &trouble) {
                    (Some(said), _) => self.found_by_model(n + 1, said),
                    (None, Some(trouble)) => unproved(format!("it could not be judged: {trouble}")),
                    (None, None) => unproved("the model that was asked named no evidence"),
                },
                Check::Variable { name, .. } => failed(format!("no step wrote the variable `{name}`"), Vec::new()),
                Check::Command { .. } | Check::File { .. } | Check::Answer { .. } => unproved("it was not checked"),
            }
        });
        found.collect()
    }

    /// What a call shows about a requirement.
    fn found_by_call(&self, one: &Requirement, (at, outcome): &CheckRun<'_>) -> ProofFinding {
        let what = match &one.check {
            Check::Command { command } => command.clone(),
            Check::File { .. } | Check::Answer { .. } | Check::Variable { .. } | Check::Citations | Check::FreeText => {
                one.how()
            }
        };
        match outcome {
            ToolCallOutcome::Rejected(why) => unproved(format!("it was not checked: {why}")),
            ToolCallOutcome::Replied(Reply::Output(output)) => {
                let exit = exit_code(output);
                let evidence = match (&one.check, hash_in(output)) {
                    (Check::File { path, .. }, Some(hash)) => {
                        vec![Evidence::File { at: at.clone(), path: path.clone(), hash }]
                    }
                    _ => vec![Evidence::Call { at: at.clone(), what, exit, quote: String::new() }],
                };
                match (output.is_error, self.changed_since(at)) {
                    (false, None) => ProofFinding { state: ProofState::Proved, why: String::new(), evidence },
                    (false, Some(stale)) => {
                        ProofFinding { evidence, ..unproved(format!("its evidence is stale: {stale}")) }
                    }
                    // A planner may name a program that is not installed. That says nothing about the work.
                    (true, _) if one.derived && matches!(exit, Some(126 | 127)) => {
                        ProofFinding { evidence, ..unproved("the command named for it cannot be run here") }
                    }
                    (true, _) => failed(failure_in(&one.check, exit, output), evidence),
                }
            }
            ToolCallOutcome::Replied(Reply::TimedOut { limit }) => {
                failed(format!("it took longer than {} s", limit.0.div_ceil(1000)), Vec::new())
            }
            ToolCallOutcome::Replied(Reply::Failed(why)) => unproved(format!("it could not be checked: {why}")),
            ToolCallOutcome::Replied(
                Reply::InDoubt { .. } | Reply::Cancelled | Reply::Answer(_) | Reply::Said(_) | Reply::Verdict(_),
            ) => unproved("the outcome of the check is unknown"),
        }
    }

    /// Whether the citations in the answer hold.
    fn found_in_citations(&self) -> ProofFinding {
        let steps = self.answering_steps();
        let cited = steps.iter().flat_map(|step| step.citations.iter().map(|one| (&step.spec.id, one)));
        let cited: Vec<_> = cited.collect();
        let faults = cited.iter().filter_map(|(_, one)| Some(format!("[{}] is {}", one.n, one.finding.fault()?)));
        let faults: Vec<String> = faults.collect();
        let held = cited.iter().filter(|(_, one)| one.finding == CitationFinding::Holds);
        let evidence: Vec<Evidence> =
            held.map(|(step, one)| Evidence::Citation { step: (*step).clone(), citation: (*one).clone() }).collect();
        if cited.is_empty() {
            return failed("the answer cites nothing", evidence);
        }
        if !faults.is_empty() {
            return failed(faults.join("; "), evidence);
        }
        match cited.len() - evidence.len() {
            0 => ProofFinding { state: ProofState::Proved, why: String::new(), evidence },
            open => {
                let why = format!("{open} of {} citations quote nothing, or could not be checked", cited.len());
                ProofFinding { evidence, ..unproved(why) }
            }
        }
    }

    /// What a model said about a requirement in free text. It counts only with evidence that exists and fits.
    fn found_by_model(&self, n: usize, said: &Map<String, Value>) -> ProofFinding {
        let list = said.get("requirements").and_then(Value::as_array).into_iter().flatten();
        let number = |one: &&Value| one.get("n").and_then(Value::as_u64) == Some(n as u64);
        let Some(own) = list.into_iter().find(number) else {
            return unproved("the model that was asked named no evidence");
        };
        let state = own.get("state").and_then(Value::as_str).unwrap_or_default();
        let why = own.get("why").and_then(Value::as_str).unwrap_or_default().trim();
        let is_met = match state {
            "met" => true,
            "not_met" => false,
            _ => return unproved(if why.is_empty() { "nothing shows it" } else { why }),
        };
        let named = own.get("evidence").and_then(Value::as_array).into_iter().flatten();
        let (mut evidence, mut faults) = (Vec::new(), Vec::new());
        for one in named {
            match self.evidence_at(one, is_met) {
                Ok(found) => evidence.push(found),
                Err(fault) => faults.push(fault),
            }
        }
        match (is_met, evidence.is_empty()) {
            (true, false) if evidence.iter().all(|one| matches!(one, Evidence::Answer { .. })) => {
                ProofFinding { evidence, ..unproved("only the agents' own words say so") }
            }
            (true, false) => ProofFinding { state: ProofState::Proved, why: String::new(), evidence },
            (false, false) => failed(why, evidence),
            (_, true) if faults.is_empty() => unproved("the model that was asked named no evidence"),
            (_, true) => unproved(format!("the evidence named for it does not count: {}", faults.join("; "))),
        }
    }

    /// Reads a piece of evidence that a model named, and checks that it exists and shows what it is named for.
    fn evidence_at(&self, named: &Value, is_met: bool) -> Result<Evidence, String> {
        let part = |key: &str| named.get(key).and_then(Value::as_str).unwrap_or_default().trim();
        let address = named.as_str().unwrap_or_else(|| part("at"));
        let quote = part("quote");
        let unknown = || format!("`{address}` is none of the calls and results that were shown");
        let at: EffectAddress = address.parse().map_err(|_| unknown())?;
        if at.kind == EffectKind::Ask {
            let shown = self.shown_results().into_iter().find(|(own, _)| **own == at);
            let (_, text) = shown.ok_or_else(unknown)?;
            if quote.is_empty() || find_quotation(text, quote).is_empty() {
                return Err(format!("`{at}` does not contain the words quoted from it"));
            }
            return Ok(Evidence::Answer { at, quote: quote.to_owned() });
        }
        let shown = self.shown_calls().into_iter().find(|(own, _)| **own == at);
        let call = shown.and_then(|(_, call)| Some((call, call.ended.as_ref()?)));
        let (call, end) = call.ok_or_else(unknown)?;
        if is_met && !end.is_good {
            return Err(format!("`{at}` did not succeed"));
        }
        if !quote.is_empty() && find_quotation(&end.words, quote).is_empty() {
            return Err(format!("`{at}` does not contain the words quoted from it"));
        }
        if let Some(stale) = self.changed_since(&at) {
            return Err(format!("`{at}` is stale: {stale}"));
        }
        Ok(Evidence::Call { what: call.what.clone(), exit: end.exit, quote: quote.to_owned(), at })
    }
}

fn unproved(why: impl Into<String>) -> ProofFinding {
    ProofFinding { state: ProofState::Unproved, why: why.into(), evidence: Vec::new() }
}

fn failed(why: impl Into<String>, evidence: Vec<Evidence>) -> ProofFinding {
    ProofFinding { state: ProofState::Failed, why: why.into(), evidence }
}

fn exit_code(output: &ToolOutput) -> Option<i64> {
    output.value.as_ref()?.get("exit_code")?.as_i64()
}

fn hash_in(output: &ToolOutput) -> Option<String> {
    output.value.as_ref()?.get("sha256")?.as_str().map(str::to_owned)
}

/// Why a check failed: for a command its exit code and last lines, otherwise what the check said.
fn failure_in(check: &Check, exit: Option<i64>, output: &ToolOutput) -> String {
    let Check::Command { command } = check else { return output.text.trim().to_owned() };
    let code = exit.map_or_else(|| "failed".to_owned(), |code| format!("ended with exit code {code}"));
    format!("`{command}` {code}\nIts last lines:\n{}", tail(output.text.trim_end(), LAST_LINES))
}
