//! What was signed in with at remote servers, in files that nobody else can read.

use std::any::Any;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use updraft_journal::hash_of;
use updraft_mcp::{HostFuture, SecretStore};

use crate::places::{self, AppFolders};

/// How often it is looked whether another process is done with a login, and how many times: one that was stopped in the
/// middle of it does not keep others out for ever.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS: u32 = 1_200;

/// A file for each server and address.
pub struct SecretFiles(PathBuf);

impl SecretFiles {
    /// Those of this machine.
    pub fn new(places: &AppFolders) -> Self {
        Self(places.state.join("mcp").join("keys"))
    }

    /// Forgets what was signed in with at the servers of this name, wherever they are. False if there was nothing.
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
        // Empty files that stay: whoever holds a lock holds this very file.
        let lock = self.0.with_file_name("locks").join(file.file_name().unwrap_or_default());
        Box::pin(async move {
            let file: File = places::private_file(&lock, OpenOptions::new().write(true)).ok()?;
            for _ in 0..LOOKS {
                match file.try_lock() {
                    Ok(()) => return Some(Box::new(file) as Box<dyn Any + Send>),
                    Err(std::fs::TryLockError::WouldBlock) => tokio::time::sleep(LOOK).await,
                    // There are file systems without locks.
                    Err(std::fs::TryLockError::Error(_)) => return None,
                }
            }
            None
        })
    }
}
