//! `updraft rm` and `updraft prune`: remove runs from the journal.

use std::time::{Duration, SystemTime};

use updraft_run::Timestamp;
use updraft_sandbox::StagedChanges;
use updraft_workbench::observe::prune_logs;
use updraft_workbench::removal::{PruneOrder, remove_run};
use updraft_workbench::service::sweep_conversations;

use crate::args::{PruneArgs, RmArgs};
use crate::console::prune_pasted;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::view::count;
use crate::{journal, out, runtime, time_format};

pub(crate) fn rm(folders: &AppFolders, args: &RmArgs) -> CliResult {
    let journal = journal::open_with_runs(folders)?;
    let ids = args.runs.iter().map(|name| journal::find_run(&journal, name)).collect::<Result<Vec<_>, _>>()?;
    runtime::block_on(async {
        for id in &ids {
            remove_run(folders, &journal, id, args.force).await.map_err(busy)?;
            out::note(&format!("removed {id}; what it changed can no longer be undone"));
        }
        journal.close().await;
        Ok(CliExitCode::Done)
    })
}

fn busy(error: updraft_journal::Error) -> CliError {
    match error {
        updraft_journal::Error::Owned { run, pid, .. } => {
            CliError::failed(format!("run {run} is being run by process {pid}"))
                .hint(format!("`updraft cancel {run}` stops it first; `updraft rm --force {run}` removes it anyway"))
        }
        other => other.into(),
    }
}

pub(crate) fn prune(folders: &AppFolders, args: &PruneArgs) -> CliResult {
    let length = i64::try_from(args.older_than.as_millis()).unwrap_or(i64::MAX);
    let before = Timestamp(time_format::now().0.saturating_sub(length));
    let moment = SystemTime::UNIX_EPOCH + Duration::from_millis(before.0.try_into().unwrap_or_default());
    // What commands have left that were interrupted while their changes were moved into the workspace.
    let left = StagedChanges::prune(&folders.state.join("staged"), moment, args.dry_run);
    let pasted = prune_pasted(folders, moment, args.dry_run);
    let logs = prune_logs(folders, moment, args.dry_run);
    let Some(journal) = journal::open_if_there(folders)? else {
        out::note("removed 0 runs");
        return Ok(CliExitCode::Done);
    };
    let order = PruneOrder { before, workspace: None };
    if args.dry_run {
        for run in &order.runs(&journal)? {
            out::line(&format!("{}  {}  {}", run.id, run.status, out::short(&run.goal, 80)));
        }
        for file in left.iter().chain(&pasted).chain(&logs) {
            out::line(&file.display().to_string());
        }
        return Ok(CliExitCode::Done);
    }
    runtime::block_on(async {
        sweep_conversations(folders, &journal).await?;
        let gone = order.carry_out(folders, &journal).await?;
        journal.close().await;
        for id in &gone {
            out::line(id.as_str());
        }
        out::note(&format!("removed {} run{}", gone.len(), if gone.len() == 1 { "" } else { "s" }));
        if !left.is_empty() {
            out::note(&format!(
                "removed what {} interrupted command{} had left",
                left.len(),
                if left.len() == 1 { "" } else { "s" }
            ));
        }
        if !pasted.is_empty() {
            out::note(&format!("removed {}", count(pasted.len() as u64, "pasted picture")));
        }
        if !logs.is_empty() {
            out::note(&format!("removed the logs of {}", count(logs.len() as u64, "run")));
        }
        Ok(CliExitCode::Done)
    })
}
