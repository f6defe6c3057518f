//! Things that a sandbox should refuse and a shell cannot do, each by its name. Ends with 0 where it was possible.
//!
//! None does harm where it succeeds: a call that would change the machine is made with arguments that change nothing.

#![expect(unsafe_code, reason = "calls the kernel as a hostile program would")]

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::process::ExitCode;
use std::ptr::null;
use std::time::Duration;

use libc::c_long;

/// Tries it, and says whether it could be done.
pub(crate) fn attempt(args: &[String]) -> ExitCode {
    let name = args[0].as_str();
    let argument = args.get(1).map_or("", String::as_str);
    let number: c_long = argument.parse().unwrap_or(0);
    if let Some(could) = crate::share::attempt(name, argument).or_else(|| crate::hold::attempt(name)) {
        return if could { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let could = match name {
        "tcp" => TcpStream::connect(argument).is_ok_and(says_hello),
        "ask-proxy" => ask_proxy(argument),
        "udp" => udp(argument),
        "unix" => UnixStream::connect(argument).is_ok(),
        "datagram" => UnixDatagram::unbound().and_then(|socket| socket.send_to(b"x", argument)).is_ok(),
        "abstract" => SocketAddr::from_abstract_name(argument).and_then(|to| UnixStream::connect_addr(&to)).is_ok(),
        "fast-open" => fast_open(number),
        "multipath" => multipath(number),
        "family" => socket(number, libc::SOCK_DGRAM.into(), 0) || socket(number, libc::SOCK_STREAM.into(), 0),
        "raw" => socket(libc::AF_INET.into(), libc::SOCK_RAW.into(), libc::IPPROTO_ICMP.into()),
        "packet" => socket(libc::AF_PACKET.into(), libc::SOCK_RAW.into(), 0),
        "alg" => socket(libc::AF_ALG.into(), libc::SOCK_SEQPACKET.into(), 0),
        "netlink" => socket(libc::AF_NETLINK.into(), libc::SOCK_RAW.into(), number),
        "memory" => memory(number as usize),
        "descriptors" => descriptors(number as usize),
        "write-memory" => read_memory(argument),
        "set-id" => set_id(argument),
        "shared-segments" => shared_segments(),
        "semaphores" => semaphores(),
        "fill-disk" => fill_disk(),
        "open-for-writing" => std::fs::OpenOptions::new().append(true).open(argument).is_ok(),
        _ => call(name, number),
    };
    if could { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes `x` a program that runs as its owner, by one call or another.
fn set_id(how: &str) -> bool {
    let (name, mode) = (c"x".as_ptr(), 0o4755);
    let made = std::fs::write(if how.starts_with("fchmod") { "x" } else { "y" }, "").is_ok();
    // SAFETY: the names are literals, and the structure for openat2 is as long as said.
    let done = unsafe {
        let opened = libc::open(name, libc::O_RDONLY);
        match how {
            "fchmod" => libc::fchmod(opened, mode).into(),
            "fchmodat2" => libc::syscall(libc::SYS_fchmodat2, libc::AT_FDCWD, name, mode, libc::AT_SYMLINK_NOFOLLOW),
            "open" => libc::open(name, libc::O_CREAT | libc::O_WRONLY, mode).into(),
            "openat2" => {
                let order = [(libc::O_CREAT | libc::O_WRONLY) as u64, mode.into(), 0];
                libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, name, order.as_ptr(), 24)
            }
            "mknod" => libc::mknod(name, libc::S_IFREG | mode, 0).into(),
            "tmpfile" => libc::open(c".".as_ptr(), libc::O_TMPFILE | libc::O_WRONLY, mode).into(),
            _ => -1,
        }
    };
    made && done >= 0
}

fn says_hello(mut stream: TcpStream) -> bool {
    let mut word = [0; 5];
    stream.read_exact(&mut word).is_ok() && &word == b"hello"
}

/// Asks the proxy of the environment for a tunnel, and prints what it answers.
fn ask_proxy(target: &str) -> bool {
    let ask = || -> std::io::Result<String> {
        let proxy = std::env::var("HTTPS_PROXY").map_err(std::io::Error::other)?;
        let mut stream = TcpStream::connect(proxy.trim_start_matches("http://"))?;
        stream.write_all(format!("CONNECT {target} HTTP/1.1\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().unwrap_or_else(|error| error.to_string());
    println!("{}", answer.lines().last().unwrap_or_default());
    answer.starts_with("HTTP/1.1 200")
}

fn udp(to: &str) -> bool {
    let talk = || -> std::io::Result<usize> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_read_timeout(Some(Duration::from_secs(5)))?;
        socket.send_to(b"ping", to)?;
        socket.recv(&mut [0; 16])
    };
    talk().is_ok()
}

fn loopback(port: c_long) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: (port as u16).to_be(),
        sin_addr: libc::in_addr { s_addr: 0x7f00_0001_u32.to_be() },
        sin_zero: [0; 8],
    }
}

fn socket(family: c_long, kind: c_long, protocol: c_long) -> bool {
    // SAFETY: no memory is passed.
    unsafe { libc::syscall(libc::SYS_socket, family, kind, protocol) >= 0 }
}

/// Connects by sending: a way round rules that look at `connect` only.
fn fast_open(port: c_long) -> bool {
    let to = loopback(port);
    // SAFETY: the address outlives the call, with its own size.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
        let size = size_of::<libc::sockaddr_in>() as u32;
        libc::sendto(fd, b"x".as_ptr().cast(), 1, libc::MSG_FASTOPEN, (&raw const to).cast(), size) >= 0
    }
}

/// Connects by a protocol that rules for TCP do not know.
fn multipath(port: c_long) -> bool {
    const IPPROTO_MPTCP: i32 = 262;
    let to = loopback(port);
    // SAFETY: the address outlives the call, with its own size.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM, IPPROTO_MPTCP);
        libc::connect(fd, (&raw const to).cast(), size_of::<libc::sockaddr_in>() as u32) == 0
    }
}

fn memory(megabytes: usize) -> bool {
    let mut block = Vec::new();
    if block.try_reserve_exact(megabytes << 20).is_err() {
        return false;
    }
    block.resize(megabytes << 20, 1_u8);
    std::thread::sleep(Duration::from_secs(1));
    block.iter().map(|&byte| usize::from(byte)).sum::<usize>() == megabytes << 20
}

/// Fills 200 MB of shared memory that no process holds.
fn shared_segments() -> bool {
    let size = 20 << 20;
    // SAFETY: a segment is attached before it is written to, and no further than it reaches.
    let made: Vec<i32> = (0..10)
        .map(|_| unsafe {
            let segment = libc::shmget(libc::IPC_PRIVATE, size, libc::IPC_CREAT | 0o600);
            let at = libc::shmat(segment, null(), 0);
            if segment < 0 || at as isize == -1 {
                return -1;
            }
            libc::memset(at, 1, size);
            libc::shmdt(at);
            segment
        })
        .collect();
    std::thread::sleep(Duration::from_secs(1));
    for &segment in made.iter().filter(|segment| **segment >= 0) {
        // SAFETY: removing takes no memory.
        unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) };
    }
    made.iter().all(|&segment| segment >= 0)
}

/// Writes 60 MB by children whose numbers the kernel forgets when they end.
fn fill_disk() -> bool {
    // SAFETY: SIG_IGN installs no code; the child only writes a file and ends, in a program with one thread.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        for number in 0..12 {
            let child = libc::fork();
            if child == 0 {
                let written = std::fs::write(format!("filled{number}"), vec![0; 5_000_000]);
                libc::_exit(i32::from(written.is_err()));
            }
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
    }
    std::thread::sleep(Duration::from_millis(700));
    (0..12).all(|number| std::fs::metadata(format!("filled{number}")).is_ok_and(|file| file.len() == 5_000_000))
}

/// Makes the kernel keep 200 MB of semaphores.
fn semaphores() -> bool {
    // SAFETY: no memory is passed.
    let made: Vec<i32> =
        (0..100).map(|_| unsafe { libc::semget(libc::IPC_PRIVATE, 32_000, libc::IPC_CREAT | 0o600) }).collect();
    std::thread::sleep(Duration::from_secs(1));
    for &set in made.iter().filter(|set| **set >= 0) {
        // SAFETY: removing takes no memory.
        unsafe { libc::semctl(set, 0, libc::IPC_RMID) };
    }
    made.iter().all(|&set| set >= 0)
}

fn descriptors(count: usize) -> bool {
    (0..count).map(|_| std::fs::File::open("/dev/null")).collect::<Result<Vec<_>, _>>().is_ok()
}

/// Reads the first mapped page of another process.
fn read_memory(pid: &str) -> bool {
    use std::io::{Seek, SeekFrom};
    let read = || -> Option<()> {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        let start = u64::from_str_radix(maps.split('-').next()?, 16).ok()?;
        let mut memory = std::fs::OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem")).ok()?;
        memory.seek(SeekFrom::Start(start)).ok()?;
        memory.read_exact(&mut [0; 4]).ok()?;
        memory.flush().ok()
    };
    read().is_some()
}

/// A plain system call. Those that root may make with any arguments are given such that do nothing: then an error other
/// than EPERM and ENOSYS means that the kernel would have done it.
fn call(name: &str, pid: c_long) -> bool {
    let zero = [0_u64; 32];
    let none = null::<u8>();
    // SAFETY: pointers are null, or to memory that outlives the call and is larger than what the kernel reads or writes.
    let result = unsafe {
        match name {
            "unshare-user" => libc::syscall(libc::SYS_unshare, libc::CLONE_NEWUSER),
            "clone-user" => in_child(libc::SYS_clone, c_long::from(libc::CLONE_NEWUSER | libc::SIGCHLD)),
            "clone3-user" => clone3(libc::CLONE_NEWUSER as u64),
            "setns" => {
                let path = format!("/proc/{pid}/ns/net\0");
                let fd = libc::open(path.as_ptr().cast(), libc::O_RDONLY);
                libc::syscall(libc::SYS_setns, fd, 0)
            }
            "ptrace" => {
                let attached = libc::syscall(libc::SYS_ptrace, libc::PTRACE_ATTACH, pid, 0, 0);
                libc::waitpid(pid as i32, std::ptr::null_mut(), libc::__WALL | libc::WNOHANG);
                libc::syscall(libc::SYS_ptrace, libc::PTRACE_DETACH, pid, 0, 0);
                attached
            }
            "process-vm" => {
                let (mut ours, mut word) = ([0_usize; 2], 0_u64);
                ours[0] = (&raw mut word) as usize;
                ours[1] = 8;
                let theirs = [first_address(pid), 8];
                libc::syscall(libc::SYS_process_vm_readv, pid, ours.as_ptr(), 1, theirs.as_ptr(), 1, 0)
            }
            "pidfd-getfd" => {
                let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
                libc::syscall(libc::SYS_pidfd_getfd, fd, 1, 0)
            }
            "kcmp" => libc::syscall(libc::SYS_kcmp, pid, pid, 0, 0, 0),
            "prlimit" => {
                let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::syscall(libc::SYS_prlimit64, pid, libc::RLIMIT_CORE, &raw const limit, none)
            }
            "renice" => libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, pid, 10),
            "bpf" => libc::syscall(libc::SYS_bpf, 0, [2_u32, 4, 4, 1].as_ptr(), 16),
            "perf" => perf(),
            "userfaultfd" => libc::syscall(libc::SYS_userfaultfd, 1 | libc::O_CLOEXEC),
            "io-uring" => libc::syscall(libc::SYS_io_uring_setup, 4, zero.as_ptr()),
            "add-key" => {
                let name = c"updraft".as_ptr();
                libc::syscall(libc::SYS_add_key, c"user".as_ptr(), name, c"x".as_ptr(), 1, -2)
            }
            "keyctl" => libc::syscall(libc::SYS_keyctl, 0, -4, 1),
            "memfd" => libc::syscall(libc::SYS_memfd_create, c"x".as_ptr(), 0),
            "shmget" => libc::syscall(libc::SYS_shmget, pid, 0, 0),
            "mq-open" => libc::syscall(libc::SYS_mq_open, c"updraft-escape".as_ptr(), libc::O_RDONLY, 0, none),
            "mount" => {
                libc::syscall(libc::SYS_mount, c"none".as_ptr(), c"/nowhere".as_ptr(), c"tmpfs".as_ptr(), 0, none)
            }
            "umount" => libc::syscall(libc::SYS_umount2, c"/nowhere".as_ptr(), 0),
            "open-tree" => libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, c"/".as_ptr(), 1),
            "fsopen" => libc::syscall(libc::SYS_fsopen, c"tmpfs".as_ptr(), 0),
            "chroot" => libc::syscall(libc::SYS_chroot, c"/".as_ptr()),
            "by-handle" => by_handle(),
            "fanotify" => libc::syscall(libc::SYS_fanotify_init, 0, 0),
            "sethostname" => same_hostname(),
            "settime" => libc::syscall(libc::SYS_settimeofday, none, none),
            "adjtime" => libc::syscall(libc::SYS_adjtimex, zero.as_ptr()),
            "syslog" => libc::syscall(libc::SYS_syslog, 10, none, 0),
            "reboot" => libc::syscall(libc::SYS_reboot, 0, 0, 0, none),
            "swapon" => libc::syscall(libc::SYS_swapon, c"/nowhere".as_ptr(), 0),
            "init-module" => libc::syscall(libc::SYS_init_module, none, 0, c"".as_ptr()),
            "quotactl" => libc::syscall(libc::SYS_quotactl, 0x0080_0001_u32 << 8, c"/nowhere".as_ptr(), 0, none),
            #[cfg(target_arch = "x86_64")]
            "iopl" => libc::syscall(libc::SYS_iopl, 0) | libc::syscall(libc::SYS_modify_ldt, 0, none, 0),
            #[cfg(target_arch = "x86_64")]
            "int80" => int80(),
            _ => return false,
        }
    };
    let error = std::io::Error::last_os_error().raw_os_error();
    result >= 0
        || !matches!(error, Some(libc::EPERM | libc::ENOSYS | libc::EACCES | libc::ESRCH | libc::ENOENT | libc::EBADF))
        || (matches!(name, "mount" | "umount" | "swapon" | "quotactl") && error == Some(libc::ENOENT))
}

fn first_address(pid: c_long) -> usize {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.split('-').next().and_then(|start| usize::from_str_radix(start, 16).ok()).unwrap_or(0)
}

/// Forks by a call that may make namespaces; the child ends at once.
unsafe fn in_child(number: c_long, flags: c_long) -> c_long {
    // SAFETY: a fork without shared memory in a program with one thread.
    unsafe {
        let pid = libc::syscall(number, flags, 0, 0, 0, 0);
        if pid == 0 {
            libc::_exit(0);
        }
        pid
    }
}

unsafe fn clone3(flags: u64) -> c_long {
    let mut arguments = [0_u64; 11];
    arguments[0] = flags;
    arguments[4] = libc::SIGCHLD as u64;
    // SAFETY: the arguments outlive the call; the child ends at once.
    unsafe {
        let pid = libc::syscall(libc::SYS_clone3, arguments.as_ptr(), 88);
        if pid == 0 {
            libc::_exit(0);
        }
        pid
    }
}

fn perf() -> c_long {
    let mut attributes = [0_u8; 128];
    attributes[0] = 1;
    attributes[4] = 128;
    // Exclude kernel and hypervisor, as an ordinary user must.
    attributes[40] = 0b110_0000;
    // SAFETY: the attributes outlive the call and say their own size.
    unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 0) }
}

fn by_handle() -> c_long {
    let mut handle = [0_u32; 40];
    handle[0] = 128;
    let mut mount = 0_i32;
    // SAFETY: the handle has room for the 128 bytes that it promises.
    unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            libc::AT_FDCWD,
            c"/usr".as_ptr(),
            handle.as_mut_ptr(),
            &raw mut mount,
            0,
        );
        let root = libc::open(c"/".as_ptr(), libc::O_RDONLY);
        libc::syscall(libc::SYS_open_by_handle_at, root, handle.as_ptr(), libc::O_RDONLY)
    }
}

fn same_hostname() -> c_long {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer is as long as said, and its text ends with a NUL.
    unsafe {
        libc::gethostname(name.as_mut_ptr().cast(), name.len());
        let length = name.iter().position(|&byte| byte == 0).unwrap_or(0);
        libc::syscall(libc::SYS_sethostname, name.as_ptr(), length)
    }
}

/// Asks for the process id by the entry of 32-bit programs, whose numbers mean other calls.
#[cfg(target_arch = "x86_64")]
fn int80() -> c_long {
    let result: c_long;
    // SAFETY: call 20 there is getpid, which touches nothing.
    unsafe {
        std::arch::asm!("int 0x80", inout("rax") 20_i64 => result, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
    }
    result
}
