//! Questions whose answers clients wait for, and conversations made of several of them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use updraft_engine::messages;
use updraft_run::{Goal, Input, RunId};

use super::broadcast::{RunBroadcast, next_of, rest_of};
use super::control::goal;
use super::runs::LiveRuns;
use super::service_types::{Query, QueryAnswer, RunListener, RunProgress};
use super::sessions::Sessions;
use super::view;
use crate::fault::{Fault, blocking};

/// The conversations of a service. Cheap to clone.
#[derive(Clone)]
pub struct Conversations {
    pub(super) runs: LiveRuns,
    pub(super) heard: RunBroadcast,
    pub(super) sessions: Arc<Sessions>,
}

impl Conversations {
    /// Regularly removes conversations that have been idle for too long.
    pub(super) fn sweep(&self, every: Duration, stop: CancellationToken) {
        let sessions = Arc::downgrade(&self.sessions);
        self.runs.in_background(async move {
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(every) => {}
                }
                let Some(sessions) = sessions.upgrade() else { return };
                sessions.sweep().await;
            }
        });
    }

    /// Starts a run for a goal and waits until it ends or needs a person. If the future is dropped, the run continues,
    /// unless [`RunListener::unwanted`] is cancelled.
    pub async fn query(&self, query: Query, listener: RunListener) -> Result<QueryAnswer, Fault> {
        if let Some(session) = &query.session {
            self.catch_up(session).await?;
        }
        let session = match &query.session {
            Some(session) => session.clone(),
            None => self.sessions.begin().await?,
        };
        let (earlier, origins) = self.sessions.earlier(&session).await?;
        // Listens before the run starts, so that no event is missed.
        let heard = self.heard.listen();
        let id = self.runs.start(Goal { origins, earlier, ..goal(&query.work, query.work.goal.clone()) }).await?;
        self.sessions.asked(&session, id.as_str(), &query.work.goal).await?;
        self.wait(id, query, session, listener, heard).await
    }

    /// Waits again for a run that [`query`](Self::query) started.
    pub async fn follow(&self, run: &str, query: Query, listener: RunListener) -> Result<QueryAnswer, Fault> {
        let id = self.runs.find(run)?;
        let session = query.session.clone().unwrap_or_default();
        self.wait(id, query, session, listener, self.heard.listen()).await
    }

    /// Adds to a conversation the answers that came after the client had stopped waiting.
    async fn catch_up(&self, session: &str) -> Result<(), Fault> {
        for run in self.sessions.open(session)? {
            let runs = self.runs.clone();
            let report = move |run: &str| Ok(Box::new(view::report(runs.journal(), &runs.find(run)?)?));
            let wanted = run.clone();
            let report = blocking(move || report(&wanted)).await;
            let answer = match report {
                Ok(report) if view::of(&report).status.is_final() => Some((report.answer(), report.run.origins())),
                Ok(_) => continue,
                // The run was removed.
                Err(_) => None,
            };
            let answer = answer.as_ref().map(|(answer, origins)| (answer.as_str(), origins));
            self.sessions.answered(session, &run, answer).await?;
        }
        Ok(())
    }

    /// Waits for a run, passes its progress on, and returns the result.
    async fn wait(
        &self,
        id: RunId,
        query: Query,
        session: String,
        listener: RunListener,
        mut heard: broadcast::Receiver<(RunId, RunProgress)>,
    ) -> Result<QueryAnswer, Fault> {
        let mut unwanted =
            QueryCancelGuard { runs: self.runs.clone(), id: id.clone(), listener: listener.clone(), is_over: false };
        let pass_on = |(run, progress): (RunId, RunProgress)| {
            if run == id {
                let _ = listener.progress.send(progress);
            }
        };
        let mut rest = std::pin::pin!(self.runs.until_rest(&id));
        loop {
            tokio::select! {
                rested = &mut rest => break rested?,
                told = next_of(&mut heard) => pass_on(told),
            }
        }
        // The last messages were sent before the run came to rest.
        rest_of(&mut heard).into_iter().for_each(pass_on);
        unwanted.is_over = true;
        let (journal, ended, history) = (self.runs.journal().clone(), id.clone(), query.history);
        let read = move || {
            let messages = history.then(|| messages(&journal, &ended)).transpose()?;
            Ok((Box::new(view::report(&journal, &ended)?), messages))
        };
        let (report, messages) = blocking(read).await?;
        let view = view::of(&report);
        if view.status.is_final() {
            let answer = Some((view.answer.as_str(), &report.run.origins()));
            self.sessions.answered(&session, id.as_str(), answer).await?;
        }
        Ok(QueryAnswer { view, session, messages })
    }
}

/// Cancels the run of a question that is no longer wanted. (A client that only disconnected may come back for it.)
struct QueryCancelGuard {
    runs: LiveRuns,
    id: RunId,
    listener: RunListener,
    is_over: bool,
}

impl Drop for QueryCancelGuard {
    fn drop(&mut self) {
        if self.is_over || !self.listener.unwanted.is_cancelled() || self.runs.is_stopping() {
            return;
        }
        let (runs, id) = (self.runs.clone(), self.id.clone());
        self.runs.in_background(async move {
            let cancel = Input::Cancel { by: "the client that asked".into(), step: None };
            let _ = runs.tell(&id, cancel).await;
        });
    }
}
