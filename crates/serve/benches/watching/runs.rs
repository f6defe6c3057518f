//! Many watchers, many runs, and watchers that do not read or have gone.

use std::ops::ControlFlow;

use tokio::task::JoinSet;
use updraft_journal::Journal;
use updraft_run::RunId;

use crate::figures::{DelayList, compare};
use crate::floor::FloorMessage;
use crate::process::{ServerProcess, TURNS, script};
use crate::watch::{self, WatchedRun};

/// When each event of a run was decided, in microseconds; the first is event 1.
fn times(journal: &Journal, run: &str) -> Vec<u64> {
    let mut times = Vec::new();
    let read = journal.read(&RunId::parse(run).unwrap(), 0, &mut |_, record| {
        times.extend(record.events.iter().map(|_| record.at.0 as u64 * 1_000));
        ControlFlow::Continue(())
    });
    read.unwrap();
    times
}

/// Adds how long each event took to a watcher. Every event must be covered by a patch, and positions only grow.
fn deliveries(seen: &WatchedRun, times: &[u64], delays: &mut DelayList) {
    let mut known = 1;
    for arrival in &seen.arrivals {
        assert!(arrival.position > known, "positions only grow");
        // What happened before somebody watched was not late.
        for at in (known..arrival.position).map(|event| times[event as usize]).filter(|at| *at >= seen.since) {
            delays.add(at, arrival.at);
        }
        known = arrival.position;
    }
    assert_eq!(known, times.len() as u64, "the watcher has seen the end");
    if !seen.events.is_empty() {
        let all: Vec<u64> = (2..=times.len() as u64).collect();
        assert_eq!(seen.events, all, "every event arrives, once and in order");
    }
}

/// What the floor is to send: the patches that these watchers got, at the same times.
fn schedule(seen: &[&WatchedRun]) -> Vec<FloorMessage> {
    let began = seen.iter().filter_map(|run| run.arrivals.first()).map(|first| first.at).min().unwrap_or_default();
    let of_channel = |(channel, run): (usize, &&WatchedRun)| {
        let message =
            move |arrival: &watch::Arrival| FloorMessage { channel, at: arrival.at - began, bytes: arrival.bytes };
        run.arrivals.iter().map(message).collect::<Vec<_>>()
    };
    let mut messages: Vec<FloorMessage> = seen.iter().enumerate().flat_map(of_channel).collect();
    messages.sort_by_key(|message| message.at);
    messages
}

/// Sends the same to as many watchers of the bare server.
async fn floor(server: &ServerProcess, seen: &[&WatchedRun], watchers: usize) -> DelayList {
    let mut watching = JoinSet::new();
    for channel in 0..seen.len() {
        for _ in 0..watchers {
            watching.spawn(watch::watch_floor(watch::open_floor(&server.place.floor, channel).await));
        }
    }
    let messages = schedule(seen);
    watch::replay(&server.place.floor, &messages).await;
    let mut delays = DelayList::default();
    for arrived in watching.join_all().await {
        for (sent, came) in arrived {
            delays.add(sent, came);
        }
    }
    assert_eq!(delays.count(), messages.len() * watchers, "the floor has lost none either");
    delays
}

/// Many watchers of one run.
pub(crate) async fn one_run(watchers: usize) {
    let server = ServerProcess::start(&script(10, 5_000, 50));
    let alone = server.memory().0;
    let run = watch::start(&server.place, "Look around").await;
    let mut watching = JoinSet::new();
    for n in 0..watchers {
        let stream = watch::open(&server.place, &run, if n % 100 == 1 { "events" } else { "graph" }).await;
        watching.spawn(watch::watch(stream));
    }
    let opened = server.memory().0;
    let seen = watching.join_all().await;
    let (now, most) = server.memory();
    let times = times(&server.journal(), &run);
    let mut ours = DelayList::default();
    for watcher in &seen {
        deliveries(watcher, &times, &mut ours);
    }
    let one = seen.iter().find(|watcher| watcher.events.is_empty()).unwrap();
    let bytes: usize = one.arrivals.iter().map(|arrival| arrival.bytes).sum();
    let patches = one.arrivals.len();
    println!(
        "\n{watchers} watchers of a run of {} events, in {patches} patches of {} bytes",
        times.len(),
        bytes / patches
    );
    println!("memory of the server: {alone:.0} MB, watched {opened:.0}, at the end {now:.0}, at most {most:.0}");
    compare(&mut ours, &mut floor(&server, &[one], watchers).await);
}

/// Many runs at once, each with a few watchers.
pub(crate) async fn many_runs(runs: usize, watchers: usize) {
    let server = ServerProcess::start(&script(1, 5_000, 1_000));
    let alone = server.memory().0;
    let (mut ids, mut watching) = (Vec::new(), JoinSet::new());
    for n in 0..runs {
        let id = watch::start(&server.place, &format!("Look around, part {n}")).await;
        for watcher in 0..watchers {
            let stream = watch::open(&server.place, &id, if watcher == 1 { "events" } else { "graph" }).await;
            watching.spawn(async move { (n, watch::watch(stream).await) });
        }
        ids.push(id);
    }
    let mut seen = watching.join_all().await;
    seen.sort_by_key(|(n, watcher)| (*n, !watcher.events.is_empty()));
    let (now, most) = server.memory();
    let journal = server.journal();
    let mut ours = DelayList::default();
    let mut events = 0;
    for (n, id) in ids.iter().enumerate() {
        let times = times(&journal, id);
        events += times.len();
        seen.iter().filter(|(of, _)| *of == n).for_each(|(_, watcher)| deliveries(watcher, &times, &mut ours));
    }
    println!("\n{runs} runs at once with {watchers} watchers each, {events} events");
    println!("memory of the server: {alone:.0} MB, at the end {now:.0}, at most {most:.0}");
    let firsts: Vec<&WatchedRun> = seen.iter().step_by(watchers).map(|(_, watcher)| watcher).collect();
    compare(&mut ours, &mut floor(&server, &firsts, watchers).await);
}

/// How many times the run is measured with them, and how many times without.
const ROUNDS: usize = 10;

/// The same run, whose model answers after `pace` ms, with and without watchers that never read, and watchers that have gone.
pub(crate) async fn slow_watchers(watchers: usize, pace: u64) {
    let steps = 30;
    let server = ServerProcess::start(&script(steps, 1_500, pace));
    let mut speeds = [Vec::new(), Vec::new()];
    let mut memory = Vec::new();
    for round in 0..2 * ROUNDS {
        let run = watch::start(&server.place, &format!("Look around, round {round}")).await;
        let (mut silent, mut gone) = (Vec::new(), Vec::new());
        if round % 2 == 1 {
            for n in 0..2 * watchers {
                let stream = watch::open(&server.place, &run, "timeline").await;
                if n % 2 == 0 { silent.push(stream) } else { gone.push(stream) }
            }
        }
        for stream in &gone {
            watch::vanish(stream);
        }
        drop(gone);
        watch::watch(watch::open(&server.place, &run, "graph").await).await;
        let times = times(&server.journal(), &run);
        // The plan comes after the longest wait; what follows is as fast as it can be.
        let planned = times.windows(2).max_by_key(|pair| pair[1] - pair[0]).map_or(0, |pair| pair[1]);
        let took = (times[times.len() - 1] - planned) as f64 / 1e6;
        speeds[round % 2].push((steps * TURNS) as f64 / took);
        memory.push(server.memory().0);
    }
    for list in &mut speeds {
        list.sort_by(f64::total_cmp);
    }
    let [without, with] = speeds.map(|list| (list[ROUNDS / 2], list[ROUNDS - 1]));
    println!(
        "\na model that answers after {pace} ms: {watchers} watchers that never read and {watchers} that vanish, in turns \
         with none, {ROUNDS} rounds each"
    );
    println!(
        "turns a second, median and most: without {:.0} {:.0}, with them {:.0} {:.0}",
        without.0, without.1, with.0, with.1
    );
    println!(
        "ratio {:.2} {:.2}; memory of the server {:.0} to {:.0} MB",
        with.0 / without.0,
        with.1 / without.1,
        memory[0],
        memory[2 * ROUNDS - 1]
    );
}
