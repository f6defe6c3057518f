//! Which workspaces are trusted: their paths, each with a hash of the files that the trust covers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use updraft_journal::hash_of;

use super::layer::SettingsLayer;
use super::origin::SettingOrigin;
use crate::fault::Fault;
use crate::folders::AppFolders;
use crate::servers::{self, Variables, program_files};
use crate::skills::SKILL_FOLDERS;
use crate::{list_file, untrusted};

/// Most files that trust can cover in one workspace.
const MOST: usize = 100_000;
/// How many of them are compared by content, and the most bytes of one file and of all files.
const MOST_HASHED: usize = 10_000;
const LARGEST_HASHED: u64 = 64 << 20;
const MOST_BYTES: u64 = 512 << 20;

/// Whether a workspace is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustState {
    /// Its files are used.
    Trusted,
    /// It is not trusted; these files would be used if it were.
    Stranger(Vec<String>),
    /// It was trusted, and files that the trust covers have changed since.
    Changed,
}

impl TrustState {
    /// Whether all of its files are used.
    pub fn is_trusted(&self) -> bool {
        *self == TrustState::Trusted
    }

    /// What is ignored, in words. (Ignored settings are named one by one elsewhere.)
    pub fn ignored(&self) -> Vec<String> {
        match self {
            TrustState::Trusted => Vec::new(),
            TrustState::Changed => {
                vec!["its agents, prompts, guardrails, recipes, skills, .env, MCP servers and prices".into()]
            }
            TrustState::Stranger(files) => {
                let mut words: Vec<String> = Vec::new();
                let mut add = |is_there: bool, word: &str| words.extend(is_there.then(|| word.to_owned()));
                add(files.iter().any(|file| file.starts_with(".updraft/agents/")), "what its agents would widen");
                add(files.iter().any(|file| file.starts_with(".updraft/prompts/")), "its prompts");
                add(files.iter().any(|file| file.starts_with(".updraft/guardrails/")), "its guardrails");
                add(files.iter().any(|file| file.starts_with(".updraft/commands/")), "its commands");
                add(files.iter().any(|file| file.starts_with(".updraft/recipes/")), "its recipes");
                add(files.iter().any(|file| SKILL_FOLDERS.contains(&file.as_str())), "its skills");
                add(files.iter().any(|file| file == ".env"), "its .env");
                add(files.iter().any(|file| servers::is_list(file)), "its MCP servers");
                words
            }
        }
    }
}

/// The workspaces that were trusted, by their canonical path.
pub struct TrustedWorkspaces {
    file: PathBuf,
    /// The user's own settings file, which may name folders of tools.
    settings: PathBuf,
    folders: BTreeMap<String, String>,
}

impl TrustedWorkspaces {
    /// The trusted workspaces of this machine.
    pub fn load(app: &AppFolders) -> Self {
        let file = app.state.join("trusted.json");
        let folders = list_file::load(&file);
        Self { file, settings: app.settings(), folders }
    }

    /// Whether a workspace was trusted, and nobody has ended that.
    pub(crate) fn has(&self, workspace: &Path) -> bool {
        self.folders.contains_key(&workspace.display().to_string())
    }

    /// Whether a workspace is trusted. If it never was, only the files are listed that messages mention.
    pub fn trust_state(&self, workspace: &Path) -> TrustState {
        if !self.has(workspace) {
            let folders = self.folders_of_tools(workspace).into_iter().chain(SKILL_FOLDERS.map(PathBuf::from));
            let folders = folders.filter(|folder| workspace.join(folder).is_dir());
            let lists = servers::of_workspace(workspace).0.into_iter().filter_map(|source| source.file);
            let mut files = settings_of(workspace);
            files.extend(folders.chain(lists.map(|file| within(workspace, &file))));
            return TrustState::Stranger(files.iter().map(|file| file.to_string_lossy().into_owned()).collect());
        }
        let counted = self.what_counts(workspace);
        if self.is_as_trusted(workspace, &counted) { TrustState::Trusted } else { TrustState::Changed }
    }

    /// Whether the files are as they were when the workspace was trusted.
    pub fn is_as_trusted(&self, workspace: &Path, counted: &TrustContent) -> bool {
        let hash = counted.hash.as_ref().ok();
        hash.is_some() && self.folders.get(&workspace.display().to_string()) == hash
    }

    /// The files that trust in a workspace covers, as they are now.
    pub fn what_counts(&self, workspace: &Path) -> TrustContent {
        let mut files = settings_of(workspace);
        files.extend(of_servers(workspace));
        let mut seen = BTreeSet::new();
        let mut folders = self.folders_of_tools(workspace).into_iter().chain(SKILL_FOLDERS.map(PathBuf::from));
        let large = folders.find(|folder| !walk(workspace, folder, MOST, &mut seen, &mut files));
        files.sort();
        files.dedup();
        let hash = large.map_or_else(|| Ok(fingerprint(workspace, &files)), Err);
        TrustContent { files, hash }
    }

    /// The folders that are searched for tools.
    fn folders_of_tools(&self, workspace: &Path) -> BTreeSet<PathBuf> {
        let mut tools: BTreeSet<PathBuf> = ["tools", ".updraft/tools"].map(PathBuf::from).into();
        // Settings that cannot be read are reported when they are needed; here they name no folders.
        let files = [self.settings.clone(), workspace.join(".updraft/config.toml")];
        for layer in files.iter().filter_map(|file| SettingsLayer::file(file, SettingOrigin::Stranger).ok()) {
            let named = layer.written.tools.folders.iter().flat_map(|list| list.get_ref().iter());
            let within = named.filter_map(|name| workspace.join(name).strip_prefix(workspace).ok().map(Path::to_owned));
            tools.extend(within.map(|path| path.components().collect()));
        }
        tools
    }

    /// Trusts a workspace with these files.
    pub fn add(&self, workspace: &Path, counted: &TrustContent) -> Result<(), Fault> {
        let hash = counted.hash.clone().map_err(|folder| too_much(&folder))?;
        list_file::change(&self.file, |folders: &mut BTreeMap<String, String>| {
            folders.insert(workspace.display().to_string(), hash);
        })
    }

    /// Removes the trust. Returns false if there was none.
    pub fn remove(&self, workspace: &Path) -> Result<bool, Fault> {
        list_file::change(&self.file, |folders: &mut BTreeMap<String, String>| {
            folders.remove(&workspace.display().to_string()).is_some()
        })
    }
}

/// The files that trust in a workspace covers.
pub struct TrustContent {
    /// In path order.
    pub files: Vec<PathBuf>,
    /// A hash of all files; or the folder that holds too many files for that.
    pub hash: Result<String, PathBuf>,
}

/// The error for a folder of tools or skills with too many files.
pub fn too_much(folder: &Path) -> Fault {
    let shown = folder.display();
    Fault::config(format!("the folder `{shown}` contains too many files to check")).hint(
        "move files and links that are no tools or skills out of it, or name another folder: `[tools] folders` in .updraft/config.toml",
    )
}

/// Settings, agents, prompts, guardrails, commands, recipes and hooks.
fn settings_of(workspace: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = [".env", ".updraft/config.toml"].map(PathBuf::from).into();
    found.retain(|file| workspace.join(file).is_file());
    for folder in
        ["agents", "prompts", "guardrails", "commands", "recipes", "hooks"].map(|name| Path::new(".updraft").join(name))
    {
        let entries = std::fs::read_dir(workspace.join(&folder)).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| folder.join(entry.file_name())));
    }
    found
}

/// The files that name MCP servers, and the files that such servers are started from: anyone who can change them gets
/// the server's grants and keys.
fn of_servers(workspace: &Path) -> Vec<PathBuf> {
    let variables = Variables::of(workspace, true);
    let mut files = Vec::new();
    for source in servers::of_workspace(workspace).0 {
        files.extend(source.servers(&variables).0.iter().flat_map(|server| program_files(server, workspace)));
        files.extend(source.file);
    }
    files.iter().map(|file| within(workspace, file)).collect()
}

fn within(workspace: &Path, file: &Path) -> PathBuf {
    file.strip_prefix(workspace).unwrap_or(file).to_owned()
}

/// Collects every file beneath a folder, following links, since tools import other files. Skips compiled Python files.
/// Returns false if there are more than `most`.
fn walk(workspace: &Path, folder: &Path, most: usize, seen: &mut BTreeSet<PathBuf>, found: &mut Vec<PathBuf>) -> bool {
    let before = found.len();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        let at = workspace.join(&folder);
        match at.canonicalize() {
            Ok(real) => {
                if !seen.insert(real) {
                    continue;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            // The path is too long.
            Err(_) => return false,
        }
        let Ok(entries) = std::fs::read_dir(&at) else {
            found.push(folder);
            continue;
        };
        let mut entries: Vec<_> = entries.flatten().take(most + 1).collect();
        // The order of two links must be the same each time.
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries.iter().filter(|entry| entry.file_name() != "__pycache__") {
            if found.len() + waiting.len() >= before + most {
                return false;
            }
            let path = folder.join(entry.file_name());
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) || (is_link && entry.path().is_dir()) {
                waiting.push(path.clone());
                found.extend(is_link.then_some(path));
            } else {
                found.push(path);
            }
        }
    }
    true
}

fn fingerprint(workspace: &Path, files: &[PathBuf]) -> String {
    let mut whole = Vec::new();
    let mut bytes_left = MOST_BYTES;
    for (at, file) in files.iter().enumerate() {
        let path = workspace.join(file);
        let most = if at < MOST_HASHED { LARGEST_HASHED.min(bytes_left) } else { 0 };
        let is_short = path.metadata().is_ok_and(|about| at < MOST_HASHED && about.len() <= most);
        let read = is_short.then(|| untrusted::read(&path, most).ok()).flatten();
        let said = if let Some(bytes) = read {
            bytes_left -= bytes.len() as u64;
            hash_of(&bytes).to_string()
        } else {
            // A file that is not read is compared by its metadata, including the change time, which no program can set.
            let about = [path.symlink_metadata(), path.metadata()];
            about.map(|about| about.map_or_else(|_| String::new(), |about| told(&about))).join(" ")
        };
        whole.extend_from_slice(file.as_os_str().as_encoded_bytes());
        whole.extend_from_slice(format!("\0{said}\0").as_bytes());
    }
    hash_of(&whole).to_string()
}

#[cfg(unix)]
fn told(about: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    let times = [about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()];
    format!("{} {} {} {times:?}", about.mode(), about.len(), about.ino())
}

/// Other systems have less metadata. Untested.
#[cfg(not(unix))]
fn told(about: &Metadata) -> String {
    format!("{} {:?} {:?}", about.len(), about.created().ok(), about.modified().ok())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn trust_covers_every_file_of_a_skill() {
        let home = tempfile::tempdir().unwrap();
        let (file, settings) = (home.path().join("trusted.json"), home.path().join("config.toml"));
        let workspace = home.path().join("work");
        for folder in SKILL_FOLDERS {
            std::fs::create_dir_all(workspace.join(folder).join("weave/references")).unwrap();
            std::fs::write(workspace.join(folder).join("weave/SKILL.md"), "a").unwrap();
            std::fs::write(workspace.join(folder).join("weave/references/knots.md"), "a").unwrap();
        }
        let nobody = TrustedWorkspaces { file: file.clone(), settings: settings.clone(), folders: BTreeMap::new() };
        assert_eq!(nobody.trust_state(&workspace).ignored(), ["its skills"]);
        let counted = nobody.what_counts(&workspace);
        assert_eq!(counted.files.len(), 6);
        let folders = [(workspace.display().to_string(), counted.hash.unwrap())].into();
        let trusted = TrustedWorkspaces { file, settings, folders };
        assert!(trusted.trust_state(&workspace).is_trusted());
        std::fs::write(workspace.join(".claude/skills/weave/references/knots.md"), "b").unwrap();
        assert_eq!(trusted.trust_state(&workspace), TrustState::Changed);
    }

    fn walked(workspace: &Path, most: usize) -> (bool, Vec<PathBuf>) {
        let mut found = Vec::new();
        let is_whole = walk(workspace, Path::new("tools"), most, &mut BTreeSet::new(), &mut found);
        found.sort();
        (is_whole, found)
    }

    #[test]
    fn a_folder_is_walked_as_deep_as_it_is_and_links_once() {
        let workspace = tempfile::tempdir().unwrap();
        let deep = (0..40).fold(PathBuf::from("tools"), |path, _| path.join("d"));
        std::fs::create_dir_all(workspace.path().join(&deep)).unwrap();
        std::fs::create_dir_all(workspace.path().join("elsewhere")).unwrap();
        for file in [deep.join("a.py"), "elsewhere/b.py".into()] {
            std::fs::write(workspace.path().join(file), "").unwrap();
        }
        for (to, name) in [("../elsewhere", "link"), (".", "round"), ("../tools", "again")] {
            std::os::unix::fs::symlink(to, workspace.path().join("tools").join(name)).unwrap();
        }
        let (is_whole, found) = walked(workspace.path(), 100);
        assert!(is_whole);
        let links = ["again", "link", "link/b.py", "round"].map(|name| Path::new("tools").join(name));
        assert_eq!(found, [vec![links[0].clone(), deep.join("a.py")], links[1..].to_vec()].concat());
        assert!(!walked(workspace.path(), 4).0, "what is left out is said");
    }

    #[test]
    fn what_is_too_much_to_be_read_is_told_apart_by_when_it_was_changed() {
        let workspace = tempfile::tempdir().unwrap();
        let file = workspace.path().join("last.py");
        let mut files: Vec<PathBuf> = (0..MOST_HASHED).map(|n| format!("{n}").into()).collect();
        files.push("last.py".into());
        std::fs::write(&file, "A = 1").unwrap();
        let when = file.metadata().unwrap().modified().unwrap();
        let before = fingerprint(workspace.path(), &files);
        assert_eq!(before, fingerprint(workspace.path(), &files));
        // A file with the same name, length and modification time.
        let other = workspace.path().join("other");
        std::fs::write(&other, "A = 2").unwrap();
        std::fs::File::options().write(true).open(&other).unwrap().set_modified(when).unwrap();
        std::fs::rename(&other, &file).unwrap();
        assert_ne!(before, fingerprint(workspace.path(), &files));
    }
}
