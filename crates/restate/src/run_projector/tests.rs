//! Copying the same records again changes nothing.

use std::path::Path;

use updraft_journal::JournalOptions;
use updraft_run::Record;

use super::*;
use crate::hosted_workspace::HostedWorkspace;
use crate::kept_log::{RUN, long_run, serve};
use crate::run_log::FoldedRuns;
use crate::worker::WorkerConnection;

/// A projector of the worker `w2`, as a process that has just started has it.
fn projector(log: &RunLog, folder: &Path) -> RunProjector {
    let (ingress, admin) = (log.ingress.clone(), log.ingress.clone());
    let (machine, process) = ("m2".to_owned(), "p2".to_owned());
    let connection = WorkerConnection { ingress, admin, blobs: None, machine, process, url: String::new() };
    let own = RunLog { names: ServiceNames::new("w2").unwrap(), ..log.clone() };
    let (folded, machine) = (FoldedRuns::default(), "m2".to_owned());
    let hosted = HostedWorkspace { log: own, folded, hands: Arc::default(), changes: Arc::default(), machine };
    let home = RestateHome::new(Arc::new(connection), "shared".to_owned(), &hosted);
    let journal = Journal::open(&folder.join("journal.db"), JournalOptions::default()).unwrap();
    RunProjector::new(Arc::new(home), journal)
}

#[tokio::test]
async fn the_same_records_are_copied_once_however_often_they_come() {
    let (kept, _) = long_run(40);
    let (log, _, _serving) = serve(kept).await;
    let (folder, run) = (tempfile::tempdir().unwrap(), RunId::parse(RUN).unwrap());
    let (all, _) = log.records(RUN, 0, 41, String::new()).await.unwrap();
    let copied = |projector: &RunProjector| -> Vec<Record> { projector.journal.load(&run).unwrap() };

    let mut first = projector(&log, folder.path());
    // The same word comes twice, and an older one after a newer one.
    for to in [5, 5, 20, 20, 7] {
        first.bring_up_to_date("w1", &log, &run, to).await.unwrap();
    }
    assert_eq!(copied(&first), all[..20]);
    first.close().await;

    // Another process knows nothing of what was copied, and is told all of it once more.
    let mut second = projector(&log, folder.path());
    for to in [5, 20, 41, 41] {
        second.bring_up_to_date("w1", &log, &run, to).await.unwrap();
    }
    assert_eq!(copied(&second), all);
    let events: u64 = all.iter().map(|record| record.events.len() as u64).sum();
    assert_eq!(second.journal.head(&run).unwrap().events, events);
    second.close().await;
}
