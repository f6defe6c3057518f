//! Rate limits as several processes keep them together, against a server that enforces them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod crowd;
mod server;
mod shared;

use std::time::Duration;

use crowd::{Crowd, Work};
use server::Server;
use updraft_models::RateLimit;

const A_SECOND: Duration = Duration::from_secs(1);

#[test]
fn eight_processes_share_a_limit_and_the_server_never_refuses() {
    let answered = eight_processes(A_SECOND, 6);

    assert_eq!(answered, 48);
}

#[test]
#[ignore = "takes three minutes"]
fn eight_processes_share_a_limit_over_real_minutes() {
    let answered = eight_processes(Duration::from_mins(1), 6);

    assert_eq!(answered, 48);
}

/// Lets eight processes send as fast as they may, and gives how many requests were answered. None may be refused.
fn eight_processes(window: Duration, each: u32) -> usize {
    let server = Server::start(15, window);
    let folder = tempfile::tempdir().unwrap();
    let limit = RateLimit { requests: Some(15), ..RateLimit::default() };
    let work = Work { window, limit, count: each, ..Work::new(&folder.path().join("limits.db"), server.address()) };

    let crowd = Crowd::start(8, &work);
    crowd.finish();

    assert_eq!(server.refused(), 0, "a request came too early");
    server.answered()
}

#[test]
fn processes_that_were_killed_give_their_places_back_and_the_rest_go_on() {
    let server = Server::start(1_000, A_SECOND);
    let folder = tempfile::tempdir().unwrap();
    let limit = RateLimit { concurrency: Some(2), ..RateLimit::default() };
    let work = Work { limit, count: 2, ..Work::new(&folder.path().join("limits.db"), server.address()) };

    // Two processes take all places, and are killed when their requests are with the server.
    let doomed = Crowd::start(2, &Work { path: "/hold", count: 1, ..work.clone() });
    server.wait_until_held(2);
    let rest = Crowd::start(3, &work);
    doomed.kill();
    rest.finish();

    assert_eq!((server.answered(), server.refused()), (6, 0));
    assert!(server.most_at_once() <= 2, "{}", server.most_at_once());
}

#[test]
fn requests_of_killed_processes_still_count() {
    let window = A_SECOND;
    let server = Server::start(5, window);
    let folder = tempfile::tempdir().unwrap();
    let limit = RateLimit { requests: Some(5), ..RateLimit::default() };
    let work = Work { window, limit, count: 4, ..Work::new(&folder.path().join("limits.db"), server.address()) };

    let doomed = Crowd::start(3, &Work { path: "/hold", count: 1, ..work.clone() });
    server.wait_until_held(3);
    let rest = Crowd::start(3, &work);
    doomed.kill();
    rest.finish();

    assert_eq!((server.answered(), server.refused()), (12, 0));
}

/// What a child does: not a test by itself.
#[test]
#[ignore = "started by the others"]
fn child() {
    crowd::be_a_child();
}
