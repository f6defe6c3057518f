//! Runs that people start from a page, or programs by the HTTP API: with settings of their own, after other runs, or once more.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use updraft_engine::Agent;
use updraft_run::{
    AgentRole, ApprovalMode, EffectAddress, Event, ExtraRight, Failure, FileKind, Goal, Graph, GraphFault, Input,
    Origins, Requirement, Run, RunId, RunMode, RunRights, Timestamp,
};
use updraft_tools::Workspace;

use super::runs::LiveRuns;
use crate::confinement;
use crate::fault::{Fault, blocking};
use crate::flags::{Confine, Flags};
use crate::goal_pictures::{pictures_among, pictures_of};
use crate::journal::new_id;
use crate::resume::StoredRun;
use crate::start::NewGoal;
use crate::workbench::Workbench;

/// Where an order comes from. The goal of the run records it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderFace {
    /// The web page.
    #[default]
    Page,
    /// The HTTP API.
    Api,
    /// Another agent, by A2A.
    A2a,
    /// An editor, by ACP. What is left unfinished waits until the person continues it there.
    Editor,
}

impl OrderFace {
    pub(super) fn word(self) -> &'static str {
        match self {
            OrderFace::Page => "page",
            OrderFace::Api => "api",
            OrderFace::A2a => "a2a",
            OrderFace::Editor => "acp",
        }
    }

    /// Whether a goal came from one of them.
    pub(super) fn ordered(goal: &Goal) -> bool {
        Self::resumes(goal) || goal.door == OrderFace::Editor.word()
    }

    /// Whether a goal came from one of those whose runs the next process resumes by itself.
    pub(super) fn resumes(goal: &Goal) -> bool {
        [OrderFace::Page, OrderFace::Api, OrderFace::A2a].iter().any(|face| face.word() == goal.door)
    }
}

/// A goal from a person, and how to work on it.
#[derive(Clone, Debug, Default)]
pub struct RunOrder {
    /// The goal.
    pub goal: String,
    /// Only what the user wrote, if `goal` contains more; may be empty.
    pub asked: String,
    /// Where text in the goal came from that is not the user's own.
    pub origins: Origins,
    /// Pictures that come with the goal: names and bytes.
    pub pictures: Vec<(String, Vec<u8>)>,
    /// How the graph is made.
    pub mode: RunMode,
    /// Another model.
    pub model: Option<String>,
    /// Stricter approvals.
    pub approvals: Option<ApprovalMode>,
    /// The plan is shown before anything is changed.
    pub plan_first: bool,
    /// Files of the workspace, by path.
    pub files: Vec<String>,
    /// The run that it follows up on.
    pub follows: Option<RunId>,
    /// What must hold at the end, one sentence each.
    pub requirements: Vec<String>,
    /// Shared variables to start with.
    pub variables: BTreeMap<String, Value>,
    /// A plan, instead of one that the planner makes; as `updraft run --plan` reads it.
    pub plan: Option<Value>,
    /// Where it comes from.
    pub face: OrderFace,
    /// The label that the worker must have, where there are several.
    pub label: Option<String>,
}

/// An agent that can work on a goal alone.
#[derive(Clone, Debug)]
pub struct AgentChoice {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub purpose: String,
}

impl LiveRuns {
    /// Starts a run. When this returns, the goal is on disk and the run continues in the background.
    pub async fn order(&self, order: RunOrder) -> Result<RunId, Fault> {
        self.order_as(new_id()?, order).await
    }

    /// The same, under an id that is not in use.
    pub async fn order_as(&self, id: RunId, order: RunOrder) -> Result<RunId, Fault> {
        if order.goal.trim().is_empty() {
            return Err(Fault::usage("the goal is empty; say what you want done"));
        }
        if self.is_stopping() {
            return Err(Fault::failed("the server is stopping; ask again when it is back"));
        }
        let usual = self.settings().effective.approvals.value;
        if order.label.is_some() {
            // All that was chosen goes along: the usual approvals of another worker may be laxer.
            let approvals = order.approvals.map(|chosen| chosen.max(usual));
            return Box::pin(self.place(id, RunOrder { approvals, ..order })).await;
        }
        let RunOrder { goal: text, asked, origins, model, approvals, plan_first, files, follows, variables, .. } =
            order;
        let required = order.requirements.iter().filter(|text| !text.trim().is_empty());
        let mut requirements: Vec<Requirement> = required.map(|text| Requirement::parse(text)).collect();
        requirements.extend(order.plan.iter().flat_map(Requirement::all_in));
        let (plan, faults) = order.plan.as_ref().map(Graph::read_what_can_be).unzip();
        let mode = if plan.is_some() { RunMode::Given } else { order.mode };
        let door = order.face.word().to_owned();
        let mut goal = Goal { text, asked, origins, mode, files, door, variables, requirements, ..Goal::default() };
        if let Some(last) = &follows {
            self.continue_conversation(&mut goal, last).await?;
        }
        goal.files = files_inside(&self.bench().folder, &goal.files)?;
        let (folder, files) = (self.bench().folder.clone(), goal.files.clone());
        let read = tokio::task::spawn_blocking(move || pictures_among(&files, &folder)).await;
        let (mut pictures, mut bytes) =
            read.map_err(|error| Fault::failed(format!("the files cannot be read: {error}")))??;
        let (sent, content) = pictures_of(order.pictures)?;
        pictures.extend(sent);
        bytes.extend(content);
        goal.pictures = pictures;
        let new = NewGoal { goal, pictures: bytes, plan, plan_first, ..NewGoal::default() };
        self.bench().check(&new, faults.unwrap_or_default())?;
        let approvals = approvals.filter(|approvals| *approvals != usual);
        if model.is_none() && approvals.is_none() && !plan_first {
            let handle = Box::pin(self.bench().start(id.clone(), new)).await?;
            self.drive_on(handle, None);
            return Ok(id);
        }
        let mut bench = self.own_bench(model, approvals)?;
        if plan_first {
            bench.hold_to_reading();
        }
        let handle = Box::pin(bench.start(id.clone(), new)).await?;
        self.drive_on(handle, Some(bench));
        Ok(id)
    }

    /// The agents that can work on a goal alone.
    pub fn agents(&self) -> Vec<AgentChoice> {
        let works = |agent: &&Agent| match agent.role {
            None | Some(AgentRole::Work | AgentRole::Thinker | AgentRole::Generalist) => true,
            Some(_) => false,
        };
        let choice = |agent: &Agent| AgentChoice { name: agent.name.clone(), purpose: agent.purpose.clone() };
        let known = self.bench().agents_and_prompts();
        known.map(|(agents, _)| agents.iter().filter(works).map(choice).collect()).unwrap_or_default()
    }

    /// A workbench for one run: with the flags of this service, and what the person chose. Approvals can only become
    /// stricter.
    pub(super) fn own_bench(&self, model: Option<String>, approvals: Option<ApprovalMode>) -> Result<Workbench, Fault> {
        let bench = self.bench();
        let usual = bench.settings.effective.approvals.value;
        let mut flags = Flags { approvals: Some(approvals.unwrap_or(usual).max(usual)), ..bench.flags.clone() };
        if model.is_some() {
            flags.model = model;
        }
        let mut own = Workbench::open(&bench.folders, &bench.folder, flags, bench.callbacks.clone())?;
        own.use_journal(self.journal().clone());
        Ok(own)
    }

    /// Adds what was said in an earlier run to a goal, and gives it to the same agents.
    pub(super) async fn continue_conversation(&self, goal: &mut Goal, last: &RunId) -> Result<(), Fault> {
        let run = self.load(&self.find(last.as_str())?).await?;
        if !run.is_over() {
            return Err(Fault::usage(format!("run {last} has not ended; send it a message instead")));
        }
        goal.earlier = run.goal().earlier.clone();
        goal.earlier.add("user", run.goal().own_words());
        goal.earlier.add("assistant", &super::view::final_answer(&run));
        goal.earlier.fold(self.settings().effective.memory.conversation());
        goal.origins.merge(&run.origins());
        goal.follows = Some(last.clone());
        if goal.mode == RunMode::Plan {
            match &run.goal().mode {
                same @ (RunMode::Agent(_) | RunMode::Swarm) => goal.mode = same.clone(),
                RunMode::Plan | RunMode::Given => {}
            }
        }
        Ok(())
    }

    /// Sends a message to a run, unless it was sent since then already. One that still waits is awaited once more.
    pub async fn tell_user_once(&self, run: &str, message: String, since: Timestamp) -> Result<(), Fault> {
        if !self.was_told(run, &message, since).await? {
            return self.tell_user(run, message).await;
        }
        let (id, input) = (self.find(run)?, Input::Tell { message });
        let still_waits = self.journal().inbox(&id)?.iter().any(|one| one.input == input);
        if still_waits && !self.load(&id).await?.is_over() { self.until_taken(&id, &input).await } else { Ok(()) }
    }

    /// Whether a message was sent to a run since then: it may still wait to be read.
    pub async fn was_told(&self, run: &str, message: &str, since: Timestamp) -> Result<bool, Fault> {
        let (journal, id, wanted) = (self.journal().clone(), self.find(run)?, message.to_owned());
        blocking(move || {
            let is_it = |sent: &str| sent == wanted;
            let mut was_sent = journal
                .inbox(&id)?
                .iter()
                .any(|one| matches!(&one.input, Input::Tell { message } if one.at >= since && is_it(message)));
            journal.read(&id, 0, &mut |_, record| {
                let is_told = |event: &Event| matches!(event, Event::Told { message } if is_it(message));
                was_sent |= record.at >= since && record.events.iter().any(is_told);
                if was_sent { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            Ok(was_sent)
        })
        .await
    }

    /// Sends a message to a run that has not ended.
    pub async fn tell_user(&self, run: &str, message: String) -> Result<(), Fault> {
        if message.trim().is_empty() {
            return Err(Fault::usage("the message is empty"));
        }
        let id = self.find(run)?;
        let loaded = self.load(&id).await?;
        if loaded.is_over() {
            return Err(Fault::usage(format!("run {id} has already ended: it is {}", loaded.status())));
        }
        self.tell(&id, Input::Tell { message }).await
    }

    /// The flags with which a stored run is copied or repeated: approvals and limits are those of this service, or stricter.
    pub(super) async fn flags_for(&self, run: &Run) -> Result<Flags, Fault> {
        self.check_rights(run).await?;
        let bench = self.bench();
        let approvals = run.settings().approvals.max(bench.settings.effective.approvals.value);
        let Flags { budget, bounds, .. } = bench.flags.clone();
        Ok(Flags { approvals: Some(approvals), budget, bounds, ..Flags::default() })
    }

    /// Refuses to continue, copy or repeat a run that began with more rights than this service gives.
    pub(super) async fn check_rights(&self, run: &Run) -> Result<(), Fault> {
        let bench = self.bench();
        let granted = confinement::grants(&bench.settings, &Confine::default());
        let approvals = bench.settings.effective.approvals.value;
        let here = RunRights { approvals, level: bench.level().await?, grants: Some(&granted) };
        let more = match run.own_rights().beyond(&here).first() {
            None => return Ok(()),
            Some(ExtraRight::Unasked) => "nobody is asked before its calls",
            Some(ExtraRight::MayWrite) => "it may change files",
            Some(ExtraRight::LessConfined) => "its commands are less confined",
            Some(ExtraRight::MoreGranted(_)) => "its commands were granted more",
        };
        Err(Fault::usage(format!("the run began with more rights than this server gives: {more}"))
            .hint("continue, fork or repeat it with `updraft` in a terminal"))
    }

    /// A workbench for a stored run, limited to what it was granted.
    pub(super) fn bench_for(&self, run: &Run, flags: Flags) -> Result<Workbench, Fault> {
        let shared = self.bench();
        Workbench::open_for(&StoredRun::new(run, self.journal())?, &shared.folders, flags, shared.callbacks.clone())
    }

    /// What is wrong with a plan that is to replace the one that waits for approval.
    pub fn plan_faults(&self, run: &Run, plan: &Value) -> Vec<GraphFault> {
        self.bench().read_edited(run, plan).2
    }

    /// Approves a plan as a person has changed it.
    pub async fn edit_plan(&self, run: &str, plan: &Value, by: &str) -> Result<(), Fault> {
        let id = self.find(run)?;
        let loaded = self.load(&id).await?;
        if loaded.plan_approval().is_none() {
            return Err(Fault::usage("the plan does not wait for approval any more"));
        }
        let (graph, models, faults) = self.bench().read_edited(&loaded, plan);
        if !faults.is_empty() {
            let faults = faults.into_iter().map(|fault| fault.text).collect();
            return Err(updraft_engine::Error::Plan(faults).into());
        }
        let requirements = Requirement::all_in(plan);
        let input = Input::EditPlan { graph: Arc::new(graph), models, requirements, by: by.to_owned() };
        self.tell(&id, input).await
    }

    /// Whether an input that waits for a run approves its plan.
    pub(super) fn approves_plan(&self, id: &RunId, approval: Option<&EffectAddress>) -> bool {
        let approves = |input: &Input| match input {
            Input::EditPlan { .. } => true,
            Input::Verdict { id, verdict } => verdict.allow && (id.is_none() || id.as_ref() == approval),
            _ => false,
        };
        self.journal().inbox(id).is_ok_and(|inbox| inbox.iter().any(|waiting| approves(&waiting.input)))
    }
}

/// The files that come with an order, relative to the workspace. What is outside is not given to agents, whoever asks.
fn files_inside(folder: &Path, files: &[String]) -> Result<Vec<String>, Fault> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let workspace = Workspace::open(folder)?;
    let refused = |failure: Failure| Fault::usage(failure.message);
    let inside = files.iter().map(|file| {
        let path = workspace.locate(file).map_err(refused)?;
        match workspace.form(&path).map_err(refused)? {
            Some(form) if form.kind == FileKind::File => Ok(path.to_string()),
            Some(_) => Err(Fault::usage(format!("`{file}` is not a file in the workspace"))),
            None => Err(Fault::usage(format!("the file `{file}` does not exist in the workspace"))),
        }
    });
    inside.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_workspace_come_with_an_order() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("in"), folder.path().join("secret.txt"));
        std::fs::create_dir_all(inside.join("sub")).unwrap();
        std::fs::write(&outside, "secret").unwrap();
        std::fs::write(inside.join("sub/a.txt"), "a").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&outside, inside.join("link.txt")).unwrap();
        let of = |file: &str| files_inside(&inside, &[file.to_owned()]);
        assert_eq!(of("sub/a.txt").unwrap(), ["sub/a.txt"]);
        assert_eq!(of(inside.join("sub/a.txt").to_str().unwrap()).unwrap(), ["sub/a.txt"]);
        for refused in [outside.to_str().unwrap(), "../secret.txt", "link.txt", "sub", "none.txt", "/dev/zero"] {
            assert!(of(refused).is_err(), "{refused}");
        }
    }
}
