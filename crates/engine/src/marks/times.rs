//! When a file changed, in nanoseconds since 1970: as far as each system tells.

use std::fs::Metadata;
use std::time::UNIX_EPOCH;

/// When its state changed last, its name and place included. Nobody can set this.
#[cfg(unix)]
pub(super) fn touched(about: &Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;
    about.ctime().saturating_mul(1_000_000_000).saturating_add(about.ctime_nsec())
}

/// When its content changed last: more is not told here. Untested.
#[cfg(not(unix))]
pub(super) fn touched(about: &Metadata) -> i64 {
    modified(about)
}

/// When its content changed last.
pub(super) fn modified(about: &Metadata) -> i64 {
    let since = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default()
}

/// The disk that it lies on.
#[cfg(unix)]
pub(super) fn place(about: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::dev(about)
}

/// That is not told here. Untested.
#[cfg(not(unix))]
pub(super) fn place(_: &Metadata) -> u64 {
    0
}

/// What tells a file from another that had its name before.
#[cfg(unix)]
pub(super) fn identity(about: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(about)
}

/// Nothing does here. Untested.
#[cfg(not(unix))]
pub(super) fn identity(_: &Metadata) -> u64 {
    0
}
