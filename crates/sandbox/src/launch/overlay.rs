//! The workspace as a staged command sees it: an overlay that reads from the workspace and writes to a folder of ours.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use crate::staged::OverlayStage;

/// Makes the mount, not yet in its place. Refused where something is mounted in the workspace, and by file systems that
/// cannot be a layer.
pub(super) fn mount(stage: &OverlayStage) -> io::Result<OwnedFd> {
    let open =
        |path: &Path| rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let layers = [
        ("lowerdir", open(&stage.workspace)?),
        ("upperdir", open(&stage.folder.join("upper"))?),
        ("workdir", open(&stage.folder.join("work"))?),
    ];
    let fs = rustix::mount::fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // What is noted on files is in the names that belong to users.
    rustix::mount::fsconfig_set_flag(&fs, "userxattr")?;
    // Otherwise the end of every command would wait until the whole disk is written.
    rustix::mount::fsconfig_set_flag(&fs, "volatile")?;
    for (name, layer) in &layers {
        // By descriptor: a path may hold what separates layers.
        rustix::mount::fsconfig_set_string(&fs, *name, format!("/proc/self/fd/{}", layer.as_raw_fd()))?;
    }
    rustix::mount::fsconfig_create(&fs)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(rustix::mount::fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}
