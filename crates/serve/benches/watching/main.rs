//! What it costs to be watched: many watchers of one run, many runs at once, slow and vanished watchers, and long runs,
//! over real HTTP on loopback, beside a bare axum server that sends the same bytes at the same times.
//!
//! `cargo bench -p updraft-serve --bench watching` prints the tables; `-- watchers runs slow long` names parts of it, and
//! numbers among the words scale it: `-- watchers 100`. The server is a process of its own, so that its memory is its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::format_push_string,
    clippy::format_collect,
    reason = "a program for people: what cannot be measured stops it"
)]

mod figures;
mod floor;
mod long;
mod process;
mod runs;
mod watch;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/all/world.rs"]
mod world;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let [word, script] = words.as_slice()
        && word == "serve"
    {
        return runtime.block_on(process::serve(script));
    }
    let scale = words.iter().find_map(|word| word.parse().ok());
    let is_wanted =
        |part: &str| words.iter().all(|word| word.parse::<usize>().is_ok()) || words.iter().any(|word| word == part);
    runtime.block_on(async {
        if is_wanted("watchers") {
            runs::one_run(10).await;
            runs::one_run(scale.unwrap_or(1_000)).await;
        }
        if is_wanted("runs") {
            runs::many_runs(scale.unwrap_or(200), 5).await;
        }
        if is_wanted("slow") {
            runs::slow_watchers(scale.unwrap_or(100), 0).await;
            runs::slow_watchers(scale.unwrap_or(100), 20).await;
        }
        if is_wanted("long") {
            long::measure(scale.unwrap_or(100_000)).await;
        }
    });
}
