//! `candidate_diff`: what a candidate changed in its copy of the workspace.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use updraft_run::{EffectClass, Failure, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::Place;

use super::{CandidateStore, ChosenCandidate};
use crate::builtin::{parse, reply, spec, unified};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

pub(super) struct CandidateDiff {
    spec: ToolSpec,
    store: Arc<CandidateStore>,
}

impl CandidateDiff {
    pub(super) fn new(store: Arc<CandidateStore>) -> Self {
        Self {
            spec: spec("candidate_diff", "Show what a candidate changed, as a diff.", ChosenCandidate::schema()),
            store,
        }
    }

    fn compare(&self, args: &Value, place: &Place) -> Result<ToolOutput, Failure> {
        let ChosenCandidate { candidate } = parse(args)?;
        let changes = self.store.open(&candidate, place)?.changes(self.store.file)?;
        let mut text = format!("{candidate} changed {} files\n", changes.len());
        for change in &changes {
            let now = place.workspace.existing(&change.path, self.store.file).ok().flatten();
            let old = now.and_then(|now| now.bytes).unwrap_or_default();
            let new = change.content.as_deref().unwrap_or_default();
            match unified(change.path.as_str(), &old, new) {
                Some(diff) => text.push_str(&diff),
                None => {
                    let _ = writeln!(text, "{} is not text, or too large to compare", change.path);
                }
            }
        }
        Ok(ToolOutput { text, ..ToolOutput::default() })
    }
}

impl Tool for CandidateDiff {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        let time = Duration::from_mins(2);
        ToolTraits { class: EffectClass::Pure, group: "candidates", time, blocking: true, ..ToolTraits::default() }
    }

    fn prepare(&self, _: &Value, _: &Place) -> PreparedCall {
        PreparedCall::default()
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.compare(&args, &cx.place)) })
    }
}
