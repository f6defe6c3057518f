//! What is said where the machine gives the program no more threads or memory: one line and an exit code.

use std::io::Write;
use std::panic::{PanicHookInfo, set_hook, take_hook};

use crate::fault::CliExitCode;

/// What libraries say that panic for want of a thread or of memory.
const SIGNS: [&str; 4] = [
    "can't spawn worker thread",
    "failed to spawn thread",
    "Cannot allocate memory",
    "Resource temporarily unavailable",
];

/// Ends the program with a plain message where something panics for want of threads or memory. Runs are in the journal up
/// to what was last written, so nothing is lost by it.
pub(crate) fn end_plainly() {
    let usual = take_hook();
    set_hook(Box::new(move |info| match lack(info) {
        Some(words) => {
            let mut stderr = std::io::stderr();
            let _ = writeln!(stderr, "error: the machine gives this program no more threads or memory: {words}");
            let _ = writeln!(
                stderr,
                "  hint: raise the limit (`ulimit -a` shows them); `updraft resume` goes on with a run"
            );
            std::process::exit(i32::from(CliExitCode::Failed as u8));
        }
        None => usual(info),
    }));
}

fn lack<'a>(info: &'a PanicHookInfo<'_>) -> Option<&'a str> {
    let payload = info.payload();
    let words = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&'static str>().copied())?;
    SIGNS.iter().any(|sign| words.contains(sign)).then_some(words)
}
