//! `write_file`: writes a whole file, new or replacing the existing one.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, EffectFacts, Failure, PreparedCall, RecoveryOutcome, ToolSpec};
use updraft_workspace::{LinkPolicy, PathKind, Place, text};

use super::write_plan::{self, WritePlan};
use super::{failed, parse, spec};
use crate::limits::ToolLimits;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

pub(super) struct WriteFile {
    spec: ToolSpec,
    file: usize,
    time: Duration,
}

#[derive(Deserialize)]
struct Args {
    path: String,
    content: String,
}

impl WriteFile {
    pub(super) fn new(limits: &ToolLimits) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Relative to the workspace. Missing folders are created." },
                "content": { "type": "string", "description": "The whole content of the file." }
            },
            "required": ["path", "content"],
            "additionalProperties": false
        });
        let description = "Create or replace a whole file.";
        Self { spec: spec("write_file", description, parameters), file: limits.file, time: limits.time }
    }

    fn plan(&self, args: &Value, place: &Place) -> Result<WritePlan, Failure> {
        let Args { path, content } = parse(args)?;
        if content.len() > self.file {
            return failed(format!("the content has {} bytes; expected at most {}", content.len(), self.file));
        }
        let path = place.workspace.locate_for_writing(&path)?;
        let before = place.workspace.existing(&path, self.file)?;
        let mut text = told(path.as_str(), content.len(), before.is_none());
        let old = before.as_ref().and_then(|existing| existing.bytes.as_deref()).filter(|old| !old.is_empty());
        let (after, kept) =
            old.map_or_else(|| (content.as_bytes().to_vec(), None), |old| text::with_style_of(old, &content));
        if let Some(kept) = kept {
            text = format!("{}, {kept}\n", text.trim_end());
        }
        if after.len() > self.file {
            return failed(format!("`{path}` would have {} bytes; expected at most {}", after.len(), self.file));
        }
        Ok(WritePlan { path, before, after, text })
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            class: EffectClass::Checkable,
            group: "files",
            time: self.time,
            blocking: true,
            ..ToolTraits::default()
        }
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        let prepared = write_plan::prepare(args, EffectClass::Checkable, place);
        let is_there = |path: &String| {
            place.workspace.locate(path).is_ok_and(|path| {
                place.workspace.about(&path, LinkPolicy::Never).is_ok_and(|about| about.kind == PathKind::File)
            })
        };
        PreparedCall { replaces: prepared.writes.iter().any(is_there), ..prepared }
    }

    fn facts(&self, args: &Value, place: &Place) -> EffectFacts {
        self.plan(args, place).map_or_else(|_| EffectFacts::default(), |plan| plan.facts())
    }

    fn previous_contents(&self, args: &Value, place: &Place) -> Vec<Vec<u8>> {
        self.plan(args, place).map_or_else(|_| Vec::new(), WritePlan::previous_contents)
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { write_plan::make(&args, cx, |place| self.plan(&args, place)) })
    }

    fn reconcile(&self, args: &Value, facts: &EffectFacts, place: &Place) -> RecoveryOutcome {
        let len = args["content"].as_str().map_or(0, str::len);
        write_plan::reconcile(facts, place, |expected| told(&expected.path, len, expected.before.is_none()))
    }
}

fn told(path: &str, len: usize, is_new: bool) -> String {
    let what = if is_new { "a new file" } else { "replacing the previous content" };
    format!("wrote `{path}`: {len} bytes, {what}\n")
}
