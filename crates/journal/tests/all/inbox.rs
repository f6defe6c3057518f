//! Inputs from other processes.

use updraft_journal::{Batch, SendOutcome};
use updraft_run::{Input, Timestamp};

use crate::world::{World, create, run, says};

#[tokio::test]
async fn an_input_waits_until_a_batch_has_handled_it() {
    let world = World::new();
    let (owner, other) = (world.journal(), world.journal());
    let lease = create(&owner, "r").await;

    let sent = other.send(&run("r"), "k1", &Input::Pause, Timestamp(5)).await.unwrap();
    assert!(matches!(sent, SendOutcome::Queued { owner: Some(owner) } if owner.alive), "{sent:?}");
    let waiting = owner.inbox(&run("r")).unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!((waiting[0].at, &waiting[0].input), (Timestamp(5), &Input::Pause));

    let handled = vec![waiting[0].id];
    owner.append(&lease, Batch { records: vec![says(6, "paused", 1)], handled, ..Batch::default() }).await.unwrap();
    assert_eq!(other.inbox(&run("r")).unwrap(), []);
}

#[tokio::test]
async fn a_repeated_key_is_dropped_while_the_first_waits() {
    let world = World::new();
    let journal = world.journal();
    drop(create(&journal, "r").await);
    let send = || async { journal.send(&run("r"), "k", &Input::Pause, Timestamp(1)).await.unwrap() };
    assert!(matches!(send().await, SendOutcome::Queued { .. }));
    assert_eq!(send().await, SendOutcome::Repeated);
    assert_eq!(journal.inbox(&run("r")).unwrap().len(), 1);
}

#[tokio::test]
async fn inputs_of_several_runs_come_in_the_order_they_were_sent() {
    let world = World::new();
    let journal = world.journal();
    for name in ["a", "b", "c"] {
        drop(create(&journal, name).await);
    }
    for (key, name) in ["b", "c", "a", "b"].into_iter().enumerate() {
        journal.send(&run(name), &key.to_string(), &Input::Pause, Timestamp(1)).await.unwrap();
    }
    let pending = journal.pending_inputs(&[run("a"), run("b")]).unwrap();
    let order: Vec<&str> = pending.iter().map(|input| input.run.as_str()).collect();
    assert_eq!(order, ["b", "a", "b"]);
}

#[tokio::test]
async fn another_processs_input_wakes_who_waits() {
    let world = World::new();
    let (owner, other) = (world.journal(), world.journal());
    let _lease = create(&owner, "r").await;
    let mut changes = owner.changes();
    assert_eq!(owner.inbox(&run("r")).unwrap(), []);
    // Between reading and waiting: must not be missed.
    other.send(&run("r"), "k", &Input::Pause, Timestamp(1)).await.unwrap();
    while owner.inbox(&run("r")).unwrap().is_empty() {
        changes.next().await;
    }
}

#[tokio::test]
async fn an_unknown_run_takes_no_input() {
    let world = World::new();
    let error = world.journal().send(&run("r"), "k", &Input::Pause, Timestamp(1)).await.unwrap_err();
    assert_eq!(error.to_string(), "no run is named `r`");
}
