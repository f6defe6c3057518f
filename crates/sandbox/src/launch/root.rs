//! Builds the root folder that a child sees at the full level: the system read-only, the workspace, private temporary
//! folders.
//!
//! Every mount is first opened as a detached tree, then restricted, and only then attached, so nothing is ever
//! visible with more rights than intended. The folders themselves are on a small tmpfs that becomes read-only at the
//! end.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};

use super::kernel::{self, MountRestriction};
use super::namespace_init::WorkspaceMounts;
use super::{overlay, sockets};
use crate::git_identity;
use crate::guard::SelfMount;
use crate::policy::{Network, Policy};
use crate::protocol::LaunchFault;
use crate::visible::{ETC, SYSTEM};

/// Devices that store nothing and are the same for everyone.
pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Files for resolving host names, for commands that may use the host's network.
pub(super) const NAMES: [&str; 2] = ["/etc/resolv.conf", "/etc/hosts"];

/// Private and writable folders, in the order they are mounted.
pub(super) fn scratch_folders(policy: &Policy) -> [PathBuf; 4] {
    ["/tmp".into(), "/var/tmp".into(), "/dev/shm".into(), policy.home.clone()]
}

/// Builds the new root and makes it the root of this process, which must be alone in its namespaces. Returns why the
/// workspace is not staged, if it should be but is not.
pub(super) fn enter(policy: &Policy, inside: &WorkspaceMounts<'_>) -> Result<Option<String>, LaunchFault> {
    let (holds, stage) = (inside.holds, inside.stage);
    rustix::mount::mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
        .map_err(|error| LaunchFault::set_up("making mounts private")(error.into()))?;
    let mut plan = plan(policy)?;
    let overlay = stage.map(overlay::mount);
    let (overlay, unstaged) = match overlay {
        Some(Ok(overlay)) => (Some(overlay), None),
        Some(Err(error)) => (None, Some(format!("the workspace cannot be mounted as an overlay: {error}"))),
        None => (None, None),
    };
    let is_staged = overlay.is_some();
    if let (Some(tree), Some(mount)) = (overlay, plan.iter_mut().rfind(|mount| mount.at == policy.workspace)) {
        // The last mount of it, which is on top: the workspace may also be in the granted folders.
        mount.what = MountContent::Tree { tree, is_folder: true };
    }
    let early = if is_staged { Vec::new() } else { guards(holds, None)? };
    let root = tmpfs("755", "4m").map_err(LaunchFault::set_up("making a root folder"))?;
    // Any folder will do for a moment: all sources are already open.
    attach(&root, CWD, "/usr").map_err(LaunchFault::set_up("mounting a root folder"))?;
    plan.extend(scratch(&root, policy).map_err(LaunchFault::set_up("making temporary folders"))?);
    // A stable sort, so of two mounts at the same place the later one is on top.
    plan.sort_by_key(|mount| mount.at.components().count());
    put_all(&root, plan.into_iter().chain(early))?;
    if is_staged {
        // Guarded files must be mounted from the overlay, or they could be written around it.
        put_all(&root, guards(holds, Some(&root))?.into_iter())?;
    }
    if let Some(sockets) = inside.sockets {
        let live = sockets.iter().filter(|path| sockets::is_live(path)).cloned().collect();
        cover(&root, &live).map_err(LaunchFault::set_up("covering sockets"))?;
    }
    special(&root, policy).map_err(LaunchFault::set_up("mounting /dev and /proc"))?;
    files_of_our_own(&root, policy).map_err(LaunchFault::set_up("writing /etc"))?;
    pivot_into(&root).map_err(LaunchFault::set_up("changing the root folder"))?;
    Ok(unstaged)
}

fn put_all(root: &OwnedFd, mounts: impl Iterator<Item = Mount>) -> Result<(), LaunchFault> {
    for mount in mounts {
        let at = mount.at.clone();
        mount.put_into(root).map_err(LaunchFault::set_up(format!("mounting {}", at.display())))?;
    }
    Ok(())
}

struct Mount {
    at: PathBuf,
    what: MountContent,
}

enum MountContent {
    Tree { tree: OwnedFd, is_folder: bool },
    Link(PathBuf),
}

impl Mount {
    fn put_into(self, root: &OwnedFd) -> io::Result<()> {
        match self.what {
            MountContent::Link(target) => {
                make_folder(root, self.at.parent().unwrap_or(Path::new("/")))?;
                Ok(rustix::fs::symlinkat(&target, root, relative(&self.at))?)
            }
            MountContent::Tree { tree, is_folder: true } => attach(&tree, make_folder(root, &self.at)?, ""),
            MountContent::Tree { tree, is_folder: false } => attach(&tree, make_file(root, &self.at)?, ""),
        }
    }
}

/// The parts of the host's file system that are shown, opened but not yet attached.
fn plan(policy: &Policy) -> Result<Vec<Mount>, LaunchFault> {
    let mut plan = Vec::new();
    for path in SYSTEM {
        match std::fs::read_link(path) {
            Ok(target) => plan.push(Mount { at: path.into(), what: MountContent::Link(target) }),
            Err(_) => plan.extend(existing(Path::new(path), MountRestriction::ReadOnly)?),
        }
    }
    for name in ETC {
        plan.extend(existing(&Path::new("/etc").join(name), MountRestriction::ReadOnly)?);
    }
    plan.extend(existing(Path::new("/sys/devices/system/cpu"), MountRestriction::ReadOnly)?);
    if policy.network == Network::Host {
        for path in NAMES {
            plan.extend(existing(Path::new(path), MountRestriction::ReadOnly)?);
        }
    }
    let writable: Vec<&PathBuf> = policy.write.iter().chain([&policy.workspace]).collect();
    for path in policy.read.iter().filter(|path| !writable.iter().any(|folder| path.starts_with(folder))) {
        plan.extend(existing(path, MountRestriction::ReadOnly)?);
    }
    for path in writable {
        let tree = tree(CWD, path, MountRestriction::NoDevices)
            .map_err(LaunchFault::set_up(format!("opening {}", path.display())))?;
        plan.push(Mount { at: path.clone(), what: MountContent::Tree { tree, is_folder: true } });
    }
    Ok(plan)
}

/// Guarded files and folders of the workspace, to be mounted over themselves: from the host, or from the new root.
fn guards(holds: &[SelfMount], root: Option<&OwnedFd>) -> Result<Vec<Mount>, LaunchFault> {
    let mut guards = Vec::new();
    for hold in holds {
        let path = hold.path();
        let doing = || LaunchFault::set_up(format!("guarding {}", path.display()));
        let opened = match root {
            Some(root) => open_in(root, hold.folder()).map_err(Into::into).and_then(|folder| hold.open_in(&folder)),
            None => hold.open(),
        };
        let Some(held) = opened.map_err(doing())? else { continue };
        let strict = if hold.is_read_only { MountRestriction::ReadOnly } else { MountRestriction::NoDevices };
        let tree = tree(&held.opened, "", strict).map_err(doing())?;
        guards.push(Mount { at: path, what: MountContent::Tree { tree, is_folder: held.is_folder } });
    }
    Ok(guards)
}

/// Mounts `/dev/null` over each of these sockets, so that nobody answers there. Git and similar programs skip a device
/// as they skip a socket.
fn cover(root: &OwnedFd, sockets: &BTreeSet<PathBuf>) -> io::Result<()> {
    for path in sockets {
        // It may have been removed meanwhile, or not be visible at all.
        let Ok(place) = open_in(root, path) else { continue };
        let about = rustix::fs::fstat(&place)?;
        // Nobody answers through an overlay, so sockets in an overlay are left alone. Only the device tells which
        // case it is: a folder in the workspace may be granted separately, and is then the host's.
        let is_the_hosts = std::fs::symlink_metadata(path).is_ok_and(|there| there.dev() == about.st_dev);
        if is_the_hosts && FileType::from_raw_mode(about.st_mode) == FileType::Socket {
            attach(&tree(CWD, "/dev/null", MountRestriction::Device)?, &place, "")?;
        }
    }
    Ok(())
}

/// A mount of a path; `None` if the path does not exist.
fn existing(path: &Path, strict: MountRestriction) -> Result<Option<Mount>, LaunchFault> {
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(None) };
    match tree(CWD, path, strict) {
        Ok(tree) => {
            Ok(Some(Mount { at: path.to_owned(), what: MountContent::Tree { tree, is_folder: metadata.is_dir() } }))
        }
        // If this user may not access it, it does not exist for a command either.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(LaunchFault::set_up(format!("opening {}", path.display()))(error)),
    }
}

/// Creates one tmpfs for all temporary folders, so that its size limits them together. Only parts of it are mounted.
fn scratch(root: &OwnedFd, policy: &Policy) -> io::Result<Vec<Mount>> {
    let whole = tmpfs("755", &policy.limits.temporary.to_string())?;
    kernel::restrict_mount(whole.as_fd(), MountRestriction::NoDevices, false)?;
    let place = make_folder(root, Path::new("/.scratch"))?;
    attach(&whole, &place, "")?;
    let mut mounts = Vec::new();
    for (at, name) in scratch_folders(policy).into_iter().zip(["tmp", "var", "shm", "home"]) {
        let mode = Mode::from_raw_mode(0o1777);
        rustix::fs::mkdirat(&whole, name, mode)?;
        rustix::fs::chmodat(&whole, name, mode, AtFlags::empty())?;
        mounts.push(Mount {
            at,
            what: MountContent::Tree { tree: tree(&whole, name, MountRestriction::NoDevices)?, is_folder: true },
        });
    }
    for (name, text) in git_identity::files(&policy.git) {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&whole, Path::new("home").join(name), flags, Mode::from_raw_mode(0o644))?;
        std::fs::File::from(file).write_all(text.as_bytes())?;
    }
    rustix::process::fchdir(root)?;
    rustix::mount::unmount(".scratch", UnmountFlags::DETACH)?;
    rustix::fs::unlinkat(root, ".scratch", AtFlags::REMOVEDIR)?;
    Ok(mounts)
}

fn tmpfs(mode: &str, size: &str) -> io::Result<OwnedFd> {
    let fs = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&fs, "mode", mode)?;
    rustix::mount::fsconfig_set_string(&fs, "size", size)?;
    made(&fs, MountAttrFlags::empty())
}

fn made(fs: &OwnedFd, flags: MountAttrFlags) -> io::Result<OwnedFd> {
    rustix::mount::fsconfig_create(fs)?;
    Ok(rustix::mount::fsmount(fs, FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}

/// A detached copy of the mounts at the path and below it, with fewer rights.
fn tree(at: impl AsFd, path: impl AsRef<Path>, strict: MountRestriction) -> io::Result<OwnedFd> {
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    if path.as_ref().as_os_str().is_empty() {
        flags |= OpenTreeFlags::AT_EMPTY_PATH;
    }
    let tree = rustix::mount::open_tree(at, path.as_ref(), flags)?;
    kernel::restrict_mount(tree.as_fd(), strict, true)?;
    Ok(tree)
}

fn attach(tree: &OwnedFd, at: impl AsFd, path: &str) -> io::Result<()> {
    let mut flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    if path.is_empty() {
        flags |= MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    }
    Ok(rustix::mount::move_mount(tree, "", at, path, flags)?)
}

fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn open_in(root: &OwnedFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let path = if path == Path::new("/") || path.as_os_str().is_empty() { Path::new(".") } else { relative(path) };
    rustix::fs::openat2(root, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::IN_ROOT)
}

/// Opens a folder of the new root, and creates it and its parents if missing.
fn make_folder(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    if let Ok(found) = open_in(root, path) {
        return Ok(found);
    }
    let parent = make_folder(root, path.parent().unwrap_or(Path::new("/")))?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755))?;
    Ok(open_in(root, path)?)
}

fn make_file(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    if let Ok(found) = open_in(root, path) {
        return Ok(found);
    }
    let parent = make_folder(root, path.parent().unwrap_or(Path::new("/")))?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    drop(rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o444))?);
    Ok(open_in(root, path)?)
}

/// Mounts the kernel's own file systems: a few devices, terminals, processes.
fn special(root: &OwnedFd, policy: &Policy) -> io::Result<()> {
    for name in DEVICES {
        let device = tree(CWD, Path::new("/dev").join(name), MountRestriction::Device)?;
        attach(&device, make_file(root, &Path::new("/dev").join(name))?, "")?;
    }
    let terminals = rustix::mount::fsopen("devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&terminals, "ptmxmode", "0666")?;
    rustix::mount::fsconfig_set_string(&terminals, "mode", "0600")?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    attach(&made(&terminals, flags)?, make_folder(root, Path::new("/dev/pts"))?, "")?;
    let links =
        [("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")];
    for (name, target) in links {
        rustix::fs::symlinkat(target, root, format!("dev/{name}"))?;
    }
    let processes = rustix::mount::fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let flags = flags | MountAttrFlags::MOUNT_ATTR_NODEV;
    let processes = made(&processes, flags)?;
    attach(&processes, make_folder(root, Path::new("/proc"))?, "")?;
    limit_pids(root, policy);
    // The real root user owns these files even without any capability, and their modes apply to the whole machine.
    // Landlock prevents writing here in any case.
    kernel::restrict_mount(processes.as_fd(), MountRestriction::ReadOnly, false)
}

/// Limits processes where RLIMIT_NPROC does not apply, as for the real root user. Kernels before 6.14 have one value
/// for the whole machine, which must not be changed.
fn limit_pids(root: &OwnedFd, policy: &Policy) {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    if (numbers.next(), numbers.next()) < (Some(6), Some(14)) {
        return;
    }
    // The first 300 process ids are not reused once all have been used.
    let most = policy.limits.processes + 301;
    let path = "proc/sys/kernel/pid_max";
    if let Ok(file) = rustix::fs::openat(root, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
        // Refused if the limit is higher than the machine's own limit, which then applies.
        let _ = rustix::io::write(&file, most.to_string().as_bytes());
    }
}

/// Writes the files that say who and where we are: no accounts of other users, no other machines.
fn files_of_our_own(root: &OwnedFd, policy: &Policy) -> io::Result<()> {
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let home = policy.home.display();
    let passwd =
        format!("agent:x:{uid}:{gid}:agent:{home}:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n");
    let group = format!("agent:x:{gid}:\nnogroup:x:65534:\n");
    let files = [
        ("etc/passwd", passwd.as_str()),
        ("etc/group", group.as_str()),
        ("etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"),
        ("etc/hostname", "sandbox\n"),
    ];
    make_folder(root, Path::new("/etc"))?;
    for (path, text) in files {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::openat(root, path, flags, Mode::from_raw_mode(0o444)) {
            Ok(file) => drop(rustix::io::write(&file, text.as_bytes())?),
            // The host's own file is already mounted there.
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(rustix::system::sethostname(b"sandbox")?)
}

fn pivot_into(root: &OwnedFd) -> io::Result<()> {
    kernel::restrict_mount(root.as_fd(), MountRestriction::ReadOnly, false)?;
    let old = rustix::fs::openat(CWD, "/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::process::fchdir(root)?;
    rustix::process::pivot_root(".", ".")?;
    rustix::process::fchdir(&old)?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    Ok(rustix::process::chdir("/")?)
}
