//! Which workspaces' files count in full: their path, and a hash of what counted when they were trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use updraft_journal::hash_of;

use super::layer::Layer;
use super::meant::Origin;
use crate::fault::Fault;
use crate::places::{self, Places};
use crate::plain;
use crate::servers::{self, Variables};

/// Bytes of a file that is told apart by its content.
const LARGEST_HASHED: u64 = 64 << 20;

/// How a workspace stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its files count.
    Trusted,
    /// It has files that would count if it were trusted.
    Stranger(Vec<String>),
    /// It was trusted, and what counts has changed since.
    Changed,
}

impl Standing {
    pub(crate) fn is_trusted(&self) -> bool {
        *self == Standing::Trusted
    }

    /// What does not count, in words. Settings are named one by one elsewhere.
    pub(crate) fn ignored(&self) -> Vec<String> {
        match self {
            Standing::Trusted => Vec::new(),
            Standing::Changed => vec!["its agents, prompts, .env, MCP servers and prices".into()],
            Standing::Stranger(files) => {
                let mut words: Vec<String> = Vec::new();
                let mut add = |is_there: bool, word: &str| words.extend(is_there.then(|| word.to_owned()));
                add(files.iter().any(|file| file.starts_with(".updraft/agents/")), "what its agents would widen");
                add(files.iter().any(|file| file.starts_with(".updraft/prompts/")), "its prompts");
                add(files.iter().any(|file| file == ".env"), "its .env");
                add(files.iter().any(|file| servers::is_list(file)), "its MCP servers");
                words
            }
        }
    }
}

/// The workspaces that were trusted, by their canonical path.
pub(crate) struct Trusted {
    file: PathBuf,
    /// The user's own settings, which may name folders of tools.
    settings: PathBuf,
    folders: BTreeMap<String, String>,
}

impl Trusted {
    pub(crate) fn load(places: &Places) -> Self {
        let file = places.state.join("trusted.json");
        let folders = read(&file);
        Self { file, settings: places.settings(), folders }
    }

    pub(crate) fn standing(&self, workspace: &Path) -> Standing {
        let files = self.what_counts(workspace);
        match self.folders.get(&workspace.display().to_string()) {
            Some(hash) if *hash == fingerprint(workspace, &files) => Standing::Trusted,
            Some(_) => Standing::Changed,
            None => Standing::Stranger(files),
        }
    }

    /// The files of a workspace that only count in full if it is trusted, in path order.
    pub(crate) fn what_counts(&self, workspace: &Path) -> Vec<String> {
        let mut tools: BTreeSet<PathBuf> = ["tools", ".updraft/tools"].map(PathBuf::from).into();
        // Settings that cannot be read are named when they are needed, and name no folders here.
        let files = [self.settings.clone(), workspace.join(".updraft/config.toml")];
        for layer in files.iter().filter_map(|file| Layer::file(file, Origin::Stranger).ok()) {
            let named = layer.written.tools.folders.iter().flat_map(|list| list.get_ref().iter());
            let within = named.filter_map(|name| workspace.join(name).strip_prefix(workspace).ok().map(Path::to_owned));
            tools.extend(within.map(|path| path.components().collect()));
        }
        let mut found = what_counts(workspace, &tools);
        found.extend(of_servers(workspace));
        found.sort();
        found.dedup();
        found
    }

    /// Records a workspace as it is now.
    pub(crate) fn add(&mut self, workspace: &Path) -> Result<(), Fault> {
        let hash = fingerprint(workspace, &self.what_counts(workspace));
        self.change(|folders| folders.insert(workspace.display().to_string(), hash)).map(drop)
    }

    /// Takes the trust back; false if there was none.
    pub(crate) fn remove(&mut self, workspace: &Path) -> Result<bool, Fault> {
        self.change(|folders| folders.remove(&workspace.display().to_string())).map(|was| was.is_some())
    }

    /// Changes what is on the disk, beside whatever another process has changed meanwhile.
    fn change<T>(&mut self, change: impl FnOnce(&mut BTreeMap<String, String>) -> T) -> Result<T, Fault> {
        let _alone = places::alone_with(&self.file)?;
        self.folders = read(&self.file);
        let changed = change(&mut self.folders);
        places::replace_private(&self.file, &serde_json::to_vec_pretty(&self.folders).unwrap_or_default())?;
        Ok(changed)
    }
}

/// The workspaces in a file; none if it cannot be read.
fn read(file: &Path) -> BTreeMap<String, String> {
    let bytes = plain::read(file, plain::LARGEST_SETTINGS).ok();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// The files of a workspace that only count in full if it is trusted, in path order.
fn what_counts(workspace: &Path, tools: &BTreeSet<PathBuf>) -> Vec<String> {
    let mut found = Vec::new();
    for file in [".env", ".updraft/config.toml"] {
        if workspace.join(file).is_file() {
            found.push(file.to_owned());
        }
    }
    for folder in [".updraft/agents", ".updraft/prompts"] {
        let entries = std::fs::read_dir(workspace.join(folder)).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| format!("{folder}/{}", entry.file_name().to_string_lossy())));
    }
    for folder in tools {
        walk(workspace, folder, 0, &mut found);
    }
    found
}

/// The files that name MCP servers, and those in the workspace that such servers run: with a server's grants and keys,
/// whoever can change its code has them too.
fn of_servers(workspace: &Path) -> Vec<String> {
    let variables = Variables::of(workspace, true);
    let (mut files, mut configs) = (Vec::new(), Vec::new());
    for source in servers::of_workspace(workspace).0 {
        configs.extend(source.servers(&variables).0);
        files.extend(source.file);
    }
    // A server that runs more than can be looked after is not started, whoever trusts the workspace.
    files.extend(configs.iter().filter_map(|server| servers::run_by(workspace, server)).flatten());
    let shown = |file: &PathBuf| file.strip_prefix(workspace).unwrap_or(file).to_string_lossy().into_owned();
    files.iter().map(shown).collect()
}

/// Every file beneath a folder: tools import others. What Python has compiled of them is not read.
fn walk(workspace: &Path, folder: &Path, depth: usize, found: &mut Vec<String>) {
    const DEEPEST: usize = 8;
    const MOST: usize = 5_000;
    for entry in std::fs::read_dir(workspace.join(folder)).into_iter().flatten().flatten() {
        let path = folder.join(entry.file_name());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if entry.file_name() == "__pycache__" || found.len() >= MOST {
            continue;
        }
        if is_folder && depth < DEEPEST {
            walk(workspace, &path, depth + 1, found);
        } else {
            found.push(path.to_string_lossy().into_owned());
        }
    }
}

fn fingerprint(workspace: &Path, files: &[String]) -> String {
    let mut whole = Vec::new();
    for file in files {
        let path = workspace.join(file);
        let said = match plain::read(&path, LARGEST_HASHED) {
            Ok(bytes) => hash_of(&bytes).to_string(),
            // What cannot be read is told apart by all else that is known of it.
            Err(_) => path.symlink_metadata().map_or_else(|_| String::new(), |about| told(&about)),
        };
        whole.extend_from_slice(format!("{file} {said}\n").as_bytes());
    }
    hash_of(&whole).to_string()
}

#[cfg(unix)]
fn told(about: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    let times = [about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()];
    format!("{} {} {} {times:?}", about.mode(), about.len(), about.ino())
}

/// Less is known here. Untested.
#[cfg(not(unix))]
fn told(about: &Metadata) -> String {
    format!("{} {:?} {:?}", about.len(), about.created().ok(), about.modified().ok())
}
