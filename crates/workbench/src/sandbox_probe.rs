//! Which sandbox level this machine supports: found by trying, and saved for the next process.
//!
//! Only the full level is saved, together with everything it depends on. A saved result can therefore only promise too
//! much, and then commands are not run. It never promises too little, so no command is confined less because of it.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;
use updraft_sandbox::{Sandbox, SandboxLevel, SandboxSupport};

use crate::fault::Fault;
use crate::folders::{self, AppFolders};

/// This program itself, even if an update has replaced its file.
pub const LAUNCHER: &str = "/proc/self/exe";

/// Filled once in a process, by the first caller.
static OFFERED: LazyLock<Arc<OnceCell<SandboxSupport>>> = LazyLock::new(Arc::default);

/// The saved result.
#[derive(Serialize, Deserialize)]
struct SavedProbe {
    /// Everything that the result depends on.
    here: Vec<String>,
    probe: SandboxSupport,
}

/// This process's result of the probe, filled in from the file if an earlier process has saved it.
pub fn slot(folders: &AppFolders) -> Arc<OnceCell<SandboxSupport>> {
    let slot = Arc::clone(&OFFERED);
    if !slot.initialized()
        && let Some(probe) = known(folders)
    {
        // If another thread was faster, it has stored the same.
        let _ = slot.set(probe);
    }
    slot
}

/// What sandbox this machine supports; tries it only if that is not known yet.
pub fn probe(folders: &AppFolders) -> BoxFuture<'_, Result<SandboxSupport, Fault>> {
    Box::pin(async move { slot(folders).get_or_try_init(|| anew(folders)).await.cloned() })
}

/// Tries the sandbox again, even if the result is known.
pub fn anew(folders: &AppFolders) -> BoxFuture<'_, Result<SandboxSupport, Fault>> {
    Box::pin(async move {
        let probe = Sandbox::probe(LAUNCHER).await.map_err(|error| Fault::failed(error.to_string()))?;
        if probe.level == SandboxLevel::Full {
            let kept = SavedProbe { here: here(), probe: probe.clone() };
            // If it cannot be saved, the next process tries again.
            let _ = folders::replace_private(&file(folders), &serde_json::to_vec(&kept).unwrap_or_default());
        } else {
            let _ = std::fs::remove_file(file(folders));
        }
        Ok(probe)
    })
}

fn file(folders: &AppFolders) -> PathBuf {
    folders.state.join("sandbox.json")
}

fn known(folders: &AppFolders) -> Option<SandboxSupport> {
    let kept: SavedProbe =
        serde_json::from_slice(&crate::untrusted::read(&file(folders), crate::untrusted::LARGEST_SETTINGS).ok()?)
            .ok()?;
    (kept.probe.level == SandboxLevel::Full && kept.here == here()).then_some(kept.probe)
}

/// Everything that the result depends on: this boot of this kernel, this program, this user, and the restrictions on
/// this process.
fn here() -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let mut facts: Vec<String> = FILES.iter().map(|path| read(path)).collect();
    let status = read("/proc/self/status");
    facts.extend(status.lines().filter(|line| STATUS.iter().any(|name| line.starts_with(name))).map(str::to_owned));
    let link = |name| std::fs::read_link(format!("/proc/self/ns/{name}")).unwrap_or_default().display().to_string();
    facts.extend(["user", "mnt", "pid", "net", "cgroup"].map(link));
    let identity = |path| {
        let found = std::fs::metadata(path).ok();
        found.map_or_else(String::new, |found| {
            format!("{}:{}:{}:{}.{}", found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec())
        })
    };
    facts.push(identity(LAUNCHER));
    let root = std::fs::metadata("/").map(|root| format!("{}:{}", root.dev(), root.ino()));
    facts.push(root.unwrap_or_default());
    facts.push(env!("CARGO_PKG_VERSION").to_owned());
    facts
}

/// The kernel, its boot, and what it allows unprivileged users.
const FILES: [&str; 10] = [
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_mnt_namespaces",
    "/proc/sys/user/max_pid_namespaces",
    "/proc/sys/user/max_net_namespaces",
    "/sys/kernel/security/lsm",
    "/proc/self/attr/current",
];

/// The user and group, and which rights a container has removed.
const STATUS: [&str; 6] = ["Uid:", "Gid:", "CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:"];

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(level: SandboxLevel, here: Vec<String>) -> (tempfile::TempDir, AppFolders) {
        let folder = tempfile::tempdir().unwrap();
        let folders = AppFolders::under(folder.path());
        let probe = SandboxSupport { level, landlock_abi: 6, missing: Vec::new() };
        folders::replace_private(&file(&folders), &serde_json::to_vec(&SavedProbe { here, probe }).unwrap())
            .ok()
            .unwrap();
        (folder, folders)
    }

    #[test]
    fn what_was_found_counts_only_here_and_only_at_the_full_level() {
        let (_folder, folders) = kept(SandboxLevel::Full, here());
        assert_eq!(known(&folders).map(|probe| probe.level), Some(SandboxLevel::Full));
        // A lower level is probed each time, so that one bad result never lowers the confinement of later runs.
        assert_eq!(known(&kept(SandboxLevel::Landlock, here()).1), None);
        let facts = here().len();
        assert!(facts >= FILES.len() + STATUS.len() + 5, "{facts}");
        for at in 0..facts {
            let mut elsewhere = here();
            elsewhere[at].push('x');
            assert_eq!(known(&kept(SandboxLevel::Full, elsewhere).1), None);
        }
    }

    #[test]
    fn a_file_that_is_no_record_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let folders = AppFolders::under(folder.path());
        assert_eq!(known(&folders), None);
        std::fs::write(file(&folders), "{\"probe\"").unwrap();
        assert_eq!(known(&folders), None);
    }
}
