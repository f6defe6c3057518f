//! The user's hooks: those before calls stand with the guardrails, those after calls with the tools, and the others watch runs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use updraft_engine::{Delta, RunWatcher, waiting_for};
use updraft_run::{Effect, EffectAddress, Event, Record, Run, RunId, Step, StepId};
use updraft_tools::{Confinement, GuardAction, GuardCheck, GuardPoint, Guardrail, Hook, HookAnswer, HookEvent};

use crate::notice::{Notice, Tell};
use crate::settings::{HookSetting, WorkspaceSettings};

/// The hooks of a workspace, each with its confinement.
pub(crate) fn all(settings: &WorkspaceSettings, confinement: &Confinement) -> Vec<Hook> {
    let hook = |own: &HookSetting| {
        let HookSetting { name, event, command, tools, time, lets_pass_on_failure, .. } = own.clone();
        Hook { name, event, command, tools, time, lets_pass_on_failure, confinement: confinement.clone() }
    };
    settings.effective.hooks.iter().map(hook).collect()
}

/// Those that are called before calls, as guardrails.
pub(crate) fn guardrails(hooks: &[Hook]) -> impl Iterator<Item = Guardrail> {
    hooks.iter().filter(|hook| hook.event == HookEvent::BeforeCall).map(|hook| Guardrail {
        name: hook.name.clone(),
        points: vec![GuardPoint::Call],
        action: GuardAction::Correct,
        check: GuardCheck::Hook(Arc::new(hook.clone())),
        tools: hook.tools.clone(),
    })
}

/// Calls hooks when runs begin, end or need a person, and passes everything on to another watcher.
pub(crate) struct HookWatcher {
    /// Everything that happens is passed on to it.
    pub(crate) inner: Arc<dyn RunWatcher>,
    /// The hooks.
    pub(crate) hooks: Vec<Hook>,
    /// The workspace that they are called in.
    pub(crate) workspace: PathBuf,
    /// The hooks that have been called and have not ended.
    pub(crate) under_way: TaskTracker,
    /// The last of them for each run that is not over: those of one run are called one after the other.
    pub(crate) last: Mutex<BTreeMap<RunId, JoinHandle<()>>>,
    /// Is told about those that failed.
    pub(crate) tell: Tell,
}

impl HookWatcher {
    /// Whether a watcher is needed for these hooks.
    pub(crate) fn is_needed(hooks: &[Hook]) -> bool {
        hooks.iter().any(|hook| !matches!(hook.event, HookEvent::BeforeCall | HookEvent::AfterCall))
    }

    fn call(&self, event: HookEvent, id: &RunId, about: impl FnOnce() -> Value) {
        let hooks: Vec<Hook> = self.hooks.iter().filter(|hook| hook.event == event).cloned().collect();
        if hooks.is_empty() {
            return;
        }
        let mut about = about();
        about["event"] = json!(event.word());
        about["run"] = json!(id);
        about["workspace"] = json!(self.workspace.display().to_string());
        let (workspace, tell) = (self.workspace.clone(), Arc::clone(&self.tell));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let before = last.remove(id);
        let called = self.under_way.spawn(async move {
            if let Some(before) = before {
                // However it has ended.
                let _ = before.await;
            }
            for hook in hooks {
                let failed = match Box::pin(hook.call(&about, &workspace)).await {
                    Ok(HookAnswer::Pass) => continue,
                    Ok(HookAnswer::Deny(why) | HookAnswer::Ask(why)) => {
                        format!("{why} (it refuses, which only a hook `before_call` can)")
                    }
                    Err(why) => why,
                };
                tell(Notice::Hook { hook: hook.name, why: failed });
            }
        });
        if event != HookEvent::RunEnded {
            last.insert(id.clone(), called);
        }
    }
}

/// What a hook is told of a step that is over.
fn step_ended(run: &Run, id: &StepId) -> Value {
    let step = run.step(id);
    let agent = step.map(|step| step.spec.agent.clone());
    json!({ "step": id, "agent": agent, "status": step.map(Step::status) })
}

impl RunWatcher for HookWatcher {
    fn record(&self, id: &RunId, first: u64, record: &Record, run: &Run) {
        self.inner.record(id, first, record, run);
        let has = |is_it: fn(&Event) -> bool| record.events.iter().any(is_it);
        if has(|event| matches!(event, Event::Started(_))) {
            self.call(HookEvent::RunStarted, id, || json!({ "goal": run.goal().text, "by": run.goal().door }));
        }
        for event in &record.events {
            match event {
                Event::Compacted { step, summary, .. } => {
                    self.call(HookEvent::Compacted, id, || json!({ "step": step, "summary": summary }));
                }
                Event::StepDone { step, .. } | Event::StepFailed { step, .. } | Event::StepSkipped { step, .. } => {
                    self.call(HookEvent::StepEnded, id, || step_ended(run, step));
                }
                _ => {}
            }
        }
        let asks = |event: &Event| {
            let Event::Wanted { effect, .. } = event else { return false };
            matches!(effect, Effect::Question { .. } | Effect::Approval { .. })
        };
        if record.events.iter().any(asks) && !run.is_over() {
            let waits = || json!({ "goal": run.goal().text, "waits": waiting_for(run) });
            self.call(HookEvent::NeedsPerson, id, waits);
        }
        if run.is_over() && has(|event| matches!(event, Event::Finished { .. } | Event::Cancelled { .. })) {
            let ended = || json!({ "goal": run.goal().text, "status": run.status().as_str(), "answer": run.answer() });
            self.call(HookEvent::RunEnded, id, ended);
        }
    }

    fn delta(&self, id: &RunId, at: &EffectAddress, delta: Delta<'_>) {
        self.inner.delta(id, at, delta);
    }

    fn said(&self, id: &RunId, at: &EffectAddress, line: &str) {
        self.inner.said(id, at, line);
    }

    fn printed(&self, id: &RunId, at: &EffectAddress, line: &str) {
        self.inner.printed(id, at, line);
    }
}
