//! The log for developers: `general.log` in the state folder, with every step and call; the previous one is
//! `general.log.1`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::folders::{self, AppFolders};

/// Starts logging at a level (`warn`) or with a filter (`updraft_engine=debug`). The file is created with the first
/// line.
pub(crate) fn begin(folders: &AppFolders, level: &str) {
    let file = Mutex::new(LazyLogFile::at(folders.state.join("general.log"), LARGEST));
    let builder = tracing_subscriber::fmt().with_writer(file).with_ansi(false);
    // A plain level is by far the most common case, and needs no filter.
    let begun = match level.parse::<LevelFilter>() {
        Ok(level) => {
            // The MCP library logs the messages exchanged with servers, which must not be in our log.
            let ours = filter_fn(|about| !about.target().starts_with("rmcp"));
            builder.with_max_level(level).finish().with(ours).try_init()
        }
        Err(_) => builder.with_env_filter(EnvFilter::new(level)).finish().try_init(),
    };
    drop(begun);
}

/// A log with more bytes than this is renamed, and a new one is started.
const LARGEST: u64 = 10 << 20;

struct LazyLogFile {
    path: PathBuf,
    file: Option<File>,
    largest: u64,
    /// How many bytes were written since the size of the file was last looked at. Other processes write to it too.
    unseen: u64,
}

impl LazyLogFile {
    fn at(path: PathBuf, largest: u64) -> Self {
        Self { path, file: None, largest, unseen: 0 }
    }

    /// The file to write to. A server writes for months, so its size is looked at again and again.
    fn open(&mut self) -> std::io::Result<&mut File> {
        if self.unseen > self.largest / 10 {
            self.file = None;
        }
        if self.file.is_none() {
            self.unseen = 0;
            if std::fs::metadata(&self.path).is_ok_and(|about| about.len() > self.largest) {
                // Another process may have renamed it first, or still write to the old one: nothing is lost.
                let _ = std::fs::rename(&self.path, self.path.with_extension("log.1"));
            }
        }
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(folders::private_file(&self.path, OpenOptions::new().append(true))?)),
        }
    }
}

impl Write for LazyLogFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.open()?.write(bytes)?;
        self.unseen += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_writes_for_long_renames_its_log_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("general.log");
        let mut log = LazyLogFile::at(path.clone(), 1_000);
        for _ in 0..1_000 {
            log.write_all(b"a line of the log\n").unwrap();
        }
        let size = |path: &std::path::Path| std::fs::metadata(path).unwrap().len();
        assert!(size(&path) < 1_200 && size(&path.with_extension("log.1")) < 1_200);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
