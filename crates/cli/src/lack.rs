//! Ends the program with one line and an exit code when the system has no more threads or memory for it.

use std::io::Write;
use std::panic::{PanicHookInfo, set_hook, take_hook};

use crate::fault::CliExitCode;

/// Messages of panics that are caused by a lack of threads or memory.
const SIGNS: [&str; 4] = [
    "can't spawn worker thread",
    "failed to spawn thread",
    "Cannot allocate memory",
    "Resource temporarily unavailable",
];

/// Installs a panic handler that ends the program with a clear message if threads or memory run out. Nothing is lost:
/// the journal holds each run up to its last event.
pub(crate) fn install_panic_hook() {
    let usual = take_hook();
    set_hook(Box::new(move |info| match shortage(info) {
        Some(words) => {
            let mut stderr = std::io::stderr();
            let _ = writeln!(stderr, "error: the system has no more threads or memory for this program: {words}");
            let _ = writeln!(
                stderr,
                "  hint: raise the limit (`ulimit -a` shows all limits); `updraft resume` continues a run"
            );
            std::process::exit(i32::from(CliExitCode::Failed as u8));
        }
        None => usual(info),
    }));
}

fn shortage<'a>(info: &'a PanicHookInfo<'_>) -> Option<&'a str> {
    let payload = info.payload();
    let words = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&'static str>().copied())?;
    SIGNS.iter().any(|sign| words.contains(sign)).then_some(words)
}
