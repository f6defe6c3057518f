//! Tests the database under a clock of our own, against simulated servers with every kind of window.

use std::collections::BinaryHeap;

use proptest::prelude::*;

use super::*;

const WINDOW: Duration = Duration::from_mins(1);

fn at(millis: u64) -> Duration {
    Duration::from_secs(1_000) + Duration::from_millis(millis)
}

fn database() -> LimiterDatabase {
    LimiterDatabase::open(None, WINDOW, at(0)).unwrap()
}

fn ask(limit: &RateLimit, tokens: u64) -> AdmissionRequest<'_> {
    AdmissionRequest { account: "gemini", limit, tokens }
}

fn requests(most: u32) -> RateLimit {
    RateLimit { requests: Some(most), ..RateLimit::default() }
}

fn granted(step: &AdmissionResult) -> i64 {
    match step {
        AdmissionResult::Go(request) => *request,
        AdmissionResult::Wait { .. } => panic!("{step:?}"),
    }
}

fn refused(step: AdmissionResult) -> (i64, RateWait) {
    match step {
        AdmissionResult::Go(_) => panic!("{step:?}"),
        AdmissionResult::Wait { place, wait, .. } => (place, wait),
    }
}

#[test]
fn a_request_counts_until_a_window_after_it_was_heard_of() {
    let (mut database, limit) = (database(), requests(1));
    let first = granted(&database.ask(ask(&limit, 0), None, at(0)).unwrap());

    let (place, wait) = refused(database.ask(ask(&limit, 0), None, at(100)).unwrap());
    assert_eq!(wait, RateWait { until: at(60_100), is_certain: false, ahead: 0 }, "it was not heard of");
    database.heard(first, at(5_000)).unwrap();
    database.end(first, at(9_000)).unwrap();
    let (_, wait) = refused(database.ask(ask(&limit, 0), Some(place), at(10_000)).unwrap());
    assert_eq!(wait, RateWait { until: at(65_300), is_certain: true, ahead: 0 });
    refused(database.ask(ask(&limit, 0), Some(place), at(65_299)).unwrap());
    granted(&database.ask(ask(&limit, 0), Some(place), at(65_300)).unwrap());
}

#[test]
fn a_request_that_was_never_heard_of_counts_from_its_end() {
    let (mut database, limit) = (database(), requests(1));
    let first = granted(&database.ask(ask(&limit, 0), None, at(0)).unwrap());

    database.end(first, at(20_000)).unwrap();

    let (_, wait) = refused(database.ask(ask(&limit, 0), None, at(20_000)).unwrap());
    assert_eq!(wait, RateWait { until: at(83_000), is_certain: true, ahead: 0 });
}

#[test]
fn requests_are_spaced_and_those_who_wait_know_their_turn() {
    let (mut database, limit) = (database(), RateLimit::GEMINI_FREE);
    granted(&database.ask(ask(&limit, 0), None, at(0)).unwrap());

    let turns: Vec<RateWait> = (0..3).map(|_| refused(database.ask(ask(&limit, 0), None, at(0)).unwrap()).1).collect();

    let wait = |until, ahead| RateWait { until: at(until), is_certain: true, ahead };
    assert_eq!(turns, [wait(4_500, 0), wait(9_000, 1), wait(13_500, 2)]);
}

#[test]
fn who_came_first_goes_first_unless_it_is_late() {
    let (mut database, limit) = (database(), requests(1));
    let request = granted(&database.ask(ask(&limit, 0), None, at(0)).unwrap());
    database.heard(request, at(0)).unwrap();
    database.end(request, at(0)).unwrap();
    let (first, _) = refused(database.ask(ask(&limit, 0), None, at(56_000)).unwrap());
    let (second, _) = refused(database.ask(ask(&limit, 0), None, at(56_001)).unwrap());

    refused(database.ask(ask(&limit, 0), Some(second), at(60_400)).unwrap());
    refused(database.ask(ask(&limit, 0), None, at(60_400)).unwrap());
    granted(&database.ask(ask(&limit, 0), Some(second), at(61_500)).unwrap());
    refused(database.ask(ask(&limit, 0), Some(first), at(61_500)).unwrap());
}

#[test]
fn a_place_that_was_given_back_holds_nobody_up() {
    let (mut database, limit) = (database(), RateLimit { concurrency: Some(1), ..RateLimit::default() });
    let open = granted(&database.ask(ask(&limit, 0), None, at(0)).unwrap());
    let (first, wait) = refused(database.ask(ask(&limit, 0), None, at(1)).unwrap());
    assert_eq!(wait, RateWait { until: at(1), is_certain: false, ahead: 0 });
    let (second, _) = refused(database.ask(ask(&limit, 0), None, at(2)).unwrap());

    database.leave(first).unwrap();
    refused(database.ask(ask(&limit, 0), Some(second), at(3)).unwrap());
    database.end(open, at(4)).unwrap();
    granted(&database.ask(ask(&limit, 0), Some(second), at(4)).unwrap());
}

#[test]
fn tokens_are_booked_and_corrected_and_one_that_is_too_large_goes_alone() {
    let (mut database, limit) = (database(), RateLimit { tokens: Some(1_000), ..RateLimit::default() });
    let small = granted(&database.ask(ask(&limit, 600), None, at(0)).unwrap());
    database.heard(small, at(0)).unwrap();

    let (place, _) = refused(database.ask(ask(&limit, 500), None, at(1)).unwrap());
    database.used(small, 500).unwrap();
    let next = granted(&database.ask(ask(&limit, 500), Some(place), at(2)).unwrap());
    database.heard(next, at(2)).unwrap();

    let (large, wait) = refused(database.ask(ask(&limit, 5_000), None, at(3)).unwrap());
    assert_eq!(wait.until, at(60_302));
    granted(&database.ask(ask(&limit, 5_000), Some(large), at(60_302)).unwrap());
    refused(database.ask(ask(&limit, 1), None, at(60_303)).unwrap());
}

#[test]
fn a_pause_holds_everybody_of_the_account() {
    let (mut database, limit) = (database(), requests(100));
    database.pause("gemini", at(7_000)).unwrap();
    database.pause("gemini", at(3_000)).unwrap();

    let (_, wait) = refused(database.ask(ask(&limit, 0), None, at(0)).unwrap());
    assert_eq!(wait, RateWait { until: at(7_000), is_certain: true, ahead: 0 });
    granted(&database.ask(AdmissionRequest { account: "other", ..ask(&limit, 0) }, None, at(0)).unwrap());
    assert_eq!(database.pauses(at(6_999)).unwrap(), [("gemini".to_owned(), at(7_000))]);
    assert_eq!(database.pauses(at(7_000)).unwrap(), []);
}

#[test]
fn a_clock_that_was_set_back_does_not_hold_anybody_for_long() {
    let (mut database, limit) = (database(), RateLimit { spacing: Duration::from_secs(5), ..requests(1) });
    let request = granted(&database.ask(ask(&limit, 0), None, at(900_000)).unwrap());
    database.heard(request, at(900_000)).unwrap();
    database.end(request, at(900_000)).unwrap();

    let (_, wait) = refused(database.ask(ask(&limit, 0), None, at(0)).unwrap());
    assert_eq!(wait.until, at(63_000));
}

#[test]
fn places_of_a_process_that_is_gone_are_free_again() {
    let (mut database, limit) = (database(), RateLimit { concurrency: Some(1), ..RateLimit::default() });
    granted(&database.ask(ask(&limit, 0), None, at(0)).unwrap());
    let gone = process::own().replace(&std::process::id().to_string(), &u32::MAX.to_string());
    database.connection.execute("UPDATE requests SET process = ?1", [gone]).unwrap();

    let (place, _) = refused(database.ask(ask(&limit, 0), None, at(1_500)).unwrap());
    granted(&database.ask(ask(&limit, 0), Some(place), at(1_750)).unwrap());
}

/// One simulated request: how long it takes to arrive, to be answered, and to end.
#[derive(Clone, Debug)]
struct SimulatedRequest {
    comes: u64,
    to_server: u64,
    to_us: u64,
    rest: u64,
    tokens: u64,
    is_heard: bool,
}

fn fates() -> impl Strategy<Value = Vec<SimulatedRequest>> {
    // Every request has tokens. Beside one without, a request larger than the limit would go as if it were alone.
    let fate = (0_u64..200_000, 0_u64..5_000, 0_u64..5_000, 0_u64..20_000, 1_u64..700, prop::bool::weighted(0.9));
    let fate = fate.prop_map(|(comes, to_server, to_us, rest, tokens, is_heard)| SimulatedRequest {
        comes,
        to_server,
        to_us,
        rest,
        tokens,
        is_heard,
    });
    prop::collection::vec(fate, 1..24)
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SimulatedEvent {
    Asks(Option<i64>),
    Heard(i64),
    Ends(i64),
}

/// Lets all requests ask, wait and go. Returns when each request reached the server, with its tokens.
fn play(fates: &[SimulatedRequest], limit: &RateLimit) -> Vec<(u64, u64)> {
    let mut database = database();
    let mut arrivals = Vec::new();
    let mut open = 0;
    let mut last = None;
    let mut agenda = BinaryHeap::new();
    for (who, fate) in fates.iter().enumerate() {
        agenda.push(std::cmp::Reverse((fate.comes * 1_000, SimulatedEvent::Asks(None), who)));
    }
    while let Some(std::cmp::Reverse((micros, happening, who))) = agenda.pop() {
        let (now, fate) = (at(0) + Duration::from_micros(micros), &fates[who]);
        let mut then = |after: Duration, happening| {
            agenda.push(std::cmp::Reverse((micros + after.as_micros() as u64, happening, who)));
        };
        match happening {
            SimulatedEvent::Asks(place) => match database.ask(ask(limit, fate.tokens), place, now).unwrap() {
                AdmissionResult::Go(request) => {
                    open += 1;
                    assert!(limit.concurrency.is_none_or(|most| open <= most), "too many at once");
                    let spaced = last.is_none_or(|last| micros - last >= limit.spacing.as_micros() as u64);
                    assert!(spaced, "too close");
                    last = Some(micros);
                    arrivals.push((micros + fate.to_server * 1_000, fate.tokens));
                    let (arrives, answered) = (fate.to_server, fate.to_server + fate.to_us);
                    if fate.is_heard {
                        then(Duration::from_millis(answered), SimulatedEvent::Heard(request));
                        then(Duration::from_millis(answered + fate.rest), SimulatedEvent::Ends(request));
                    } else {
                        // Broken off just before it arrived.
                        then(Duration::from_millis(arrives.saturating_sub(2_000)), SimulatedEvent::Ends(request));
                    }
                }
                AdmissionResult::Wait { place, sleep, .. } => {
                    then(sleep + Duration::from_micros(1 + who as u64), SimulatedEvent::Asks(Some(place)));
                }
            },
            SimulatedEvent::Heard(request) => database.heard(request, now).unwrap(),
            SimulatedEvent::Ends(request) => {
                open -= 1;
                database.end(request, now).unwrap();
            }
        }
    }
    assert_eq!(arrivals.len(), fates.len(), "everybody went");
    arrivals.sort_unstable();
    arrivals
}

/// The maximum that a server counts which looks back a minute at each arrival: no window of a minute contains more.
fn worst_minute(arrivals: &[(u64, u64)]) -> (usize, u64) {
    let minutes = arrivals.iter().map(|(end, _)| {
        let within: Vec<u64> = arrivals
            .iter()
            .filter(|(moment, _)| moment <= end && moment + 60_000_000 >= *end)
            .map(|(_, n)| *n)
            .collect();
        (within.len(), if within.len() == 1 { 0 } else { within.iter().sum() })
    });
    minutes.fold((0, 0), |most, minute| (most.0.max(minute.0), most.1.max(minute.1)))
}

/// The same for consecutive windows of a minute that begin at a fixed moment.
fn worst_fixed_minute(arrivals: &[(u64, u64)], phase: u64) -> usize {
    let mut counts = std::collections::BTreeMap::<u64, usize>::new();
    for (moment, _) in arrivals {
        *counts.entry((moment + phase) / 60_000_000).or_default() += 1;
    }
    counts.into_values().max().unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_server_ever_counts_more_requests_than_the_limit(
        fates in fates(), most in 1_u32..16, spacing in 0_u64..6_000, concurrency in prop::option::of(1_u32..5),
        phase in 0_u64..60_000_000,
    ) {
        let limit = RateLimit { spacing: Duration::from_millis(spacing), concurrency, ..requests(most) };
        let arrivals = play(&fates, &limit);
        prop_assert!(worst_minute(&arrivals).0 <= most as usize);
        prop_assert!(worst_fixed_minute(&arrivals, phase) <= most as usize);
    }

    #[test]
    fn no_server_ever_counts_more_tokens_than_the_limit(fates in fates(), most in 300_u64..3_000) {
        let limit = RateLimit { tokens: Some(most), ..RateLimit::default() };
        prop_assert!(worst_minute(&play(&fates, &limit)).1 <= most);
    }

    #[test]
    fn nothing_is_wasted_where_answers_come_at_once(count in 1_u64..60, most in 1_u32..16) {
        let fate = SimulatedRequest { comes: 0, to_server: 0, to_us: 0, rest: 0, tokens: 0, is_heard: true };
        let arrivals = play(&vec![fate; count as usize], &requests(most));
        let minutes = (count - 1) / u64::from(most);
        let last = arrivals[arrivals.len() - 1].0;
        prop_assert!(last <= minutes * 60_400_000 + 1_000_000, "{last}");
    }
}
