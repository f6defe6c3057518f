//! A program that is the launcher of this crate's tests and benchmarks: what `updraft` does first thing, and no more.

fn main() -> std::process::ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(updraft_sandbox::launch::ARGUMENT) => updraft_sandbox::launch::main(),
        Some(updraft_tools::document_reader::ARGUMENT) => updraft_tools::document_reader::main(),
        _ => std::process::ExitCode::from(2),
    }
}
