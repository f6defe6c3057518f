//! Following a run.

use updraft_journal::{Batch, Error};

use crate::world::{World, create, one, run, says};

#[tokio::test]
async fn a_tail_gives_what_is_there_and_then_what_comes_from_another_process() {
    let world = World::new();
    let (writer, reader) = (world.journal(), world.journal());
    let lease = create(&writer, "r").await;
    writer.append(&lease, Batch::of(vec![says(1, "a", 2), says(2, "b", 0)])).await.unwrap();
    let mut tail = reader.tail(&run("r"), 0);
    assert_eq!(tail.next().await.unwrap().unwrap(), (1, says(1, "a", 2)));
    assert_eq!(tail.next().await.unwrap().unwrap(), (3, says(2, "b", 0)));

    let (next, appended) = tokio::join!(tail.next(), async {
        tokio::task::yield_now().await;
        writer.append(&lease, Batch::of(vec![says(3, "c", 1), says(4, "d", 1)])).await
    });

    assert_eq!(appended.unwrap(), 4);
    assert_eq!(next.unwrap().unwrap(), (3, says(3, "c", 1)));
    assert_eq!(tail.next().await.unwrap().unwrap(), (4, says(4, "d", 1)));
}

#[tokio::test]
async fn a_tail_dropped_half_way_through_a_wait_loses_nothing() {
    let world = World::new();
    let journal = world.journal();
    let lease = create(&journal, "r").await;
    let mut tail = journal.tail(&run("r"), 0);
    for at in 1..50 {
        let mut early = Box::pin(tail.next());
        // Polled a few times at most, then dropped wherever it is.
        let polled =
            std::future::poll_fn(|cx| std::task::Poll::Ready(std::future::Future::poll(early.as_mut(), cx).is_ready()));
        assert!(!polled.await);
        drop(early);
        journal.append(&lease, one(at, "x")).await.unwrap();
        assert_eq!(tail.next().await.unwrap().unwrap(), (at as u64, says(at, "x", 1)));
    }
}

#[tokio::test]
async fn a_tail_ends_when_the_run_is_deleted_or_the_journal_closed() {
    let world = World::new();
    let (journal, other) = (world.journal(), world.journal());
    let lease = create(&journal, "r").await;
    journal.append(&lease, one(1, "a")).await.unwrap();
    let (mut here, mut there) = (journal.tail(&run("r"), 0), other.tail(&run("r"), 0));
    for tail in [&mut here, &mut there] {
        assert!(tail.next().await.unwrap().is_some());
    }
    journal.delete(&run("r"), true).await.unwrap();
    assert_eq!(here.next().await.unwrap(), None);
    assert_eq!(there.next().await.unwrap(), None);

    let _lease = create(&journal, "s").await;
    let mut tail = journal.tail(&run("s"), 0);
    let closing = journal.clone();
    let (next, ()) = tokio::join!(tail.next(), closing.close());
    assert_eq!(next.unwrap(), None);
}

#[tokio::test]
async fn a_tail_of_an_unknown_run_says_so() {
    let world = World::new();
    let error = world.journal().tail(&run("r"), 0).next().await.unwrap_err();
    assert!(matches!(error, Error::UnknownRun { .. }), "{error}");
}
