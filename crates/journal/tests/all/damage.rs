//! Files that are not ours, too new, cut off, full or out of reach: said clearly, and never made worse.

#![allow(clippy::unwrap_used, reason = "the helpers of tests fail by panicking, as tests do")]
#![allow(clippy::disallowed_methods, reason = "a small disk is made by mount(8)")]

use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use updraft_journal::{Batch, Blob, Error, Journal, JournalOptions};
use updraft_run::Timestamp;

use crate::world::{World, create, head, one, run, says};

fn open(path: &Path) -> Result<Journal, Error> {
    Journal::open(path, JournalOptions::default())
}

/// A journal with 40 records in the run `r`, closed.
async fn filled(world: &World) {
    let journal = world.journal();
    let lease = create(&journal, "r").await;
    for at in 1..=40 {
        journal.append(&lease, Batch::of(vec![says(at, &"word ".repeat(100), 1)])).await.unwrap();
    }
    journal.release(lease).await.unwrap();
    journal.close().await;
}

#[test]
fn garbage_is_refused_and_left_alone() {
    let world = World::new();
    for garbage in [&b"x"[..], b"not a database at all\n", &[b'x'; 10_000], &[0; 4096]] {
        std::fs::write(world.path(), garbage).unwrap();
        let error = open(&world.path()).unwrap_err();
        let path = std::fs::canonicalize(world.path()).unwrap();
        assert_eq!(error.to_string(), format!("`{}` is not an Updraft journal: it is not a database", path.display()));
        assert_eq!(
            error.hint().unwrap(),
            format!("move `{}` away, or choose another file; it was not changed", path.display())
        );
        assert_eq!(std::fs::read(world.path()).unwrap(), garbage);
        assert!(matches!(
            Journal::open_existing(&world.path(), JournalOptions::default()),
            Err(Error::NotAJournal { .. })
        ));
    }
    assert_eq!(world.files(), ["journal.db"]);
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    let world = World::new();
    Connection::open(world.path())
        .unwrap()
        .execute_batch("CREATE TABLE theirs(x); INSERT INTO theirs VALUES(1)")
        .unwrap();
    let before = std::fs::read(world.path()).unwrap();
    let error = open(&world.path()).unwrap_err();
    assert!(error.to_string().ends_with("is not an Updraft journal: it is a database of another program"), "{error}");
    assert_eq!(std::fs::read(world.path()).unwrap(), before);
}

#[test]
fn an_empty_file_becomes_a_journal_and_a_missing_one_is_not_made_by_looking() {
    let world = World::new();
    assert!(Journal::open_existing(&world.path(), JournalOptions::default()).unwrap().is_none());
    assert_eq!(world.files(), [""; 0]);
    std::fs::write(world.path(), b"").unwrap();
    assert!(Journal::open_existing(&world.path(), JournalOptions::default()).unwrap().is_none());
    open(&world.path()).unwrap();
}

#[test]
fn a_folder_is_not_a_journal() {
    let world = World::new();
    std::fs::create_dir(world.path()).unwrap();
    assert!(open(&world.path()).is_err());
}

#[tokio::test]
async fn a_newer_layout_is_read_but_not_written() {
    let world = World::new();
    filled(&world).await;
    let edit = Connection::open(world.path()).unwrap();
    edit.execute_batch("PRAGMA user_version = 7; UPDATE meta SET value = '9.1.0'").unwrap();
    drop(edit);

    let journal = world.journal();
    assert_eq!(journal.load(&run("r")).unwrap().len(), 40);
    let error = journal.acquire(&run("r")).await.unwrap_err();
    assert!(
        error.to_string().ends_with("has layout 7, written by Updraft 9.1.0; this one knows layouts up to 2"),
        "{error}"
    );
    assert!(matches!(journal.create(head("s"), Batch::default()).await, Err(Error::Newer { .. })));
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    // Root may write to any folder of a disk, but not here.
    for path in ["/proc/updraft/journal.db", "/proc/journal.db"] {
        let error = open(Path::new(path)).unwrap_err();
        assert!(error.to_string().starts_with(&format!("cannot write `{path}`: ")), "{error}");
        assert_eq!(error.hint().unwrap(), "make the folder writable, or choose another one");
    }
}

/// A disk of its own, if we may make one.
struct Disk(PathBuf);

impl Disk {
    fn new(at: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).status();
        mounted.is_ok_and(|status| status.success()).then(|| Self(at.to_path_buf()))
    }

    fn remount(&self, options: &str) {
        let status = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.0).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_is_said_and_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::new(&folder.path().join("disk"), "size=1m") else {
        println!("skipped: only root can make a small disk");
        return;
    };
    let path = disk.0.join("journal.db");
    let journal = open(&path).unwrap();
    let lease = create(&journal, "r").await;
    let mut acknowledged = 0;
    let error = loop {
        match journal.append(&lease, one(acknowledged + 1, &"word ".repeat(1000))).await {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Full { .. }), "{error:?}");
    assert!(error.hint().unwrap().starts_with("free some space"), "{error:?}");
    assert_eq!(journal.load(&run("r")).unwrap().len() as i64, acknowledged);

    let blob = Blob::new(vec![7; 2 << 20]);
    let error = journal.append(&lease, Batch { blobs: vec![blob], ..one(0, "with a file") }).await.unwrap_err();
    assert!(matches!(error, Error::Full { .. }), "{error:?}");

    disk.remount("size=8m");
    assert_eq!(journal.append(&lease, one(0, "room again")).await.unwrap() as i64, acknowledged + 1);
    drop(lease);
    journal.close().await;
    assert_eq!(open(&path).unwrap().load(&run("r")).unwrap().len() as i64, acknowledged + 1);
}

#[tokio::test]
async fn a_journal_on_a_full_disk_can_be_read_and_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::new(&folder.path().join("disk"), "size=40m") else {
        println!("skipped: only root can make a small disk");
        return;
    };
    let path = disk.0.join("journal.db");
    let journal = open(&path).unwrap();
    for name in ["small", "large"] {
        let lease = create(&journal, name).await;
        for at in 1..=if name == "large" { 400 } else { 3 } {
            journal.append(&lease, one(at, &"word ".repeat(2000))).await.unwrap();
        }
        let over = Batch { status: Some(updraft_journal::Status::Done), ..Batch::default() };
        journal.append(&lease, over).await.unwrap();
        drop(lease);
    }
    journal.close().await;
    let mut filler = std::fs::File::create(disk.0.join("filler")).unwrap();
    while std::io::Write::write(&mut filler, &[1; 4096]).is_ok_and(|written| written > 0) {}

    let journal = Journal::open_existing(&path, JournalOptions::default()).unwrap().unwrap();
    assert_eq!(journal.list(&updraft_journal::RunFilter::default()).unwrap().len(), 2);
    assert_eq!(journal.load(&run("small")).unwrap().len(), 3);
    drop(journal);
    let journal = Journal::open_existing(&path, JournalOptions::default()).unwrap().unwrap();
    journal.delete(&run("large"), false).await.unwrap();
    assert_eq!(journal.prune(Timestamp(i64::MAX), None).await.unwrap(), [run("small")]);
    journal.close().await;
    assert!(path.metadata().unwrap().len() < 1 << 20, "the room was given back");
}

#[tokio::test]
async fn a_disk_that_became_read_only_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::new(&folder.path().join("disk"), "size=8m") else {
        println!("skipped: only root can make a read-only disk");
        return;
    };
    let path = disk.0.join("journal.db");
    let journal = open(&path).unwrap();
    drop(create(&journal, "r").await);
    journal.close().await;
    disk.remount("ro");
    let error = match open(&path) {
        Ok(journal) => journal.acquire(&run("r")).await.unwrap_err(),
        Err(error) => error,
    };
    assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
    let error = open(&disk.0.join("deeper/journal.db")).unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
    disk.remount("rw");
    assert!(open(&path).unwrap().acquire(&run("r")).await.is_ok());
}

#[tokio::test]
async fn a_damaged_record_is_named_and_other_runs_are_not_affected() {
    let world = World::new();
    filled(&world).await;
    let journal = world.journal();
    let _other = journal.create(head("other"), one(1, "fine")).await.unwrap();
    let edit = Connection::open(world.path()).unwrap();
    let why = |journal: &Journal| journal.load(&run("r")).unwrap_err().to_string();

    edit.execute("UPDATE records SET body = '{\"e\":[{\"from\":\"mars\"}]}' WHERE seq = 17", []).unwrap_err();
    edit.execute("UPDATE records SET at = at + 1 WHERE seq = 17", []).unwrap();
    let damaged = "the journal is damaged: run `r`, event 17: ";
    assert_eq!(why(&journal), format!("{damaged}it is not what was written: its hash differs"));
    // Records of older versions have no hashes.
    edit.execute("UPDATE records SET chain = NULL WHERE run = 1", []).unwrap();
    edit.execute("UPDATE records SET body = CAST('{\"e\":[{\"mars\":1}]}' AS BLOB) WHERE seq = 17", []).unwrap();
    assert!(why(&journal).starts_with(&format!("{damaged}unknown variant `mars`")), "{}", why(&journal));
    edit.execute("UPDATE records SET body = CAST('{\"i\":\"pause\",\"e\":[]}' AS BLOB) WHERE seq = 17", []).unwrap();
    assert!(why(&journal).ends_with("it should contain 1 events and contains 0"), "{}", why(&journal));
    edit.execute("DELETE FROM records WHERE seq = 17 AND run = 1", []).unwrap();
    assert_eq!(why(&journal), format!("{damaged}it is missing"));

    assert_eq!(journal.load(&run("other")).unwrap(), [says(1, "fine", 1)]);
    assert_eq!(journal.list(&updraft_journal::RunFilter::default()).unwrap().len(), 2);
}

#[tokio::test]
async fn a_journal_whose_log_lost_its_file_is_refused_and_the_log_kept() {
    let world = World::new();
    let journal = world.journal();
    let _lease = create(&journal, "r").await;
    let elsewhere = World::new();
    let log = world.path().with_file_name("journal.db-wal");
    std::fs::copy(&log, elsewhere.path().with_file_name("journal.db-wal")).unwrap();
    let error = open(&elsewhere.path()).unwrap_err();
    assert!(matches!(&error, Error::Damaged { why, .. } if why.starts_with("it is empty, but")), "{error}");
    assert_eq!(elsewhere.files(), ["journal.db-wal"]);
}

/// Opens what is left of a journal and tells how many records of `r` can be read, or what was said instead.
fn survivors(folder: &Path) -> Result<usize, Error> {
    let journal = open(&folder.join("journal.db"))?;
    match journal.load(&run("r")) {
        Ok(records) => {
            for (record, at) in records.iter().zip(1..) {
                assert_eq!(*record, says(at, &"word ".repeat(100), 1), "a torn record was taken for whole");
            }
            Ok(records.len())
        }
        Err(Error::UnknownRun { .. }) => Ok(0),
        Err(error) => Err(error),
    }
}

#[tokio::test]
async fn a_file_cut_off_anywhere_is_never_taken_for_whole() {
    let world = World::new();
    filled(&world).await;
    let whole = std::fs::read(world.path()).unwrap();
    for len in (0..whole.len()).step_by(512).chain([1, 15, 16, 99, 100]) {
        let cut = World::quick();
        std::fs::write(cut.path(), &whole[..len]).unwrap();
        match survivors(cut.path().parent().unwrap()) {
            Err(Error::Damaged { .. }) => {}
            Ok(0) if len == 0 => {}
            other => panic!("cut at {len} of {}: {other:?}", whole.len()),
        }
        if len > 0 {
            assert_eq!(std::fs::read(cut.path()).unwrap().len(), len, "it was changed");
        }
    }
}

#[tokio::test]
async fn a_log_cut_off_anywhere_gives_what_is_wholly_in_it() {
    let world = World::new();
    let journal = world.journal();
    let log = world.path().with_file_name("journal.db-wal");
    let lease = create(&journal, "r").await;
    let mut ends = Vec::new();
    for at in 1..=20 {
        journal.append(&lease, Batch::of(vec![says(at, &"word ".repeat(100), 1)])).await.unwrap();
        ends.push(log.metadata().unwrap().len());
    }
    let (file, bytes) = (std::fs::read(world.path()).unwrap(), std::fs::read(&log).unwrap());
    for len in (0..=bytes.len()).step_by(512).chain([bytes.len()]) {
        let cut = World::quick();
        std::fs::write(cut.path(), &file).unwrap();
        std::fs::write(cut.path().with_file_name("journal.db-wal"), &bytes[..len]).unwrap();
        let whole = ends.iter().filter(|end| **end <= len as u64).count();
        match survivors(cut.path().parent().unwrap()) {
            Ok(found) => assert_eq!(found, whole, "cut at {len}"),
            Err(error) => panic!("cut at {len}: {error}"),
        }
    }
}

#[tokio::test]
async fn bytes_changed_anywhere_never_make_it_panic() {
    let world = World::new();
    filled(&world).await;
    let whole = std::fs::read(world.path()).unwrap();
    for place in (0..whole.len()).step_by(491) {
        let hurt = World::quick();
        let mut bytes = whole.clone();
        bytes[place] ^= 0x55;
        std::fs::write(hurt.path(), &bytes).unwrap();
        if let Ok(journal) = open(&hurt.path()) {
            let _ = journal.load(&run("r"));
            let _ = journal.list(&updraft_journal::RunFilter::default());
            let _ = journal.prune(Timestamp(0), None).await;
        }
    }
}
