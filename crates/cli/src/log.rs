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
    let file = Mutex::new(LazyLogFile { path: folders.state.join("general.log"), file: None });
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
}

impl Write for LazyLogFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.file.is_none() {
            if std::fs::metadata(&self.path).is_ok_and(|about| about.len() > LARGEST) {
                // Another process may have renamed it first, or still write to the old one: nothing is lost.
                let _ = std::fs::rename(&self.path, self.path.with_extension("log.1"));
            }
            self.file = Some(folders::private_file(&self.path, OpenOptions::new().append(true))?);
        }
        self.file.as_mut().map_or(Ok(bytes.len()), |file| file.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}
