//! Appending and reading back.

use std::ops::ControlFlow;

use tokio::task::JoinSet;
use updraft_journal::{Batch, Journal};
use updraft_run::{RunId, Timestamp};

use crate::world::{World, create, head, one, run, says};

fn numbers(journal: &Journal, run: &RunId, from: u64) -> Vec<(u64, usize)> {
    let mut seen = Vec::new();
    let mut visit = |seq, record: updraft_run::Record| {
        seen.push((seq, record.events.len()));
        ControlFlow::Continue(())
    };
    journal.read(run, from, &mut visit).unwrap();
    seen
}

#[tokio::test]
async fn what_was_appended_is_read_back_in_order() {
    let world = World::new();
    let journal = world.journal();
    let first = vec![says(1, "a", 2), says(2, "b", 0)];
    let then = vec![says(3, "c", 0), says(4, "d", 3)];

    let lease = journal.create(head("r"), Batch::of(first.clone())).await.unwrap();
    let last = journal.append(&lease, Batch::of(then.clone())).await.unwrap();

    assert_eq!(last, 5);
    assert_eq!(journal.load(&run("r")).unwrap(), [first, then].concat());
    assert_eq!(numbers(&journal, &run("r"), 0), [(1, 2), (3, 0), (3, 0), (3, 3)]);
    let about = journal.head(&run("r")).unwrap();
    assert_eq!((about.events, about.updated), (5, Timestamp(4)));
}

#[tokio::test]
async fn reading_from_an_event_begins_with_the_record_that_holds_it() {
    let world = World::new();
    let journal = world.journal();
    let records = vec![says(1, "a", 2), says(2, "b", 0), says(3, "c", 3), says(4, "d", 1)];
    let _lease = journal.create(head("r"), Batch::of(records)).await.unwrap();

    let from = |n| numbers(&journal, &run("r"), n);

    assert_eq!(from(1), [(1, 2), (3, 0), (3, 3), (6, 1)]);
    assert_eq!(from(2), from(1));
    assert_eq!(from(3), [(3, 0), (3, 3), (6, 1)]);
    assert_eq!(from(5), [(3, 3), (6, 1)]);
    assert_eq!(from(6), [(6, 1)]);
    assert_eq!(from(7), []);
    assert_eq!(from(u64::MAX), []);
}

#[tokio::test]
async fn a_long_run_is_read_in_pages_and_nothing_is_lost_between_them() {
    let world = World::new();
    let journal = world.journal();
    let records: Vec<_> = (0..1203).map(|n| says(n, "word", (n % 3) as usize)).collect();
    let _lease = journal.create(head("r"), Batch::of(records.clone())).await.unwrap();

    assert_eq!(journal.load(&run("r")).unwrap(), records);
}

#[tokio::test]
async fn reading_stops_when_told() {
    let world = World::new();
    let journal = world.journal();
    let _lease = journal.create(head("r"), Batch::of(vec![says(1, "a", 1), says(2, "b", 1)])).await.unwrap();
    let mut seen = 0;
    let mut visit = |_, _| {
        seen += 1;
        ControlFlow::Break(())
    };
    journal.read(&run("r"), 0, &mut visit).unwrap();
    assert_eq!(seen, 1);
}

#[tokio::test]
async fn a_large_record_comes_back_whole() {
    let world = World::new();
    let journal = world.journal();
    let records = vec![says(1, &"x".repeat(100_000), 1), says(2, &"y".repeat(2_000_000), 1), says(3, "z", 1)];
    let _lease = journal.create(head("r"), Batch::of(records.clone())).await.unwrap();

    assert_eq!(journal.load(&run("r")).unwrap(), records);
    assert_eq!(journal.head(&run("r")).unwrap().events, 3);
}

#[tokio::test]
async fn what_is_acknowledged_is_there_for_a_second_handle_and_after_reopening() {
    let world = World::new();
    let journal = world.journal();
    let lease = create(&journal, "r").await;
    journal.append(&lease, one(1, "a")).await.unwrap();
    let other = world.journal();
    assert_eq!(other.load(&run("r")).unwrap(), [says(1, "a", 1)]);
    drop((lease, other));
    journal.close().await;

    assert_eq!(world.journal().load(&run("r")).unwrap(), [says(1, "a", 1)]);
}

#[tokio::test]
async fn closing_leaves_no_log() {
    let world = World::new();
    let journal = world.journal();
    let lease = create(&journal, "r").await;
    journal.load(&run("r")).unwrap();
    journal.clone().close().await;

    assert_eq!(world.files(), ["journal.db", "journal.db-heads", "journal.db-reserve"]);
    let error = journal.append(&lease, one(1, "late")).await.unwrap_err();
    assert_eq!(error.to_string(), "the journal is closed");
    drop((journal, lease));
    assert_eq!(world.journal().owner(&run("r")).unwrap(), None);
}

#[tokio::test]
async fn looking_at_a_journal_leaves_nothing_behind() {
    let world = World::new();
    drop(create(&world.journal(), "r").await);
    let journal = Journal::open_existing(&world.path(), updraft_journal::JournalOptions::default()).unwrap().unwrap();
    assert_eq!(journal.list(&updraft_journal::RunFilter::default()).unwrap().len(), 1);
    drop(journal);
    assert_eq!(world.files(), ["journal.db", "journal.db-heads", "journal.db-reserve"]);
}

#[tokio::test]
async fn runs_that_append_at_the_same_time_share_commits() {
    let world = World::new();
    let journal = world.journal();
    let mut appends = JoinSet::new();
    for n in 0..200 {
        let journal = journal.clone();
        appends.spawn(async move {
            let name = format!("run-{n}");
            let lease = create(&journal, &name).await;
            for at in 0..5 {
                journal.append(&lease, one(at, &name)).await.unwrap();
            }
            lease
        });
    }
    let _leases = appends.join_all().await;

    let stats = journal.stats();
    assert_eq!((stats.requests, stats.records), (1200, 1000));
    assert!(stats.commits < 300, "{stats:?}");
    for n in 0..200 {
        assert_eq!(journal.load(&run(&format!("run-{n}"))).unwrap().len(), 5);
    }
}

#[tokio::test]
async fn a_refused_append_does_not_hold_up_the_others_of_its_group() {
    let world = World::new();
    let journal = world.journal();
    let (fine, gone) = (create(&journal, "fine").await, create(&journal, "gone").await);
    journal.delete(&run("gone"), true).await.unwrap();

    let before = journal.stats().commits;
    let (a, b, c) = tokio::join!(
        journal.append(&fine, one(1, "a")),
        journal.append(&gone, one(1, "b")),
        journal.append(&fine, one(2, "c")),
    );

    assert_eq!((a.unwrap(), c.unwrap()), (1, 2));
    assert_eq!(b.unwrap_err().to_string(), "run `gone` was deleted while it ran");
    assert!(journal.stats().commits - before <= 2, "they waited together");
}
