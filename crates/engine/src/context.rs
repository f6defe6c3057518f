//! What an agent is told about where it works: the context provider.
//!
//! A snapshot is taken when a run starts, and again when a step begins after something was changed. It is a blob, so a
//! prompt can be made again exactly.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ignore::WalkBuilder;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use updraft_run::{DOCUMENTS, Step, StepSpec};

use crate::words::Kit;

/// Files named in a context. A model that needs more can list them.
const MOST_FILES: usize = 200;
/// Bytes of documents in a context, all together.
const MOST_TEXT: usize = 64 * 1024;

/// What the workspace looked like at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The workspace's folder.
    pub root: String,
    /// The first files in it, in path order.
    pub files: Vec<String>,
    /// There are more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// `AGENTS.md` and `.context/**/*.md`, in path order: name and text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<(String, String)>,
    /// What is remembered.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub memory: Value,
}

impl Context {
    /// Looks at a workspace. What cannot be read is left out.
    pub fn look(root: &Path) -> Self {
        let mut context = Context { root: root.display().to_string(), ..Context::default() };
        let walk = WalkBuilder::new(root)
            .hidden(true)
            .require_git(false)
            .parents(false)
            .sort_by_file_name(std::cmp::Ord::cmp)
            .build();
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
        context.read_documents(root);
        context
    }

    fn read_documents(&mut self, root: &Path) {
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
            left -= kept.len();
            if !kept.trim().is_empty() {
                self.documents.push((name, kept));
            }
        }
    }

    /// The part of the prompt that says this, with what was done before.
    pub(crate) fn in_words(&self, kit: &Kit, history: &[Past]) -> String {
        let mut files = self.files.join("\n");
        if self.more {
            files.push_str("\n…");
        }
        let workspace = format!("{}\n{files}", self.root);
        let documents: Vec<String> =
            self.documents.iter().map(|(name, text)| format!("### {name}\n\n{text}")).collect();
        let history: Vec<String> = history.iter().map(Past::in_words).collect();
        let memory = if self.memory.is_null() { String::new() } else { self.memory.to_string() };
        kit.say(
            "context",
            &[
                ("workspace", workspace.trim()),
                ("documents", documents.join("\n\n").trim()),
                ("history", history.join("\n").trim()),
                ("memory", memory.trim()),
            ],
        )
    }

    /// The documented shape: intent, workspace, history, memory.
    pub fn to_json(&self, intent: &str, history: &[Past]) -> Value {
        json!({
            "intent": intent,
            "workspace": { "root": self.root, "files": self.files },
            "history": history.iter().enumerate().map(|(n, past)| json!({
                "step": n + 1,
                "action": { "id": past.step, "agent": past.agent, "description": past.description },
                "observation": { "status": past.status, "output": past.output },
            })).collect::<Vec<_>>(),
            "memory": self.memory,
        })
    }
}

/// The first bytes of a regular file, as text. A link, a pipe or a device is none: a workspace from elsewhere must not
/// be able to show a model what lies outside it, nor hold us up.
fn beginning_of(path: &Path, most: usize) -> Option<String> {
    let file = updraft_tools::open_unlinked(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes).ok()?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // Cut within a character, or not text at all.
        Err(error) if error.utf8_error().error_len().is_none() => {
            let whole = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.as_bytes()[..whole]).into_owned()
        }
        Err(_) => return None,
    };
    Some(text)
}

/// A step that ended before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Its name.
    pub step: String,
    /// Who did it.
    pub agent: String,
    /// What it was.
    pub description: String,
    /// How it ended.
    pub status: &'static str,
    /// What it gave, cut to size.
    pub output: String,
}

/// Characters of an earlier step's output that are told.
const LONGEST_OUTPUT: usize = 2000;

/// A step that ended before, shared with the run: what is told about it is made only where it is told.
pub(crate) struct Ended {
    spec: Arc<StepSpec>,
    status: &'static str,
    output: Option<Arc<str>>,
}

impl Ended {
    pub(crate) fn of(step: &Step) -> Self {
        Self { spec: Arc::clone(&step.spec), status: step.status(), output: step.output.clone() }
    }

    pub(crate) fn told(&self) -> Past {
        Past {
            step: self.spec.id.to_string(),
            agent: self.spec.agent.clone(),
            description: self.spec.description.clone(),
            status: self.status,
            output: self.output.as_deref().unwrap_or_default().chars().take(LONGEST_OUTPUT).collect(),
        }
    }
}

impl Past {
    /// What is told about a step.
    pub(crate) fn of(step: &Step) -> Self {
        Ended::of(step).told()
    }

    fn in_words(&self) -> String {
        let Past { step, agent, description, status, .. } = self;
        format!("- `{step}` ({agent}, {status}): {description}")
    }
}
