//! Lists what each call of a run touched: files, commands, hosts, and who allowed it. Read from the journal only.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use serde::Serialize;
use updraft_journal::Journal;
use updraft_run::{
    Effect, EffectAddress, EffectKind, Event, FailureKind, FileChange, PreparedCall, Record, Reply, Run, RunId,
    Timestamp, ToolOutput, UnlistedCount, Verdict, argument_lines,
};

use crate::Error;
use crate::undo::{ReportedChanges, changes_of};

/// The tools whose output data contains a diff.
const FILE_TOOLS: [&str; 4] = ["write_file", "edit_file", "append_line", "apply_patch"];

/// One call and what it touched.
#[derive(Clone, Debug, Serialize)]
pub struct CallAudit {
    /// When it was wanted.
    pub at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// The call.
    pub call: EffectAddress,
    /// The agent that made the call.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// How it ended: `done`, `failed`, `rejected`, `timed_out`, `cancelled`, `in_doubt`; `open` if it has not ended.
    pub outcome: &'static str,
    /// Why it did not succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Files and folders it read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// The command it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The exit code of that command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Hosts it reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Files it changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// Why it may have changed more files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlisted: Option<String>,
    /// How many more, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<UnlistedCount>,
    /// What it changed in text files, as a unified diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The approval that was asked for, and the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalRecord>,
}

/// An approval that was asked for.
#[derive(Clone, Debug, Serialize)]
pub struct ApprovalRecord {
    /// Why it was needed.
    pub why: String,
    /// The arguments that the person was shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// The decision; absent if nobody has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// What each call of a run touched, in the order they were wanted.
pub fn touched(journal: &Journal, id: &RunId) -> Result<Vec<CallAudit>, Error> {
    let (run, prepared, order, calls) = (Run::default(), BTreeMap::new(), Vec::new(), BTreeMap::new());
    let mut view =
        AuditBuilder { journal, run, prepared, order, open: BTreeSet::new(), calls, told: ReportedChanges::default() };
    let mut fault = None;
    journal.read(id, 0, &mut |_, record: Record| {
        view.run.record(&record);
        for event in &record.events {
            if let Err(error) = view.take(record.at, event) {
                fault = Some(error);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    if let Some(error) = fault {
        return Err(error);
    }
    view.doubt();
    Ok(view.order.into_iter().filter_map(|id| view.calls.remove(&id)).collect())
}

struct AuditBuilder<'a> {
    journal: &'a Journal,
    run: Run,
    /// What was known about calls before they were made.
    prepared: BTreeMap<EffectAddress, PreparedCall>,
    order: Vec<EffectAddress>,
    /// Calls that have begun and have not been seen to end.
    open: BTreeSet<EffectAddress>,
    calls: BTreeMap<EffectAddress, CallAudit>,
    told: ReportedChanges,
}

impl AuditBuilder<'_> {
    fn take(&mut self, at: Timestamp, event: &Event) -> Result<(), Error> {
        match event {
            Event::Wanted { id, effect: Effect::Call } => drop(self.call(at, id)),
            Event::Wanted { id, effect: Effect::Approval { why, .. } } => {
                let id = id.sibling(EffectKind::Call, id.n);
                let call = self.run.call_at(&id);
                let arguments = call.map(|call| argument_lines(&call.args)).unwrap_or_default();
                self.call(at, &id).approval = Some(ApprovalRecord { why: why.clone(), arguments, verdict: None });
            }
            Event::Begun { id, .. } => drop(self.open.insert(id.clone())),
            Event::Rejected { id, why } => {
                let call = self.call(at, &id.sibling(EffectKind::Call, id.n));
                (call.ended, call.outcome, call.because) = (Some(at), "rejected", Some(why.message.clone()));
            }
            Event::Replied { id, reply, prepared, .. } => match id.kind {
                EffectKind::Ask => {
                    let numbered = prepared.iter().zip(0..);
                    self.prepared.extend(numbered.map(|(one, n)| (id.sibling(EffectKind::Call, n), one.clone())));
                }
                EffectKind::Approve => {
                    if let (Reply::Verdict(verdict), Some(approval)) =
                        (reply, &mut self.call(at, &id.sibling(EffectKind::Call, id.n)).approval)
                    {
                        approval.verdict = Some(verdict.clone());
                    }
                }
                EffectKind::Call => self.ended(at, id, reply)?,
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }

    fn call(&mut self, at: Timestamp, id: &EffectAddress) -> &mut CallAudit {
        let Self { run, prepared, order, calls, .. } = self;
        calls.entry(id.clone()).or_insert_with(|| {
            order.push(id.clone());
            let PreparedCall { reads, command, .. } = prepared.get(id).cloned().unwrap_or_default();
            let tool = run.call_at(id).map(|call| call.name).unwrap_or_default();
            let agent = run.step(&id.step).map(|step| step.spec.agent.clone()).unwrap_or_default();
            let (call, outcome, more) = (id.clone(), "open", None);
            let nothing = (None, None, None, None, None, None);
            let (ended, because, exit_code, unlisted, diff, approval) = nothing;
            let (hosts, changes) = (Vec::new(), Vec::new());
            CallAudit {
                at,
                ended,
                call,
                agent,
                tool,
                outcome,
                because,
                reads,
                command,
                exit_code,
                hosts,
                changes,
                unlisted,
                more,
                diff,
                approval,
            }
        })
    }

    /// A command that was not seen to end may have changed files that are not listed.
    fn doubt(&mut self) {
        let Self { open, calls, .. } = self;
        for call in calls.values_mut().filter(|call| call.command.is_some() && open.contains(&call.call)) {
            call.unlisted = Some("its end is not known, so what it changed is not listed".to_owned());
        }
    }

    fn ended(&mut self, at: Timestamp, id: &EffectAddress, reply: &Reply) -> Result<(), Error> {
        match reply {
            Reply::InDoubt { .. } => {}
            Reply::Failed(why) if why.kind == FailureKind::InDoubt => {}
            _ => drop(self.open.remove(id)),
        }
        let (changes, diff) = match reply {
            Reply::Output(output) => (self.told.once(id, changes_of(self.journal, output)?), self.diff(id, output)?),
            _ => (Vec::new(), None),
        };
        let call = self.call(at, id);
        call.ended = Some(at);
        (call.outcome, call.because) = match reply {
            Reply::Output(output) if output.is_error => ("failed", None),
            Reply::Output(_) | Reply::Answer(_) | Reply::Said(_) | Reply::Verdict(_) => ("done", None),
            Reply::Failed(failure) => ("failed", Some(failure.message.clone())),
            Reply::TimedOut { limit } => ("timed_out", Some(format!("stopped after {} ms", limit.0))),
            Reply::Cancelled => ("cancelled", None),
            Reply::InDoubt { evidence } => ("in_doubt", Some(evidence.clone())),
            _ => ("done", None),
        };
        if let Reply::Output(output) = reply {
            call.exit_code = output.value.as_ref().and_then(|value| value["exit_code"].as_i64());
            call.hosts.clone_from(&output.hosts);
            call.unlisted.clone_from(&output.unlisted);
            call.more = output.more;
        }
        (call.changes, call.diff) = (changes, diff);
        Ok(())
    }

    /// The diff of a call: from a blob, or from the output data of the file tools. The data of other tools is not
    /// trusted for this.
    fn diff(&self, id: &EffectAddress, output: &ToolOutput) -> Result<Option<String>, Error> {
        let stored = output.diff.map(|blob| self.journal.blob(&blob.hash)).transpose()?.flatten();
        let stored = stored.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let is_file_tool = self.calls.get(id).is_some_and(|call| FILE_TOOLS.contains(&call.tool.as_str()));
        Ok(stored.or_else(|| {
            let told = output.value.as_ref()?["diff"].as_str()?.to_owned();
            Some(told).filter(|_| is_file_tool && !output.changes.is_empty())
        }))
    }
}
