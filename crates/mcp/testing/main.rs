//! The program that tests start: the launcher of the sandbox, and a server on pipes that misbehaves on demand.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a program for tests")]

mod chaos;

fn main() {
    let mut args = std::env::args().skip(1);
    let first = args.next().unwrap_or_default();
    if first == updraft_sandbox::launch::ARGUMENT {
        updraft_sandbox::launch::main();
    }
    match first.as_str() {
        "chaos" => chaos::serve(&args.next().unwrap_or_default()),
        other => {
            eprintln!("`{other}` is nothing to do");
            std::process::exit(2);
        }
    }
}
