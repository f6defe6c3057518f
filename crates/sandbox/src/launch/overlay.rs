//! Mounts the workspace for a staged command: an overlay that reads from the workspace and writes to a folder of
//! ours.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use crate::staged::OverlayStage;

/// Creates the mount without attaching it. Fails if something is mounted inside the workspace, and on file systems
/// that cannot be a layer.
pub(super) fn mount(stage: &OverlayStage) -> io::Result<OwnedFd> {
    let open =
        |path: &Path| rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let layers = [
        ("lowerdir", open(&stage.workspace)?),
        ("upperdir", open(&stage.folder.join("upper"))?),
        ("workdir", open(&stage.folder.join("work"))?),
    ];
    let fs = rustix::mount::fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // The overlay stores its marks in the `user.` extended attributes.
    rustix::mount::fsconfig_set_flag(&fs, "userxattr")?;
    // Otherwise the end of every command would wait until the whole disk is synced.
    rustix::mount::fsconfig_set_flag(&fs, "volatile")?;
    for (name, layer) in &layers {
        // By descriptor: a path may contain the character that separates layers.
        rustix::mount::fsconfig_set_string(&fs, *name, format!("/proc/self/fd/{}", layer.as_raw_fd()))?;
    }
    rustix::mount::fsconfig_create(&fs)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(rustix::mount::fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}
