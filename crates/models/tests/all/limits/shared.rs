//! Two keepers of limits on one file, as two processes would be, and what happens when the file is of no use.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use updraft_models::{RateLimit, RateLimiter};

const ONE: RateLimit = RateLimit { concurrency: Some(1), requests: None, tokens: None, spacing: Duration::ZERO };

/// Longer than anything here takes, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(30);

fn two() -> (tempfile::TempDir, RateLimiter, RateLimiter) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.db");
    (folder, RateLimiter::at(&path), RateLimiter::at(&path))
}

/// Whether a request may go now, without waiting.
async fn goes(limits: &RateLimiter, limit: &RateLimit) -> bool {
    let mut waits = 0;
    let admitted = tokio::time::timeout(Duration::ZERO, limits.admit("a", limit, 0, &mut |_| waits += 1)).await;
    admitted.is_ok()
}

#[tokio::test]
async fn a_place_taken_by_one_is_missing_to_the_other_until_it_is_given_back() {
    let (_folder, here, there) = two();
    let permit = here.admit("a", &ONE, 0, &mut |_| {}).await;

    assert!(!goes(&there, &ONE).await);
    drop(permit);
    let admitted = tokio::time::timeout(PATIENCE, there.admit("a", &ONE, 0, &mut |_| {})).await;
    assert!(admitted.is_ok());
}

#[tokio::test]
async fn a_wait_that_was_given_up_leaves_nothing_behind() {
    let (_folder, here, there) = two();
    let permit = here.admit("a", &ONE, 0, &mut |_| {}).await;
    for _ in 0..5 {
        assert!(!goes(&there, &ONE).await);
    }
    drop(permit);

    assert!(goes(&here, &ONE).await, "nobody is ahead");
}

#[tokio::test]
async fn a_pause_is_seen_by_the_other_with_a_limit_or_without() {
    let (_folder, here, there) = two();
    here.pause("a", Duration::from_mins(10));

    for limit in [ONE, RateLimit::default()] {
        assert!(!goes(&here, &limit).await);
        assert!(!goes(&there, &limit).await);
    }
    assert!(tokio::time::timeout(PATIENCE, there.admit("other", &ONE, 0, &mut |_| {})).await.is_ok());
}

#[tokio::test]
async fn who_waits_is_told_how_long() {
    let limits = RateLimiter::in_process();
    limits.pause("a", Duration::from_mins(10));
    let mut told = Vec::new();

    let mut waiting = |wait: Duration| told.push(wait.as_secs_f64().round());
    let admitted = limits.admit("a", &ONE, 0, &mut waiting);
    assert!(tokio::time::timeout(Duration::from_millis(1), admitted).await.is_err());
    assert_eq!(told, [600.0], "once");
}

#[tokio::test]
async fn an_account_without_a_limit_makes_no_file() {
    let (folder, here, _) = two();

    drop(here.admit("a", &RateLimit::default(), 0, &mut |_| {}).await);

    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_file_that_cannot_be_used_does_not_stop_the_work_and_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a database, and longer than the head of one. ".repeat(20)).unwrap();
    let nowhere = folder.path().join("no/such/folder/limits.db");

    for path in [&text, &nowhere] {
        let limits = RateLimiter::at(path);
        let permit = limits.admit("a", &ONE, 0, &mut |_| {}).await;
        assert!(!goes(&limits, &ONE).await, "kept in this process");
        drop(permit);
        assert!(goes(&limits, &ONE).await);
    }
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("not a database"));
}

#[tokio::test]
async fn a_file_of_ours_that_was_broken_is_begun_anew() {
    let (folder, here, there) = two();
    drop(here.admit("a", &ONE, 0, &mut |_| {}).await);
    drop(here);
    let path = folder.path().join("limits.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100..].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();

    let permit = there.admit("a", &ONE, 0, &mut |_| {}).await;
    assert!(!goes(&RateLimiter::at(&path), &ONE).await, "shared again");
    drop(permit);
}

#[tokio::test]
async fn many_in_one_process_all_go_and_never_more_than_allowed() {
    let limits = RateLimiter::in_process();
    let limit = RateLimit { concurrency: Some(3), ..RateLimit::default() };
    let (open, most) = (AtomicUsize::new(0), AtomicUsize::new(0));

    let work = (0..40).map(|_| async {
        let permit = limits.admit("a", &limit, 0, &mut |_| {}).await;
        most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        open.fetch_sub(1, Ordering::SeqCst);
        drop(permit);
    });
    let all = futures_util::future::join_all(work);
    assert!(tokio::time::timeout(PATIENCE, all).await.is_ok(), "somebody waits for ever");

    assert_eq!(most.into_inner(), 3);
}
