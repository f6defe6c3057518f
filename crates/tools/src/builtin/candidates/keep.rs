//! `keep_candidate`: applies what a candidate changed to the workspace, all of it or nothing.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use updraft_run::{EffectClass, EffectFacts, Failure, KEEP_CANDIDATE, PreparedCall, RecoveryOutcome, ToolSpec};
use updraft_workspace::{Place, WorkspacePath};

use super::{CandidateStore, ChosenCandidate};
use crate::builtin::change_set::{self, ChangeSet, FileWrite};
use crate::builtin::{failed, parse, spec};
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

pub(super) struct KeepCandidate {
    spec: ToolSpec,
    store: Arc<CandidateStore>,
}

impl KeepCandidate {
    pub(super) fn new(store: Arc<CandidateStore>) -> Self {
        let description = "Apply all changes of one candidate to the workspace. The others are thrown away.";
        Self { spec: spec(KEEP_CANDIDATE, description, ChosenCandidate::schema()), store }
    }

    /// The files to write. A file that has changed in the workspace since the copy was made is a conflict, unless it is
    /// the same in both now.
    fn plan(&self, args: &Value, place: &Place) -> Result<ChangeSet, Failure> {
        let ChosenCandidate { candidate } = parse(args)?;
        let (mut writes, mut conflicts) = (Vec::new(), Vec::new());
        for change in self.store.open(&candidate, place)?.changes(self.store.file)? {
            let path = place.workspace.locate_for_writing(change.path.as_str())?;
            let before = place.workspace.existing(&path, self.store.file)?;
            let now = before.as_ref().and_then(|existing| existing.hash);
            if now == change.content.as_deref().map(updraft_workspace::hash) {
                continue;
            }
            if now != change.base {
                conflicts.push(format!("`{path}`"));
                continue;
            }
            let mode = before.as_ref().is_none_or(|existing| existing.stamp.mode & 0o777 != change.mode);
            let mode = Some(change.mode).filter(|_| mode && change.content.is_some());
            writes.push(FileWrite { path, before, after: change.content, mode });
        }
        if conflicts.is_empty() {
            return Ok(ChangeSet { writes });
        }
        failed(format!(
            "nothing was kept: since the copy was made, others have changed {} in the workspace",
            conflicts.join(", ")
        ))
    }
}

impl Tool for KeepCandidate {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            class: EffectClass::Checkable,
            group: "candidates",
            time: Duration::from_mins(2),
            blocking: true,
            ..ToolTraits::default()
        }
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        match self.plan(args, place) {
            Ok(changes) => {
                let paths: Vec<WorkspacePath> = changes.writes.into_iter().map(|write| write.path).collect();
                change_set::prepare(&paths, place)
            }
            Err(fault) => PreparedCall { class: EffectClass::Checkable, fault: Some(fault), ..PreparedCall::default() },
        }
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

    /// If the process ended between two files, the others are written now.
    fn reconcile(&self, args: &Value, facts: &EffectFacts, place: &Place) -> RecoveryOutcome {
        if facts.files.is_empty() {
            // The candidate had changed nothing, so there is nothing to repeat.
            return RecoveryOutcome::DidNotHappen;
        }
        change_set::reconcile(facts, place, |_| self.plan(args, place))
    }

    fn release<'a>(&'a self, run: Option<&'a str>) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        if let Some(run) = run {
            self.store.remove(run);
        }
        Box::pin(std::future::ready(()))
    }
}
