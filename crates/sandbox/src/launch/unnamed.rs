//! Measures what processes hold without a file name: deleted files, and shared memory that no process reports as its
//! own.
//!
//! If the amount is unknown, the upper bound is taken: how much less the machine has available than before.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use super::processes::{field, has_ended, numbers_in};

/// An amount with an uncertain part.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByteEstimate {
    /// The known bytes.
    pub(super) bytes: u64,
    /// The most bytes that may have to be added.
    pub(super) perhaps: u64,
}

impl ByteEstimate {
    /// The bytes to count, if the total cannot be more than `most`.
    pub(super) fn within(self, most: u64) -> u64 {
        self.bytes + self.perhaps.min(most.saturating_sub(self.bytes))
    }
}

/// The sum of all amounts, saturating: commands can map or create files of any nominal size, and the sum must not
/// overflow.
pub(super) fn sum(amounts: impl IntoIterator<Item = u64>) -> u64 {
    amounts.into_iter().fold(0, u64::saturating_add)
}

/// Converts a number of units from the kernel to bytes.
pub(super) fn bytes_of(number: u64, unit: u64) -> u64 {
    number.saturating_mul(unit)
}

/// How long an uncertain amount must persist before it counts. Ordinary programs pass descriptors to each other all
/// the time, each for a moment.
const DOUBT: Duration = Duration::from_secs(1);

/// Since when an amount has been uncertain.
#[derive(Default)]
pub(super) struct DoubtTimer(Option<Instant>);

impl DoubtTimer {
    /// Whether it is too much: with certainty, or uncertain for long enough.
    pub(super) fn weigh(&mut self, held: ByteEstimate, most: u64, is_too_much: impl Fn(u64) -> bool) -> bool {
        if is_too_much(held.bytes) {
            return true;
        }
        if !is_too_much(held.within(most)) {
            self.0 = None;
            return false;
        }
        self.0.get_or_insert_with(Instant::now).elapsed() >= DOUBT
    }

    pub(super) fn is_there(&self) -> bool {
        self.0.is_some()
    }
}

/// The device and inode of a file.
type Inode = (u64, u64);

/// Bytes of deleted files on disks that these processes have open. `memory` is the device of files that are in
/// memory, which have their own limit.
pub(super) fn deleted_files(pids: &[i32], memory: Option<u64>) -> ByteEstimate {
    let (mut exact, mut mapped, mut is_unknown) = (BTreeMap::new(), BTreeMap::new(), false);
    for &pid in pids {
        // A thread may have its own descriptors.
        for task in numbers_in(format!("/proc/{pid}/task")) {
            is_unknown |= !open_files(pid, task, &mut exact);
        }
        is_unknown |= !mappings(pid, &mut |mapping| {
            if mapping.is_deleted && !mapping.is_memory() {
                grow(&mut mapped, mapping.inode, mapping.end);
            }
        });
    }
    let bytes = sum(exact.iter().filter(|((device, _), _)| Some(*device) != memory).map(|(_, bytes)| *bytes));
    let mapped = mapped.iter().filter(|(inode, _)| !exact.contains_key(*inode) && Some(inode.0) != memory);
    ByteEstimate { bytes, perhaps: if is_unknown { u64::MAX } else { sum(mapped.map(|(_, bytes)| *bytes)) } }
}

/// Bytes of shared memory without a file that these processes have mapped, used or only reserved.
pub(super) fn shared_memory(pids: &[i32]) -> ByteEstimate {
    let (mut segments, mut is_unknown) = (BTreeMap::new(), false);
    for &pid in pids {
        is_unknown |= !mappings(pid, &mut |mapping| {
            if mapping.is_shared_anonymous {
                grow(&mut segments, mapping.inode, mapping.end);
            }
        });
    }
    ByteEstimate { bytes: 0, perhaps: if is_unknown { u64::MAX } else { sum(segments.into_values()) } }
}

fn grow(sizes: &mut BTreeMap<Inode, u64>, inode: Inode, size: u64) {
    let known = sizes.entry(inode).or_default();
    *known = size.max(*known);
}

/// Adds the deleted files that a thread has open. Returns whether all of them could be seen.
fn open_files(pid: i32, task: i32, found: &mut BTreeMap<Inode, u64>) -> bool {
    let folder = format!("/proc/{pid}/task/{task}");
    let entries = match fs::read_dir(format!("{folder}/fd")) {
        Ok(entries) => entries,
        Err(error) => return may_be_skipped(&error, pid),
    };
    for entry in entries.flatten() {
        let Ok(about) = fs::metadata(entry.path()) else { continue };
        if about.is_file() && about.nlink() == 0 {
            found.insert((about.dev(), about.ino()), bytes_of(about.blocks(), 512));
        }
        // A descriptor that was sent over a socket and not yet received is in no list.
        let is_socket = about.mode() & libc::S_IFMT == libc::S_IFSOCK;
        let information = || fs::read_to_string(format!("{folder}/fdinfo/{}", entry.file_name().display()));
        if is_socket && information().is_ok_and(|text| field(&text, "scm_fds:") > 0) {
            return false;
        }
    }
    true
}

/// A mapping in a process's address space.
struct MemoryMapping {
    inode: Inode,
    /// The end of the mapping as an offset in the file.
    end: u64,
    is_deleted: bool,
    is_shared_anonymous: bool,
    is_segment: bool,
}

impl MemoryMapping {
    fn is_memory(&self) -> bool {
        self.is_shared_anonymous || self.is_segment
    }

    fn of(line: &str) -> Option<MemoryMapping> {
        let mut words = line.split_whitespace();
        let (range, _, offset, device, inode) =
            (words.next()?, words.next()?, words.next()?, words.next()?, words.next()?);
        let name = words.next()?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let (start, end) = range.split_once('-')?;
        let (major, minor) = device.split_once(':')?;
        let device = libc::makedev(number(major)?.try_into().ok()?, number(minor)?.try_into().ok()?);
        let is_deleted = line.ends_with(" (deleted)");
        Some(MemoryMapping {
            inode: (device, inode.parse().ok()?),
            end: number(offset)?.saturating_add(number(end)?.checked_sub(number(start)?)?),
            is_deleted,
            is_shared_anonymous: name == "/dev/zero" && is_deleted,
            is_segment: name.starts_with("/SYSV") && is_deleted,
        })
    }
}

/// Calls `look` for each mapping of a process. Returns whether they could be read.
fn mappings(pid: i32, look: &mut dyn FnMut(MemoryMapping)) -> bool {
    // The first thread may have ended, and then its files in /proc are empty.
    for task in numbers_in(format!("/proc/{pid}/task")) {
        match fs::read(format!("/proc/{pid}/task/{task}/maps")) {
            Ok(text) if text.is_empty() => {}
            Ok(text) => {
                String::from_utf8_lossy(&text).lines().filter_map(MemoryMapping::of).for_each(look);
                return true;
            }
            Err(error) if may_be_skipped(&error, pid) => {}
            Err(_) => return false,
        }
    }
    true
}

/// Whether the error only means that the process no longer exists.
pub(super) fn may_be_skipped(error: &std::io::Error, pid: i32) -> bool {
    let is_gone = error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH);
    is_gone || has_ended(pid)
}

/// The memory of the whole machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct MachineMemory {
    /// Shared memory, including what is swapped out.
    shared: u64,
    available: u64,
}

impl MachineMemory {
    pub(super) fn now() -> MachineMemory {
        let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let swapped = field(&text, "SwapTotal:").saturating_sub(field(&text, "SwapFree:"));
        let shared = bytes_of(field(&text, "Shmem:").saturating_add(swapped), 1024);
        MachineMemory { shared, available: bytes_of(field(&text, "MemAvailable:"), 1024) }
    }

    /// How much more is shared, and how much less is available, than at the best values so far, which this updates.
    pub(super) fn since(self, best: &mut MachineMemory) -> (u64, u64) {
        best.shared = best.shared.min(self.shared);
        best.available = best.available.max(self.available);
        (self.shared - best.shared, best.available - self.available)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_question_counts_after_a_while() {
        let (mut doubt, held) = (DoubtTimer::default(), ByteEstimate { bytes: 10, perhaps: u64::MAX });
        assert!(!doubt.weigh(held, 100, |all| all > 50) && doubt.is_there());
        doubt.0 = Instant::now().checked_sub(DOUBT);
        assert!(doubt.weigh(held, 100, |all| all > 50));
        assert!(!doubt.weigh(held, 40, |all| all > 50) && !doubt.is_there(), "so much is not to be had");
        assert!(doubt.weigh(ByteEstimate { bytes: 51, perhaps: 0 }, 40, |all| all > 50), "what is seen counts at once");
    }

    #[test]
    fn a_mapping_is_read_from_its_line() {
        let line = "7f2a00000000-7f2a06400000 rw-s 00001000 00:01 5123                       /dev/zero (deleted)";
        let mapping = MemoryMapping::of(line).unwrap();
        assert_eq!((mapping.inode, mapping.end), ((libc::makedev(0, 1), 5123), 0x640_1000));
        assert!(mapping.is_shared_anonymous && mapping.is_deleted);
        assert!(MemoryMapping::of("7f2a00000000-7f2a06400000 rw-p 00000000 00:00 0 ").is_none());
    }

    #[test]
    fn what_is_not_certain_counts_as_far_as_it_can_be() {
        let held = ByteEstimate { bytes: 10, perhaps: u64::MAX };
        assert_eq!((held.within(100), held.within(5)), (100, 10));
        assert_eq!(ByteEstimate { bytes: 10, perhaps: 20 }.within(100), 30);
    }

    #[test]
    fn deleted_files_mapped_at_the_end_of_all_offsets_are_too_much_and_not_nothing() {
        let (length, last) = (4096, 0x7fff_ffff_fff0_0000);
        let me = [std::process::id().cast_signed()];
        // SAFETY: new mappings that nothing reads.
        #[expect(unsafe_code, reason = "a mapping has no safe interface")]
        let map = |file: &std::fs::File| unsafe {
            let file = std::os::fd::AsRawFd::as_raw_fd(file);
            libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file, last)
        };
        let mapped: Vec<_> = (0..3).map(|_| map(&tempfile::tempfile().unwrap())).collect();
        // Not every file system supports such offsets.
        if mapped.iter().all(|at| *at != libc::MAP_FAILED) {
            assert_eq!(deleted_files(&me, None).perhaps, u64::MAX);
        }
        for at in mapped.into_iter().filter(|at| *at != libc::MAP_FAILED) {
            // SAFETY: unmaps what was mapped above.
            #[expect(unsafe_code, reason = "a mapping has no safe interface")]
            unsafe {
                libc::munmap(at, length);
            }
        }
        assert_eq!((sum([u64::MAX, 2]), bytes_of(u64::MAX, 512)), (u64::MAX, u64::MAX));
    }

    #[test]
    fn our_own_deleted_file_is_seen() {
        let file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut &file, &vec![1; 1 << 20]).unwrap();
        let me = [std::process::id().cast_signed()];
        assert!(deleted_files(&me, None).bytes >= 1 << 20);
        let device = file.metadata().unwrap().dev();
        assert!(deleted_files(&me, Some(device)).bytes < 1 << 20);
    }
    #[test]
    fn a_deleted_file_that_is_only_mapped_or_on_its_way_is_not_overlooked() {
        use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
        let size = 7 << 20;
        let file = tempfile::tempfile().unwrap();
        file.set_len(size as u64).unwrap();
        let me = [std::process::id().cast_signed()];
        // SAFETY: a new mapping that nothing reads.
        #[expect(unsafe_code, reason = "a mapping has no safe interface")]
        let at = unsafe {
            let file = std::os::fd::AsRawFd::as_raw_fd(&file);
            libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ, libc::MAP_SHARED, file, 0)
        };
        assert_ne!(at, libc::MAP_FAILED);
        drop(file);
        let held = deleted_files(&me, None);
        assert!((size as u64..u64::MAX).contains(&held.perhaps), "{held:?}");
        // SAFETY: unmaps what was mapped above.
        #[expect(unsafe_code, reason = "a mapping has no safe interface")]
        unsafe {
            libc::munmap(at, size);
        }

        let (sender, _receiver) = std::os::unix::net::UnixStream::pair().unwrap();
        let file = tempfile::tempfile().unwrap();
        let files = [std::os::fd::AsFd::as_fd(&file)];
        let mut space = [std::mem::MaybeUninit::uninit(); 64];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        assert!(beside.push(SendAncillaryMessage::ScmRights(&files)));
        rustix::net::sendmsg(&sender, &[std::io::IoSlice::new(b"x")], &mut beside, SendFlags::empty()).unwrap();
        assert_eq!(deleted_files(&me, None).perhaps, u64::MAX);
    }
}
