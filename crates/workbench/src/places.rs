//! Where things are on this machine, and the one place that reads the environment.

use std::fmt::Write as _;
use std::fs::{DirBuilder, File, OpenOptions};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::fault::Fault;

/// A variable of the environment, if it is set to something readable.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A variable that is set and not empty.
pub fn set(name: &str) -> Option<String> {
    env(name).filter(|value| !value.trim().is_empty())
}

/// Everything in the environment that is text, for whoever says which of it passes.
pub fn all() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The file of a program of this name, where programs are looked for.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = env("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The folders Updraft uses.
#[derive(Clone, Debug)]
pub struct AppFolders {
    /// `config.toml`, `agents/`, `prompts/`.
    pub config: PathBuf,
    /// The journal.
    pub data: PathBuf,
    /// Logs, and which workspaces are trusted.
    pub state: PathBuf,
}

impl AppFolders {
    /// `UPDRAFT_HOME` for everything, or else the folders of the XDG specification.
    pub fn find() -> Result<Self, Fault> {
        if let Some(home) = set("UPDRAFT_HOME") {
            return Ok(Self::under(Path::new(&home)));
        }
        let folder = |variable: &str, usual: &str| {
            // The specification says that a relative path counts as none.
            let given = set(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            given.or_else(|| Some(home()?.join(usual))).map(|base| base.join("updraft")).ok_or_else(|| {
                Fault::config("the home folder is not known")
                    .hint("set HOME, or UPDRAFT_HOME to a folder for everything")
            })
        };
        Ok(Self {
            config: folder("XDG_CONFIG_HOME", ".config")?,
            data: folder("XDG_DATA_HOME", ".local/share")?,
            state: folder("XDG_STATE_HOME", ".local/state")?,
        })
    }

    /// Everything in one folder.
    pub fn under(home: &Path) -> Self {
        let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
        Self { config: home.clone(), data: home.clone(), state: home }
    }

    /// The journal's file.
    pub fn journal(&self) -> PathBuf {
        self.data.join("journal.db")
    }

    /// The user's settings.
    pub fn settings(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// What Updraft goes by, by real paths, whether it is there or not: a workspace may be around it.
    pub fn goes_by(&self) -> Vec<PathBuf> {
        let in_config = ["config.toml", "mcp.json", "mcp_servers.json", "agents", "prompts", "tools"];
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
        [all(&self.config, &in_config), all(&self.state, &in_state)].concat()
    }

    /// Where files that would run later are kept until someone approves them.
    pub fn aside(&self) -> PathBuf {
        self.state.join("aside")
    }

    /// Where commands have their temporary files if they see the machine's own files.
    pub fn scratch(&self) -> Option<PathBuf> {
        // Policies want real paths, and looking makes no folders: so as far as there is something.
        let real = |there: &Path| Some(there.canonicalize().ok()?.join(self.state.strip_prefix(there).ok()?));
        let state = self.state.ancestors().find_map(real)?;
        let goes_up = state.components().any(|part| part == std::path::Component::ParentDir);
        (!goes_up).then(|| state.join("scratch"))
    }

    /// The log of a run in a process of its own.
    pub fn run_log(&self, run: &updraft_run::RunId) -> PathBuf {
        self.state.join("runs").join(format!("{run}.log"))
    }
}

/// The workspace as its canonical path.
pub fn workspace(given: Option<&Path>) -> Result<PathBuf, Fault> {
    let given = given.unwrap_or(Path::new("."));
    let shown = given.display();
    let real = given.canonicalize().map_err(|error| {
        Fault::usage(format!("the workspace `{shown}` cannot be used: {error}"))
            .hint("name a folder that exists with --workspace")
    })?;
    if !real.is_dir() {
        return Err(Fault::usage(format!("the workspace `{shown}` is not a folder")));
    }
    if real.parent().is_none() {
        return Err(Fault::usage("the workspace `/` would be the whole machine")
            .hint("go into the folder of your project, or name it with --workspace"));
    }
    Ok(real)
}

/// Makes a file of our own, in folders of our own: nobody else can read it, whatever the umask is. On Windows it is as
/// private as the folder it is in.
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

/// Puts new content in the place of a file of our own, whole, and returns once it is on disk.
pub fn replace_private(path: &Path, content: &[u8]) -> Result<(), Fault> {
    updraft_tools::replace_private(path, content).map_err(|error| Fault::file("write", path, &error))
}

/// Waits until no other process changes a file of our own, and keeps them waiting until what it gives is dropped.
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

/// Random bytes in hexadecimal: nobody can guess them.
pub fn unguessable(bytes: usize) -> Result<String, String> {
    let mut bits = vec![0; bytes];
    getrandom::fill(&mut bits).map_err(|error| format!("the system gives no randomness: {error}"))?;
    let mut text = String::with_capacity(2 * bytes);
    for byte in bits {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
