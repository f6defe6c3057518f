//! Handles tools that change during a run: the model sees them with its next question, and the journal records which
//! ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use updraft_journal::Blob;
use updraft_run::{Effect, EffectAddress, Failure, FailureKind, Input, PreparedCall, Roster, ToolCall, ToolSpec};

use super::RunDriver;
use crate::Error;
use crate::prompt_texts::PromptKit;

/// A roster with changed tools, the tools whose definitions come from outside if that changed, and the resulting kit.
type RenewedTools = (Arc<Roster>, Option<BTreeMap<String, String>>, Arc<PromptKit>);

impl RunDriver {
    /// Loads the tools again if they have changed and a model is about to be asked. The new definitions are on disk
    /// before the model sees them.
    pub(super) async fn reload_changed_tools(&mut self, about_to_begin: &[EffectAddress]) -> Result<(), Error> {
        let is_ask = |id: &EffectAddress| self.run.open().get(id).is_some_and(|open| open.effect == Effect::Ask);
        if !about_to_begin.iter().any(is_ask) {
            return Ok(());
        }
        let Some((roster, strange, kit)) = self.load_changed_tools()? else { return Ok(()) };
        let (records, _) = self.decide(vec![Input::Reload { roster, strange }.into()]).await?;
        self.append(records, Vec::new()).await?;
        self.briefing.kit = kit;
        Ok(())
    }

    /// The roster and kit with the current tools. Returns `None` if nothing changed.
    fn load_changed_tools(&mut self) -> Result<Option<RenewedTools>, Error> {
        let Some(snapshot) =
            self.engine.performer.snapshot().filter(|snapshot| self.briefing.tools_version != Some(snapshot.version))
        else {
            return Ok(None);
        };
        self.briefing.tools_version = Some(snapshot.version);
        let Some(words) = self.engine.roster_texts(&self.id, &self.run)? else { return Ok(None) };
        let before = words.tools.clone();
        let (roster, words) = words.renewed(self.run.roster(), &snapshot.registry);
        let strange = Some(snapshot.registry.strange()).filter(|strange| *strange != self.run.settings().strange_tools);
        if words.tools == before && roster == **self.run.roster() && strange.is_none() {
            return Ok(None);
        }
        let blob = Blob::new(serde_json::to_vec(&words).unwrap_or_default());
        let roster = Roster { words: Some(blob.hash()), ..roster };
        let kit = self.engine.kit(blob.hash(), &roster, || Ok(PromptKit::new(&roster, words)))?;
        self.unwritten.blobs.push(blob);
        Ok(Some((Arc::new(roster), strange, kit)))
    }

    /// Why a call is not what was decided about any more: the tool is another one, because a person may have taken long to
    /// decide, or a call before it in its turn has changed what it would do.
    pub(super) fn changed_since_decided(&self, id: &EffectAddress, call: &ToolCall) -> Option<String> {
        let (snapshot, was) = (self.engine.performer.snapshot()?, self.run.prepared(id)?);
        let is_fixed = snapshot.registry.is_fixed(&call.name) && was.passed_on_to.is_none();
        let is_behind = id.inner.is_none() && self.run.step(&id.step).is_some_and(|step| step.has_changes_before(id.n));
        if is_fixed && !is_behind {
            return None;
        }
        let now = self.look_at(&id.step, call);
        // A tool that cannot be called at all is reported when the call is made.
        let weighed = |of: &PreparedCall| (of.class, of.outside, of.sends, of.destroys, of.adds);
        let is_same = weighed(&now) == weighed(was) && now.hosts == was.hosts && now.passed_on_to == was.passed_on_to;
        let is_same = is_same && (!is_fixed || now.does_the_same(was));
        if now.fault.is_some() || is_same {
            return None;
        }
        let what =
            if is_fixed { "a call before it changed what it would do" } else { "it was replaced by another tool" };
        let name = &call.name;
        Some(format!("`{name}` was not called: {what} after it was allowed; call it again"))
    }

    /// The refusal of a call whose tool has changed since the model was shown it, or is gone.
    pub(super) fn changed_since(&self, shown: &[ToolSpec], call: &ToolCall) -> Option<PreparedCall> {
        let snapshot = self.engine.performer.snapshot()?;
        let told =
            shown.iter().find(|spec| spec.name == call.name).filter(|_| !snapshot.registry.is_fixed(&call.name))?;
        let name = &call.name;
        let why = match snapshot.registry.get(name).map(|tool| &tool.spec().parameters) {
            Some(parameters) if *parameters == told.parameters => return None,
            Some(parameters) => {
                format!("its definition has changed, so `{name}` was not called; its parameters are now: {parameters}")
            }
            None => format!("`{name}` no longer exists: its server removed it, so it was not called"),
        };
        let fault = Some(Failure::new(FailureKind::Validation, why));
        Some(PreparedCall { fault, ..PreparedCall::default() })
    }
}
