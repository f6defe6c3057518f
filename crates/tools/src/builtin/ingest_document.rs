//! `ingest_document`: puts a file of the workspace, or a text, into the index.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, FailureKind, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::{LinkPolicy, Place};

use super::retrieve::{TIME, failed, with_work};
use super::{parse, reply, spec};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};
use crate::workspace_index::WorkspaceIndex;

pub(super) struct IngestDocument {
    spec: ToolSpec,
    index: Arc<WorkspaceIndex>,
}

#[derive(Deserialize)]
struct Args {
    path: Option<String>,
    title: Option<String>,
    text: Option<String>,
}

impl IngestDocument {
    pub(super) fn new(index: Arc<WorkspaceIndex>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "minLength": 1, "description": "A file or folder of the workspace, also one that git ignores." },
                "title": { "type": "string", "minLength": 1, "maxLength": 200, "description": "The title of a text; the same title replaces it." },
                "text": { "type": "string", "minLength": 1, "description": "A text to keep, together with its title. Markdown." }
            },
            "additionalProperties": false
        });
        let description = "Put a document into the index that retrieve searches: a file or folder of the workspace that is not in it by itself, or a text under a title. Ordinary files of the workspace are in it already.";
        Self { spec: spec("ingest_document", description, parameters), index }
    }

    fn ingest(&self, args: &Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        match parse(args)? {
            Args { path: Some(path), title: None, text: None } => self.file(&path, cx),
            Args { path: None, title: Some(title), text: Some(text) } => self.text(&title, &text, cx),
            Args { .. } => Err(Failure::new(FailureKind::Validation, "expected `path`, or `title` and `text`")),
        }
    }

    fn file(&self, path: &str, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let workspace = &cx.place.workspace;
        let located = workspace.locate(path)?;
        // Nothing is followed here: the index lists a file by its own path, and rules know it by that.
        workspace.about(&located, LinkPolicy::Never)?;
        let whole = workspace.root().join(located.as_str());
        let state =
            with_work(cx, |work| self.index.ingest(workspace, &[whole], work)).map_err(|error| failed(&error))?;
        let Some(report) = state.report else {
            let (files, all) = (state.progress.files, state.progress.all_files);
            let why = format!("there was time for {files} of {all} files only; call again to go on");
            return Err(Failure::new(FailureKind::Tool, why));
        };
        let mut text =
            format!("`{located}`: {} files in the index, {} of them new or changed\n", report.files, report.written);
        for (file, why) in report.failed.iter().take(20) {
            let _ = writeln!(text, "not read: {file}: {why}");
        }
        let value = json!({ "files": report.files, "written": report.written, "chunks": report.chunks, "failed": report.failed });
        Ok(ToolOutput { text, value: Some(value), ..ToolOutput::default() })
    }

    fn text(&self, title: &str, text: &str, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let kept = with_work(cx, |work| self.index.keep_text(&cx.place.workspace, title, text, work));
        let path = kept.map_err(|error| failed(&error))?;
        let value = json!({ "path": path });
        let text = format!("kept as `{}`; retrieve finds it\n", path.display());
        Ok(ToolOutput { text, value: Some(value), ..ToolOutput::default() })
    }
}

impl Tool for IngestDocument {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        // The same document twice is the same index.
        let class = EffectClass::Idempotent;
        ToolTraits { class, group: "rag", time: TIME, blocking: true, ..ToolTraits::default() }
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        let class = EffectClass::Idempotent;
        let located = args["path"].as_str().and_then(|path| place.workspace.locate(path).ok());
        let reads = located.map(|path| place.workspace.with_its_target(&path)).unwrap_or_default();
        // It changes the index, and no file of the workspace.
        PreparedCall { class, reads, elsewhere: true, ..PreparedCall::default() }
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.ingest(&args, cx)) })
    }
}
