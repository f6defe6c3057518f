//! How many runs the workspace has, by status, and who drives and watches them: for `/metrics`.

use std::collections::BTreeMap;

use updraft_journal::RunFilter;
use updraft_run::Status;

use super::run_list::seen;
use super::runs::LiveRuns;
use crate::fault::Fault;
use crate::observe::{MetricKind, MetricsText};

/// Statuses that are always written, so that a graph of them begins at 0.
const ALWAYS: [Status; 6] =
    [Status::Running, Status::Waiting, Status::Paused, Status::Done, Status::Failed, Status::Cancelled];

impl LiveRuns {
    /// Writes them. Blocks on the disk.
    pub(super) fn write_gauges(&self, text: &mut MetricsText) -> Result<(), Fault> {
        let workspace = Some(self.workspace().to_owned());
        let runs = self.journal().list(&RunFilter { workspace, ..RunFilter::default() })?;
        let mut counts: BTreeMap<&str, u64> = ALWAYS.iter().map(|status| (status.as_str(), 0)).collect();
        for run in &runs {
            *counts.entry(seen(run).as_str()).or_default() += 1;
        }
        text.begin("updraft_runs", MetricKind::Gauge, "Runs of this workspace in the journal, by status.");
        for (status, count) in counts {
            text.sample(&[("status", status)], count as f64);
        }
        let (driven, watchers) = (self.driven_count() as f64, self.feeds().watchers() as f64);
        text.single("updraft_driven_runs", MetricKind::Gauge, "Runs that this process works on now.", driven);
        text.single("updraft_watchers", MetricKind::Gauge, "Open streams of runs that people watch.", watchers);
        let written = self.journal().stats();
        let (commits, records) = (written.commits as f64, written.records as f64);
        let help = "Transactions of the journal that reached the disk.";
        text.single("updraft_journal_commits_total", MetricKind::Counter, help, commits);
        text.single("updraft_journal_records_total", MetricKind::Counter, "Records in those transactions.", records);
        Ok(())
    }
}
