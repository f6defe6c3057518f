//! Large values.

use updraft_journal::{Batch, Blob, hash_of};

use crate::world::{World, create, head, one, run};

fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

#[tokio::test]
async fn small_values_are_in_the_file_and_large_ones_beside_it() {
    let world = World::new();
    let journal = world.journal();
    let (small, limit, large) = (Blob::new(noise(10)), Blob::new(noise(1 << 20)), Blob::new(noise((1 << 20) + 1)));
    let blobs = vec![small.clone(), limit.clone(), large.clone()];
    let lease = journal.create(head("r"), Batch { blobs, ..one(1, "a") }).await.unwrap();

    for blob in [&small, &limit, &large] {
        assert_eq!(journal.blob(&blob.hash()).unwrap().as_deref(), Some(blob.bytes()));
    }
    let hex = large.hash().to_string();
    assert!(journal.blob_folder().join(&hex[..2]).join(&hex).is_file());
    assert_eq!(std::fs::read_dir(journal.blob_folder()).unwrap().count(), 1, "only the large one");
    assert_eq!(journal.blob(&hash_of(b"nothing")).unwrap(), None);
    drop(lease);
}

#[tokio::test]
async fn a_value_is_stored_once_however_many_runs_name_it() {
    let world = World::new();
    let journal = world.journal();
    let blob = Blob::new(noise(500_000));
    for name in ["a", "b", "c"] {
        let lease = create(&journal, name).await;
        journal.put_blobs(&run(name), vec![blob.clone(), blob.clone()]).await.unwrap();
        journal.append(&lease, Batch { blobs: vec![blob.clone()], ..one(1, "x") }).await.unwrap();
    }
    journal.close().await;
    assert!(world.path().metadata().unwrap().len() < 700_000);
}

#[tokio::test]
async fn a_damaged_or_missing_file_is_said_and_not_handed_out() {
    let world = World::new();
    let journal = world.journal();
    let large = Blob::new(noise(2 << 20));
    let _lease = journal.create(head("r"), Batch { blobs: vec![large.clone()], ..one(1, "a") }).await.unwrap();
    let hex = large.hash().to_string();
    let file = journal.blob_folder().join(&hex[..2]).join(&hex);

    std::fs::write(&file, b"something else").unwrap();
    let error = journal.blob(&large.hash()).unwrap_err().to_string();
    assert_eq!(error, format!("the stored value {hex} is damaged: its content has another hash"));

    std::fs::remove_file(&file).unwrap();
    let error = journal.blob(&large.hash()).unwrap_err().to_string();
    assert!(error.contains("is missing"), "{error}");
}

#[tokio::test]
async fn a_file_that_vanished_is_written_again_when_its_value_is_stored_again() {
    let world = World::new();
    let journal = world.journal();
    let large = Blob::new(noise(2 << 20));
    let _one = journal.create(head("a"), Batch { blobs: vec![large.clone()], ..one(1, "a") }).await.unwrap();
    std::fs::remove_dir_all(journal.blob_folder()).unwrap();
    let _two = journal.create(head("b"), Batch { blobs: vec![large.clone()], ..one(1, "a") }).await.unwrap();
    assert_eq!(journal.blob(&large.hash()).unwrap().unwrap(), large.bytes());
}

#[tokio::test]
async fn a_large_value_has_its_name_before_the_record_that_names_it_is_written() {
    let world = World::new();
    let journal = world.journal();
    let lease = create(&journal, "r").await;
    let large = Blob::new(noise(2 << 20));
    let hex = large.hash().to_string();
    let file = journal.blob_folder().join(&hex[..2]).join(&hex);
    // Another process holds the write lock, so that the record has to wait.
    let lock = rusqlite::Connection::open(world.path()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();

    let append = journal.append(&lease, Batch { blobs: vec![large.clone()], ..one(1, "a") });
    let look = async {
        while !file.exists() {
            tokio::task::yield_now().await;
        }
        assert_eq!(journal.blob(&large.hash()).unwrap(), None, "nothing names it yet");
        assert_eq!(std::fs::read(&file).unwrap(), large.bytes(), "it is whole as soon as it is there");
        lock.execute_batch("ROLLBACK").unwrap();
    };
    let (appended, ()) = tokio::join!(append, look);

    assert_eq!(appended.unwrap(), 1);
    assert_eq!(journal.blob(&large.hash()).unwrap().unwrap(), large.bytes());
}
