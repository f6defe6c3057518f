//! Attempts on what other programs of the user share with the whole machine: memory, queues, turns on the processors.
//!
//! Each sets a thing to what it already is, and takes nothing away.

#![expect(unsafe_code, reason = "calls the kernel as a hostile program would")]

use std::ptr::null;

use libc::c_long;

/// Tries it by its name, if it is one of these.
pub(crate) fn attempt(name: &str, argument: &str) -> Option<bool> {
    let number: c_long = argument.parse().unwrap_or(0);
    Some(match name {
        "segment" => numbered("shm", argument).is_some_and(segment),
        "queue" => numbered("msg", argument).is_some_and(queue),
        "semaphore" => numbered("sem", argument).is_some_and(semaphore),
        "renice-all" => renice_all(),
        "affinity" => affinity(number),
        "scheduler" => scheduler(number),
        "turn-at-the-disk" => turn_at_the_disk(number),
        "watch" => watch(argument),
        _ => return None,
    })
}

/// The number of what has this key, as everyone can see it.
fn numbered(kind: &str, key: &str) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/sysvipc/{kind}")).ok()?;
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == key).then(|| words.next()?.parse().ok())?
    })
}

/// Whether the kernel at least looked at what was asked.
fn was_heard(result: c_long) -> bool {
    let error = std::io::Error::last_os_error().raw_os_error();
    result != -1 || !matches!(error, Some(libc::EPERM | libc::ENOSYS | libc::EACCES))
}

fn segment(id: i32) -> bool {
    // SAFETY: the segment is let go of at once, and the kernel writes no more than the structure holds.
    unsafe {
        let at = libc::shmat(id, null(), libc::SHM_RDONLY);
        let could_attach = was_heard(at as c_long);
        libc::shmdt(at);
        let mut about: libc::shmid_ds = std::mem::zeroed();
        could_attach || was_heard(libc::shmctl(id, libc::IPC_STAT, &raw mut about).into())
    }
}

fn queue(id: i32) -> bool {
    let mut message = [0_u64; 16];
    // SAFETY: the message is longer than the 8 bytes said, and the structure is what the kernel fills.
    unsafe {
        let received = libc::msgrcv(id, message.as_mut_ptr().cast(), 8, 0, libc::IPC_NOWAIT);
        // A message of kind 0 cannot be sent.
        let sent = was_heard(received as c_long) || {
            message[0] = 0;
            was_heard(libc::msgsnd(id, message.as_ptr().cast(), 8, libc::IPC_NOWAIT).into())
        };
        let mut about: libc::msqid_ds = std::mem::zeroed();
        sent || was_heard(libc::msgctl(id, libc::IPC_STAT, &raw mut about).into())
    }
}

fn semaphore(id: i32) -> bool {
    let mut wait_for_zero = libc::sembuf { sem_num: 0, sem_op: 0, sem_flg: libc::IPC_NOWAIT as i16 };
    // SAFETY: one operation, as said.
    unsafe {
        was_heard(libc::semop(id, &raw mut wait_for_zero, 1).into())
            || was_heard(libc::syscall(libc::SYS_semtimedop, id, &raw mut wait_for_zero, 1, null::<u8>()))
            || was_heard(libc::semctl(id, 0, libc::GETVAL).into())
    }
}

/// Gives all processes of the user the turn that this one has.
fn renice_all() -> bool {
    // SAFETY: no memory is passed.
    unsafe {
        let ours = libc::getpriority(libc::PRIO_PROCESS, 0);
        libc::syscall(libc::SYS_setpriority, libc::PRIO_USER, 0, ours) == 0
    }
}

fn affinity(pid: c_long) -> bool {
    let mut mask = [0_u64; 128];
    // SAFETY: the mask is as long as said.
    unsafe {
        let size = libc::syscall(libc::SYS_sched_getaffinity, pid, size_of_val(&mask), mask.as_mut_ptr());
        libc::syscall(libc::SYS_sched_setaffinity, pid, size, mask.as_ptr()) == 0
    }
}

fn scheduler(pid: c_long) -> bool {
    let none = libc::sched_param { sched_priority: 0 };
    let attributes = [48_u64, 0, 0, 0, 0, 0];
    // SAFETY: the parameter and the attributes, which say their own length, outlive the calls.
    unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, pid, libc::SCHED_OTHER, &raw const none) == 0
            || libc::syscall(libc::SYS_sched_setparam, pid, &raw const none) == 0
            || libc::syscall(libc::SYS_sched_setattr, pid, attributes.as_ptr(), 0) == 0
    }
}

fn turn_at_the_disk(pid: c_long) -> bool {
    const ONE_PROCESS: c_long = 1;
    const BEST_EFFORT: c_long = (2 << 13) | 4;
    // SAFETY: no memory is passed.
    unsafe { libc::syscall(libc::SYS_ioprio_set, ONE_PROCESS, pid, BEST_EFFORT) == 0 }
}

/// Asks to be told the names of what comes and goes in a folder.
fn watch(folder: &str) -> bool {
    let folder = std::ffi::CString::new(folder).unwrap();
    // SAFETY: the path ends with a NUL.
    unsafe {
        let list = libc::inotify_init1(0);
        libc::inotify_add_watch(list, folder.as_ptr(), libc::IN_ALL_EVENTS) >= 0
    }
}
