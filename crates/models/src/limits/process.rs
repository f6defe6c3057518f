//! Checks whether processes are alive: a process that was killed cannot free its places.

use std::fs;
use std::sync::LazyLock;

/// The state of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessLife {
    Alive,
    Gone,
    /// It runs in another container, or this system has no `/proc`.
    Unknown,
}

/// An id of this process: its process id, its start time, and the namespace of the process id.
pub(super) fn own() -> &'static str {
    static OWN: LazyLock<String> = LazyLock::new(|| {
        let pid = std::process::id();
        format!("{pid} {} {}", start_of(pid).unwrap_or_default(), namespace())
    });
    &OWN
}

/// The state of the process with this id.
pub(super) fn life_of(process: &str) -> ProcessLife {
    if process == own() {
        return ProcessLife::Alive;
    }
    let mut parts = process.splitn(3, ' ');
    let (pid, started, place) = (parts.next(), parts.next(), parts.next());
    let Some(pid) = pid.and_then(|pid| pid.parse().ok()) else { return ProcessLife::Unknown };
    if place != Some(&namespace()) || namespace().is_empty() {
        return ProcessLife::Unknown;
    }
    // A later process with the same process id has another start time.
    if start_of(pid) == started.and_then(|text| text.parse().ok()) { ProcessLife::Alive } else { ProcessLife::Gone }
}

fn namespace() -> String {
    fs::read_link("/proc/self/ns/pid").unwrap_or_default().to_string_lossy().into_owned()
}

/// Clock ticks from boot to the start of a process, if it is running: field 22 of `/proc/PID/stat`.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything, including parentheses and spaces.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    match fields.next()? {
        "Z" | "X" | "x" => None,
        _ => fields.nth(18)?.parse().ok(),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_until_it_ends_or_its_id_is_given_to_another() {
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get() as u32;
        let started = start_of(parent).unwrap();

        assert_eq!(life_of(own()), ProcessLife::Alive);
        assert_eq!(life_of(&format!("{parent} {started} {}", namespace())), ProcessLife::Alive);
        assert_eq!(life_of(&format!("{parent} {} {}", started + 1, namespace())), ProcessLife::Gone);
        assert_eq!(life_of(&format!("{} 1 {}", u32::MAX, namespace())), ProcessLife::Gone);
        assert_eq!(life_of(&format!("{parent} {started} elsewhere")), ProcessLife::Unknown);
        assert_eq!(life_of("nonsense"), ProcessLife::Unknown);
    }
}
