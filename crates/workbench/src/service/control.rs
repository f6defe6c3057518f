//! Shows runs to clients, and lets clients control them.

use std::time::Duration;

use serde_json::Value;
use updraft_engine::{EdgeList, PersonResponse, node_link};
use updraft_run::{ApprovalScope, Effect, EffectAddress, EffectKind, Goal, Input, Run, RunId, RunMode, Verdict};

use super::runs::LiveRuns;
use super::service_types::{RunRequest, RunView};
use super::view;
use crate::fault::{Fault, blocking};
use crate::settings::RememberedRules;

/// Who decides what comes from a program.
pub const CLIENT: &str = "a client";
/// Most runs in a list for clients; the newest are listed.
const LISTED: usize = 50;

impl LiveRuns {
    async fn seen(&self, id: &RunId) -> Result<RunView, Fault> {
        let (journal, id) = (self.journal().clone(), id.clone());
        blocking(move || view::view(&journal, &id)).await
    }

    /// Sends an input to a run that is not over, and returns the run's view after that.
    pub(super) async fn say(
        &self,
        run: &str,
        input: impl FnOnce(&Run) -> Result<Input, Fault>,
    ) -> Result<RunView, Fault> {
        let id = self.find(run)?;
        let (journal, wanted) = (self.journal().clone(), id.clone());
        let report = blocking(move || Ok(Box::new(view::report(&journal, &wanted)?))).await?;
        if report.run.is_over() {
            return Err(Fault::usage(format!("run {id} has already ended: it is {}", report.run.status())));
        }
        let input = input(&report.run)?;
        match input.question() {
            Some(at) => {
                let journal = self.journal();
                self.give(&PersonResponse { journal, id: &id, seen: &report.run, at, input: &input }).await?;
            }
            None => self.tell(&id, input).await?,
        }
        self.seen(&id).await
    }

    /// Starts a run for a goal. When this returns, the goal is on disk.
    pub async fn dispatch(&self, work: &RunRequest) -> Result<RunView, Fault> {
        let text = work.goal.clone();
        let id = self.start(goal(work, text)).await?;
        self.seen(&id).await
    }

    /// The current view of a run.
    pub async fn view(&self, run: &str) -> Result<RunView, Fault> {
        self.seen(&self.find(run)?).await
    }

    /// Pauses a run: it starts nothing new.
    pub async fn pause(&self, run: &str) -> Result<RunView, Fault> {
        self.say(run, |_| Ok(Input::Pause)).await
    }

    /// Resumes a run that was paused, interrupted or out of budget.
    pub async fn resume(&self, run: &str) -> Result<RunView, Fault> {
        self.say(run, |loaded| {
            if loaded.is_imported() {
                return Err(Fault::usage(format!("run {run} was imported, and nobody has adopted it yet"))
                    .hint("a program adopts it with `POST /api/v1/runs/{id}/adopt`, a person with `updraft resume`"));
            }
            Ok(Input::Resume { budget: None, approvals: None })
        })
        .await
    }

    /// Stops a run for good. The journal holds who did.
    pub async fn cancel(&self, run: &str, by: &str) -> Result<RunView, Fault> {
        let id = self.find(run)?;
        self.say(run, |_| Ok(Input::Cancel { by: by.to_owned(), step: None })).await?;
        // Calls that had begun are being stopped, which takes a moment.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.until_rest(&id)).await;
        self.seen(&id).await
    }

    /// Allows or refuses a call; without an id, the only one that waits for approval.
    pub async fn approve(&self, run: &str, id: Option<&str>, allow: bool, because: String) -> Result<RunView, Fault> {
        self.decide(run, id, Verdict { allow, by: CLIENT.to_owned(), because, ..Verdict::default() }).await
    }

    /// The same, with everything that a person can say about a call. Rules that are to hold in the workspace are stored
    /// once the run has the decision.
    pub async fn decide(&self, run: &str, id: Option<&str>, verdict: Verdict) -> Result<RunView, Fault> {
        let mut rules = Vec::new();
        let view = self
            .say(run, |run| {
                let is_approval = |effect: &Effect| matches!(effect, Effect::Approval { .. });
                let at = meant(run, id, is_approval, "an approval")?;
                if verdict.allow && verdict.always == Some(ApprovalScope::Workspace) {
                    let effect = run.open().get(&at).map(|open| &open.effect);
                    if let Some(Effect::Approval { always, .. }) = effect {
                        rules.clone_from(always);
                    }
                    if rules.is_empty() {
                        return Err(Fault::usage("this call can be allowed in this run only"));
                    }
                }
                Ok(Input::Verdict { id: Some(at), verdict })
            })
            .await?;
        if !rules.is_empty() {
            let (folders, workspace) = (self.bench().folders.clone(), self.workspace().to_owned());
            blocking(move || RememberedRules::add(&folders, &workspace, &rules)).await?;
        }
        Ok(view)
    }

    /// Answers a question; without an id, the only one that is open.
    pub async fn answer(&self, run: &str, id: Option<&str>, text: String) -> Result<RunView, Fault> {
        self.say(run, |run| {
            let is_question = |effect: &Effect| matches!(effect, Effect::Question { .. });
            let at = meant(run, id, is_question, "an answer")?;
            if let Some(Effect::Question { inquiry: Some(inquiry), .. }) = run.open().get(&at).map(|o| &o.effect) {
                inquiry.read(&text).map_err(|why| Fault::usage(format!("the answer does not fit: {why}")))?;
            }
            Ok(Input::Answer { id: Some(at), text })
        })
        .await
    }

    /// Declines to answer a question.
    pub async fn decline(&self, run: &str, id: &str, by: &str) -> Result<RunView, Fault> {
        self.say(run, |run| {
            let is_question = |effect: &Effect| matches!(effect, Effect::Question { .. });
            let at = meant(run, Some(id), is_question, "an answer")?;
            Ok(Input::Decline { id: Some(at), by: by.to_owned(), dismissed: false })
        })
        .await
    }

    /// The newest runs. Blocks on the disk.
    pub fn list(&self) -> Result<Vec<RunView>, Fault> {
        let newest = self.newest(LISTED)?;
        newest.iter().map(|id| view::view(self.journal(), id)).collect()
    }

    /// A run with its steps, variables and figures. Blocks on the disk.
    pub fn report(&self, run: &str) -> Result<Value, Fault> {
        Ok(view::report(self.journal(), &self.find(run)?)?.to_json())
    }

    /// A run's graph as node-link data. Blocks on the disk.
    pub fn graph(&self, run: &str) -> Result<Value, Fault> {
        Ok(node_link(&view::report(self.journal(), &self.find(run)?)?, EdgeList::default()))
    }
}

pub(super) fn goal(work: &RunRequest, text: String) -> Goal {
    let mode = work.agent.clone().map_or(RunMode::Plan, RunMode::Agent);
    Goal { text, mode, ..Goal::default() }
}

/// The open question or approval that the client names.
fn meant(run: &Run, id: Option<&str>, wanted: impl Fn(&Effect) -> bool, what: &str) -> Result<EffectAddress, Fault> {
    let open = run.open().iter().filter(|(_, open)| wanted(&open.effect)).map(|(at, _)| at.clone());
    let open: Vec<EffectAddress> = open.collect();
    let listed = || open.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match (id, open.as_slice()) {
        (_, []) => Err(Fault::usage(format!("the run is not waiting for {what}; it is {}", run.status()))),
        (None, [one]) => Ok(one.clone()),
        (None, _) => Err(Fault::usage(format!("several are open; say which one with `id`: {}", listed()))),
        (Some(id), _) => {
            let at: EffectAddress =
                id.parse().map_err(|_| Fault::usage(format!("`{id}` is not an id; open are: {}", listed())))?;
            // A client may give the address of the call instead of its approval's.
            let at = if what == "an approval" { at.sibling(EffectKind::Approve, at.n) } else { at };
            let found = open.contains(&at).then_some(at);
            found.ok_or_else(|| Fault::usage(format!("`{id}` is not open; open are: {}", listed())))
        }
    }
}
