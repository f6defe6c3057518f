//! Collects what an agent is told about its workspace: the context provider.
//!
//! A snapshot is taken when a run starts, and again when a step begins after something was changed. It is stored as a
//! blob, so that a prompt can be built again exactly.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ignore::WalkBuilder;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use updraft_run::{ContentHash, DOCUMENTS, Run, StepRole};
use updraft_tools::{FileOutline, OutlineBounds, OutlineEntry};

use crate::file_lines::file_lines;
use crate::history::PastStep;
use crate::prompt_texts::PromptKit;
use crate::whereabouts::Whereabouts;

/// How many files and folders a context names. A model that needs more can list them.
const NAMED: OutlineBounds = OutlineBounds { names: 200, bytes: 16 << 10 };
/// How many files are looked at.
const MOST_FILES: usize = 10_000;
/// The tools of an agent for which the names of files are of use.
const FILE_TOOLS: [&str; 7] =
    ["read_file", "list_files", "search_files", "edit_file", "write_file", "run_command", "run_python"];
/// How many bytes of the distiller's profile each step is shown.
const MOST_PROFILE: usize = 32 * 1024;
/// How many bytes of documents a context contains in total.
const MOST_TEXT: usize = 64 * 1024;

/// A workspace as it was at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceContext {
    /// The workspace's folder.
    pub root: String,
    /// Time, system and repository when the run began.
    #[serde(default, skip_serializing_if = "Whereabouts::is_unknown")]
    pub whereabouts: Whereabouts,
    /// Files in it, in path order.
    pub files: Vec<String>,
    /// The sizes of those that are large, in bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub large: BTreeMap<String, u64>,
    /// Folders whose files are too many to be named, with their number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub folders: BTreeMap<String, usize>,
    /// Whether there are more files, which were not counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// `AGENTS.md` and `.context/**/*.md` of a trusted workspace, in path order: name and text. They are the user's own
    /// instructions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<(String, String)>,
    /// The same documents if the workspace is not trusted or they contain text from outside: they are data, not
    /// instructions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<(String, String)>,
    /// Memory from earlier runs: a list of objects with `id`, `text`, `scope`, `name`, `pinned` and `made`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub memory: Value,
    /// The skills that agents may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<SkillEntry>,
}

/// A skill as agents see it before they use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillEntry {
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// Its folder.
    pub path: String,
}

impl WorkspaceContext {
    /// Reads a workspace. Unreadable files are left out. `is_own` says which documents are the user's own text.
    pub fn look(root: &Path, is_own: &dyn Fn(&str) -> bool) -> Self {
        let mut context = WorkspaceContext { root: root.display().to_string(), ..WorkspaceContext::default() };
        let mut outline = FileOutline::new("");
        for entry in listing(root).sort_by_file_name(std::cmp::Ord::cmp).build().flatten() {
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            if outline.count() == MOST_FILES {
                context.more = true;
                break;
            }
            if let Ok(path) = entry.path().strip_prefix(root) {
                let bytes = entry.metadata().map_or(0, |about| about.len());
                outline.add_file(&path.display().to_string(), bytes);
            }
        }
        let entries = outline.entries(NAMED);
        context.more |= entries.len() > NAMED.names;
        for (path, entry) in entries.into_iter().take(NAMED.names) {
            match entry {
                OutlineEntry::Folder(count) => {
                    context.folders.insert(path, count);
                }
                OutlineEntry::File(bytes) => {
                    if !entry.to_string().is_empty() {
                        context.large.insert(path.clone(), bytes);
                    }
                    context.files.push(path);
                }
            }
        }
        context.read_documents(root, is_own);
        context
    }

    /// Reads a run's workspace. The run knows which documents contain text from outside.
    pub(crate) fn of(run: &Run) -> Self {
        Self::look(Path::new(&run.settings().workspace), &|path| run.is_users_document(path))
    }

    fn read_documents(&mut self, root: &Path, is_own: &dyn Fn(&str) -> bool) {
        let mut left = MOST_TEXT;
        let Ok(root) = root.canonicalize() else { return };
        let [instructions, notes] = DOCUMENTS;
        let folder = root.join(notes);
        let notes = folder
            .symlink_metadata()
            .is_ok_and(|about| about.is_dir())
            .then(|| WalkBuilder::new(&folder).hidden(false).sort_by_file_name(std::cmp::Ord::cmp).build().flatten());
        let notes = notes.into_iter().flatten().map(ignore::DirEntry::into_path);
        let notes = notes.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
        for path in std::iter::once(root.join(instructions)).chain(notes) {
            let Some(kept) = beginning_of(&path, left) else { continue };
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            left = left.saturating_sub(kept.len());
            if !kept.trim().is_empty() {
                let list = if is_own(&name) { &mut self.instructions } else { &mut self.documents };
                list.push((name, kept));
            }
        }
    }

    /// Whether it contains text of the workspace's documents.
    pub(crate) fn has_documents(&self) -> bool {
        !self.documents.is_empty() || !self.instructions.is_empty()
    }

    /// The part of the prompt with the instructions of a trusted workspace; empty if there are none.
    pub(crate) fn instructions_in_words(&self, kit: &PromptKit, is_trusted: bool) -> String {
        if self.instructions.is_empty() || !is_trusted {
            return String::new();
        }
        kit.say("instructions", &[("documents", &in_words(&self.instructions))])
    }

    /// The part of the prompt that describes the workspace, the given files and the earlier steps.
    pub(crate) fn in_words(
        &self,
        kit: &PromptKit,
        agent: &str,
        handed_over: &str,
        history: &str,
        role: StepRole,
        is_trusted: bool,
    ) -> String {
        let files = if role == StepRole::Work && !uses_files(kit, agent) { String::new() } else { file_lines(self) };
        let workspace = format!("{}\n{}\n\n{files}", self.root, self.whereabouts.in_words());
        // The workspace may have lost its trust since the snapshot was taken.
        let distrusted = if is_trusted { String::new() } else { in_words(&self.instructions) };
        let documents = format!("{distrusted}\n\n{}", in_words(&self.documents));
        let told = kit.say(
            "context",
            &[
                ("workspace", workspace.trim()),
                ("files", handed_over.trim()),
                ("documents", documents.trim()),
                ("history", history.trim()),
                ("memory", self.memories_for(agent, kit).trim()),
                ("skills", self.skills_for(agent, kit).trim()),
            ],
        );
        told.trim_end().to_owned()
    }

    /// The same without the place, time and system.
    pub(crate) fn with_files_alone(&self) -> Self {
        Self { root: String::new(), whereabouts: Whereabouts::default(), ..self.clone() }
    }

    /// Whether all its files are named.
    pub(crate) fn names_all(&self) -> bool {
        !self.more && self.folders.is_empty()
    }

    /// The part of the prompt with the memories for an agent.
    fn memories_for(&self, agent: &str, kit: &PromptKit) -> String {
        let lines = self.memory_lines(agent);
        if lines.is_empty() { lines } else { kit.say("memory", &[("memories", &lines)]) }
    }

    /// The memories for an agent, one a line.
    pub(crate) fn memory_lines(&self, agent: &str) -> String {
        let text = |memory: &Value, key: &str| memory[key].as_str().unwrap_or_default().to_owned();
        let is_for = |memory: &&Value| text(memory, "scope") != "agent" || text(memory, "name") == agent;
        let memories = self.memory.as_array().into_iter().flatten().filter(is_for);
        let line = |memory: &Value| format!("- {}", text(memory, "text").trim().replace('\n', "\n  "));
        memories.map(line).collect::<Vec<_>>().join("\n")
    }

    /// The skills for an agent, one a line. Only an agent with the tool can use them.
    fn skills_for(&self, agent: &str, kit: &PromptKit) -> String {
        if !kit.agent(agent).is_some_and(|agent| agent.tools.iter().any(|tool| tool.name == "use_skill")) {
            return String::new();
        }
        let line = |skill: &SkillEntry| format!("- `{}`: {}", skill.name, skill.description.trim().replace('\n', " "));
        let lines = self.skills.iter().map(line).collect::<Vec<_>>().join("\n");
        if lines.is_empty() { lines } else { kit.say("skills", &[("skills", &lines)]) }
    }

    /// The documented JSON form: intent, workspace, history, memory.
    pub fn to_json(&self, intent: &str, history: &[PastStep]) -> Value {
        json!({
            "intent": intent,
            "workspace": { "root": self.root, "files": self.files },
            "history": history.iter().enumerate().map(|(n, past)| past.to_json(n + 1)).collect::<Vec<_>>(),
            "memory": self.memory,
        })
    }
}

/// A context, and the hash of the blob that holds it.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) hash: ContentHash,
    pub(crate) context: Arc<WorkspaceContext>,
}

/// The files given with the goal, and the distiller's profile of them.
pub(crate) fn handed_over(run: &Run) -> String {
    let files: Vec<String> = run.goal().files.iter().map(|file| format!("- {file}")).collect();
    let mut text = files.join("\n");
    if let Some(profile) = run.profile() {
        let mut profile = profile.to_string();
        if profile.len() > MOST_PROFILE {
            profile.truncate(profile.floor_char_boundary(MOST_PROFILE));
            profile.push('…');
        }
        text.push_str("\n\n");
        text.push_str(&profile);
    }
    text
}

/// A walk over the files of a workspace without those that git ignores and hidden ones.
pub(crate) fn listing(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(true).require_git(false).parents(false);
    walk
}

/// Whether an agent can do anything with the name of a file.
fn uses_files(kit: &PromptKit, agent: &str) -> bool {
    kit.agent(agent).is_some_and(|agent| agent.tools.iter().any(|tool| FILE_TOOLS.contains(&tool.name.as_str())))
}

/// Documents with their names.
fn in_words(documents: &[(String, String)]) -> String {
    let told: Vec<String> = documents.iter().map(|(name, text)| format!("--- {name} ---\n\n{}", text.trim())).collect();
    told.join("\n\n")
}

/// The first bytes of a regular file, as text that says if it is cut. Links, pipes and devices are refused: an untrusted workspace must not be
/// able to show a model files outside of it, nor make us wait.
pub(crate) fn beginning_of(path: &Path, most: usize) -> Option<String> {
    let file = updraft_tools::open_unlinked(path).ok()?;
    let about = file.metadata().ok()?;
    if !about.is_file() || most == 0 {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes).ok()?;
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // Cut inside a character. Any other error means that it is not text.
        Err(error) if error.utf8_error().error_len().is_none() => {
            let whole = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.as_bytes()[..whole]).into_owned()
        }
        Err(_) => return None,
    };
    if about.len() > most as u64 {
        text.push_str("\n[cut here: the file is longer]");
    }
    Some(text)
}
