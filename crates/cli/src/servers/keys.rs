//! What was signed in with at remote servers, in files that nobody else can read.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use updraft_journal::hash_of;
use updraft_mcp::Keys;

use crate::places::{self, Places};

/// A file for each server and address.
pub(crate) struct KeyFiles(PathBuf);

impl KeyFiles {
    pub(crate) fn new(places: &Places) -> Self {
        Self(places.state.join("mcp").join("keys"))
    }

    /// Forgets what was signed in with at the servers of this name, wherever they are. False if there was nothing.
    pub(crate) fn forget(&self, server: &str) -> std::io::Result<bool> {
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

impl Keys for KeyFiles {
    fn load(&self, server: &str, address: &str) -> Option<Vec<u8>> {
        std::fs::read(self.file(server, address)).ok()
    }

    fn save(&self, server: &str, address: &str, secret: Option<Vec<u8>>) -> std::io::Result<()> {
        let file = self.file(server, address);
        let Some(secret) = secret else { return remove(&file) };
        let beside = file.with_extension("new");
        places::private_file(&beside, OpenOptions::new().write(true).truncate(true))?.write_all(&secret)?;
        std::fs::rename(&beside, &file)
    }
}
