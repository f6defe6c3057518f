//! Small values beside the runs.

use std::time::Duration;

use updraft_journal::{Change, Journal};

use crate::world::World;

const LONG: Duration = Duration::from_hours(1);

async fn set(journal: &Journal, scope: &str, key: &str, value: &str) {
    let value = value.to_owned();
    journal.change_stored(scope, key, move |_| (Change::Set(value.clone()), ())).await.unwrap();
}

fn value(journal: &Journal, scope: &str, key: &str) -> Option<String> {
    journal.stored(scope, key).unwrap().map(|stored| stored.value)
}

#[tokio::test]
async fn a_value_is_found_again_by_its_scope_and_key_after_a_restart() {
    let world = World::new();
    let journal = world.journal();
    assert_eq!(value(&journal, "a", "k"), None, "nothing was ever stored");
    assert!(journal.stored_scopes("").unwrap().is_empty());
    set(&journal, "a", "k", "1").await;
    set(&journal, "a", "k", "2").await;
    set(&journal, "b", "k", "other").await;
    journal.close().await;
    let journal = world.journal();
    assert_eq!(value(&journal, "a", "k").as_deref(), Some("2"));
    assert_eq!((journal.stored_scopes("").unwrap().len(), journal.stored_scopes("b").unwrap()), (2, vec!["b".into()]));
    let before = journal.change_stored("a", "k", |stored| (Change::Remove, stored.map(|stored| stored.value))).await;
    assert_eq!(before.unwrap().as_deref(), Some("2"));
    let nothing = journal.change_stored("a", "k", |stored| (Change::Nothing, stored)).await.unwrap();
    assert_eq!((nothing, value(&journal, "b", "k").as_deref()), (None, Some("other")));
}

#[tokio::test]
async fn changes_of_two_processes_at_once_are_all_made() {
    let world = World::new();
    let (one, other) = (world.journal(), world.journal());
    let count = |journal: Journal| async move {
        for _ in 0..20 {
            let add = |stored: Option<updraft_journal::StoredValue>| {
                let now: u32 = stored.map_or(0, |stored| stored.value.parse().unwrap());
                (Change::Set((now + 1).to_string()), ())
            };
            journal.change_stored("a", "count", add).await.unwrap();
        }
    };
    tokio::join!(count(one.clone()), count(other));
    assert_eq!(value(&one, "a", "count").as_deref(), Some("40"));
}

#[tokio::test]
async fn the_oldest_beyond_the_most_are_swept_away_and_so_are_those_that_nobody_wrote_for_long() {
    let world = World::new();
    let journal = world.journal();
    for key in ["first", "second", "third", "first"] {
        set(&journal, "a", key, "x").await;
    }
    set(&journal, "b", "else", "x").await;
    journal.sweep_stored("a", LONG, 2).await.unwrap();
    let there = |key| value(&journal, "a", key).is_some();
    assert_eq!((there("first"), there("second"), there("third")), (true, false, true));
    journal.sweep_stored("a", Duration::ZERO, 2).await.unwrap();
    assert_eq!((value(&journal, "a", "first"), value(&journal, "b", "else").is_some()), (None, true));
}
