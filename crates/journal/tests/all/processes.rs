//! Several processes with one journal: real ones, made from this test's own binary.

#![allow(clippy::unwrap_used, reason = "the helpers of tests fail by panicking, as tests do")]
#![allow(clippy::disallowed_methods, reason = "the other process is this binary again, told by a variable what to do")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rusqlite::Connection;
use updraft_journal::{Error, Journal, JournalOptions};
use updraft_run::{Input, Timestamp};

use crate::world::{World, create, one, run, says};

/// What the other process does: `role name`, in this variable.
const ROLE: &str = "UPDRAFT_JOURNAL_TEST_ROLE";
const PLACE: &str = "UPDRAFT_JOURNAL_TEST_PLACE";

/// Another process, ended when the test ends.
struct Other(Child);

impl Other {
    fn start(world: &World, role: &str) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::the_other_process", "--nocapture", "--include-ignored"])
            .env(ROLE, role)
            .env(PLACE, world.path())
            .stdout(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    /// Waits until it says this.
    fn says(&mut self, word: &str) {
        let lines = BufReader::new(self.0.stdout.as_mut().unwrap()).lines();
        assert!(lines.map(Result::unwrap).any(|line| line.ends_with(word)), "it never said {word}");
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test: what the other process runs.
#[tokio::test]
#[ignore = "it is what the other process runs"]
async fn the_other_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let journal =
        Journal::open(std::path::Path::new(&std::env::var(PLACE).unwrap()), JournalOptions::default()).unwrap();
    match role.split_once(' ').unwrap() {
        ("hold", name) => {
            let _lease = journal.acquire(&run(name)).await.unwrap();
            println!("\nholding");
            std::future::pending::<()>().await;
        }
        ("write", name) => {
            let lease = create(&journal, name).await;
            for at in 1..=100 {
                journal.append(&lease, one(at, name)).await.unwrap();
            }
            drop(lease);
            journal.close().await;
        }
        ("write-on", name) => {
            let lease = journal.acquire(&run(name)).await.unwrap();
            for at in 1.. {
                let last = journal.append(&lease, one(at, name)).await.unwrap();
                println!("\nacknowledged {last}");
            }
        }
        ("send", name) => {
            journal.send(&run(name), "key", &Input::Pause, Timestamp(1)).await.unwrap();
        }
        (role, _) => panic!("no such role: {role}"),
    }
}

#[tokio::test]
async fn a_live_process_keeps_its_lease_and_a_killed_one_loses_it() {
    let world = World::new();
    let journal = world.journal();
    journal.release(create(&journal, "r").await).await.unwrap();
    let mut other = Other::start(&world, "hold r");
    other.says("holding");

    let error = journal.acquire(&run("r")).await.unwrap_err();
    assert!(matches!(error, Error::Owned { pid, .. } if pid == other.0.id()), "{error}");
    let owner = journal.owner(&run("r")).unwrap().unwrap();
    assert!(owner.alive && owner.pid == other.0.id());

    other.kill();
    assert!(!journal.owner(&run("r")).unwrap().unwrap().alive);
    assert!(journal.head(&run("r")).unwrap().was_cut_off());
    let lease = journal.acquire(&run("r")).await.unwrap();
    assert_ne!(lease.epoch(), owner.epoch);
    assert_eq!(journal.append(&lease, one(1, "mine")).await.unwrap(), 1);
}

#[tokio::test]
async fn processes_that_write_at_the_same_time_lose_nothing() {
    let world = World::new();
    let journal = world.journal();
    let mut others: Vec<_> = ["a", "b", "c"].map(|name| Other::start(&world, &format!("write {name}"))).into();
    let lease = create(&journal, "mine").await;
    for at in 1..=100 {
        journal.append(&lease, one(at, "mine")).await.unwrap();
    }
    for other in &mut others {
        assert!(other.0.wait().unwrap().success());
    }
    for name in ["a", "b", "c", "mine"] {
        let expected: Vec<_> = (1..=100).map(|at| says(at, name, 1)).collect();
        assert_eq!(journal.load(&run(name)).unwrap(), expected);
    }
}

#[tokio::test]
async fn a_process_killed_while_it_writes_loses_nothing_that_was_acknowledged() {
    let world = World::new();
    let journal = world.journal();
    journal.release(create(&journal, "r").await).await.unwrap();
    for round in 1..=5 {
        let mut other = Other::start(&world, "write-on r");
        other.says(&format!("acknowledged {}", round * 20));
        other.kill();
        let records = journal.load(&run("r")).unwrap();
        assert!(records.len() >= round * 20, "{} in round {round}", records.len());
    }
}

#[tokio::test]
async fn an_input_of_another_process_wakes_the_owner() {
    let world = World::new();
    let journal = world.journal();
    let _lease = create(&journal, "r").await;
    let mut changes = journal.changes();
    let _other = Other::start(&world, "send r");
    while journal.inbox(&run("r")).unwrap().is_empty() {
        changes.next().await;
    }
}

#[tokio::test]
async fn a_former_owner_that_comes_back_cannot_write() {
    let world = World::new();
    let (stalled, other) = (world.journal(), world.journal());
    let lease = create(&stalled, "r").await;
    // As if it ran in another container, and had been stopped for a minute.
    let edit = Connection::open(world.path()).unwrap();
    edit.execute("UPDATE processes SET namespace = 'another', beat = beat - 60000", []).unwrap();

    let taken = other.acquire(&run("r")).await.unwrap();
    other.append(&taken, one(1, "theirs")).await.unwrap();

    let error = stalled.append(&lease, one(2, "late")).await.unwrap_err();
    assert_eq!(error.to_string(), "another process has taken over run `r`");
    other.release(taken).await.unwrap();
    assert!(matches!(stalled.append(&lease, one(2, "late")).await, Err(Error::Fenced(_))), "free is not ours");
    let again = stalled.acquire(&run("r")).await.unwrap();
    assert!(matches!(stalled.append(&lease, one(2, "late")).await, Err(Error::Fenced(_))), "the old lease is void");
    assert_eq!(stalled.append(&again, one(3, "mine")).await.unwrap(), 2);
    assert_eq!(stalled.load(&run("r")).unwrap(), [says(1, "theirs", 1), says(3, "mine", 1)]);
}

#[tokio::test]
async fn a_beating_process_of_another_container_keeps_its_lease() {
    let world = World::new();
    let (owner, other) = (world.journal(), world.journal());
    let lease = create(&owner, "r").await;
    let edit = Connection::open(world.path()).unwrap();
    edit.execute("UPDATE processes SET namespace = 'another', beat = beat - 10000", []).unwrap();
    assert!(matches!(other.acquire(&run("r")).await, Err(Error::Owned { .. })));
    drop(lease);
}

fn quick_beat(world: &World) -> Journal {
    let options = JournalOptions { beat: std::time::Duration::from_millis(1), ..JournalOptions::default() };
    Journal::open(&world.path(), options).unwrap()
}

#[tokio::test]
async fn a_process_that_holds_a_lease_beats_while_nothing_else_is_written() {
    let world = World::new();
    let journal = quick_beat(&world);
    let look = Connection::open(world.path()).unwrap();
    let beat = || look.query_row("SELECT beat FROM processes", [], |row| row.get::<_, i64>(0)).unwrap();
    let mut changes = journal.changes();
    let _lease = create(&journal, "r").await;
    let first = beat();
    while beat() == first {
        changes.next().await;
    }
}

#[tokio::test]
async fn a_process_that_was_taken_for_gone_notices_and_begins_anew() {
    let world = World::new();
    let journal = quick_beat(&world);
    let lease = create(&journal, "r").await;
    let edit = Connection::open(world.path()).unwrap();
    edit.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    edit.execute_batch("BEGIN IMMEDIATE; UPDATE runs SET owner = NULL; DELETE FROM processes; COMMIT").unwrap();

    assert!(matches!(journal.append(&lease, one(1, "late")).await, Err(Error::Fenced(_))));
    let again = journal.acquire(&run("r")).await.unwrap();
    assert_ne!(journal.epoch(&again), journal.epoch(&lease));
    assert_eq!(journal.append(&again, one(2, "mine")).await.unwrap(), 1);
}

#[tokio::test]
async fn a_process_id_that_was_given_again_is_another_process() {
    let world = World::new();
    let (owner, other) = (world.journal(), world.journal());
    let _lease = create(&owner, "r").await;
    let edit = Connection::open(world.path()).unwrap();
    edit.execute("UPDATE processes SET started = started - 1", []).unwrap();
    assert!(other.acquire(&run("r")).await.is_ok());
}
