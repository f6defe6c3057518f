//! Finds out which results of a run are still good: those of steps for which it is certain that nothing has changed.
//!
//! Calls that only read in this process are made again, and what they give is compared. Files that the run itself changed
//! must be as it left them. What a command, a web page or a server would give today is not known, so a step with any
//! other call, or with one that failed or was refused, is carried out again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use updraft_journal::hash_of;
use updraft_run::{
    Effect, EffectAddress, EffectKind, Event, FileChange, FileKind, KeptResult, PreparedCall, Record, Reply, Run,
    RunId, Step, StepId, StepRole, StepState, Timestamp, ToolCall,
};
use updraft_tools::{CallLog, RunContext};

use crate::context::WorkspaceContext;
use crate::perform::CallEnvironment;
use crate::start::Background;
use crate::{Engine, Error, RosterTexts};

/// A step of a run that was done.
#[derive(Clone, Debug)]
pub struct FinishedStep {
    /// Its result.
    pub result: KeptResult,
    /// The model it used.
    pub model: String,
    /// Why its result is no longer good, if something it depended on has changed or may have.
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
}

/// What is read from the journal.
#[derive(Default)]
struct StepHistory {
    run: Run,
    began: Timestamp,
    open: BTreeMap<EffectAddress, (ToolCall, PreparedCall)>,
    /// The calls that gave an output, in all visits of a step.
    calls: BTreeMap<StepId, Vec<MadeCall>>,
    /// How many calls the answers of a step asked for, in all its visits.
    asked_for: BTreeMap<StepId, usize>,
    inputs: BTreeMap<StepId, Vec<(String, Value)>>,
    wrote: BTreeMap<StepId, BTreeMap<String, Value>>,
    outputs: BTreeMap<StepId, Option<String>>,
    /// The runs that results were kept from.
    kept_from: BTreeMap<StepId, RunId>,
    /// The last change of each file.
    changed: BTreeMap<String, FileChange>,
}

/// What the steps of a run are compared with.
struct Today {
    /// What an agent would be told about the workspace.
    context: WorkspaceContext,
    /// The files that the run changed and that are still as it left them.
    as_left: BTreeSet<String>,
    /// A file given with the goal that may have changed since the run began.
    changed_file: Option<String>,
}

impl Engine {
    /// The steps of a run that were done, each compared with today's files and with what agents would be told today.
    /// Changes nothing.
    pub async fn finished_steps(&self, id: &RunId, background: &Background) -> Result<FinishedRun, Error> {
        let mut history = StepHistory::default();
        self.journal().read(id, 0, &mut |_, record: Record| {
            history.follow(&record);
            ControlFlow::Continue(())
        })?;
        let texts = self.texts_of(id, &history.run)?;
        let today = history.look(background);
        let mut originals: BTreeMap<&RunId, Vec<FinishedStep>> = BTreeMap::new();
        for of in history.kept_from.values() {
            if !originals.contains_key(of) {
                // A run that was deleted has no steps.
                let original = Box::pin(self.finished_steps(of, background)).await;
                originals.insert(of, original.map(|found| found.steps).unwrap_or_default());
            }
        }
        let mut steps = Vec::new();
        let is_done = |step: &&Step| step.role == StepRole::Work && step.state == StepState::Done && !step.superseded;
        for step in history.run.steps().filter(is_done) {
            let original = history.kept_from.get(&step.spec.id).and_then(|of| originals.get(of));
            let known = original.map(|known| known.iter().find(|one| one.result.spec == *step.spec));
            steps.push(match known {
                Some(Some(original)) => original.clone(),
                Some(None) => {
                    let gone = Some("the run that its result was kept from is gone".to_owned());
                    FinishedStep { outdated: gone, ..history.finished(step) }
                }
                None => {
                    let outdated = self.outdated(id, &history, step, &today).await;
                    FinishedStep { outdated, ..history.finished(step) }
                }
            });
        }
        Ok(FinishedRun { steps, texts, run: history.run })
    }

    /// Why the result of a step is no longer good.
    async fn outdated(&self, id: &RunId, history: &StepHistory, step: &Step, today: &Today) -> Option<String> {
        if let Some(path) = &today.changed_file {
            return Some(format!("`{path}` has changed"));
        }
        let context = step.context.or(history.run.settings().context).map(|hash| self.context_of(id, hash));
        let Some(Ok(told)) = context else { return Some("what it was told is not known".to_owned()) };
        if let Some(what) = history.difference(&told, &today.context) {
            return Some(format!("{what} has changed"));
        }
        if let Some(why) = history.overwritten_input(&step.spec.id) {
            return Some(why);
        }
        let calls = history.calls.get(&step.spec.id).map(Vec::as_slice).unwrap_or_default();
        if calls.len() < history.asked_for.get(&step.spec.id).copied().unwrap_or_default() {
            return Some("one of its calls failed or was refused".to_owned());
        }
        for made in calls {
            let outdated = self.outdated_by(&history.run, made, today).await;
            if outdated.is_some() {
                return outdated;
            }
        }
        None
    }

    /// Why the result of a call may be another today.
    async fn outdated_by(&self, run: &Run, made: &MadeCall, today: &Today) -> Option<String> {
        let MadeCall { call, prepared, text } = made;
        let PreparedCall { reads, writes, hosts, sends, served, model, .. } = prepared;
        // The run itself has changed these files, so reading them again would show nothing.
        let is_as_left = |path: &String| today.as_left.contains(path);
        if prepared.is_plain() {
            if !reads.is_empty() && reads.iter().all(is_as_left) {
                return None;
            }
            let given = CallEnvironment {
                key: format!("again/{}", call.id),
                cancel: CancellationToken::new(),
                context: RunContext::default(),
                log: CallLog::default(),
                output: CallLog::default(),
            };
            let now = self.performer().call(&run.settings().workspace, call, given).await.reply;
            let is_same = matches!(&now, Reply::Output(output) if output.text == *text);
            let what = reads.first().unwrap_or(&call.name);
            return (!is_same).then(|| format!("`{}` of `{what}` gives another result", call.name));
        }
        let only_writes_files = !prepared.may_touch_any_file() && !writes.is_empty() && hosts.is_empty();
        if !only_writes_files || *sends || *served || model.is_some() {
            return Some(format!("what `{}` would give today is not known", call.name));
        }
        let other = writes.iter().chain(reads).find(|path| !is_as_left(path));
        other.map(|path| format!("`{path}` has changed"))
    }
}

impl StepHistory {
    fn follow(&mut self, record: &Record) {
        if self.run.events() == 0 {
            self.began = record.at;
        }
        self.run.pass(record);
        for event in &record.events {
            match event {
                Event::Replied { id, reply: Reply::Output(output), .. } => {
                    for change in &output.changes {
                        self.changed.insert(change.path.clone(), change.clone());
                    }
                    if let Some((call, prepared)) = self.open.remove(id) {
                        let made = MadeCall { call, prepared, text: output.text.clone() };
                        self.calls.entry(id.step.clone()).or_default().push(made);
                    }
                }
                Event::Replied { id, reply: Reply::Answer(answer), .. } => {
                    *self.asked_for.entry(id.step.clone()).or_default() += answer.calls.len();
                }
                _ => {}
            }
            self.run.apply(event);
            self.note(event);
        }
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Wanted { id, effect: Effect::Ask } if id.kind == EffectKind::Ask && id.turn == 0 => {
                self.wrote.remove(&id.step);
                let opening = self.run.step(&id.step).and_then(|step| step.opening.clone()).unwrap_or_default();
                let inputs = opening.inputs.iter().map(|(name, value)| (name.clone(), (**value).clone()));
                self.inputs.entry(id.step.clone()).or_default().extend(inputs);
            }
            Event::Wanted { id, effect: Effect::Call } => {
                if let Some(call) = self.run.call_at(id).zip(self.run.prepared(id).cloned()) {
                    self.open.insert(id.clone(), call);
                }
            }
            Event::Wrote { step, name, value, .. } => {
                self.wrote.entry(step.clone()).or_default().insert(name.clone(), value.clone());
            }
            Event::StepDone { step, output, kept_from, .. } => {
                self.outputs.insert(step.clone(), output.clone());
                self.kept_from.extend(kept_from.clone().map(|of| (step.clone(), of)));
            }
            _ => {}
        }
    }

    /// Looks at the workspace as it is now.
    fn look(&self, background: &Background) -> Today {
        let root = Path::new(&self.run.settings().workspace);
        let (memory, skills) = (background.memory.clone(), background.skills.clone());
        let context = WorkspaceContext { memory, skills, ..WorkspaceContext::of(&self.run) };
        let as_left = self.changed.values().filter(|change| is_as_left(root, change));
        let as_left = as_left.map(|change| change.path.clone()).collect();
        // The time of the last change also tells of an older file that was moved here.
        let is_older = |file: &String| {
            let about = std::fs::metadata(root.join(file)).ok();
            about.is_some_and(|about| about.ctime() * 1000 + about.ctime_nsec() / 1_000_000 < self.began.0)
        };
        let changed_file = self.run.goal().files.iter().find(|file| !is_older(file)).cloned();
        Today { context, as_left, changed_file }
    }

    /// A step with its result.
    fn finished(&self, step: &Step) -> FinishedStep {
        let id = &step.spec.id;
        let result = KeptResult {
            spec: (*step.spec).clone(),
            wrote: self.wrote.get(id).cloned().unwrap_or_default(),
            output: self.outputs.get(id).cloned().flatten(),
            origins: step.origins.clone(),
        };
        FinishedStep { result, model: self.run.model_for(&step.spec).to_owned(), outdated: None }
    }

    /// What agents are told differently. Files that the run itself made or removed do not count.
    fn difference(&self, then: &WorkspaceContext, now: &WorkspaceContext) -> Option<&'static str> {
        let others = |told: &WorkspaceContext| -> Vec<String> {
            told.files.iter().filter(|file| !self.changed.contains_key(*file)).cloned().collect()
        };
        if (&then.instructions, &then.documents) != (&now.instructions, &now.documents) {
            return Some("AGENTS.md or .context");
        }
        if then.memory != now.memory {
            return Some("what is remembered");
        }
        if then.skills != now.skills {
            return Some("the list of skills");
        }
        let is_same = then.root == now.root && then.more == now.more && others(then) == others(now);
        (!is_same).then_some("the list of files")
    }

    /// Whether a step read a variable that was given another value later: the run only knows the last one.
    fn overwritten_input(&self, step: &StepId) -> Option<String> {
        let last = |name: &String| self.run.variables().get(name).map(|variable| &*variable.value);
        let inputs = self.inputs.get(step)?.iter();
        let other = inputs.filter(|(name, value)| last(name) != Some(value)).map(|(name, _)| name).next()?;
        Some(format!("`{other}` was written again after it was read"))
    }
}

/// Whether a file is as a change left it.
fn is_as_left(root: &Path, change: &FileChange) -> bool {
    let path = root.join(&change.path);
    let found = std::fs::symlink_metadata(&path).ok();
    match (change.after, change.now, found) {
        (Some(hash), _, Some(_)) => std::fs::read(path).is_ok_and(|bytes| hash_of(&bytes) == hash),
        (None, Some(form), Some(found)) if form.kind == FileKind::Folder => found.is_dir(),
        (None, Some(form), Some(found)) => {
            let modified = found.mtime() * 1_000_000_000 + found.mtime_nsec();
            found.len() == form.len && form.modified == Some(modified)
        }
        (None, None, None) => true,
        _ => false,
    }
}
