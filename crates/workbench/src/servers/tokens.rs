//! Stores the tokens from signing in to remote servers, in files that only the user can read.

use std::any::Any;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use updraft_journal::hash_of;
use updraft_mcp::{HostFuture, SecretStore};

use crate::folders::{self, AppFolders};

/// How often to check whether another process has finished a login, and how many times: a process that is stopped
/// during a login must not block others for ever.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS: u32 = 1_200;

/// One file for each server and address.
pub struct SecretFiles(PathBuf);

impl SecretFiles {
    /// The files of this machine.
    pub fn new(folders: &AppFolders) -> Self {
        Self(folders.state.join("mcp").join("keys"))
    }

    /// Forgets the tokens for servers of this name, at any address. Returns false if there were none.
    pub fn forget(&self, server: &str) -> std::io::Result<bool> {
        let beginning = beginning(server);
        let mut was = false;
        for entry in std::fs::read_dir(&self.0).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&beginning) {
                remove(&entry.path())?;
                was = true;
            }
        }
        Ok(was)
    }

    fn file(&self, server: &str, address: &str) -> PathBuf {
        self.0.join(format!("{}{}", beginning(server), &hash_of(address.as_bytes()).to_string()[..32]))
    }
}

fn beginning(server: &str) -> String {
    let name: Vec<String> = server.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-", name.concat())
}

fn remove(file: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl SecretStore for SecretFiles {
    fn load(&self, server: &str, address: &str) -> Option<Vec<u8>> {
        std::fs::read(self.file(server, address)).ok()
    }

    fn save(&self, server: &str, address: &str, secret: Option<Vec<u8>>) -> std::io::Result<()> {
        let file = self.file(server, address);
        let Some(secret) = secret else { return remove(&file) };
        updraft_tools::replace_private(&file, &secret)
    }

    fn alone(&self, server: &str, address: &str) -> HostFuture<'_, Option<Box<dyn Any + Send>>> {
        let file = self.file(server, address);
        // The lock files are empty and never removed, so that all processes lock the same file.
        let lock = self.0.with_file_name("locks").join(file.file_name().unwrap_or_default());
        Box::pin(async move {
            let file: File = folders::private_file(&lock, OpenOptions::new().write(true)).ok()?;
            for _ in 0..LOOKS {
                match file.try_lock() {
                    Ok(()) => return Some(Box::new(file) as Box<dyn Any + Send>),
                    Err(std::fs::TryLockError::WouldBlock) => tokio::time::sleep(LOOK).await,
                    // Some file systems have no locks.
                    Err(std::fs::TryLockError::Error(_)) => return None,
                }
            }
            None
        })
    }
}
