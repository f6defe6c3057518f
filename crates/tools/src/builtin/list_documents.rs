//! `list_documents`: lists what is in the index.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_knowledge::DocumentEntry;
use updraft_run::{EffectClass, Failure, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::Place;

use super::retrieve::{TIME, failed, reading, with_work};
use super::{parse, reply, spec, whole};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};
use crate::workspace_index::WorkspaceIndex;

/// Documents that are listed if the call does not say how many, and the most that it may ask for.
const USUAL: u64 = 200;
const MOST: u64 = 2_000;

pub(super) struct ListDocuments {
    spec: ToolSpec,
    index: Arc<WorkspaceIndex>,
}

#[derive(Deserialize)]
struct Args {
    path: Option<String>,
    kind: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    limit: Option<u64>,
}

impl ListDocuments {
    pub(super) fn new(index: Arc<WorkspaceIndex>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "minLength": 1, "description": "Only documents in this folder." },
                "kind": { "type": "string", "description": "Only this kind: text, markdown, code, csv, pdf, docx, …" },
                "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "description": "The most documents to list; default 200." }
            },
            "additionalProperties": false
        });
        let description = "List the documents that retrieve searches: the workspace's files and ingested documents, with kind, title, size, and why one could not be read.";
        Self { spec: spec("list_documents", description, parameters), index }
    }

    fn list(&self, args: &Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let args: Args = parse(args)?;
        let workspace = &cx.place.workspace;
        let folder = args.path.map(|path| workspace.root().join(path.trim_end_matches('/')));
        let state = with_work(cx, |work| self.index.refresh(workspace, work)).map_err(|error| failed(&error))?;
        let mut documents = self.index.documents(&cx.around.read_rules).map_err(|error| failed(&error))?;
        documents.retain(|document| {
            let is_inside =
                folder.as_ref().is_none_or(|folder| workspace.root().join(&document.path).starts_with(folder));
            is_inside && args.kind.as_ref().is_none_or(|kind| *kind == document.kind)
        });
        let limit = args.limit.unwrap_or(USUAL).clamp(1, MOST) as usize;
        let more = documents.len().saturating_sub(limit);
        documents.truncate(limit);
        let mut lines: Vec<String> = Vec::new();
        let mut list: Vec<Value> = Vec::new();
        for document in &documents {
            let size = format!("{} bytes", document.bytes);
            let problem = document.problem.as_ref().map(|why| format!("not read: {why}"));
            let about = [Some(document.kind.clone()), Some(size), document.title.clone(), problem];
            let about: Vec<String> = about.into_iter().flatten().collect();
            let line = format!("{} ({})", document.path, about.join(", "));
            lines.push(line.split(['\n', '\r']).collect::<Vec<_>>().join(" "));
            list.push(json!({
                "path": document.path,
                "kind": document.kind,
                "title": document.title,
                "bytes": document.bytes,
                "problem": document.problem,
            }));
        }
        if lines.is_empty() {
            lines.push("[no documents]".to_owned());
        }
        if more > 0 {
            lines.push(format!("[and {more} more; name a folder]"));
        }
        if !state.is_whole() {
            lines.push("[not all files are indexed yet]".to_owned());
        }
        let value = json!({ "documents": list, "more": more, "indexed": state.is_whole() });
        // Titles and names of documents from outside are their authors' words.
        let is_outside = |document: &&DocumentEntry| self.index.is_from_outside(workspace, &document.path);
        let origins: Vec<String> = documents.iter().filter(is_outside).map(|document| document.path.clone()).collect();
        let (text, untrusted) = (lines.join("\n") + "\n", !origins.is_empty());
        Ok(ToolOutput { text, value: Some(value), untrusted, origins, ..ToolOutput::default() })
    }
}

impl Tool for ListDocuments {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits { class: EffectClass::Pure, group: "rag", time: TIME, blocking: true, ..ToolTraits::default() }
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        reading(args["path"].as_str(), place)
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.list(&args, cx)) })
    }
}
