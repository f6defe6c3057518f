//! A run that begins as another's copy.

use updraft_journal::{Batch, Blob, Error};
use updraft_run::Record;

use crate::world::{World, create, head, one, run, says};

fn cut(record: &Record, events: usize) -> Record {
    Record { events: record.events[..events].to_vec(), ..record.clone() }
}

#[tokio::test]
async fn a_fork_has_the_first_events_and_goes_on_by_itself() {
    let world = World::new();
    let journal = world.journal();
    let records = vec![says(1, "a", 2), says(2, "b", 0), says(3, "c", 4), says(4, "d", 0), says(5, "e", 1)];
    let origin = journal.create(head("origin"), Batch::of(records.clone())).await.unwrap();
    let first = |n: usize, cut: Option<Record>| records[..n].iter().cloned().chain(cut).collect::<Vec<_>>();

    for (at, expected) in [
        (0, first(0, None)),
        (1, first(0, Some(cut(&records[0], 1)))),
        (2, first(1, None)),
        (3, first(2, Some(cut(&records[2], 1)))),
        (5, first(2, Some(cut(&records[2], 3)))),
        (6, first(3, None)),
        (7, first(5, None)),
    ] {
        let name = format!("fork-{at}");
        let lease = journal.fork(&run("origin"), at, head(&name)).await.unwrap();
        assert_eq!(journal.load(&run(&name)).unwrap(), expected, "at {at}");
        assert_eq!(journal.append(&lease, one(9, "own")).await.unwrap(), at + 1);
    }
    assert_eq!(journal.append(&origin, one(9, "own")).await.unwrap(), 8);
}

#[tokio::test]
async fn a_fork_keeps_the_values_of_a_deleted_origin() {
    let world = World::new();
    let journal = world.journal();
    let blob = Blob::new(vec![5; 2 << 20]);
    let long = says(1, &"x".repeat(50_000), 3);
    let batch = Batch { records: vec![long.clone()], blobs: vec![blob.clone()], ..Batch::default() };
    let origin = journal.create(head("origin"), batch).await.unwrap();
    let fork = journal.fork(&run("origin"), 2, head("fork")).await.unwrap();
    journal.release(origin).await.unwrap();
    journal.delete(&run("origin"), false).await.unwrap();

    assert_eq!(journal.load(&run("fork")).unwrap(), [cut(&long, 2)]);
    assert_eq!(journal.blob(&blob.hash()).unwrap().unwrap(), blob.bytes());
    drop(fork);
}

#[tokio::test]
async fn there_is_no_fork_after_the_end_or_under_a_name_that_is_taken() {
    let world = World::new();
    let journal = world.journal();
    let _origin = journal.create(head("origin"), one(1, "a")).await.unwrap();
    let _other = create(&journal, "other").await;
    let error = journal.fork(&run("origin"), 2, head("fork")).await.unwrap_err();
    assert_eq!(error.to_string(), "run `origin` has 1 events; there is no event 2");
    let error = journal.fork(&run("origin"), 1, head("other")).await.unwrap_err();
    assert!(matches!(error, Error::Exists(_)), "{error}");
}
