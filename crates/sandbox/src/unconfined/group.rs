//! Process groups, which end a program together with its descendants. Untested on macOS and Windows.

/// Which processes are not ended with a program.
#[cfg(unix)]
pub(super) const LACKS: &str =
    "descendants that leave their process group, and all of them if Updraft itself is killed, are not ended";
/// Which processes are not ended with a program.
#[cfg(not(unix))]
pub(super) const LACKS: &str = "only the program itself is ended at its limits, not what it started";

/// Makes a program the leader of its own group.
#[cfg(unix)]
pub(super) fn lead(process: &mut tokio::process::Command) {
    process.process_group(0);
}

/// Does nothing: on Windows this would need job objects, which are not implemented yet.
#[cfg(not(unix))]
pub(super) fn lead(_: &mut tokio::process::Command) {}

/// Ends everything in the group that a program led.
#[cfg(unix)]
pub(super) fn end(leader: u32) {
    let pid = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // Fails only if no process is left.
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

/// Does nothing: the program itself is ended by its handle.
#[cfg(not(unix))]
pub(super) fn end(_: u32) {}
