//! Attempts to hold more than is granted where it is not seen: shared memory that was let go of, threads whose first has
//! ended, tables of pages, sockets, files without a name.

#![expect(unsafe_code, reason = "calls the kernel as a hostile program would")]

use std::fs::File;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::ptr::null_mut;
use std::time::Duration;

const MIB: usize = 1 << 20;

/// Tries it by its name, if it is one of these.
pub(crate) fn attempt(name: &str) -> Option<bool> {
    Some(match name {
        // What others free meanwhile may hide it once, but hardly each time.
        "let-go" => (0..3).all(|_| let_go()),
        "first-thread-gone" => first_thread_gone(),
        "tables" => tables(),
        "nameless" => nameless(),
        "queues" => queues(),
        _ => return None,
    })
}

fn map(size: usize, access: i32, flags: i32) -> *mut u8 {
    // SAFETY: a new mapping, at a place that the kernel chooses.
    let at = unsafe { libc::mmap(null_mut(), size, access, flags | libc::MAP_ANONYMOUS, -1, 0) };
    if at == libc::MAP_FAILED { null_mut() } else { at.cast() }
}

/// Fills 240 MB that are then in no process's list of pages.
fn let_go() -> bool {
    let size = 30 * MIB;
    let made: Vec<*mut u8> = (0..8)
        .map(|_| {
            let at = map(size, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
            // SAFETY: within what was just mapped.
            unsafe {
                if !at.is_null() {
                    libc::memset(at.cast(), 1, size);
                    libc::madvise(at.cast(), size, libc::MADV_DONTNEED);
                }
            }
            at
        })
        .collect();
    std::thread::sleep(Duration::from_millis(800));
    // SAFETY: what was mapped, as long as it is; it still holds what was written.
    let is_kept = made.iter().all(|&at| !at.is_null() && unsafe { *at } == 1);
    for at in made.into_iter().filter(|at| !at.is_null()) {
        // SAFETY: nothing points there any more.
        unsafe { libc::munmap(at.cast(), size) };
    }
    is_kept
}

/// Fills 180 MB in three processes whose first thread has ended.
fn first_thread_gone() -> bool {
    in_children(3, || {
        std::thread::spawn(|| {
            let block = vec![1_u8; 60 * MIB];
            std::thread::sleep(Duration::from_secs(20));
            std::process::exit(block[0].into());
        });
        // SAFETY: ends this thread only; the other one needs nothing of it.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    });
    true
}

/// Has 128 MB of tables made for pages that are all the same one of zeroes.
fn tables() -> bool {
    let (size, step) = (64 << 30, 2 * MIB);
    let at = map(size, libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_NORESERVE);
    if at.is_null() {
        return false;
    }
    // SAFETY: within what was just mapped.
    let sum = unsafe {
        libc::madvise(at.cast(), size, libc::MADV_NOHUGEPAGE);
        (0..size / step).map(|number| u64::from(at.add(number * step).read_volatile())).sum::<u64>()
    };
    // Whoever watches has to go through all of them, too.
    std::thread::sleep(Duration::from_secs(2));
    sum == 0
}

/// Sends well over 100 MB that nobody receives, by three processes.
fn queues() -> bool {
    let block = vec![1; 32 << 10];
    let fill = || {
        let mut kept = Vec::new();
        while let (Ok((mut one, mut other)), true) = (UnixStream::pair(), kept.len() < 200) {
            for end in [&mut one, &mut other] {
                let _ = end.set_nonblocking(true);
                while end.write(&block).is_ok() {}
            }
            kept.push((one, other));
        }
        std::thread::sleep(Duration::from_secs(20));
    };
    in_children(3, fill);
    true
}

/// Lets children do something that does not end, for a while.
fn in_children(count: usize, work: impl Fn()) {
    let children: Vec<i32> = (0..count)
        .map(|_| {
            // SAFETY: a fork in a program with one thread.
            let child = unsafe { libc::fork() };
            if child == 0 {
                work();
            }
            child
        })
        .collect();
    std::thread::sleep(Duration::from_secs(3));
    for child in children {
        // SAFETY: our own child.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, null_mut(), 0);
        }
    }
}

/// Has 60 MB written to removed files by children that are gone.
fn nameless() -> bool {
    let mut held = Vec::new();
    for number in 0..12 {
        let name = format!("nameless{number}");
        let Ok(mut file) = File::create(&name) else { return false };
        let _ = std::fs::remove_file(&name);
        // SAFETY: SIG_IGN installs no code; the child only writes and ends, in a program with one thread.
        unsafe {
            libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            let child = libc::fork();
            if child == 0 {
                let written = file.write_all(&vec![1; 5_000_000]);
                libc::_exit(i32::from(written.is_err()));
            }
            libc::waitpid(child, null_mut(), 0);
        }
        held.push(file);
    }
    std::thread::sleep(Duration::from_secs(1));
    held.iter().all(|file| file.metadata().is_ok_and(|about| about.len() == 5_000_000))
}
