//! Long logs are read in the end, whatever interrupts it; and which runs are forgotten first.

use updraft_run::{Input, Timestamp};

use super::*;
use crate::kept_log::{KeptLog, RUN, long_run, serve};
use crate::messages::TellRequest;
use crate::runs_object::tell;

/// How many messages the long run has got.
const MANY: u64 = 3000;

#[tokio::test]
async fn a_long_run_is_read_in_several_attempts_and_no_piece_of_it_twice() {
    let (kept, expected) = long_run(MANY);
    let entries = kept.entries.clone();
    let (log, kept, _serving) = serve(kept).await;
    let (runs, head) = (FoldedRuns::default(), &expected.head);
    let mut attempts = 0;
    let read = loop {
        attempts += 1;
        match runs.take_within(&log, RUN, head.clone(), Duration::ZERO).await {
            Ok(read) => break read,
            Err(HandlerFault::Later(_)) => assert!(attempts < MANY, "each attempt goes on where the last one ended"),
            Err(refused) => panic!("{refused:?}"),
        }
    };
    assert!(attempts > 5, "{attempts} attempts");
    assert_eq!((&read.head, &read.run), (head, &expected.run));
    let reads = std::mem::take(&mut *kept.reads.lock().unwrap());
    let again: Vec<&String> = entries.keys().filter(|key| reads.get(*key) != Some(&1)).collect();
    // Where entries with two records are, some that follow are asked for twice.
    assert!(again.len() < entries.len() / 20, "{again:?}");
}

#[tokio::test]
async fn what_is_kept_is_continued_and_a_decision_that_was_not_stored_forgotten() {
    let (mut kept, expected) = long_run(20);
    let (runs, head) = (FoldedRuns::default(), expected.head.clone());
    let (_, before) = long_run(12);
    // Decided here, but Restate has stored another decision.
    let input = Input::Tell { message: "of another one".to_owned() };
    let (_, other) = tell(TellRequest { at: Timestamp(2), input }, before.clone()).unwrap();
    let damaged = kept.entries[&ServiceNames::log_key(RUN, 3)].clone();
    let (log, counted, _serving) = serve(KeptLog { entries: kept.entries.clone(), ..KeptLog::default() }).await;
    runs.keep(RUN, before);
    assert_eq!(runs.take(&log, RUN, head.clone()).await.unwrap().run, expected.run);
    assert_eq!(counted.reads.lock().unwrap().len(), 8, "only what followed was read");
    runs.keep(RUN, other);
    assert_eq!(runs.take(&log, RUN, head.clone()).await.unwrap().run, expected.run);

    let changed = String::from_utf8(damaged).unwrap().replace("message 2", "message 9");
    kept.entries.insert(ServiceNames::log_key(RUN, 3), changed.into_bytes());
    let (log, _, _serving) = serve(kept).await;
    let refused = runs.take(&log, RUN, head).await.unwrap_err();
    assert!(matches!(refused, HandlerFault::Refused(422, _)), "{refused:?}");
}

#[test]
fn the_run_that_was_used_longest_ago_is_forgotten_first() {
    let runs = FoldedRuns::default();
    let kept = |runs: &FoldedRuns| -> Vec<String> { runs.kept().runs.keys().cloned().collect() };
    // The first by name is used all the time.
    runs.keep("a", FoldedRun::default());
    runs.keep("b", FoldedRun::default());
    for number in 0..MOST_FOLDED {
        runs.keep(&format!("c{number:03}"), FoldedRun::default());
        runs.keep("a", FoldedRun::default());
    }
    let left = kept(&runs);
    assert_eq!(left.len(), MOST_FOLDED);
    assert!(left.contains(&"a".to_owned()) && !left.contains(&"b".to_owned()) && !left.contains(&"c000".to_owned()));
    assert!(left.contains(&format!("c{:03}", MOST_FOLDED - 1)));
}
