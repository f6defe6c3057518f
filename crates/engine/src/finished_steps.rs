//! Finds out which results of a run are still good: those of steps for which nothing they depended on has changed.
//!
//! Calls that only read in this process are made again, and what they give is compared. Files that the run itself changed
//! must be as it left them. Commands and code may read any file, so no other file of the workspace may have changed since
//! they began. What a web page or a server would give today is not known.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::Path;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use updraft_run::{
    Effect, EffectAddress, EffectKind, Event, KeptResult, PreparedCall, Record, Reply, Run, RunId, Step, StepId,
    StepRole, StepState, Timestamp, ToolCall,
};
use updraft_tools::{CallLog, RunContext};

use crate::context::WorkspaceContext;
use crate::files_since::FilesSince;
use crate::perform::CallEnvironment;
use crate::start::Background;
use crate::undo::{ChangeFilter, RecordedChange, made_by};
use crate::{Engine, Error, RosterTexts};

/// A step of a run that was done.
#[derive(Clone, Debug)]
pub struct FinishedStep {
    /// Its result.
    pub result: KeptResult,
    /// The model it used.
    pub model: String,
    /// Whether the result is still good.
    pub state: ResultState,
}

/// Whether a result is still good, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultState {
    /// Nothing it depended on has changed; how that was found out.
    Good(String),
    /// Something it depended on has changed, or may have.
    Outdated(String),
}

/// What becomes of the results of steps that asked the web or servers, which may answer differently today.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WebResults {
    /// They are asked again.
    #[default]
    Renewed,
    /// Their recorded answers are good enough.
    Kept,
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
    /// Files of the workspace that were not there when the run began, and that it did not make.
    pub new_files: Vec<String>,
}

/// A call of a step, and how it ended.
struct MadeCall {
    call: ToolCall,
    prepared: PreparedCall,
    /// When it was decided to make it.
    at: Timestamp,
    /// When the reply came.
    ended: Timestamp,
    reply: Reply,
}

/// What runs did that took over results of the one that is compared.
#[derive(Clone, Default)]
struct LaterRuns {
    made: Vec<RecordedChange>,
    commands: Vec<RangeInclusive<Timestamp>>,
}

/// What is read from the journal.
#[derive(Default)]
struct StepHistory {
    run: Run,
    began: Timestamp,
    open: BTreeMap<EffectAddress, (ToolCall, PreparedCall, Timestamp)>,
    /// The calls, in all visits of a step.
    calls: BTreeMap<StepId, Vec<MadeCall>>,
    /// How many calls the answers of a step asked for and nobody made, in all its visits.
    unmade: BTreeMap<StepId, usize>,
    inputs: BTreeMap<StepId, Vec<(String, Value)>>,
    wrote: BTreeMap<StepId, BTreeMap<String, Value>>,
    outputs: BTreeMap<StepId, Option<String>>,
    /// The runs that results were kept from.
    kept_from: BTreeMap<StepId, RunId>,
}

/// What the steps of a run are compared with.
struct Today {
    /// What an agent would be told about the workspace.
    context: WorkspaceContext,
    files: FilesSince,
    web: WebResults,
}

impl Engine {
    /// The steps of a run that were done, each compared with today's files and with what agents would be told today.
    /// Changes nothing.
    pub async fn finished_steps(
        &self,
        id: &RunId,
        background: &Background,
        web: WebResults,
    ) -> Result<FinishedRun, Error> {
        Box::pin(self.compared_steps(id, background, web, LaterRuns::default())).await
    }

    /// The same for a run whose results others have taken over, with what those have changed since.
    async fn compared_steps(
        &self,
        id: &RunId,
        background: &Background,
        web: WebResults,
        later: LaterRuns,
    ) -> Result<FinishedRun, Error> {
        let mut history = StepHistory::default();
        self.journal().read(id, 0, &mut |_, record: Record| {
            history.follow(&record);
            ControlFlow::Continue(())
        })?;
        let texts = self.texts_of(id, &history.run)?;
        let made = made_by(self.journal(), id, &ChangeFilter::default())?.made.into_iter().chain(later.made).collect();
        let commands = history.commands().chain(later.commands).collect();
        let since = LaterRuns { made, commands };
        let mut originals: BTreeMap<&RunId, Vec<FinishedStep>> = BTreeMap::new();
        for of in history.kept_from.values() {
            if !originals.contains_key(of) {
                // A run that was deleted has no steps.
                let original = Box::pin(self.compared_steps(of, background, web, since.clone())).await;
                originals.insert(of, original.map(|found| found.steps).unwrap_or_default());
            }
        }
        let today = history.look(background, since, web);
        let mut steps = Vec::new();
        let is_done = |step: &&Step| step.role == StepRole::Work && step.state == StepState::Done && !step.superseded;
        for step in history.run.steps().filter(is_done) {
            let original = history.kept_from.get(&step.spec.id).and_then(|of| originals.get(of));
            let known = original.map(|known| known.iter().find(|one| one.result.spec == *step.spec));
            steps.push(match known {
                Some(Some(original)) => original.clone(),
                Some(None) => {
                    let gone = "the run that its result was kept from is gone".to_owned();
                    FinishedStep { state: ResultState::Outdated(gone), ..history.finished(step) }
                }
                None => {
                    let state = match self.outdated(id, &history, step, &today).await {
                        Some(why) => ResultState::Outdated(why),
                        None => ResultState::Good(history.grounds(&step.spec.id)),
                    };
                    FinishedStep { state, ..history.finished(step) }
                }
            });
        }
        let told = history.run.settings().context.and_then(|hash| self.context_of(id, hash).ok());
        let new_files = told.map(|told| today.new_files(&told)).unwrap_or_default();
        Ok(FinishedRun { steps, texts, run: history.run, new_files })
    }

    /// Why the result of a step is no longer good.
    async fn outdated(&self, id: &RunId, history: &StepHistory, step: &Step, today: &Today) -> Option<String> {
        if history.run.is_in_copy(&step.spec.id) {
            return Some("its copy of the workspace is gone".to_owned());
        }
        // Every step is shown the profile of the files given with the goal.
        let given = history.run.profile().map(|_| &history.run.goal().files).into_iter().flatten();
        if let Some(what) = given.map(|file| today.files.change_of(file, history.began)).find(Option::is_some) {
            return what;
        }
        let context = step.context.or(history.run.settings().context).map(|hash| self.context_of(id, hash));
        let Some(Ok(told)) = context else { return Some("what it was told is not known".to_owned()) };
        if let Some(what) = difference(&told, &today.context, &history.own_memories()) {
            return Some(format!("{what} has changed"));
        }
        if let Some(why) = history.overwritten_input(&step.spec.id) {
            return Some(why);
        }
        if history.unmade.get(&step.spec.id).is_some_and(|unmade| *unmade > 0) {
            return Some("one of its calls was refused or not made".to_owned());
        }
        for made in history.calls.get(&step.spec.id).into_iter().flatten() {
            let outdated = self.outdated_by(&history.run, made, today).await;
            if outdated.is_some() {
                return outdated;
            }
        }
        None
    }

    /// Why the result of a call may be another today.
    async fn outdated_by(&self, run: &Run, made: &MadeCall, today: &Today) -> Option<String> {
        let MadeCall { call, prepared, at, reply, .. } = made;
        let PreparedCall { reads, writes, .. } = prepared;
        // A person, or a model that an agent asked, was asked the same.
        if matches!(reply, Reply::Said(_)) || prepared.model.is_some() && matches!(reply, Reply::Output(_)) {
            return None;
        }
        if prepared.is_plain() {
            // The run itself has changed these files, so reading them again would show nothing.
            if !reads.is_empty() && reads.iter().all(|path| today.files.is_as_left(path)) {
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
            let is_same = match (&now, reply) {
                (Reply::Output(now), Reply::Output(then)) => now.text == then.text,
                (now, then) => now == then,
            };
            // In a folder, the run's own new files are to be expected.
            let is_folder = |path: &String| today.files.is_folder(path);
            if !is_same && !reads.is_empty() && reads.iter().all(is_folder) {
                return reads.iter().find_map(|path| today.files.change_below(Path::new(path), *at, false));
            }
            let what = reads.first().unwrap_or(&call.name);
            return (!is_same).then(|| format!("`{}` of `{what}` gives another result", call.name));
        }
        if !matches!(reply, Reply::Output(_)) {
            return Some(format!("`{}` did not succeed", call.name));
        }
        if is_remote(prepared) && today.web == WebResults::Renewed {
            return Some(format!("what `{}` would get from the network or a server today is not known", call.name));
        }
        if prepared.may_touch_any_file() {
            let includes_git = call.args.to_string().contains("git");
            let changed = today.files.change_of_any(*at, includes_git);
            return changed.map(|what| format!("{what}, and `{}` may have read it", call.name));
        }
        reads.iter().chain(writes).find_map(|path| today.files.change_of(path, *at))
    }
}

/// Whether a call asked something beyond this machine, or a server whose state is not known.
fn is_remote(prepared: &PreparedCall) -> bool {
    let PreparedCall { hosts, sends, outside, served, elsewhere, lasts, reads, .. } = prepared;
    let is_kept_here = *lasts || !reads.is_empty();
    !hosts.is_empty() || *sends || *outside || *served || *elsewhere && !is_kept_here
}

impl Today {
    /// The files that were not there when a run began.
    fn new_files(&self, then: &WorkspaceContext) -> Vec<String> {
        let is_new = |file: &&String| !then.files.contains(file) && !self.files.is_own(file);
        // A longer list leaves out some.
        let files = self.context.files.iter().filter(|_| then.names_all() && self.context.names_all());
        files.filter(is_new).cloned().collect()
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
                Event::Replied { id, reply: Reply::Answer(answer), .. } if id.kind == EffectKind::Ask => {
                    *self.unmade.entry(id.step.clone()).or_default() += answer.calls.len();
                }
                Event::Replied { id, reply, .. } => {
                    if let Some((call, prepared, at)) = self.open.remove(id) {
                        let made = MadeCall { call, prepared, at, ended: record.at, reply: reply.clone() };
                        self.calls.entry(id.step.clone()).or_default().push(made);
                    }
                }
                _ => {}
            }
            self.run.apply(event);
            self.note(event, record.at);
        }
    }

    fn note(&mut self, event: &Event, at: Timestamp) {
        match event {
            Event::Wanted { id, effect: Effect::Ask } if id.kind == EffectKind::Ask && id.turn == 0 => {
                self.wrote.remove(&id.step);
                let opening = self.run.step(&id.step).and_then(|step| step.opening.clone()).unwrap_or_default();
                let inputs = opening.inputs.iter().map(|(name, value)| (name.clone(), (**value).clone()));
                self.inputs.entry(id.step.clone()).or_default().extend(inputs);
            }
            Event::Wanted { id, effect: Effect::Call | Effect::Question { inquiry: None, .. } }
                if id.kind == EffectKind::Call =>
            {
                if let Some((call, prepared)) = self.run.call_at(id).zip(self.run.prepared(id).cloned()) {
                    self.open.insert(id.clone(), (call, prepared, at));
                    if let Some(unmade) = self.unmade.get_mut(&id.step).filter(|_| id.inner.is_none()) {
                        *unmade = unmade.saturating_sub(1);
                    }
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
    fn look(&self, background: &Background, since: LaterRuns, web: WebResults) -> Today {
        let (memory, skills) = (background.memory.clone(), background.skills.clone());
        let context = WorkspaceContext { memory, skills, ..WorkspaceContext::of(&self.run) };
        let workspace = Path::new(&self.run.settings().workspace);
        Today { context, files: FilesSince::new(workspace, since.made, since.commands), web }
    }

    /// When commands were at work.
    fn commands(&self) -> impl Iterator<Item = RangeInclusive<Timestamp>> {
        let calls = self.calls.values().flatten();
        calls.filter(|made| made.prepared.may_touch_any_file()).map(|made| made.at..=made.ended)
    }

    /// How it was found out that the result of a step is still good.
    fn grounds(&self, step: &StepId) -> String {
        let calls = self.calls.get(step).map(Vec::as_slice).unwrap_or_default();
        let is_any = |what: fn(&PreparedCall) -> bool| calls.iter().any(|made| what(&made.prepared));
        let mut grounds = vec!["same task, prompt, model and inputs"];
        if is_any(PreparedCall::is_plain) {
            grounds.push("what it read is the same");
        }
        if is_any(|prepared| !prepared.writes.is_empty()) {
            grounds.push("what it wrote is still there");
        }
        if is_any(PreparedCall::may_touch_any_file) {
            grounds.push("no other file has changed since");
        }
        if is_any(is_remote) {
            grounds.push("what it got from the network is kept");
        }
        grounds.join("; ")
    }

    /// The ids of what the run remembered.
    fn own_memories(&self) -> Vec<&Value> {
        let calls = self.calls.values().flatten().filter(|made| made.prepared.lasts);
        let outputs = calls.filter_map(|made| match &made.reply {
            Reply::Output(output) => output.value.as_ref(),
            _ => None,
        });
        outputs.filter_map(|value| value.get("id")).collect()
    }

    /// A step with its result.
    fn finished(&self, step: &Step) -> FinishedStep {
        let id = &step.spec.id;
        let result = KeptResult {
            spec: (*step.spec).clone(),
            wrote: self.wrote.get(id).cloned().unwrap_or_default(),
            output: self.outputs.get(id).cloned().flatten(),
            origins: step.origins.clone(),
            used_tools: self.calls.contains_key(id),
        };
        let state = ResultState::Good(String::new());
        FinishedStep { result, model: self.run.model_for(&step.spec).to_owned(), state }
    }

    /// Whether a step read a variable that was given another value later: the run only knows the last one.
    fn overwritten_input(&self, step: &StepId) -> Option<String> {
        let last = |name: &String| self.run.variables().get(name).map(|variable| &*variable.value);
        let inputs = self.inputs.get(step)?.iter();
        let other = inputs.filter(|(name, value)| last(name) != Some(value)).map(|(name, _)| name).next()?;
        Some(format!("`{other}` was written again after it was read"))
    }
}

/// What agents are told differently. What the run itself remembered does not count, and neither does the list of files: a
/// step that lists files does so by a call.
fn difference(then: &WorkspaceContext, now: &WorkspaceContext, own: &[&Value]) -> Option<&'static str> {
    let others = |told: &WorkspaceContext| -> Vec<Value> {
        let all = told.memory.as_array().into_iter().flatten();
        all.filter(|memory| !own.contains(&&memory["id"])).cloned().collect()
    };
    if (&then.instructions, &then.documents) != (&now.instructions, &now.documents) {
        return Some("AGENTS.md or .context");
    }
    if others(then) != others(now) {
        return Some("what is remembered");
    }
    (then.skills != now.skills).then_some("the list of skills")
}
