//! `list_files`: lists files, without ignored and hidden ones.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use updraft_run::{EffectClass, Failure, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::{HiddenFiles, Place, Walk, WalkEntry, WorkspacePath};

use super::{parse, reply, spec, whole, write_plan};
use crate::limits::ToolLimits;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

pub(super) struct ListFiles {
    spec: ToolSpec,
    listed: usize,
    walked: usize,
    time: Duration,
}

#[derive(Deserialize)]
struct Args {
    path: Option<String>,
    recursive: Option<bool>,
    #[serde(default, deserialize_with = "whole")]
    limit: Option<u64>,
}

#[derive(Default)]
struct ListFilesResult {
    files: Vec<(WorkspacePath, u64)>,
    folders: Vec<WorkspacePath>,
    more: usize,
    is_cut: bool,
}

impl ListFiles {
    pub(super) fn new(limits: &ToolLimits) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "A folder relative to the workspace; default: the whole workspace." },
                "recursive": { "type": "boolean", "description": "Whether to list subfolders too; default true." },
                "limit": { "type": "integer", "minimum": 1, "description": "The most files to list." }
            },
            "additionalProperties": false
        });
        let description = "List the files of the workspace by path, sorted. Hidden files and files that git ignores are left out. If not recursive, folders are listed too, with a slash at the end.";
        Self {
            spec: spec("list_files", description, parameters),
            listed: limits.listed,
            walked: limits.walked,
            time: limits.time,
        }
    }

    fn list(&self, args: &Value, place: &Place, cancel: &CancellationToken) -> Result<ToolOutput, Failure> {
        let args: Args = parse(args)?;
        let start = args.path.map_or(Ok(WorkspacePath::root()), |path| place.workspace.locate(&path))?;
        let recursive = args.recursive.unwrap_or(true);
        let limit = args.limit.map_or(self.listed, |limit| self.listed.min(limit as usize));
        let mut walk = Walk::new(&place.workspace, &start, recursive, HiddenFiles::LeftOut, self.walked)?;
        let mut listing = ListFilesResult::default();
        for found in walk.by_ref() {
            if cancel.is_cancelled() {
                break;
            }
            let is_room = listing.files.len() + listing.folders.len() < limit;
            match found {
                WalkEntry::Folder(_) if recursive => {}
                _ if !is_room => listing.more += 1,
                WalkEntry::Folder(path) => listing.folders.push(path),
                WalkEntry::File { path, bytes, .. } => listing.files.push((path, bytes)),
            }
        }
        listing.is_cut = walk.is_cut();
        Ok(output(&start, listing))
    }
}

impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            class: EffectClass::Pure,
            group: "files",
            time: self.time,
            blocking: true,
            ..ToolTraits::default()
        }
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        write_plan::reading(args, place)
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.list(&args, &cx.place, &cx.cancel)) })
    }
}

fn output(start: &WorkspacePath, listing: ListFilesResult) -> ToolOutput {
    let ListFilesResult { files, folders, more, is_cut } = listing;
    let mut lines: Vec<String> = folders.iter().map(|folder| format!("{}/", folder.on_one_line())).collect();
    lines.extend(files.iter().map(|(path, _)| path.on_one_line().into_owned()));
    lines.sort();
    if lines.is_empty() {
        lines.push(format!("[no files in `{start}`]"));
    }
    match (more, is_cut) {
        (0, false) => {}
        (0, true) => lines.push("[and more that were not looked at; list a subfolder]".into()),
        (more, false) => lines.push(format!("[and {more} more; list a subfolder]")),
        (more, true) => lines.push(format!("[and at least {more} more; list a subfolder]")),
    }
    let files: Vec<Value> =
        files.iter().map(|(path, bytes)| json!({ "path": path.as_str(), "bytes": bytes })).collect();
    let mut value = json!({ "files": files, "more": more });
    if !folders.is_empty() {
        value["folders"] = folders.iter().map(WorkspacePath::as_str).collect();
    }
    ToolOutput { text: lines.join("\n") + "\n", value: Some(value), ..ToolOutput::default() }
}
