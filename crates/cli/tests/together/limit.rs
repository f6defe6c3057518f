//! Eight processes under one limit, against a server that refuses what is beyond it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::fakes::{Counted, Fake, Turn};
use crate::server::{Request, Response, serve};
use crate::tally::Tally;
use crate::world::{Process, World};

const PROCESSES: usize = 8;

/// What the server allows a minute.
const MOST: usize = 15;

/// Each process asks so often: all but the last answer call a tool.
const TURNS: usize = 5;

#[test]
fn eight_processes_keep_one_limit_together() {
    eight_processes_ask_within(Duration::from_millis(1_500), TURNS);
}

#[test]
#[ignore = "takes two real minutes"]
fn eight_processes_keep_one_limit_together_by_the_real_minute() {
    eight_processes_ask_within(Duration::from_mins(1), TURNS);
}

/// What is called a minute is shortened on both sides.
fn eight_processes_ask_within(window: Duration, turns: usize) {
    let tally = Arc::new(Mutex::new(Tally::new(MOST, window)));
    let seen = Arc::clone(&tally);
    let address = serve(move |request| answer(request, turns, &seen));
    let world = World::new(&format!("[limits.openai-compatible]\nrequests_per_minute = {MOST}\n"));

    let processes: Vec<Process> = (0..PROCESSES)
        .map(|_| {
            let goal = ["run", "--agent", "retriever", "--model", "openai-compatible/m", "look around"];
            let mut command = world.command(&goal);
            command.env("OPENAI_BASE_URL", format!("http://{address}/v1"));
            command.env("UPDRAFT_TEST_MINUTE_MS", window.as_millis().to_string());
            Process::start(command)
        })
        .collect();
    let ended: Vec<_> = processes.into_iter().map(Process::finish).collect();

    let tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
    let time = tally.arrivals.last().unwrap().duration_since(tally.arrivals[0]);
    println!("{} requests: {} answered, {} refused, {time:?}", tally.arrivals.len(), tally.answered, tally.refused);
    for ran in &ended {
        assert_eq!((ran.code, ran.out.trim()), (Some(0), "That is all."), "{ran:?}");
    }
    assert_eq!((tally.answered, tally.refused), (PROCESSES * turns, 0));
    let waited = ended.iter().filter(|ran| says_that_it_waits(&ran.err)).count();
    assert!(waited > 0, "{PROCESSES} x {turns} requests cannot go at once, and people are told: {ended:?}");
}

/// Such as `waiting 3 s for openai-compatible's limit`.
fn says_that_it_waits(progress: &str) -> bool {
    progress.lines().any(|line| line.contains(": waiting ") && line.ends_with("s for openai-compatible's limit"))
}

fn answer(request: &Request, turns: usize, tally: &Mutex<Tally>) -> Response {
    if !request.path.ends_with("/chat/completions") {
        return Response::nothing_here();
    }
    if !tally.lock().unwrap_or_else(PoisonError::into_inner).admits() {
        let body = r#"{"error":{"message":"too many requests","code":"rate_limit_exceeded"}}"#.to_owned();
        return Response { status: "429 Too Many Requests", content: "application/json", body };
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let results = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool").count();
    let turn = if results + 1 < turns { Turn::Call(results) } else { Turn::Say("That is all.") };
    Fake::Chat.answer(&turn, &Counted::default())
}
