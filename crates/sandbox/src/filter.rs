//! The seccomp filters: system calls that ordinary programs do not need and that have been used to attack kernels are
//! refused.
//!
//! Built once in our process and passed to each launcher. The filters stack: each one returns a single error code.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};

use crate::policy::{Network, SandboxLevel};

/// Answered with EPERM regardless of the arguments.
const REFUSED: [i64; 55] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    libc::SYS_vmsplice,
    libc::SYS_memfd_secret,
];

/// Only on x86.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: [i64; 6] =
    [libc::SYS_ioperm, libc::SYS_iopl, libc::SYS_modify_ldt, libc::SYS_uselib, libc::SYS_sysfs, libc::SYS_ustat];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: [i64; 0] = [];

/// Without an IPC namespace these reach other programs of the user: by key or name, and by id, which anyone can list.
const SYSTEM_V: [i64; 13] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// They reveal the names of files created and removed in a folder that may not be listed: Landlock has no rule for
/// them.
#[cfg(target_arch = "x86_64")]
const WATCHES: [i64; 2] = [libc::SYS_inotify_init, libc::SYS_inotify_init1];
#[cfg(not(target_arch = "x86_64"))]
const WATCHES: [i64; 1] = [libc::SYS_inotify_init1];

/// Calls whose first argument is the process they change: its resource limits, its scheduling.
const OF_A_PROCESS: [i64; 5] = [
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

/// Calls that change a kind of processes given by their first argument, and the kind that means a single process.
const OF_SOME_PROCESSES: [(i64, u64); 2] =
    [(libc::SYS_setpriority, libc::PRIO_PROCESS as u64), (libc::SYS_ioprio_set, 1)];

const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;
/// CLONE_NEWTIME shares its bit with the exit signal of clone, and does not help to escape; unshare and clone3 are
/// refused.
const PUSH_INTO_TERMINAL: [u64; 2] = [libc::TIOCSTI, 0x541C];

/// The filters for a level and a network, with each instruction packed into a number.
pub(crate) fn filters(level: SandboxLevel, network: &Network) -> Result<Vec<Vec<u64>>, seccompiler::Error> {
    if level == SandboxLevel::None {
        return Ok(Vec::new());
    }
    let refused = program(refused(level, network)?, libc::EPERM)?;
    // clone3 hides its flags behind a pointer, and openat2 its mode; libraries fall back to clone and openat. memfd
    // memory belongs to no process and so could not be counted; libraries fall back to a file.
    let mut absent = plain_rules(&[libc::SYS_clone3, libc::SYS_openat2, libc::SYS_memfd_create]);
    if level != SandboxLevel::Full {
        // Programs that watch files poll them instead.
        absent.extend(plain_rules(&WATCHES));
    }
    // Space that is allocated without writing could not be counted either; libraries fall back to writing.
    let unsupported = plain_rules(&[libc::SYS_fallocate]);
    let programs = [with_x32_refused(refused), program(absent, libc::ENOSYS)?, program(unsupported, libc::EOPNOTSUPP)?];
    Ok(programs.iter().map(|program| program.iter().map(packed).collect()).collect())
}

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;

fn plain_rules(calls: &[i64]) -> SeccompRules {
    calls.iter().map(|&call| (call, Vec::new())).collect()
}

fn refused(level: SandboxLevel, network: &Network) -> Result<SeccompRules, seccompiler::Error> {
    let mut rules = plain_rules(&REFUSED);
    rules.extend(plain_rules(&REFUSED_HERE));
    let mut clone = Vec::new();
    for bit in (0..32).map(|shift| 1_u64 << shift).filter(|bit| NAMESPACES as u64 & bit != 0) {
        clone.push(when(0, SeccompCmpOp::MaskedEq(bit), bit)?);
    }
    rules.insert(libc::SYS_clone, clone);
    let terminal: Result<Vec<_>, _> =
        PUSH_INTO_TERMINAL.map(|call| when(1, SeccompCmpOp::Eq, call)).into_iter().collect();
    rules.insert(libc::SYS_ioctl, terminal?);
    rules.extend(set_id()?);
    if level == SandboxLevel::Full || *network == Network::Host {
        rules.insert(libc::SYS_socket, families(level)?);
    } else {
        // The host's network is reachable, and no Landlock rule covers every way into it.
        rules.insert(libc::SYS_socket, Vec::new());
    }
    if level != SandboxLevel::Full {
        rules.extend(plain_rules(&SYSTEM_V));
    }
    rules.extend(others_share(level)?);
    Ok(rules)
}

/// Prevents changing the limits and scheduling of processes outside the sandbox and of the process that supervises
/// it, which could otherwise be slowed down or blinded.
fn others_share(level: SandboxLevel) -> Result<SeccompRules, seccompiler::Error> {
    // In its own namespace a child sees only the supervisor, which always has this process id. Otherwise it sees all
    // of the user's processes, and Landlock only prevents signals to them.
    let (op, number) = if level == SandboxLevel::Full { (SeccompCmpOp::Eq, 1) } else { (SeccompCmpOp::Ne, 0) };
    let mut rules = SeccompRules::new();
    for call in OF_A_PROCESS {
        rules.insert(call, vec![when(0, op.clone(), number)?]);
    }
    for (call, single) in OF_SOME_PROCESSES {
        rules.insert(call, vec![when(0, SeccompCmpOp::Ne, single)?, when(1, op.clone(), number)?]);
    }
    Ok(rules)
}

/// Calls that set the mode of a file, and which argument is the mode.
const MODES: [(i64, u8); 4] =
    [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (libc::SYS_fchmodat2, 2), (libc::SYS_mknodat, 2)];
#[cfg(target_arch = "x86_64")]
const MODES_HERE: [(i64, u8); 3] = [(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const MODES_HERE: [(i64, u8); 0] = [];

/// Calls that may create a file, and which arguments are the flags and the mode.
#[cfg(target_arch = "x86_64")]
const OPENS: [(i64, u8, u8); 2] = [(libc::SYS_open, 1, 2), (libc::SYS_openat, 2, 3)];
#[cfg(not(target_arch = "x86_64"))]
const OPENS: [(i64, u8, u8); 1] = [(libc::SYS_openat, 2, 3)];

/// The bit that only `O_TMPFILE` has.
const TEMPORARY_FILE: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;

/// Refuses the set-user-id and set-group-id bits: outside the sandbox, such a file would give the user's rights to
/// anyone who runs it. The kernel ignores these bits when folders are created.
fn set_id() -> Result<SeccompRules, seccompiler::Error> {
    let bits = [u64::from(libc::S_ISUID), u64::from(libc::S_ISGID)];
    let mut rules = SeccompRules::new();
    for (call, mode) in MODES.into_iter().chain(MODES_HERE) {
        let with_bit = bits.map(|bit| when(mode, SeccompCmpOp::MaskedEq(bit), bit));
        rules.insert(call, with_bit.into_iter().collect::<Result<_, _>>()?);
    }
    for (call, flags, mode) in OPENS {
        let mut made = Vec::new();
        // There is a mode argument only if a file may be created: otherwise the register holds an arbitrary value.
        for flag in [libc::O_CREAT, TEMPORARY_FILE].map(|flag| flag as u64) {
            for bit in bits {
                let makes = condition(flags, SeccompCmpOp::MaskedEq(flag), flag)?;
                let with_bit = condition(mode, SeccompCmpOp::MaskedEq(bit), bit)?;
                made.push(SeccompRule::new(vec![makes, with_bit])?);
            }
        }
        rules.insert(call, made);
    }
    Ok(rules)
}

/// Refuses every address family except local, internet and netlink routing: others such as vsock reach the host of a
/// virtual machine.
///
/// If the host's files are visible, so are the sockets of its services, and Landlock has no rule for them before
/// version 9. At that level, only connected pairs of local sockets are allowed.
fn families(level: SandboxLevel) -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let mut allowed = vec![libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    allowed.extend((level == SandboxLevel::Full).then_some(libc::AF_UNIX));
    let mut rules = Vec::new();
    for family in 0..u64::from(libc::AF_INET6.cast_unsigned() + 54) {
        if !allowed.iter().any(|&one| one as u64 == family) {
            rules.push(when(0, SeccompCmpOp::Eq, family)?);
        }
    }
    rules.push(when(0, SeccompCmpOp::Gt, 63)?);
    let netlink = condition(0, SeccompCmpOp::Eq, libc::AF_NETLINK as u64)?;
    let other_than_routing = condition(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE as u64)?;
    rules.push(SeccompRule::new(vec![netlink, other_than_routing])?);
    Ok(rules)
}

/// Compares 32 bits: the kernel ignores the rest of these arguments, so the filter must too.
fn condition(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, seccompiler::Error> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)?)
}

fn when(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::Error> {
    Ok(SeccompRule::new(vec![condition(argument, op, value)?])?)
}

fn program(rules: SeccompRules, errno: i32) -> Result<BpfProgram, seccompiler::Error> {
    let answer = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, std::env::consts::ARCH.try_into()?)?;
    Ok(filter.try_into()?)
}

/// Prepends a check that refuses system calls by their x32 numbers, which no rule lists.
fn with_x32_refused(program: BpfProgram) -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const FIRST_X32: u32 = 0x4000_0000;
    let one = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let refuse = u32::from(SeccompAction::Errno(libc::EPERM.cast_unsigned()));
    // 0x35 is `jump if greater or equal`: if it holds, continue with the refusal, otherwise skip it.
    let mut whole = vec![one(LOAD_NUMBER, 0, 0, 0), one(JUMP_IF_AT_LEAST, 0, 1, FIRST_X32), one(RETURN, 0, 0, refuse)];
    whole.extend(program);
    whole
}

fn packed(one: &sock_filter) -> u64 {
    let [c0, c1] = one.code.to_le_bytes();
    let [k0, k1, k2, k3] = one.k.to_le_bytes();
    u64::from_le_bytes([c0, c1, one.jt, one.jf, k0, k1, k2, k3])
}
