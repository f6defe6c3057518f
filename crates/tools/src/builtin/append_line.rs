//! `append_line`: adds a line at the end of a file, such as a log or a list of results. Models are not told of it: they edit.
//! Scripts call it.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, FileChange, PreparedCall, Reply, ToolOutput, ToolSpec};
use updraft_workspace::{LinkPolicy, PathContent, text};

use super::write_plan;
use super::{failed, parse, reply, spec};
use crate::limits::ToolLimits;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

pub(super) struct AppendLine {
    spec: ToolSpec,
    file: usize,
    time: Duration,
}

#[derive(Deserialize)]
struct Args {
    path: String,
    line: String,
}

impl AppendLine {
    pub(super) fn new(limits: &ToolLimits) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Relative to the workspace. Created if it does not exist." },
                "line": { "type": "string", "maxLength": 1_000_000, "pattern": "^[^\\r\\n]*$", "description": "The line, without a line break." }
            },
            "required": ["path", "line"],
            "additionalProperties": false
        });
        let description = "Append a line to a file in the workspace, such as a log.";
        Self { spec: spec("append_line", description, parameters), file: limits.file, time: limits.time }
    }
}

impl Tool for AppendLine {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        // Appending twice gives two lines, and after a crash an added line does not show which call wrote it.
        ToolTraits {
            class: EffectClass::Opaque,
            group: "files",
            untold: true,
            time: self.time,
            blocking: true,
            ..ToolTraits::default()
        }
    }

    fn prepare(&self, args: &Value, place: &updraft_workspace::Place) -> PreparedCall {
        write_plan::prepare(args, EffectClass::Opaque, place)
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            if cx.cancel.is_cancelled() {
                return Reply::Cancelled;
            }
            reply(append(&args, cx, self.file))
        })
    }
}

/// Up to this size the previous content is kept whole. A larger file's previous content is a prefix of its new
/// content, and storing it for every line added would store it a thousand times.
const KEPT: usize = 256 << 10;

/// Appends the line, and hashes the file before and after, unless the file is so large that reading it would be most
/// of the work.
fn append(args: &Value, cx: &CallContext, most: usize) -> Result<ToolOutput, Failure> {
    let Args { path, line } = parse(args)?;
    let place = &cx.place;
    let path = place.workspace.locate_for_writing(&path)?;
    let _turn = place.workspace.turn(&path);
    let size = place.workspace.about(&path, LinkPolicy::Never).map_or(0, |about| about.len as usize);
    let before = if size > most { None } else { Some(place.workspace.existing(&path, most)?) };
    let bytes = before.as_ref().and_then(|before| before.as_ref()?.bytes.as_deref());
    if let Some(why) = bytes.and_then(|bytes| text::why_not_added(bytes, &line)) {
        return failed(format!("`{path}` {why}"));
    }
    let changes = place.workspace.append(&path, &line, cx.around.reaches_outside)?;
    let mut output = ToolOutput { text: format!("added a line to `{path}`\n"), changes, ..ToolOutput::default() };
    // The line is already written, so it is no failure if the file can no longer be read.
    if let (Some(before), Ok(after)) = (before, place.workspace.existing(&path, 0)) {
        let (hash, was) = (before.as_ref().and_then(|existing| existing.hash), before.as_ref().map(PathContent::form));
        let now = after.as_ref().map(PathContent::form);
        let after = after.and_then(|existing| existing.hash);
        output.changes.push(FileChange {
            path: path.to_string(),
            before: hash,
            after,
            was,
            now,
            ..FileChange::default()
        });
        let kept = before.and_then(|existing| existing.bytes).filter(|bytes| bytes.len() <= KEPT);
        kept.map(|bytes| cx.keep(bytes));
    } else {
        let now = write_plan::look(place, &path);
        output.changes.push(FileChange { path: path.to_string(), was: now, now, lost: true, ..FileChange::default() });
    }
    Ok(output)
}
