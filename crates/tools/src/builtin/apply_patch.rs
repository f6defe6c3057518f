//! `apply_patch`: changes several files by a patch in the format of OpenAI's codex. Where a section does not fit, nothing is
//! changed.

mod hunks;
mod parse;
mod plan;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, EffectFacts, Failure, FailureKind, PreparedCall, RecoveryOutcome, ToolSpec};
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
        let description = "Change several files or places at once. If one part does not fit, nothing is changed.";
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

impl Tool for ApplyPatch {
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
        change_set::reconcile(facts, place, |is_left: &dyn Fn(&WorkspacePath) -> bool| {
            PatchPlanner { place, most: self.file }.plan(&patch(args)?, is_left)
        })
    }
}
