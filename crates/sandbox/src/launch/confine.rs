//! The last step of a process before it becomes the program: it sets limits and gives up capabilities, then applies
//! Landlock and seccomp.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};
use seccompiler::sock_filter;

use super::root::{NAMES, scratch_folders};
use super::timing;
use crate::policy::{Network, Policy, ResourceLimits, SandboxLevel};
use crate::protocol::LaunchFault;
use crate::visible::{ETC, SYSTEM};

/// The newest Landlock version this code supports. The kernel enforces the part that it supports.
const ABI_KNOWN: ABI = ABI::V9;

/// Gives up everything the policy does not grant. After this only the program itself is executed.
pub(super) fn confine(
    level: SandboxLevel,
    policy: &Policy,
    private: Option<&Path>,
    filters: &[Vec<u64>],
) -> Result<(), LaunchFault> {
    limit(level, &policy.limits).map_err(LaunchFault::set_up("setting resource limits"))?;
    timing::mark("setting limits");
    let rules = match level {
        SandboxLevel::Full => Some(full_rules(policy)),
        SandboxLevel::Landlock => Some(lower_rules(policy, private)),
        SandboxLevel::None => None,
    };
    if let Some(rules) = rules {
        drop_capabilities().map_err(LaunchFault::set_up("dropping capabilities"))?;
        timing::mark("dropping capabilities");
        landlock(&rules)?;
        timing::mark("Landlock");
    }
    rustix::thread::set_no_new_privs(true)
        .map_err(|error| LaunchFault::set_up("setting no_new_privs")(error.into()))?;
    filters.iter().try_for_each(|filter| install(filter))?;
    timing::mark("seccomp");
    Ok(())
}

/// Sets resource limits, but never RLIMIT_AS: runtimes reserve far more address space than they use memory.
fn limit(level: SandboxLevel, limits: &ResourceLimits) -> io::Result<()> {
    let set = |resource, value: u64| {
        let most = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let value = Some(value.min(most));
        rustix::process::setrlimit(resource, Rlimit { current: value, maximum: value })
    };
    set(Resource::Core, 0)?;
    set(Resource::Nofile, limits.files)?;
    set(Resource::Data, limits.memory)?;
    set(Resource::Fsize, limits.disk)?;
    if let Some(cpu) = limits.cpu {
        set(Resource::Cpu, cpu.as_secs().max(1))?;
    }
    // The kernel counts processes per user and user namespace: only at the full level is the count ours alone.
    let others = if level == SandboxLevel::Full { 0 } else { tasks_on_this_machine() };
    set(Resource::Nproc, limits.processes + others)?;
    Ok(())
}

/// Counts the tasks of all users, which includes every process of this user.
fn tasks_on_this_machine() -> u64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let all = text.split(' ').nth(3).and_then(|part| part.split('/').nth(1)).and_then(|all| all.parse().ok());
    all.unwrap_or(1 << 16)
}

fn drop_capabilities() -> io::Result<()> {
    rustix::thread::clear_ambient_capability_set()?;
    for number in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << number);
        // The kernel has fewer than 64 capabilities, and reports an error beyond the last one.
        if rustix::thread::remove_capability_from_bounding_set(one).is_err() {
            break;
        }
    }
    let locked = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    match rustix::thread::set_capabilities_secure_bits(locked) {
        // A process that may not set them has no capabilities to lose either.
        Ok(()) | Err(rustix::io::Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let none = CapabilitySet::empty();
    Ok(rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

/// Paths, and the access rights below them.
struct LandlockRules {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    devices: Vec<PathBuf>,
    /// Whether services of the host may be reached.
    reaches_host: bool,
}

/// With our own root everything visible may be read; only the writable folders need rules.
fn full_rules(policy: &Policy) -> LandlockRules {
    let mut write: Vec<PathBuf> = scratch_folders(policy).into();
    write.extend(policy.write.iter().chain([&policy.workspace]).cloned());
    let devices = ["null", "zero", "full", "random", "urandom", "pts"].map(|name| Path::new("/dev").join(name));
    LandlockRules {
        read: vec!["/".into()],
        write,
        devices: devices.into(),
        reaches_host: policy.network == Network::Host,
    }
}

/// In the host's file system every allowed path needs a rule.
fn lower_rules(policy: &Policy, private: Option<&Path>) -> LandlockRules {
    let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    read.extend(ETC.iter().map(|name| Path::new("/etc").join(name)));
    read.extend(["/etc/passwd", "/etc/group", "/etc/hosts", "/etc/hostname"].map(PathBuf::from));
    // Processes of this user can be seen but not accessed: Landlock refuses /proc/PID of processes outside.
    read.extend(["/proc", "/sys/devices/system/cpu"].map(PathBuf::from));
    if policy.network == Network::Host {
        read.extend(NAMES.map(PathBuf::from));
    }
    read.extend(policy.read.iter().cloned());
    let mut write: Vec<PathBuf> = policy.write.iter().chain([&policy.workspace]).cloned().collect();
    write.extend(private.map(Path::to_owned));
    let devices = ["null", "zero", "full", "random", "urandom"].map(|name| Path::new("/dev").join(name));
    LandlockRules { read, write, devices: devices.into(), reaches_host: policy.network == Network::Host }
}

fn landlock(rules: &LandlockRules) -> Result<(), LaunchFault> {
    let status =
        restricted(rules).map_err(|error| LaunchFault::SetUp { doing: format!("Landlock: {error}"), errno: 0 })?;
    match status.ruleset {
        // Partly: the kernel is older than the newest version we support. The probe reports what is missing.
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err(LaunchFault::SetUp { doing: "Landlock".to_owned(), errno: libc::EOPNOTSUPP }),
    }
}

fn restricted(rules: &LandlockRules) -> Result<RestrictionStatus, landlock::RulesetError> {
    let read = AccessFs::from_read(ABI_KNOWN);
    let write = AccessFs::from_all(ABI_KNOWN);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(write)?
        .scope(Scope::from_all(ABI_KNOWN))?
        .create()?;
    for path in &rules.read {
        ruleset = allowed(ruleset, path, read)?;
    }
    // A host service whose socket is in the workspace is a way into the network. Sockets that the command itself
    // listens on need no rule.
    let in_folders = if rules.reaches_host { write } else { write & !AccessFs::ResolveUnix };
    for path in &rules.write {
        ruleset = allowed(ruleset, path, in_folders)?;
    }
    for path in &rules.devices {
        ruleset =
            allowed(ruleset, path, AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::IoctlDev)?;
    }
    ruleset.restrict_self()
}

fn allowed(
    ruleset: RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    // A path that does not exist needs no rule, and cannot be created there later either.
    let Ok(opened) = PathFd::new(path) else { return Ok(ruleset) };
    let is_folder = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let access = if is_folder { access } else { access & AccessFs::from_file(ABI_KNOWN) };
    ruleset.add_rule(PathBeneath::new(opened, access))
}

fn install(filter: &[u64]) -> Result<(), LaunchFault> {
    let program: Vec<sock_filter> = filter.iter().map(|&packed| unpacked(packed)).collect();
    seccompiler::apply_filter(&program)
        .map_err(|error| LaunchFault::SetUp { doing: format!("seccomp: {error}"), errno: 0 })
}

fn unpacked(packed: u64) -> sock_filter {
    let [c0, c1, jt, jf, k @ ..] = packed.to_le_bytes();
    sock_filter { code: u16::from_le_bytes([c0, c1]), jt, jf, k: u32::from_le_bytes(k) }
}
