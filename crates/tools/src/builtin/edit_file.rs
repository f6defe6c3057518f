//! `edit_file`: replaces exact pieces of a file's text with others, all of them or none.

mod replace;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, EffectFacts, Failure, FailureKind, PreparedCall, RecoveryOutcome, ToolSpec};
use updraft_workspace::{Place, text};

use super::apply_patch::{self, APPLY_PATCH};
use super::write_plan::{self, WritePlan};
use super::{failed, in_own_words, parse, spec};
use crate::limits::ToolLimits;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

/// What models call the parts of an edit, and what they are called here.
const NAMES: [(&str, &str); 3] = [("old_string", "old"), ("new_string", "new"), ("all", "replace_all")];

pub(super) struct EditFile {
    spec: ToolSpec,
    file: usize,
    time: Duration,
}

#[derive(Deserialize)]
struct Args {
    path: String,
    #[serde(default)]
    old: Option<String>,
    #[serde(default)]
    new: Option<String>,
    #[serde(default)]
    replace_all: Option<bool>,
    #[serde(default)]
    edits: Option<Vec<Edit>>,
}

impl Args {
    /// The path and the edits in their order.
    fn edits(self) -> Result<(String, Vec<Edit>), Failure> {
        let Self { path, old, new, replace_all, edits } = self;
        let mut edits = edits.unwrap_or_default();
        let missing = |what: &str| Err(Failure::new(FailureKind::Validation, format!("{what} is missing")));
        match (old, new) {
            // Some models fill in every argument there is.
            (Some(old), _) if old.is_empty() && !edits.is_empty() => {}
            (Some(old), Some(new)) => edits.insert(0, Edit { old, new, replace_all }),
            (Some(_), None) => return missing("`new`, the text to put in place of `old`,"),
            (None, Some(_)) => return missing("`old`, the text to replace by `new`,"),
            (None, None) if edits.is_empty() => {
                return missing("what to replace, `old` and `new` or a list of `edits`,");
            }
            (None, None) => {}
        }
        Ok((path, edits))
    }
}

/// One replacement.
#[derive(Deserialize)]
struct Edit {
    old: String,
    new: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

impl EditFile {
    pub(super) fn new(limits: &ToolLimits) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "old": { "type": "string", "description": "The text to replace, exactly as in the file; it must occur once, unless replace_all is set." },
                "new": { "type": "string" },
                "replace_all": { "type": "boolean" },
                "edits": {
                    "type": "array",
                    "description": "Instead of old and new: several edits of the file in order, all of them or none.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "old": { "type": "string" },
                            "new": { "type": "string" },
                            "replace_all": { "type": "boolean" }
                        },
                        "required": ["old", "new"]
                    }
                }
            },
            "required": ["path"],
            "additionalProperties": false
        });
        let description = "Replace text in a file. Its line endings and encoding are kept.";
        Self { spec: spec("edit_file", description, parameters), file: limits.file, time: limits.time }
    }

    fn plan(&self, args: &Value, place: &Place) -> Result<WritePlan, Failure> {
        let (path, edits) = parse::<Args>(args)?.edits()?;
        let path = place.workspace.locate_for_writing(&path)?;
        let Some(before) = place.workspace.existing(&path, self.file)? else {
            return failed(format!("there is no `{path}` in the workspace; write_file creates new files"));
        };
        let Some(bytes) = &before.bytes else {
            return failed(format!("`{path}` has {} bytes; at most {} can be edited", before.stamp.len, self.file));
        };
        let Some((mut content, encoding)) = text::decode(bytes) else {
            return failed(format!("`{path}` is not text: expected UTF-8, or UTF-16 with a byte order mark"));
        };
        let mut count = 0;
        for (edit, number) in edits.iter().zip(1..) {
            let Edit { old, new, replace_all } = edit;
            let replaced = replace::replace(&content, old, new, replace_all.unwrap_or(false)).map_err(|why| {
                let which = if edits.len() > 1 { format!("edit {number}: ") } else { String::new() };
                Failure::new(FailureKind::Tool, format!("nothing was changed in `{path}`: {which}{why}"))
            })?;
            if replaced.text.len() > self.file {
                return failed(format!("`{path}` would have more than {} bytes", self.file));
            }
            count += replaced.count;
            content = replaced.text;
        }
        let places = if count == 1 { "1 place".into() } else { format!("{count} places") };
        let text = format!("edited `{path}`: replaced {places}\n");
        Ok(WritePlan { path, before: Some(before), after: encoding.encode(&content), text })
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

    /// The same under names that other models were trained with, a patch, or the whole content of a file. None is in the
    /// schema: small models fill in whatever is optional.
    fn otherwise(&self, args: &Value) -> Option<(String, Value)> {
        if let (Some(content), None) = (args["content"].as_str(), args["old"].as_str()) {
            let path = args["path"].as_str()?;
            return Some(("write_file".to_owned(), json!({ "path": path, "content": content })));
        }
        let mut args = in_own_words(&in_own_words(args, &NAMES), &[("file_path", "path")]);
        let is_edit = args["old"].is_string() || args["new"].is_string() || args["edits"].is_array();
        if let Some(patch) = apply_patch::in_other_words(&args).filter(|_| !is_edit) {
            return Some((APPLY_PATCH.to_owned(), patch));
        }
        if let Some(edits) = args["edits"].as_array_mut() {
            for edit in edits {
                *edit = in_own_words(edit, &NAMES);
            }
        }
        Some((self.spec.name.clone(), args))
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        let class = EffectClass::Checkable;
        if let Err(fault) = parse::<Args>(args).and_then(Args::edits) {
            return PreparedCall { class, fault: Some(fault), ..PreparedCall::default() };
        }
        let prepared = write_plan::prepare(args, class, place);
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
