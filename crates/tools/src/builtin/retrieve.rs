//! `retrieve`: finds passages of the workspace's documents that answer a question.

mod passages;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_knowledge::{Cancel, DocumentFilter, SearchMethod, SearchRequest};
use updraft_run::{EffectClass, Failure, FailureKind, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::{Place, WorkspacePath};

use super::{parse, reply, spec, whole};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};
use crate::workspace_index::{IndexProgress, IndexWork, WorkspaceIndex, path_pattern};

/// Passages that are returned if the call does not say how many, and the most that it may ask for.
const USUAL: u64 = 8;
const MOST: u64 = 30;
/// How long a call brings files in before it searches what is there.
const REFRESH: Duration = Duration::from_secs(15);
/// How long a call makes vectors: words alone find most things, and the next call goes on.
const VECTORS: Duration = Duration::from_secs(3);
/// How long a call may take: the above, and waiting for other calls that do the same.
pub(super) const TIME: Duration = Duration::from_mins(1);
/// How often progress is reported.
const REPORTED: Duration = Duration::from_secs(1);

pub(super) struct Retrieve {
    spec: ToolSpec,
    index: Arc<WorkspaceIndex>,
}

#[derive(Deserialize)]
struct Args {
    query: String,
    #[serde(default, deserialize_with = "whole")]
    limit: Option<u64>,
    path: Option<String>,
    kind: Option<String>,
    since: Option<String>,
}

impl Retrieve {
    pub(super) fn new(index: Arc<WorkspaceIndex>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "minLength": 1, "description": "A question, or the words to look for." },
                "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "description": "The most passages to return; default 8." },
                "path": { "type": "string", "minLength": 1, "description": "Only documents at this path: a file, a folder, or a pattern such as `docs/*.md`." },
                "kind": { "type": "string", "description": "Only this kind: text, markdown, code, csv, json, json_lines, html, pdf, docx, xlsx, pptx, epub, notebook or mail." },
                "since": { "type": "string", "description": "Only documents that changed since this date: 2026-01-31." }
            },
            "required": ["query"],
            "additionalProperties": false
        });
        let description = "Find the passages of the workspace's files and of ingested documents that answer a question, best first, each with its place. Searches text, source code, tables, PDF and Office files by words in any form and, where a model for it is set, by meaning. For exact patterns use search_files. Hidden files and files that git ignores are left out.";
        Self { spec: spec("retrieve", description, parameters), index }
    }

    fn retrieve(&self, args: &Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let args: Args = parse(args)?;
        let since = args.since.as_deref().map(seconds).transpose()?;
        let request = SearchRequest {
            text: args.query,
            limit: args.limit.unwrap_or(USUAL).clamp(1, MOST) as usize,
            filter: DocumentFilter {
                path: args.path.as_deref().map(|path| path_pattern(path, &cx.place.workspace)),
                kinds: args.kind.into_iter().collect(),
                since,
                until: None,
            },
            method: SearchMethod::Hybrid,
        };
        let workspace = &cx.place.workspace;
        let rules = &cx.around.read_rules;
        let found = with_work(cx, |work| self.index.find(workspace, &request, rules, work));
        let found = found.map_err(|error| failed(&error))?;
        let is_from_outside = |path: &str| self.index.is_from_outside(workspace, path);
        Ok(passages::output(&found, is_from_outside))
    }
}

impl Tool for Retrieve {
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
        Box::pin(async move { reply(self.retrieve(&args, cx)) })
    }
}

/// Prepares a call that reads the documents that a pattern matches, except those that rules forbid.
pub(super) fn reading(pattern: Option<&str>, place: &Place) -> PreparedCall {
    // The folders before the first one that has a wildcard.
    let folder = pattern.map(|pattern| match pattern.find(['*', '?', '[']) {
        Some(at) => pattern[..at].rsplit_once('/').map_or(".", |(folder, _)| folder),
        None => pattern,
    });
    let located = folder.filter(|folder| !folder.is_empty()).and_then(|folder| place.workspace.locate(folder).ok());
    let reads = place.workspace.with_its_target(&located.unwrap_or_else(WorkspacePath::root));
    PreparedCall { reads, leaves_out: true, ..PreparedCall::default() }
}

/// Does something with the index that may take long, within the limits of a call.
pub(super) fn with_work<T>(cx: &CallContext, work: impl FnOnce(&mut IndexWork<'_>) -> T) -> T {
    let switch = Cancel::default();
    let mut reported = Instant::now();
    let mut progress = |progress: &IndexProgress| {
        if cx.cancel.is_cancelled() {
            switch.cancel();
        }
        if reported.elapsed() >= REPORTED {
            reported = Instant::now();
            cx.log.line(&match progress {
                IndexProgress::Files(state) => format!("indexing: {} of {} files", state.files, state.all_files),
                IndexProgress::Vectors(done, all) => format!("making vectors: {done} of {all}"),
            });
        }
    };
    let cancel = switch.at(Instant::now() + REFRESH);
    work(&mut IndexWork { cancel, vector_time: Some(VECTORS), tries_again: false, progress: &mut progress })
}

/// A failure of the index, with its cause.
pub(super) fn failed(error: &updraft_knowledge::Error) -> Failure {
    Failure::new(FailureKind::Tool, updraft_run::error_chain(error))
}

/// A date in seconds since 1970.
fn seconds(date: &str) -> Result<i64, Failure> {
    let at = date.parse::<jiff::Timestamp>().ok();
    let day = || date.parse::<jiff::civil::Date>().ok()?.to_zoned(jiff::tz::TimeZone::system()).ok();
    at.or_else(|| Some(day()?.timestamp())).map(jiff::Timestamp::as_second).ok_or_else(|| {
        Failure::new(FailureKind::Validation, format!("`since` is `{date}`; expected a date such as 2026-01-31"))
    })
}
