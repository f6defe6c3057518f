//! Drop-in tools: Python functions, and programs that describe themselves, found in a folder.
//!
//! No registration is needed. Python files are listed by parsing them, and imported only in a worker; programs are
//! asked with `--describe`. Both happen in the sandbox. The descriptions are cached by the hash of the file's
//! content, so that loading an unchanged folder costs only a few reads. A broken file does not hide the others.

mod cache;
mod definition;
mod describe;
mod find;
mod function;
mod program;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::OnceCell;
use updraft_run::{ContentHash, EffectClass, Failure, FailureKind, STRANGE_WORKSPACE, ToolSpec};
use updraft_sandbox::SandboxLevel;

use crate::confinement::Confinement;
use crate::error::Error;
use crate::registry::Registry;
use crate::tool::{Tool, ToolTraits};
use crate::worker::WorkerPool;

use cache::DescriptionCache;
use definition::{Annotations, Definition, FileDescription};
use find::{CandidateFile, CandidateKind};

pub use definition::{Problem, Severity};

/// The group name by which agents request all drop-in tools.
const GROUP: &str = "tools";
/// Most tools that are offered: each of them is described in every request to a model.
const MOST_TOOLS: usize = 200;
/// Most bytes of memory that a file's worker may use, including its child processes.
const MEMORY: u64 = 1 << 30;

/// Where drop-in tools are found, and how they are run.
#[derive(Clone, Debug)]
pub struct DropIns {
    /// The folders; if two have a tool of the same name, the one in the earlier folder is used.
    pub folders: Vec<ToolFolder>,
    /// The folder of the description cache.
    pub cache: PathBuf,
    /// The Python interpreter: a path, or a name looked up on `PATH`.
    pub python: String,
    /// How they are confined.
    pub confinement: Confinement,
    /// How long a call may take.
    pub time: Duration,
    /// Files and folders, as shown to users, whose text was not written by the user, each with the place it came
    /// from.
    pub marked: Vec<(String, String)>,
}

/// A folder of tools.
#[derive(Clone, Debug)]
pub struct ToolFolder {
    /// Where it is.
    pub path: PathBuf,
    /// The path as shown to users: relative to the workspace, or absolute.
    pub shown: String,
    /// Whether what its tools say about themselves is believed. If not, none of them is treated as harmless.
    pub is_trusted: bool,
}

/// Whether cached descriptions are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheUse {
    /// Use them for files that have not changed.
    Kept,
    /// Use none: look at every file again.
    Anew,
}

/// The drop-in tools that were found.
#[derive(Clone, Debug, Default)]
pub struct DropInListing {
    /// Every file that is or could be a tool.
    pub files: Vec<ListedFile>,
}

/// One file.
#[derive(Clone, Debug)]
pub struct ListedFile {
    /// The path as shown to users.
    pub file: String,
    /// The names of its tools that can be called.
    pub tools: Vec<String>,
    /// The problems found in it.
    pub problems: Vec<Problem>,
}

/// A tool from the listing.
struct ListedTool {
    spec: ToolSpec,
    definition: Definition,
    traits: ToolTraits,
    path: PathBuf,
    /// The path of its file as shown to users.
    shown: String,
    /// The hash of the file's content when it was listed.
    hash: ContentHash,
    /// The source of its definition's text, if that came from outside.
    words_from: Option<String>,
}

/// The state that all drop-in tools of a dispatcher share.
struct DropInsShared {
    settings: DropIns,
    /// The workers of each file (separate ones for read-only tools), with the hash of the folder's content that they
    /// were started with.
    pools: Mutex<BTreeMap<(PathBuf, bool), (ContentHash, WorkerPool)>>,
    /// The folder that read-only tools may write to.
    empty: OnceCell<tempfile::TempDir>,
}

impl DropIns {
    /// Looks into the folders and registers their tools. Tools that cannot be used are left out, and the reason is
    /// listed.
    pub async fn register(self, registry: &mut Registry, look: CacheUse) -> DropInListing {
        let mut listing = DropInListing::default();
        let shared = Arc::new(DropInsShared::new(self));
        let mut count = 0;
        for folder in &shared.settings.folders {
            let found = match find::in_folder(folder) {
                Ok(found) => found,
                Err(why) => {
                    let problems = vec![Problem::new(Severity::Error, 1, why)];
                    listing.files.push(ListedFile { file: folder.shown.clone(), tools: Vec::new(), problems });
                    continue;
                }
            };
            if !found.is_empty() && !folder.is_trusted && !shared.is_confined() {
                let why = "without a sandbox, tools run only from folders that are trusted; look at them, then \
                           `updraft trust`, or use a sandbox";
                let problems = vec![Problem::new(Severity::Error, 1, why.to_owned())];
                listing.files.push(ListedFile { file: folder.shown.clone(), tools: Vec::new(), problems });
                continue;
            }
            let described = shared.describe_all(folder, &found, look).await;
            for (found, described) in found.into_iter().zip(described) {
                let mut file =
                    ListedFile { file: found.shown.clone(), tools: Vec::new(), problems: described.problems };
                for definition in described.tools {
                    count += 1;
                    let (name, line) = (definition.name.clone(), definition.line);
                    let added = if count > MOST_TOOLS {
                        Err(format!("only the first {MOST_TOOLS} tools of all folders are offered"))
                    } else {
                        shared.add(registry, folder, &found, definition)
                    };
                    match added {
                        Ok(()) => file.tools.push(name),
                        Err(text) => {
                            file.problems.push(Problem { severity: Severity::Error, line, tool: Some(name), text });
                        }
                    }
                }
                listing.files.push(file);
            }
        }
        listing
    }
}

impl DropInsShared {
    fn new(settings: DropIns) -> Self {
        Self { settings, pools: Mutex::default(), empty: OnceCell::new() }
    }

    /// The folder that a tool may write to: the workspace, or an empty one for a read-only tool.
    async fn writable(&self, workspace: &Path, class: EffectClass) -> Result<PathBuf, Failure> {
        if class != EffectClass::Pure {
            return Ok(workspace.to_owned());
        }
        let made = self.empty.get_or_try_init(|| async { tempfile::tempdir() }).await;
        let denied = |error| Failure::new(FailureKind::Tool, format!("could not create an empty folder: {error}"));
        made.map(|folder| folder.path().to_owned()).map_err(denied)
    }

    /// Whether a sandbox confines the tools.
    fn is_confined(&self) -> bool {
        self.settings.confinement.level != Some(SandboxLevel::None)
    }

    /// The description of each file, cached or new.
    async fn describe_all(&self, folder: &ToolFolder, found: &[CandidateFile], look: CacheUse) -> Vec<FileDescription> {
        if found.is_empty() {
            return Vec::new();
        }
        let reader = describe::reader(&self.settings.python);
        let mut cache = match look {
            CacheUse::Kept => DescriptionCache::load(&self.settings.cache, &folder.path, &reader),
            CacheUse::Anew => DescriptionCache::new(&reader),
        };
        let mut known: Vec<Option<FileDescription>> = found
            .iter()
            .map(|file| match &file.content {
                Ok(content) => cache.get(&file.shown, &content.hash).cloned(),
                Err(why) => Some(FileDescription::faulty(why.clone())),
            })
            .collect();
        let missing: Vec<usize> = (0..found.len()).filter(|at| known[*at].is_none()).collect();
        if !missing.is_empty() {
            let files: Vec<&CandidateFile> = missing.iter().map(|at| &found[*at]).collect();
            for (at, (described, keep)) in missing.into_iter().zip(describe::files(self, &files).await) {
                if let (Ok(content), true) = (&found[at].content, keep) {
                    cache.put(&found[at].shown, content.hash, described.clone());
                }
                known[at] = Some(described);
            }
            let is_there = |name: &str| found.iter().any(|file| file.shown == name);
            cache.save(&self.settings.cache, &folder.path, is_there);
        }
        known.into_iter().map(Option::unwrap_or_default).collect()
    }

    fn add(
        self: &Arc<Self>,
        registry: &mut Registry,
        folder: &ToolFolder,
        found: &CandidateFile,
        definition: Definition,
    ) -> Result<(), String> {
        let taken = registry.get(&definition.name).map(|other| other.source().to_string());
        let traits = self.traits(folder, definition.annotations);
        let listed = ListedTool {
            spec: spec_of(&definition, found),
            definition,
            traits,
            path: found.path.clone(),
            shown: found.shown.clone(),
            hash: found.content.as_ref().map(|content| content.hash).map_err(Clone::clone)?,
            words_from: self.words_from(folder, &found.shown),
        };
        let tool: Arc<dyn Tool> = match found.kind {
            CandidateKind::Python => Arc::new(function::PythonTool::new(Arc::clone(self), listed)),
            CandidateKind::Program => Arc::new(program::ProgramTool::new(Arc::clone(self), listed)),
        };
        registry.insert_later(tool).map_err(|error| match (error, taken) {
            (Error::Taken(name), Some(source)) => format!("there is already a tool named `{name}` ({source})"),
            (error, _) => error.to_string(),
        })
    }

    /// The source of the text in a file's definitions, if it was not written by the user.
    fn words_from(&self, folder: &ToolFolder, shown: &str) -> Option<String> {
        if !folder.is_trusted {
            return Some(STRANGE_WORKSPACE.to_owned());
        }
        let holds = |marked: &str| {
            marked == "." || shown.strip_prefix(marked).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let marked = self.settings.marked.iter().find(|(marked, _)| holds(marked) && !shown.starts_with('/'));
        marked.map(|(_, place)| format!("{place}, which `{shown}` holds"))
    }

    /// The traits of a tool. The sandbox enforces that a tool only reads; that it may be repeated is its own claim,
    /// which counts only in a trusted folder.
    fn traits(&self, folder: &ToolFolder, said: Annotations) -> ToolTraits {
        let confined = self.settings.confinement.traits();
        let class = match said {
            Annotations { read_only_hint: true, .. } if self.is_confined() || folder.is_trusted => EffectClass::Pure,
            Annotations { idempotent_hint: true, .. } if folder.is_trusted => EffectClass::Idempotent,
            _ => EffectClass::Opaque,
        };
        ToolTraits {
            class,
            group: GROUP,
            destroys: said.destructive_hint || confined.destroys,
            // Workers enforce the time limit themselves, and their report says what they were doing.
            time: self.settings.time + Duration::from_secs(10),
            ..confined
        }
    }

    /// What a tool must be able to read besides the folder that it may write to: other folders of tools, the
    /// interpreter, and the workspace if that is not the folder.
    fn readable(&self, workspace: &Path, class: EffectClass) -> Vec<PathBuf> {
        let folders = self.settings.folders.iter().map(|folder| folder.path.clone());
        let mut read: Vec<PathBuf> = folders.filter(|path| !path.starts_with(workspace)).collect();
        read.extend(describe::interpreter(&self.settings.python));
        read.extend((class == EffectClass::Pure).then(|| workspace.to_owned()));
        read
    }
}

/// The description of a tool for a model. Some providers refuse a tool with an empty description.
fn spec_of(definition: &Definition, found: &CandidateFile) -> ToolSpec {
    let Definition { name, description, parameters, .. } = definition;
    let description = match description.trim() {
        "" => format!("`{name}` of `{}`; it has no description.", found.shown),
        said => said.to_owned(),
    };
    ToolSpec { name: name.clone(), description, parameters: parameters.clone() }
}
