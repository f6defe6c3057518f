//! One clock for all processes of a machine: the time since it was started, which nobody sets.

use std::fs;
use std::sync::LazyLock;
use std::time::Duration;

/// The time since the machine was started, sleep included.
#[cfg(target_os = "linux")]
pub(super) fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The time of day: elsewhere no other clock is common to processes. It may be set, so nothing far ahead is believed.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(super) fn now() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

/// What tells this start of the machine from others; empty where the system does not tell.
pub(super) fn boot() -> &'static str {
    static BOOT: LazyLock<String> =
        LazyLock::new(|| fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned());
    &BOOT
}
