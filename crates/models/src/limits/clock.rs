//! A clock that all processes of a machine share: the time since boot, which nobody can set.

use std::fs;
use std::sync::LazyLock;
use std::time::Duration;

/// The time since boot, including sleep.
#[cfg(target_os = "linux")]
pub(super) fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The time of day, because other systems have no other clock that processes share. It may be set, so times far in the
/// future are not trusted.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(super) fn now() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

/// An id of the current boot; empty if the system has none.
pub(super) fn boot() -> &'static str {
    static BOOT: LazyLock<String> =
        LazyLock::new(|| fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned());
    &BOOT
}
