//! Accounts of runs, made from their journals: logs, what calls touched, whether the rules still decide the same, what
//! agents were told, and how agents did.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde_json::{Value, json};
use updraft_engine::{
    AgentStats, CallAudit, CitedSource, ContextPart, ReplayReport, RequirementReport, RunReport, SentPrompt, bus,
    context_of, prompts_of, proof_of, replay, sources_of, touched,
};
use updraft_journal::RunFilter;
use updraft_run::RunId;

use super::runs::LiveRuns;
use crate::fault::{Fault, blocking};
use crate::observe::{LogKind, LogLine, read_log};
use crate::time_format;

/// Which lines of a log are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogRange {
    /// Those after so many, at most `most`.
    After {
        /// How many are skipped.
        skip: usize,
        /// How many are given.
        most: usize,
    },
    /// The last so many.
    Last(usize),
}

/// Lines of a log.
#[derive(Clone, Debug, Default)]
pub struct LogPage {
    /// How many lines come before.
    pub skipped: usize,
    /// The lines.
    pub lines: Vec<LogLine>,
    /// How many lines the log has.
    pub all: usize,
}

/// What a journal says about itself when its decisions are made again.
#[derive(Clone, Debug)]
pub struct ReplayAccount {
    /// What was compared, and what differs.
    pub report: ReplayReport,
    /// The version of Updraft that wrote the journal.
    pub version: String,
}

/// What can be looked at in detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunDetail {
    /// The messages between the user and the agents.
    Messages,
    /// What agents were told besides their tasks.
    Context,
    /// The sources that the answer cites.
    Sources,
    /// What was required, and the evidence.
    Proof,
    /// Every prompt.
    Prompts,
}

impl LiveRuns {
    /// Lines of a log of a run. Blocks on the disk.
    pub fn log(&self, run: &RunId, kind: LogKind, range: LogRange) -> Result<LogPage, Fault> {
        let mut page = LogPage::default();
        read_log(self.journal(), run, kind, &mut |line| {
            match range {
                LogRange::After { skip, most } if page.all >= skip && page.lines.len() < most => {
                    page.lines.push(line.clone());
                }
                LogRange::After { .. } => {}
                LogRange::Last(most) => {
                    page.lines.push(line.clone());
                    // Now and then, so that not every line is moved for every other.
                    if page.lines.len() >= 2 * most.max(1) {
                        page.lines.drain(..page.lines.len() - most);
                    }
                }
            }
            page.all += 1;
            ControlFlow::Continue(())
        })?;
        if let LogRange::Last(most) = range {
            page.lines.drain(..page.lines.len().saturating_sub(most));
        }
        page.skipped = match range {
            LogRange::After { skip, .. } => skip.min(page.all),
            LogRange::Last(_) => page.all - page.lines.len(),
        };
        Ok(page)
    }

    /// What each call of a run touched. Blocks on the disk.
    pub fn audit(&self, run: &RunId) -> Result<Vec<CallAudit>, Fault> {
        Ok(touched(self.journal(), run)?)
    }

    /// Makes all decisions of a run again, and compares. Blocks on the disk and keeps a processor busy.
    pub fn replay(&self, run: &RunId) -> Result<ReplayAccount, Fault> {
        let version = self.journal().head(run)?.version;
        Ok(ReplayAccount { report: replay(self.journal(), run)?, version })
    }

    /// How agents and models did in the newest runs of this workspace.
    pub async fn agent_stats(&self) -> Result<AgentStats, Fault> {
        let (journal, workspace) = (self.journal().clone(), Some(self.workspace().to_owned()));
        let runtime = tokio::runtime::Handle::current();
        // The first time, all of these runs are read.
        blocking(move || {
            let stats = runtime.block_on(AgentStats::load_or_count(&journal))?;
            let own = journal.list(&RunFilter { workspace, ..RunFilter::default() })?;
            let own: BTreeSet<RunId> = own.into_iter().map(|run| run.id).collect();
            Ok(stats.of_runs(|run| own.contains(run)))
        })
        .await
    }

    /// A run in detail, as objects: those of them after `skip`, at most `most`, and how many there are. Blocks on the
    /// disk.
    pub fn detail(
        &self,
        run: &RunId,
        detail: RunDetail,
        skip: usize,
        most: usize,
    ) -> Result<(Vec<Value>, usize), Fault> {
        let journal = self.journal();
        let all: Vec<Value> = match detail {
            RunDetail::Messages => bus(journal, run)?.iter().map(|message| json!(message)).collect(),
            RunDetail::Context => context_of(journal, run)?.into_iter().map(part).collect(),
            RunDetail::Sources => sources_of(&RunReport::of(journal, run)?).iter().map(CitedSource::to_json).collect(),
            RunDetail::Proof => {
                let proof = proof_of(journal, &RunReport::of(journal, run)?)?;
                proof.iter().map(RequirementReport::to_json).collect()
            }
            RunDetail::Prompts => {
                // All prompts of a long run are much larger than its journal.
                let (mut some, mut count) = (Vec::new(), 0);
                prompts_of(journal, run, &mut |sent| {
                    if count >= skip && some.len() < most {
                        some.push(prompt(sent));
                    }
                    count += 1;
                })?;
                return Ok((some, count));
            }
        };
        let count = all.len();
        Ok((all.into_iter().skip(skip).take(most).collect(), count))
    }
}

fn part(ContextPart { kind, name, why, step, tokens }: ContextPart) -> Value {
    json!({ "kind": kind, "name": name, "why": why, "step": step, "tokens": tokens })
}

fn prompt(SentPrompt { id, agent, at, prompt }: SentPrompt) -> Value {
    json!({ "id": id, "agent": agent, "at": time_format::iso(at), "prompt": prompt })
}
