//! Answers without end are given up, and take no more memory than an answer may. Alone in its process, to be measured.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "shared with the tests of the dialects")]
#[path = "all/wire/houses.rs"]
mod houses;
#[allow(dead_code, reason = "shared with the tests of the dialects")]
#[path = "all/wire/server.rs"]
mod server;
#[allow(dead_code, reason = "shared with the tests of the dialects")]
#[path = "all/wire/talk.rs"]
mod talk;

use std::time::Duration;

use updraft_models::{Error, ModelAccess, RetryPolicy, resolve};

use crate::houses::{HOUSES, House};
use crate::server::{Act, Server, chunk, chunked, head};
use crate::talk::{Talk, access};

const MIB: usize = 1 << 20;

/// What is sent again and again, in a piece of this size.
const PIECE: usize = 32 << 10;

/// Sends `begin`, and then `more` to the end of 100 MB; what we say to it, and how much of it was taken.
async fn ask(house: &House, begin: Vec<u8>, more: Vec<u8>) -> (Error, usize) {
    let times = 100_000_000 / more.len();
    let server = Server::always(vec![Act::Send(begin), Act::Repeat(more, times)]).await;
    let patience =
        RetryPolicy { silence: Duration::from_secs(30), stall: Duration::from_secs(30), ..access(&server).patience };
    let model = resolve(house.spec, &ModelAccess { patience, ..access(&server) }).unwrap();

    let mut talk = Talk::new();
    let error = talk.ask(&*model).await.unwrap_err();

    (error, server.repeated())
}

/// A piece of an endless value, in chunks.
fn filled(letter: &str) -> Vec<u8> {
    chunk(letter.repeat(PIECE / letter.len()).as_bytes())
}

async fn check(house: &House, what: &str, begin: Vec<u8>, more: Vec<u8>) {
    let (error, taken) = ask(house, begin, more).await;

    let Error::Broken { message, again: false, .. } = &error else { panic!("{what} of {}: {error:?}", house.spec) };
    assert_eq!(message, "the answer is too large: more than 64 MiB", "{what} of {}", house.spec);
    // What the system holds for us on the way was sent, but never taken.
    assert!((60 * MIB..85 * MIB).contains(&taken), "{what} of {}: {} MiB", house.spec, taken / MIB);
}

/// The most memory this process has ever held.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_answer_without_end_takes_no_more_memory_than_an_answer_may() {
    let before = peak();
    for house in HOUSES {
        let begin = || head(house.content_type);
        let long = house.part(&"x".repeat(PIECE));
        check(house, "many parts", begin(), chunk(long.as_bytes())).await;

        let (open, _) = house.part.split_once("TEXT").unwrap();
        check(house, "one part", [begin(), chunk(open.as_bytes())].concat(), filled("x")).await;
    }
    // Limits that hold before a dialect reads anything: one house for each kind of stream.
    for kind in ["text/event-stream", "application/x-ndjson"] {
        let house = HOUSES.iter().find(|house| house.content_type == kind).unwrap();
        let begin = || head(house.content_type);
        check(house, "one line", begin(), filled("x")).await;
        check(house, "a whole answer", [head("application/json"), chunk(b"{\"x\":\"")].concat(), filled("x")).await;

        let ping = if house.content_type == "text/event-stream" { ": ping\n\n" } else { "\n" };
        check(house, "signs of life", begin(), filled(ping)).await;
    }
    for house in HOUSES {
        let (error, taken) = ask(house, b"HTTP/1.1 200 OK\r\nx-long: ".to_vec(), vec![b'x'; PIECE]).await;
        assert!(matches!(error, Error::Broken { .. }), "a header: {error:?}");
        assert!(taken < 20 * MIB, "a header: {} MiB", taken / MIB);
    }

    let ollama = HOUSES.iter().find(|house| house.spec.starts_with("ollama")).unwrap();
    let server = Server::always(chunked(ollama.content_type, PIECE, ollama.answer("whole").as_bytes())).await;
    let server = server.says_about(vec![Act::Send(head("application/json")), Act::Repeat(filled("x"), 3_000)]);
    let answer = Talk::new().ask(&*resolve(ollama.spec, &access(&server)).unwrap()).await.unwrap();
    assert_eq!(answer.text, "whole");
    assert!(server.repeated() < 30 * MIB, "about the model: {} MiB", server.repeated() / MIB);

    let grown = peak() - before;
    assert!(grown < 160 * MIB, "{} MiB more than before", grown / MIB);
}
