//! One writer a run.

use updraft_journal::Error;

use crate::world::{World, create, one, run};

#[tokio::test]
async fn a_live_owner_is_never_robbed() {
    let world = World::new();
    let (one_handle, other) = (world.journal(), world.journal());
    let lease = create(&one_handle, "r").await;

    for journal in [&one_handle, &other] {
        let error = journal.acquire(&run("r")).await.unwrap_err();
        assert!(matches!(error, Error::Owned { pid, .. } if pid == std::process::id()), "{error}");
    }
    assert!(other.owner(&run("r")).unwrap().unwrap().alive);

    one_handle.release(lease).await.unwrap();
    let lease = other.acquire(&run("r")).await.unwrap();
    assert_eq!(other.append(&lease, one(1, "mine")).await.unwrap(), 1);
}

#[tokio::test]
async fn dropping_a_lease_gives_it_back() {
    let world = World::new();
    let journal = world.journal();
    drop(create(&journal, "r").await);
    let lease = journal.acquire(&run("r")).await.unwrap();
    assert_eq!(lease.run(), &run("r"));
}

#[tokio::test]
async fn numbering_goes_on_where_the_owner_before_stopped() {
    let world = World::new();
    let (first, second) = (world.journal(), world.journal());
    let lease = create(&first, "r").await;
    first.append(&lease, one(1, "a")).await.unwrap();
    first.release(lease).await.unwrap();

    let lease = second.acquire(&run("r")).await.unwrap();
    assert_eq!(second.append(&lease, one(2, "b")).await.unwrap(), 2);
    second.release(lease).await.unwrap();

    let lease = first.acquire(&run("r")).await.unwrap();
    assert_eq!(first.append(&lease, one(3, "c")).await.unwrap(), 3);
}

#[tokio::test]
async fn every_writer_has_an_epoch_of_its_own() {
    let world = World::new();
    let mut epochs = Vec::new();
    for name in ["a", "b", "c"] {
        let journal = world.journal();
        let lease = create(&journal, name).await;
        epochs.push(journal.epoch(&lease));
        drop(lease);
        journal.close().await;
    }
    assert_eq!(epochs, [1, 2, 3]);
}

#[tokio::test]
async fn an_unknown_run_cannot_be_taken() {
    let world = World::new();
    let error = world.journal().acquire(&run("nobody")).await.unwrap_err();
    assert_eq!(error.to_string(), "no run is named `nobody`");
}

#[tokio::test]
async fn a_name_is_given_once() {
    let world = World::new();
    let journal = world.journal();
    let _lease = create(&journal, "r").await;
    let error = journal.create(crate::world::head("r"), one(1, "again")).await.unwrap_err();
    assert_eq!(error.to_string(), "a run named `r` already exists");
    assert!(journal.load(&run("r")).unwrap().is_empty());
}
