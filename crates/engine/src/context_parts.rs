//! Lists what a run's agents were told besides their tasks: documents, memories, skills and earlier messages, each with
//! the reason.

use std::ops::ControlFlow;

use updraft_journal::Journal;
use updraft_run::{Event, Record, Reply, Run, RunId};

use crate::Error;
use crate::context::WorkspaceContext;

/// Something that agents were told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextPart {
    /// `file`, `memory`, `skill` or `message`.
    pub kind: &'static str,
    /// The file's path, the memory's number and beginning, the skill's name, or who said it.
    pub name: String,
    /// Why it was told.
    pub why: String,
    /// The step that it was told to; absent if every step was.
    pub step: Option<String>,
    /// About how many tokens it has.
    pub tokens: u64,
}

impl ContextPart {
    fn new(kind: &'static str, name: impl Into<String>, why: impl Into<String>, text: &str) -> Self {
        Self { kind, name: name.into(), why: why.into(), step: None, tokens: text.len().div_ceil(4) as u64 }
    }
}

/// What the agents of a run were told, in the order they were told it.
pub fn context_of(journal: &Journal, id: &RunId) -> Result<Vec<ContextPart>, Error> {
    let mut run = Run::default();
    let mut later = Vec::new();
    journal.read(id, 0, &mut |_, record: Record| {
        run.record(&record);
        for event in &record.events {
            if let Event::Replied { id, reply: Reply::Output(output), .. } = event {
                for document in &output.attached {
                    let why = format!("the first touch of its folder, by {id}");
                    let part = ContextPart::new("file", &document.path, why, &document.text);
                    later.push(ContextPart { step: Some(id.step.to_string()), ..part });
                }
            }
        }
        ControlFlow::Continue(())
    })?;
    let blob = run.settings().context.map(|hash| journal.blob(&hash)).transpose()?.flatten();
    let context: WorkspaceContext = blob.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let mut parts = in_snapshot(&context, run.settings().workspace_trusted);
    let earlier = &run.goal().earlier;
    if !earlier.summary.is_empty() || !earlier.pinned.is_empty() {
        let text = format!("{}{}", earlier.summary, earlier.pinned.join(""));
        parts.push(ContextPart::new("message", "summary", "older messages of the conversation", &text));
    }
    for message in &earlier.history {
        parts.push(ContextPart::new("message", &message.role, "said earlier in the conversation", &message.content));
    }
    parts.extend(later);
    Ok(parts)
}

fn in_snapshot(context: &WorkspaceContext, is_trusted: bool) -> Vec<ContextPart> {
    let mut parts = Vec::new();
    let instruction = if is_trusted { "your standing instructions" } else { "read as information: not trusted" };
    for (name, text) in &context.instructions {
        parts.push(ContextPart::new("file", name, instruction, text));
    }
    for (name, text) in &context.documents {
        parts.push(ContextPart::new("file", name, "read as information: not trusted, or with text from outside", text));
    }
    for memory in context.memory.as_array().into_iter().flatten() {
        let text = memory["text"].as_str().unwrap_or_default();
        let pinned = memory["pinned"].as_bool().unwrap_or_default();
        let why = if pinned { "remembered and pinned" } else { "remembered, and fits the goal" };
        parts.push(ContextPart::new("memory", format!("{}: {text}", memory["id"]), why, text));
    }
    for skill in &context.skills {
        let text = format!("{}{}", skill.name, skill.description);
        parts.push(ContextPart::new(
            "skill",
            &skill.name,
            format!("offered; its text is read when used ({})", skill.path),
            &text,
        ));
    }
    let names = context.files.join("\n");
    let more =
        if context.names_all() { "the files of the workspace" } else { "files of the workspace; others are counted" };
    parts.push(ContextPart::new("file", format!("{} names", context.files.len()), more, &names));
    parts
}
