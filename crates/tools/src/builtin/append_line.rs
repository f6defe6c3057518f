//! `append_line`: a line at the end of a file, such as a log or a list of results.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{Change, Class, Failure, Output, Prepared, Reply, ToolSpec};
use updraft_workspace::{Links, Standing, text};

use super::change;
use super::{failed, parse, reply, spec};
use crate::limits::Limits;
use crate::tool::{CallContext, Calling, Tool, Traits};

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
    pub(super) fn new(limits: &Limits) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Relative to the workspace. Made if it is not there." },
                "line": { "type": "string", "maxLength": 1_000_000, "pattern": "^[^\\r\\n]*$", "description": "The line, without its end." }
            },
            "required": ["path", "line"],
            "additionalProperties": false
        });
        let description = "Add a line at the end of a file of the workspace, such as a log.";
        Self { spec: spec("append_line", description, parameters), file: limits.file, time: limits.time }
    }
}

impl Tool for AppendLine {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> Traits {
        // Appending twice gives two lines, and one line more does not tell who wrote it.
        Traits { class: Class::Opaque, group: "files", time: self.time, blocking: true, ..Traits::default() }
    }

    fn prepare(&self, args: &Value, place: &updraft_workspace::Place) -> Prepared {
        change::prepare(args, Class::Opaque, place)
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> Calling<'a> {
        Box::pin(async move {
            if cx.cancel.is_cancelled() {
                return Reply::Cancelled;
            }
            reply(append(&args, cx, self.file))
        })
    }
}

/// Up to this size the content before is kept whole. That of a larger file is the beginning of the content after, and
/// keeping it with every line would keep it a thousand times.
const KEPT: usize = 256 << 10;

/// Appends, and hashes the file before and after, unless it is so large that reading it would be most of the work.
fn append(args: &Value, cx: &CallContext, most: usize) -> Result<Output, Failure> {
    let Args { path, line } = parse(args)?;
    let place = &cx.place;
    let path = place.workspace.locate_for_writing(&path)?;
    let _turn = place.workspace.turn(&path);
    let size = place.workspace.about(&path, Links::Never).map_or(0, |about| about.len as usize);
    let before = if size > most { None } else { Some(place.workspace.existing(&path, most)?) };
    let bytes = before.as_ref().and_then(|before| before.as_ref()?.bytes.as_deref());
    if let Some(why) = bytes.and_then(|bytes| text::why_not_added(bytes, &line)) {
        return failed(format!("`{path}` {why}"));
    }
    let changes = place.workspace.append(&path, &line, cx.around.reaches_outside)?;
    let mut output = Output { text: format!("added a line to `{path}`\n"), changes, ..Output::default() };
    // It is written by now, so a file that cannot be read any more is no failure.
    if let (Some(before), Ok(after)) = (before, place.workspace.existing(&path, 0)) {
        let (hash, was) = (before.as_ref().and_then(|existing| existing.hash), before.as_ref().map(Standing::form));
        let now = after.as_ref().map(Standing::form);
        let after = after.and_then(|existing| existing.hash);
        output.changes.push(Change { path: path.to_string(), before: hash, after, was, now, ..Change::default() });
        let kept = before.and_then(|existing| existing.bytes).filter(|bytes| bytes.len() <= KEPT);
        kept.map(|bytes| cx.keep(bytes));
    } else {
        let now = change::look(place, &path);
        output.changes.push(Change { path: path.to_string(), was: now, now, lost: true, ..Change::default() });
    }
    Ok(output)
}
