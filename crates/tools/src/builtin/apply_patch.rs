//! `apply_patch`: changes several files by a patch in the format of OpenAI's codex. Where a section does not fit, the
//! sections before it stay, as with codex, and the reply says so.

mod hunks;
mod parse;
mod plan;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{
    EffectClass, EffectFacts, Failure, FailureKind, PreparedCall, RecoveryOutcome, Reply, ToolOutput, ToolSpec,
};
use updraft_workspace::{Place, WorkspacePath};

use super::change_set::{self, ChangeSet};
use super::{parse as arguments, spec};
use crate::limits::ToolLimits;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};
use parse::Patch;
use plan::{PatchPlanner, PlannedPaths};

/// The tool's name, which `edit_file` passes patches on to.
pub(crate) const APPLY_PATCH: &str = "apply_patch";

pub(super) struct ApplyPatch {
    spec: ToolSpec,
    file: usize,
    time: Duration,
}

#[derive(Deserialize)]
struct Args {
    patch: String,
}

impl ApplyPatch {
    pub(super) fn new(limits: &ToolLimits) -> Self {
        let format = "`*** Begin Patch`, then for each file `*** Add File: PATH` with `+` lines, `*** Delete File: PATH`, \
                      or `*** Update File: PATH` (then perhaps `*** Move to: PATH`) with hunks: `@@` or `@@ LINE ABOVE`, \
                      then lines that begin with a space (kept), `-` or `+`. The end is `*** End Patch`.";
        let parameters = json!({
            "type": "object",
            "properties": { "patch": { "type": "string", "minLength": 1, "description": format } },
            "required": ["patch"],
            "additionalProperties": false
        });
        let description =
            "Change several files or places at once. If a section does not fit, those before it are applied.";
        Self { spec: spec(APPLY_PATCH, description, parameters), file: limits.file, time: limits.time }
    }

    fn plan(&self, args: &Value, place: &Place) -> Result<ChangeSet, Failure> {
        PatchPlanner { place, most: self.file }.plan(&patch(args)?, |_| true)
    }
}

/// The patch among the arguments.
fn patch(args: &Value) -> Result<Patch, Failure> {
    let Args { patch } = arguments(args)?;
    Patch::parse(&patch)
        .map_err(|why| Failure::new(FailureKind::Validation, format!("the patch cannot be read: {why}")))
}

/// A patch in the arguments of a call, under the names that models give it.
pub(super) fn in_other_words(args: &Value) -> Option<Value> {
    let named = ["patch", "input", "diff", "text"].iter().find_map(|name| args[*name].as_str());
    named.or_else(|| args.as_str()).map(|patch| json!({ "patch": patch }))
}

/// The output with the files that the patch names and the call did not change, since a section did not fit or changed
/// nothing.
fn with_unchanged(output: Arc<ToolOutput>, args: &Value, place: &Place) -> Arc<ToolOutput> {
    let Ok(PlannedPaths { writes, .. }) = patch(args).and_then(|patch| PlannedPaths::of(&patch, place)) else {
        return output;
    };
    let is_changed = |path: &WorkspacePath| output.changes.iter().any(|change| change.path == path.as_str());
    let unchanged: Vec<String> =
        writes.iter().filter(|path| !is_changed(path)).map(|path| format!("`{path}`")).collect();
    if unchanged.is_empty() {
        return output;
    }
    let mut output = Arc::unwrap_or_clone(output);
    let _ = writeln!(output.text, "these were not changed: {}", unchanged.join(", "));
    output.is_error = true;
    Arc::new(output)
}

impl Tool for ApplyPatch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            class: EffectClass::Checkable,
            group: "files",
            // Its description is long, and `edit_file` understands patches too.
            only_by_name: true,
            time: self.time,
            blocking: true,
            ..ToolTraits::default()
        }
    }

    fn otherwise(&self, args: &Value) -> Option<(String, Value)> {
        in_other_words(args).map(|args| (APPLY_PATCH.to_owned(), args))
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        let class = EffectClass::Checkable;
        let paths = patch(args).and_then(|patch| PlannedPaths::of(&patch, place));
        let PlannedPaths { reads, writes } = match paths {
            Ok(paths) => paths,
            Err(fault) => return PreparedCall { class, fault: Some(fault), ..PreparedCall::default() },
        };
        PreparedCall { reads: reads.iter().map(ToString::to_string).collect(), ..change_set::prepare(&writes, place) }
    }

    fn facts(&self, args: &Value, place: &Place) -> EffectFacts {
        self.plan(args, place).map_or_else(|_| EffectFacts::default(), |changes| changes.facts())
    }

    fn previous_contents(&self, args: &Value, place: &Place) -> Vec<Vec<u8>> {
        self.plan(args, place).map_or_else(|_| Vec::new(), ChangeSet::previous_contents)
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { change_set::make(cx, |place| self.plan(&args, place)) })
    }

    /// If the process ended between two files, the others are changed now.
    fn reconcile(&self, args: &Value, facts: &EffectFacts, place: &Place) -> RecoveryOutcome {
        let outcome = change_set::reconcile(facts, place, |is_left: &dyn Fn(&WorkspacePath) -> bool| {
            PatchPlanner { place, most: self.file }.plan(&patch(args)?, is_left)
        });
        match outcome {
            RecoveryOutcome::Happened(Reply::Output(output)) => {
                RecoveryOutcome::Happened(Reply::Output(with_unchanged(output, args, place)))
            }
            other => other,
        }
    }
}
