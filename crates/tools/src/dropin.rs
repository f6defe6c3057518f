//! Tools that people drop into a folder: Python functions, and programs that describe themselves.
//!
//! Nothing needs to be wired up. Python files are listed by reading them, and imported only in a worker; programs are
//! asked with `--describe`. Both happen in the sandbox, and what they said is kept by the hash of their content, so that
//! a folder in which nothing changed costs a few reads. One file that is broken hides no other.

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

/// The name by which agents ask for all of them.
const GROUP: &str = "tools";
/// Tools that are offered at most: each is told with every question to a model.
const MOST_TOOLS: usize = 200;
/// Bytes of memory that a file's worker may take, with all it starts.
const MEMORY: u64 = 1 << 30;

/// Where tools are dropped, and how they are run.
#[derive(Clone, Debug)]
pub struct DropIns {
    /// The folders; where two have a tool of the same name, the one in the earlier folder counts.
    pub folders: Vec<ToolFolder>,
    /// Where it is kept what files said.
    pub cache: PathBuf,
    /// The interpreter: a path, or a name to be found on `PATH`.
    pub python: String,
    /// How they are confined.
    pub confinement: Confinement,
    /// How long a call may take.
    pub time: Duration,
    /// Files and folders, as people know them, whose words are not the user's, each with the place these came from.
    pub marked: Vec<(String, String)>,
}

/// A folder of tools.
#[derive(Clone, Debug)]
pub struct ToolFolder {
    /// Where it is.
    pub path: PathBuf,
    /// As people know it: relative to the workspace, or the whole path.
    pub shown: String,
    /// Whether what its tools say of themselves counts. If not, none of them is taken for harmless.
    pub is_trusted: bool,
}

/// Whether what is kept from the last time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheUse {
    /// For files that are the same.
    Kept,
    /// For none: every file is looked at anew.
    Anew,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct DropInListing {
    /// Every file that is or could be a tool.
    pub files: Vec<ListedFile>,
}

/// One file.
#[derive(Clone, Debug)]
pub struct ListedFile {
    /// As people know it.
    pub file: String,
    /// The names of its tools that can be called.
    pub tools: Vec<String>,
    /// What is to be said about it.
    pub problems: Vec<Problem>,
}

/// A tool as it was listed.
struct ListedTool {
    spec: ToolSpec,
    definition: Definition,
    traits: ToolTraits,
    path: PathBuf,
    /// The file, as people know it.
    shown: String,
    /// What was in the file then.
    hash: ContentHash,
    /// Where the words of its definition come from, if that is outside.
    words_from: Option<String>,
}

/// What all drop-in tools of a dispatcher share.
struct DropInsShared {
    settings: DropIns,
    /// The workers of each file (apart for those that may only read), and the content of its folder that they were
    /// started with.
    pools: Mutex<BTreeMap<(PathBuf, bool), (ContentHash, WorkerPool)>>,
    /// What tools that only read may write to.
    empty: OnceCell<tempfile::TempDir>,
}

impl DropIns {
    /// Looks into the folders and puts what is there into the registry. What cannot be used is said, and left out.
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

    /// The folder that a tool may write to: the workspace, or an empty one for a tool that only reads.
    async fn writable(&self, workspace: &Path, class: EffectClass) -> Result<PathBuf, Failure> {
        if class != EffectClass::Pure {
            return Ok(workspace.to_owned());
        }
        let made = self.empty.get_or_try_init(|| async { tempfile::tempdir() }).await;
        let denied = |error| Failure::new(FailureKind::Tool, format!("no empty folder could be made: {error}"));
        made.map(|folder| folder.path().to_owned()).map_err(denied)
    }

    /// Whether anything keeps tools from what they like to do.
    fn is_confined(&self) -> bool {
        self.settings.confinement.level != Some(SandboxLevel::None)
    }

    /// What each file says, as it is kept or as it is now.
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

    /// Where the words of a file's definitions come from, if they are not the user's.
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

    /// What kind of thing a tool is. That it only reads is seen to by the sandbox; that it may be repeated is a word of
    /// its own, and counts only where it is trusted.
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
            // Workers keep the time themselves, and say more about what they were doing.
            time: self.settings.time + Duration::from_secs(10),
            ..confined
        }
    }

    /// What a tool must be able to read besides the folder that it may write to: folders of tools that are elsewhere,
    /// the interpreter, and the workspace if that is not the folder.
    fn readable(&self, workspace: &Path, class: EffectClass) -> Vec<PathBuf> {
        let folders = self.settings.folders.iter().map(|folder| folder.path.clone());
        let mut read: Vec<PathBuf> = folders.filter(|path| !path.starts_with(workspace)).collect();
        read.extend(describe::interpreter(&self.settings.python));
        read.extend((class == EffectClass::Pure).then(|| workspace.to_owned()));
        read
    }
}

/// A definition as a model is told of it. Some providers refuse a tool about which nothing is said.
fn spec_of(definition: &Definition, found: &CandidateFile) -> ToolSpec {
    let Definition { name, description, parameters, .. } = definition;
    let description = match description.trim() {
        "" => format!("`{name}` of `{}`; nothing more is said about it.", found.shown),
        said => said.to_owned(),
    };
    ToolSpec { name: name.clone(), description, parameters: parameters.clone() }
}
