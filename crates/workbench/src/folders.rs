//! The folders and files that Updraft uses on this machine. Only this file reads the environment.

use std::fmt::Write as _;
use std::fs::{DirBuilder, File, OpenOptions};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::fault::Fault;

/// An environment variable, if it is set and valid text.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// An environment variable that is set and not empty.
pub fn set(name: &str) -> Option<String> {
    env(name).filter(|value| !value.trim().is_empty())
}

/// All environment variables that are valid text, for code that chooses which to pass on.
pub fn all() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Finds a program on `PATH`.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = env("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The folders of `PATH`.
pub(crate) fn path_folders() -> Vec<PathBuf> {
    env("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// The folders Updraft uses.
#[derive(Clone, Debug)]
pub struct AppFolders {
    /// `config.toml`, `agents/`, `prompts/`, `commands/`.
    pub config: PathBuf,
    /// The journal.
    pub data: PathBuf,
    /// Logs, and which workspaces are trusted.
    pub state: PathBuf,
    /// What can be fetched or made again.
    pub cache: PathBuf,
}

impl AppFolders {
    /// Everything in `UPDRAFT_HOME` if that is set, or else the folders of the XDG specification.
    pub fn find() -> Result<Self, Fault> {
        if let Some(home) = set("UPDRAFT_HOME") {
            return Ok(Self::under(Path::new(&home)));
        }
        let folder = |variable: &str, usual: &str| {
            // The specification says to ignore relative paths.
            let given = set(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            given.or_else(|| Some(home()?.join(usual))).map(|base| base.join("updraft")).ok_or_else(|| {
                Fault::config("the home folder is not known")
                    .hint("set HOME, or UPDRAFT_HOME to a folder for all of Updraft's files")
            })
        };
        Ok(Self {
            config: folder("XDG_CONFIG_HOME", ".config")?,
            data: folder("XDG_DATA_HOME", ".local/share")?,
            state: folder("XDG_STATE_HOME", ".local/state")?,
            cache: folder("XDG_CACHE_HOME", ".cache")?,
        })
    }

    /// All folders are this one, or in it.
    pub fn under(home: &Path) -> Self {
        let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
        Self { config: home.clone(), data: home.clone(), cache: home.join("cache"), state: home }
    }

    /// The journal's file.
    pub fn journal(&self) -> PathBuf {
        self.data.join("journal.db")
    }

    /// What is remembered between runs.
    pub fn memory(&self) -> PathBuf {
        self.data.join("memory.db")
    }

    /// The user's settings file.
    pub fn settings(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The files and folders that decide what Updraft does, by real paths, whether they exist or not. (A workspace may
    /// contain them.)
    pub fn own_files(&self) -> Vec<PathBuf> {
        let in_config = ["config.toml", "mcp.json", "mcp_servers.json", "agents", "prompts", "tools", "commands"];
        let in_state = ["trusted.json", "allowed.json", "mcp/vouched.json", "mcp/keys", "serve.token"];
        let all = |folder: &Path, names: &[&str]| -> Vec<PathBuf> {
            let Ok(real) = folder.canonicalize() else { return Vec::new() };
            let both = |name: &&str| {
                let path = real.join(name);
                let behind = path.canonicalize().ok().filter(|behind| *behind != path);
                [Some(path), behind]
            };
            names.iter().flat_map(both).flatten().collect()
        };
        let in_data = ["memory.db", "memory.db-wal"];
        [all(&self.config, &in_config), all(&self.state, &in_state), all(&self.data, &in_data)].concat()
    }

    /// Where files that other programs would run later are kept until someone approves them.
    pub fn aside(&self) -> PathBuf {
        self.state.join("aside")
    }

    /// Where commands have their temporary files when they see the real file system.
    pub fn scratch(&self) -> Option<PathBuf> {
        // Policies need real paths, and this must not create folders: so only the part that exists is resolved.
        let real = |there: &Path| Some(there.canonicalize().ok()?.join(self.state.strip_prefix(there).ok()?));
        let state = self.state.ancestors().find_map(real)?;
        let goes_up = state.components().any(|part| part == std::path::Component::ParentDir);
        (!goes_up).then(|| state.join("scratch"))
    }

    /// The log of a detached run.
    pub fn run_log(&self, run: &updraft_run::RunId) -> PathBuf {
        self.state.join("runs").join(format!("{run}.log"))
    }
}

/// The canonical path of the workspace.
pub fn workspace(given: Option<&Path>) -> Result<PathBuf, Fault> {
    let given = given.unwrap_or(Path::new("."));
    let shown = given.display();
    let real = given.canonicalize().map_err(|error| {
        Fault::usage(format!("the workspace `{shown}` cannot be used: {error}"))
            .hint("choose an existing folder with --workspace")
    })?;
    if !real.is_dir() {
        return Err(Fault::usage(format!("the workspace `{shown}` is not a folder")));
    }
    if real.parent().is_none() {
        return Err(Fault::usage("the workspace `/` would be the whole machine")
            .hint("change to your project's folder, or choose it with --workspace"));
    }
    Ok(real)
}

/// Opens a private file, creating it and its folders so that no other user can read them, whatever the umask is. On
/// Windows it is as private as its folder.
pub fn private_file(path: &Path, how: &mut OpenOptions) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder)?;
    }
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(how, 0o600);
    how.create(true).open(path)
}

/// Replaces the content of a private file atomically, and returns once it is on disk.
pub fn replace_private(path: &Path, content: &[u8]) -> Result<(), Fault> {
    updraft_tools::replace_private(path, content).map_err(|error| Fault::file("write", path, &error))
}

/// Waits for the lock on a private file, which other processes cannot get until the result is dropped.
pub fn alone_with(path: &Path) -> Result<File, Fault> {
    let lock = path.with_extension("lock");
    let held = private_file(&lock, OpenOptions::new().write(true));
    let held = held.and_then(|held| Ok(rustix::fs::flock(&held, FlockOperation::LockExclusive).map(|()| held)?));
    held.map_err(|error| Fault::file("lock", &lock, &error))
}

/// The user's home folder.
pub fn home() -> Option<PathBuf> {
    let given = set("HOME").or_else(|| set("USERPROFILE").filter(|_| cfg!(windows)));
    given.map(PathBuf::from).filter(|home| home.is_absolute())
}

/// Random bytes in hexadecimal, which cannot be guessed.
pub fn unguessable(bytes: usize) -> Result<String, String> {
    let mut bits = vec![0; bytes];
    getrandom::fill(&mut bits).map_err(|error| format!("no random numbers from the system: {error}"))?;
    let mut text = String::with_capacity(2 * bytes);
    for byte in bits {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
