//! Removing runs, and what only they named.

use updraft_journal::{Batch, Blob, Error, RunFilter, Status};
use updraft_run::Timestamp;

use crate::world::{World, create, head, one, run};

fn with(blobs: &[&Blob]) -> Batch {
    Batch { blobs: blobs.iter().map(|blob| (*blob).clone()).collect(), ..one(1, "a") }
}

#[tokio::test]
async fn deleting_a_run_removes_what_only_it_named() {
    let world = World::new();
    let journal = world.journal();
    let shared = Blob::new(vec![1; 3000]);
    let (own, own_file) = (Blob::new(vec![2; 3000]), Blob::new(vec![3; 2 << 20]));
    let kept = journal.create(head("kept"), with(&[&shared])).await.unwrap();
    journal.release(journal.create(head("gone"), with(&[&shared, &own, &own_file])).await.unwrap()).await.unwrap();

    journal.delete(&run("gone"), false).await.unwrap();

    assert!(matches!(journal.load(&run("gone")), Err(Error::UnknownRun { .. })));
    assert_eq!(journal.load(&run("kept")).unwrap().len(), 1);
    let left = [&shared, &own, &own_file].map(|blob| journal.blob(&blob.hash()).unwrap().is_some());
    assert_eq!(left, [true, false, false]);
    let hex = own_file.hash().to_string();
    assert!(!journal.blob_folder().join(&hex[..2]).join(&hex).exists());
    drop(kept);
}

#[tokio::test]
async fn the_room_of_a_deleted_run_is_given_back() {
    let world = World::new();
    let journal = world.journal();
    let blobs = (0..100).map(|n| Blob::new(vec![n; 100_000])).collect();
    let lease = journal.create(head("big"), Batch { blobs, ..one(1, "a") }).await.unwrap();
    journal.release(lease).await.unwrap();
    journal.delete(&run("big"), false).await.unwrap();
    journal.close().await;
    assert!(world.path().metadata().unwrap().len() < 200_000);
}

#[tokio::test]
async fn a_run_at_work_is_deleted_only_by_force_and_its_owner_is_told() {
    let world = World::new();
    let (owner, other) = (world.journal(), world.journal());
    let lease = create(&owner, "r").await;

    let error = other.delete(&run("r"), false).await.unwrap_err();
    assert!(matches!(error, Error::Owned { .. }), "{error}");
    other.delete(&run("r"), true).await.unwrap();

    let error = owner.append(&lease, one(1, "a")).await.unwrap_err();
    assert_eq!(error.to_string(), "run `r` was deleted while it ran");
    // The same name again is another run: the old lease is worth nothing there.
    let _new = other.create(head("r"), one(1, "new")).await.unwrap();
    assert!(matches!(owner.append(&lease, one(1, "a")).await, Err(Error::Deleted(_))));
}

#[tokio::test]
async fn pruning_takes_only_what_is_over_and_old_enough() {
    let world = World::new();
    let journal = world.journal();
    for (name, at, status) in [
        ("old-done", 10, Status::Done),
        ("old-failed", 10, Status::Failed),
        ("old-waiting", 10, Status::Waiting),
        ("new-done", 100, Status::Done),
    ] {
        let lease = journal.create(head(name), Batch { status: Some(status), ..one(at, "a") }).await.unwrap();
        journal.release(lease).await.unwrap();
    }
    let held = journal.create(head("held"), Batch { status: Some(Status::Done), ..one(10, "a") }).await.unwrap();

    assert_eq!(journal.prune(Timestamp(50), Some("/another/workspace")).await.unwrap(), []);
    let gone = journal.prune(Timestamp(50), Some(&head("old-done").workspace)).await.unwrap();

    assert_eq!(gone, [run("old-done"), run("old-failed")]);
    assert_eq!(journal.prune(Timestamp(50), None).await.unwrap(), []);
    assert_eq!(journal.list(&RunFilter::default()).unwrap().len(), 3);
    drop(held);
}

#[tokio::test]
async fn pruning_removes_files_that_no_record_came_to_name() {
    let world = World::new();
    let journal = world.journal();
    let orphan = Blob::new(vec![7; 2 << 20]).hash().to_string();
    let folder = journal.blob_folder().join(&orphan[..2]);
    std::fs::create_dir_all(&folder).unwrap();
    let (old, fresh) = (folder.join(&orphan), folder.join(orphan.replace('a', "b")));
    for file in [&old, &fresh] {
        std::fs::write(file, b"x").unwrap();
    }
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    std::fs::File::open(&old).unwrap().set_modified(long_ago).unwrap();

    journal.prune(Timestamp(0), None).await.unwrap();

    assert!(!old.exists() && fresh.exists());
}
