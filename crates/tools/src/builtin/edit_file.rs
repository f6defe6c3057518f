//! `edit_file`: replaces an exact piece of text with another.

mod replace;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, EffectFacts, Failure, FailureKind, PreparedCall, RecoveryOutcome, ToolSpec};
use updraft_workspace::{Place, text};

use super::apply_patch::{self, APPLY_PATCH};
use super::write_plan::{self, WritePlan};
use super::{failed, parse, spec};
use crate::limits::ToolLimits;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

pub(super) struct EditFile {
    spec: ToolSpec,
    file: usize,
    time: Duration,
}

#[derive(Deserialize)]
struct Args {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: Option<bool>,
}

impl EditFile {
    pub(super) fn new(limits: &ToolLimits) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Relative to the workspace." },
                "old": { "type": "string", "minLength": 1, "description": "The text to replace, exactly as it is in the file. It must occur only once, unless all is set." },
                "new": { "type": "string", "description": "The replacement." },
                "all": { "type": "boolean", "description": "Replace every occurrence; default false." }
            },
            "required": ["path", "old", "new"],
            "additionalProperties": false
        });
        let description =
            "Replace text in a file in the workspace. The line endings and the encoding of the file are kept.";
        Self { spec: spec("edit_file", description, parameters), file: limits.file, time: limits.time }
    }

    fn plan(&self, args: &Value, place: &Place) -> Result<WritePlan, Failure> {
        let Args { path, old, new, all } = parse(args)?;
        let path = place.workspace.locate_for_writing(&path)?;
        let Some(before) = place.workspace.existing(&path, self.file)? else {
            return failed(format!("there is no `{path}` in the workspace; write_file creates new files"));
        };
        let Some(bytes) = &before.bytes else {
            return failed(format!("`{path}` has {} bytes; at most {} can be edited", before.stamp.len, self.file));
        };
        let Some((content, encoding)) = text::decode(bytes) else {
            return failed(format!("`{path}` is not text: expected UTF-8, or UTF-16 with a byte order mark"));
        };
        let replaced = replace::replace(&content, &old, &new, all.unwrap_or(false))
            .map_err(|why| Failure::new(FailureKind::Tool, format!("nothing was changed in `{path}`: {why}")))?;
        if replaced.text.len() > self.file {
            return failed(format!("`{path}` would have more than {} bytes", self.file));
        }
        let places = if replaced.count == 1 { "1 place".into() } else { format!("{} places", replaced.count) };
        let text = format!("edited `{path}`: replaced {places}\n");
        Ok(WritePlan { path, before: Some(before), after: encoding.encode(&replaced.text), text })
    }
}

impl Tool for EditFile {
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

    /// A patch, or the whole content of a file. Neither is in the schema: small models fill in whatever is optional.
    fn otherwise(&self, args: &Value) -> Option<(String, Value)> {
        if args["old"].is_string() || args["new"].is_string() {
            return None;
        }
        if let Some(content) = args["content"].as_str() {
            let path = args["path"].as_str()?;
            return Some(("write_file".to_owned(), json!({ "path": path, "content": content })));
        }
        apply_patch::in_other_words(args).map(|args| (APPLY_PATCH.to_owned(), args))
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        let prepared = write_plan::prepare(args, EffectClass::Checkable, place);
        // If `old` does not match, the error quotes the file, so an edit also counts as reading it.
        PreparedCall { reads: prepared.writes.clone(), ..prepared }
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

    fn reconcile(&self, _: &Value, facts: &EffectFacts, place: &Place) -> RecoveryOutcome {
        write_plan::reconcile(facts, place, |expected| format!("edited `{}`\n", expected.path))
    }
}
