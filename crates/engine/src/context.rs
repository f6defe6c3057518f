//! Collects what an agent is told about its workspace: the context provider.
//!
//! A snapshot is taken when a run starts, and again when a step begins after something was changed. It is stored as a
//! blob, so that a prompt can be built again exactly.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ignore::WalkBuilder;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use updraft_run::{ContentHash, DOCUMENTS, Run};

use crate::history::PastStep;
use crate::prompt_texts::PromptKit;

/// How many files a context names. A model that needs more can list them.
const MOST_FILES: usize = 200;
/// How many bytes of the distiller's profile each step is shown.
const MOST_PROFILE: usize = 32 * 1024;
/// How many bytes of documents a context contains in total.
const MOST_TEXT: usize = 64 * 1024;

/// A workspace as it was at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceContext {
    /// The workspace's folder.
    pub root: String,
    /// The first files in it, in path order.
    pub files: Vec<String>,
    /// Whether there are more files.
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
        let walk = listing(root).sort_by_file_name(std::cmp::Ord::cmp).build();
        for entry in walk.flatten() {
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            if context.files.len() == MOST_FILES {
                context.more = true;
                break;
            }
            if let Ok(path) = entry.path().strip_prefix(root) {
                context.files.push(path.display().to_string());
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
        is_trusted: bool,
    ) -> String {
        let mut files = self.files.join("\n");
        if self.more {
            files.push_str("\n…");
        }
        let workspace = format!("{}\n{files}", self.root);
        // The workspace may have lost its trust since the snapshot was taken.
        let distrusted = if is_trusted { String::new() } else { in_words(&self.instructions) };
        let documents = format!("{distrusted}\n\n{}", in_words(&self.documents));
        let or_none = |text: &str| if text.trim().is_empty() { "none".to_owned() } else { text.trim().to_owned() };
        kit.say(
            "context",
            &[
                ("workspace", workspace.trim()),
                ("files", &or_none(handed_over)),
                ("documents", &or_none(&documents)),
                ("history", &or_none(history)),
                ("memory", &or_none(&self.memories_for(agent, kit))),
                ("skills", &or_none(&self.skills_for(agent, kit))),
            ],
        )
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
