//! Finds out which results of a run are still good: the files that each step read and wrote are compared with today's.
//!
//! Calls that only read in this process are made again, and what they give is compared. What a command read is not
//! known, so for a step with commands no file of the workspace may have changed since the step began.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::UNIX_EPOCH;

use ignore::WalkBuilder;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use updraft_journal::hash_of;
use updraft_run::{
    Effect, EffectAddress, EffectKind, Event, FileChange, KeptResult, PreparedCall, Record, Reply, Run, RunId, StepId,
    StepRole, StepState, Timestamp, ToolCall, paths_meet,
};
use updraft_tools::{CallLog, RunContext};

use crate::perform::CallEnvironment;
use crate::{Engine, Error, RosterTexts};

/// A step of a run that was done.
#[derive(Clone, Debug)]
pub struct FinishedStep {
    /// Its result.
    pub result: KeptResult,
    /// The model it used.
    pub model: String,
    /// Why its result is no longer good, if files it read or wrote have changed.
    pub outdated: Option<String>,
}

/// A run with its steps that were done, and the texts its agents had.
#[derive(Debug)]
pub struct FinishedRun {
    /// The run.
    pub run: Run,
    /// The steps, in the order they were planned.
    pub steps: Vec<FinishedStep>,
    /// The texts of its agents and prompts; absent in runs from before they were kept.
    pub texts: Option<RosterTexts>,
}

/// A call of a step, with its result.
struct MadeCall {
    call: ToolCall,
    prepared: PreparedCall,
    text: String,
    changes: Vec<FileChange>,
}

/// What is read from the journal.
#[derive(Default)]
struct StepHistory {
    run: Run,
    open: BTreeMap<EffectAddress, (ToolCall, PreparedCall)>,
    calls: BTreeMap<StepId, Vec<MadeCall>>,
    began: BTreeMap<StepId, Timestamp>,
    inputs: BTreeMap<StepId, Vec<(String, Value)>>,
    wrote: BTreeMap<StepId, BTreeMap<String, Value>>,
    outputs: BTreeMap<StepId, Option<String>>,
    /// The last change of each file.
    changed: BTreeMap<String, FileChange>,
}

impl Engine {
    /// The steps of a run that were done, each compared with today's files. Changes nothing.
    pub async fn finished_steps(&self, id: &RunId) -> Result<FinishedRun, Error> {
        let mut history = StepHistory::default();
        self.journal().read(id, 0, &mut |_, record: Record| {
            history.follow(&record);
            ControlFlow::Continue(())
        })?;
        let texts = self.texts_of(id, &history.run)?;
        let workspace = history.run.settings().workspace.clone();
        let files = FilesToday::look(Path::new(&workspace), &history.changed);
        let mut steps = Vec::new();
        let is_done = |id: &&StepId| {
            let step = history.run.step(id);
            step.is_some_and(|s| s.role == StepRole::Work && s.state == StepState::Done && !s.superseded)
        };
        for step in history.outputs.keys().filter(is_done) {
            steps.extend(self.finished_step(&history, step, &files).await);
        }
        let place = |step: &FinishedStep| history.run.steps().position(|known| known.spec.id == step.result.spec.id);
        steps.sort_by_key(place);
        Ok(FinishedRun { steps, texts, run: history.run })
    }

    async fn finished_step(&self, history: &StepHistory, id: &StepId, files: &FilesToday) -> Option<FinishedStep> {
        let step = history.run.step(id)?;
        let calls = history.calls.get(id).map(Vec::as_slice).unwrap_or_default();
        let mut outdated = history.overwritten_input(id);
        for made in calls {
            if outdated.is_some() {
                break;
            }
            outdated = self.outdated_by(history, id, made, files).await;
        }
        let result = KeptResult {
            spec: (*step.spec).clone(),
            wrote: history.wrote.get(id).cloned().unwrap_or_default(),
            output: history.outputs.get(id).cloned().flatten(),
            origins: step.origins.clone(),
            used_tools: !calls.is_empty(),
        };
        let model = history.run.model_for(&step.spec).to_owned();
        Some(FinishedStep { result, model, outdated })
    }

    /// Why the result of a call would be another today.
    async fn outdated_by(
        &self,
        history: &StepHistory,
        step: &StepId,
        made: &MadeCall,
        files: &FilesToday,
    ) -> Option<String> {
        let changed = |path: &str| format!("`{path}` has changed");
        if let Some(path) = made.changes.iter().map(|change| &change.path).find(|path| !files.is_as_left(path)) {
            return Some(changed(path));
        }
        let began = history.began.get(step).copied().unwrap_or_default();
        let was_touched = |path: &String| history.changed.keys().any(|other| paths_meet(path, other));
        let is_blurred = made.prepared.may_touch_any_file() || made.prepared.reads.iter().any(was_touched);
        if is_blurred {
            return files.newer_than(began).map(changed);
        }
        if !made.prepared.is_plain() {
            return None;
        }
        let workspace = &history.run.settings().workspace;
        let given = CallEnvironment {
            key: format!("again/{}", made.call.id),
            cancel: CancellationToken::new(),
            context: RunContext::default(),
            log: CallLog::default(),
            output: CallLog::default(),
        };
        let today = self.performer().call(workspace, &made.call, given).await.reply;
        let is_same = matches!(&today, Reply::Output(output) if output.text == made.text);
        let what = made.prepared.reads.first().map_or_else(|| made.call.name.clone(), Clone::clone);
        (!is_same).then(|| format!("`{}` of `{what}` gives another result", made.call.name))
    }
}

impl StepHistory {
    fn follow(&mut self, record: &Record) {
        self.run.pass(record);
        for event in &record.events {
            if let Event::Replied { id, reply: Reply::Output(output), .. } = event
                && let Some((call, prepared)) = self.open.remove(id)
            {
                let made = MadeCall { call, prepared, text: output.text.clone(), changes: output.changes.clone() };
                for change in &made.changes {
                    self.changed.insert(change.path.clone(), change.clone());
                }
                self.calls.entry(id.step.clone()).or_default().push(made);
            }
            self.run.apply(event);
            self.note(record.at, event);
        }
    }

    fn note(&mut self, at: Timestamp, event: &Event) {
        match event {
            Event::Wanted { id, effect: Effect::Ask } if id.kind == EffectKind::Ask && id.turn == 0 => {
                self.began.insert(id.step.clone(), at);
                self.calls.remove(&id.step);
                self.wrote.remove(&id.step);
                let opening = self.run.step(&id.step).and_then(|step| step.opening.clone()).unwrap_or_default();
                let inputs = opening.inputs.iter().map(|(name, value)| (name.clone(), (**value).clone()));
                self.inputs.insert(id.step.clone(), inputs.collect());
            }
            Event::Wanted { id, effect: Effect::Call } => {
                if let Some(call) = self.run.call_at(id).zip(self.run.prepared(id).cloned()) {
                    self.open.insert(id.clone(), call);
                }
            }
            Event::Wrote { step, name, value, .. } => {
                self.wrote.entry(step.clone()).or_default().insert(name.clone(), value.clone());
            }
            Event::StepDone { step, output, .. } => {
                self.outputs.insert(step.clone(), output.clone());
            }
            _ => {}
        }
    }

    /// Whether a step read a variable that was given another value later: the run only knows the last one.
    fn overwritten_input(&self, step: &StepId) -> Option<String> {
        let last = |name: &String| self.run.variables().get(name).map(|variable| &*variable.value);
        let inputs = self.inputs.get(step)?.iter();
        let other = inputs.filter(|(name, value)| last(name) != Some(value)).map(|(name, _)| name).next()?;
        Some(format!("`{other}` was written again after it was read"))
    }
}

/// The files of a workspace as they are today.
struct FilesToday {
    /// When each file was last changed, in milliseconds, for files that are not as the run left them.
    changed: Vec<(String, i64)>,
    /// The files that the run changed and that are still as it left them.
    as_left: BTreeSet<String>,
}

impl FilesToday {
    fn look(root: &Path, left: &BTreeMap<String, FileChange>) -> Self {
        let as_left: BTreeSet<String> =
            left.values().filter(|change| is_as_left(root, change)).map(|change| change.path.clone()).collect();
        let walk = WalkBuilder::new(root).hidden(true).require_git(false).parents(false).build();
        let files = walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        let changed = files.filter_map(|entry| {
            let path = entry.path().strip_prefix(root).ok()?.display().to_string();
            let modified = entry.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            (!as_left.contains(&path)).then_some((path, modified.as_millis() as i64))
        });
        Self { changed: changed.collect(), as_left }
    }

    fn is_as_left(&self, path: &str) -> bool {
        self.as_left.contains(path)
    }

    /// A file that somebody else changed after a moment.
    fn newer_than(&self, moment: Timestamp) -> Option<&str> {
        self.changed.iter().find(|(_, modified)| *modified > moment.0).map(|(path, _)| path.as_str())
    }
}

/// Whether a file is as a change left it.
fn is_as_left(root: &Path, change: &FileChange) -> bool {
    let path = root.join(&change.path);
    match (change.after, change.now) {
        (Some(hash), _) => std::fs::read(path).is_ok_and(|bytes| hash_of(&bytes) == hash),
        (None, Some(form)) => {
            let found = std::fs::symlink_metadata(path).ok();
            found.is_some_and(|found| found.is_dir() || found.len() == form.len)
        }
        (None, None) => !path.exists(),
    }
}
