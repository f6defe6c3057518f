//! Measures what the processes of one sandbox use together, and ends them all at levels without a namespace.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use super::unnamed::{self, bytes_of};

/// Which processes belong to a sandbox.
#[derive(Clone, Copy)]
pub(super) enum ProcessFamily {
    /// All processes in /proc except ourselves: we are the first process of a namespace.
    Namespace,
    /// Our descendants: we adopt orphaned ones.
    Descendants,
}

/// Their usage at one moment.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessUsage {
    pub(super) tasks: u64,
    pub(super) memory: u64,
    pub(super) written: u64,
}

impl ProcessFamily {
    /// Its processes; the list stops after one more than `most`.
    pub(super) fn members(self, most: u64) -> Vec<i32> {
        match self {
            ProcessFamily::Namespace => numbers_in("/proc").into_iter().filter(|&pid| pid != 1).collect(),
            ProcessFamily::Descendants => descendants(most),
        }
    }

    /// The usage of all processes. If there are more processes than allowed, none of them is read, because that must
    /// be noticed fast.
    pub(super) fn usage(self, most: u64) -> ProcessUsage {
        let members = self.members(most);
        if members.len() as u64 > most {
            return ProcessUsage { tasks: members.len() as u64, ..ProcessUsage::default() };
        }
        let unowned = ProcessUsage { memory: self.unowned_memory(), ..ProcessUsage::default() };
        members.into_iter().map(usage_of).fold(unowned, |sum, one| ProcessUsage {
            tasks: sum.tasks.saturating_add(one.tasks),
            memory: sum.memory.saturating_add(one.memory),
            written: sum.written.saturating_add(one.written),
        })
    }

    /// The memory with every shared page counted once, including shared memory that was written to and unmapped. At
    /// most as much of that is counted as the whole machine has gained. Slower, so used only if the quick sum is too
    /// high.
    pub(super) fn memory_shared_once(self, gained: u64) -> u64 {
        let members = self.members(u64::MAX);
        let (mut own, mut shared) = (self.unowned_memory(), 0);
        for &pid in &members {
            let (one, with_others) = proportional_memory(pid);
            own = unnamed::sum([own, one]);
            shared = unnamed::sum([shared, with_others]);
        }
        unnamed::sum([own, shared.max(unnamed::shared_memory(&members).within(gained))])
    }

    /// The memory in System V shared segments, queues and semaphores, which persists after the processes release it.
    /// A segment that a process has attached counts twice, which few would notice.
    fn unowned_memory(self) -> u64 {
        match self {
            ProcessFamily::Namespace => system_v(),
            // At that level the calls that create them are refused, and existing ones belong to others.
            ProcessFamily::Descendants => 0,
        }
    }
}

fn system_v() -> u64 {
    let rows = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sysvipc/{name}")).unwrap_or_default();
        let numbers = |line: &str| line.split_whitespace().map(|one| one.parse().unwrap_or(0)).collect();
        text.lines().skip(1).map(numbers).collect::<Vec<Vec<u64>>>()
    };
    // Sizes of the kernel's own structures for one message and one semaphore.
    let (message, semaphore) = (64, 64);
    let segments = rows("shm").into_iter().flat_map(|row| row.into_iter().rev().take(2));
    let of_queue = |row: Vec<u64>| Some(row.get(3)?.saturating_add(bytes_of(*row.get(4)?, message)));
    let queues = rows("msg").into_iter().filter_map(of_queue);
    let semaphores = rows("sem").into_iter().filter_map(|row| Some(bytes_of(*row.get(3)?, semaphore)));
    unnamed::sum(segments.chain(queues).chain(semaphores))
}

pub(super) fn numbers_in(folder: impl AsRef<Path>) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The status of a process. If its first thread has ended, that of another thread, which shows what they share.
fn status_of(pid: i32) -> String {
    let status = |path: String| fs::read_to_string(path).unwrap_or_default();
    let first = status(format!("/proc/{pid}/status"));
    if first.contains("\nVmRSS:") || field(&first, "Threads:") < 2 {
        return first;
    }
    let tasks = numbers_in(format!("/proc/{pid}/task")).into_iter();
    let mut others = tasks.map(|task| status(format!("/proc/{pid}/task/{task}/status")));
    others.find(|status| status.contains("\nVmRSS:")).unwrap_or(first)
}

/// Whether a process has ended and only its process id is left.
pub(super) fn has_ended(pid: i32) -> bool {
    let status = status_of(pid);
    !status.contains("\nVmRSS:")
}

fn usage_of(pid: i32) -> ProcessUsage {
    let status = status_of(pid);
    let written = match fs::read_to_string(format!("/proc/{pid}/io")) {
        Ok(io) => field(&io, "write_bytes:").saturating_sub(field(&io, "cancelled_write_bytes:")),
        // A process that hides its numbers may have written any amount.
        Err(error) if status.contains("\nVmRSS:") && !unnamed::may_be_skipped(&error, pid) => u64::MAX,
        Err(_) => 0,
    };
    let memory = fields(&status, &["RssAnon:", "RssShmem:", "VmSwap:"]);
    ProcessUsage {
        tasks: field(&status, "Threads:").max(1),
        memory: unnamed::sum([memory, unlisted(&status)]),
        written,
    }
}

/// Memory that is not in the resident set: huge pages and the page tables themselves.
fn unlisted(status: &str) -> u64 {
    fields(status, &["HugetlbPages:", "VmPTE:"])
}

/// The memory that a process has alone, and its share of what it shares, as far as the two can be separated.
fn proportional_memory(pid: i32) -> (u64, u64) {
    let tasks = numbers_in(format!("/proc/{pid}/task")).into_iter();
    let mut rollups = tasks.filter_map(|task| fs::read_to_string(format!("/proc/{pid}/task/{task}/smaps_rollup")).ok());
    let Some(text) = rollups.find(|text| text.contains("\nPss_Anon:")) else { return (usage_of(pid).memory, 0) };
    let own = fields(&text, &["Pss_Anon:", "SwapPss:"]);
    (unnamed::sum([own, unlisted(&status_of(pid))]), fields(&text, &["Pss_Shmem:"]))
}

/// The sum of these fields in bytes; the kernel reports kibibytes.
fn fields(text: &str, names: &[&str]) -> u64 {
    unnamed::sum(names.iter().map(|name| bytes_of(field(text, name), 1024)))
}

/// The number after a field name at the start of a line.
pub(super) fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()).and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn descendants(most: u64) -> Vec<i32> {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let mut found = Vec::new();
    let mut left = children(me);
    while let Some(pid) = left.pop() {
        found.push(pid);
        if found.len() as u64 > most {
            break;
        }
        left.extend(children(pid));
    }
    found
}

fn children(pid: i32) -> Vec<i32> {
    let tasks = format!("/proc/{pid}/task");
    let mut children = Vec::new();
    for task in numbers_in(&tasks) {
        let Ok(text) = fs::read_to_string(format!("{tasks}/{task}/children")) else {
            // The kernel was built without that file: look at all processes.
            return children_by_parent(pid);
        };
        children.extend(text.split_whitespace().filter_map(|one| one.parse::<i32>().ok()));
    }
    children
}

fn children_by_parent(parent: i32) -> Vec<i32> {
    let is_child = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name is in parentheses and may contain anything, even parentheses.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_whitespace().nth(1).and_then(|one| one.parse().ok()) == Some(parent)
    };
    numbers_in("/proc").into_iter().filter(is_child).collect()
}

/// Ends every descendant: stops them first, so that none can fork, then kills them, until none is left.
pub(super) fn end_descendants() {
    loop {
        for pid in stop_descendants() {
            signal(pid, Signal::KILL);
        }
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                // No child is left, and so no descendant, because we adopt orphans.
                Err(Errno::CHILD) => return,
                Err(_) => break,
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Stops each process before listing its children, so that the list is final.
fn stop_descendants() -> BTreeSet<i32> {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let mut stopped = BTreeSet::new();
    loop {
        let before = stopped.len();
        let mut left = children(me);
        while let Some(pid) = left.pop() {
            if stopped.insert(pid) {
                signal(pid, Signal::STOP);
            }
            left.extend(children(pid));
        }
        if stopped.len() == before {
            return stopped;
        }
    }
}

fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may have ended by itself.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_at_the_start_of_a_line_only() {
        let text = "Name:\tRssAnon: 7 kB\nRssAnon:\t    2040 kB\nThreads:\t3\n";
        assert_eq!((field(text, "RssAnon:"), field(text, "Threads:"), field(text, "VmSwap:")), (2040, 3, 0));
    }

    #[test]
    fn we_use_some_memory_and_one_task_at_least() {
        let me = rustix::process::getpid().as_raw_nonzero().get();
        let usage = usage_of(me);
        assert!(usage.memory > 0 && usage.tasks > 0, "{usage:?}");
    }
}
