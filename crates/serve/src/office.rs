//! What can be asked for from outside, done with the engine, the journal and the tools of one workspace.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use updraft_engine::{EdgeList, PersonResponse, messages, node_link};
use updraft_mcp::server::{
    Answered, Changed, Document, Doing, Face, Hit, Listed, Listener, Output, Progress, Query, Refusal, View, Work,
};
use updraft_run::{Address, Effect, Goal, Input, Kind, Mode, Run, RunId, Verdict};
use updraft_tools::{Place, Workspace};
use updraft_workbench::{Attendance, Fault, Flags, Places, Sessions, Settings, Tell, Workbench};

use crate::find::Files;
use crate::runs::{Heard, Runs, next_of, rest_of};
use crate::view;

/// Runs in a list for others: the newest are what anyone looks for.
const LISTED: usize = 50;

/// Does what is asked from outside. Cheap to clone.
#[derive(Clone)]
pub struct Office(Arc<Inner>);

struct Inner {
    runs: Runs,
    heard: Heard,
    files: Files,
    sessions: Arc<Sessions>,
}

impl Office {
    /// Opens the office in a folder and goes on with the runs that the process before left behind; says how many.
    pub async fn open(
        places: &Places,
        folder: &Path,
        flags: Flags,
        stop: CancellationToken,
        tell: Tell,
    ) -> Result<(Self, usize), Fault> {
        let heard = Heard::new();
        let attendance = Attendance { watch: Arc::new(heard.clone()), stop: stop.clone(), tell };
        let bench = Workbench::open(places, folder, flags, attendance)?;
        bench.prepare().await?;
        let (engine, dispatcher) = (bench.engine().await?.clone(), bench.dispatcher().await?.clone());
        let limits = bench.settings.meant.serving.sessions();
        let sessions = Sessions::new(places.state.join("sessions"), folder.display().to_string(), limits);
        let files = Files {
            dispatcher,
            place: Place { workspace: Workspace::open(folder)? },
            settings: bench.settings.meant.rules(),
            changed: heard.changed.clone(),
        };
        let runs = Runs::new(bench, engine, stop.clone());
        let office = Self(Arc::new(Inner { runs, heard, files, sessions: Arc::new(sessions) }));
        office.sweep(limits.sweep, stop);
        let left = office.0.runs.recover().await.map_err(|Refusal(why)| Fault::failed(why))?;
        Ok((office, left))
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &Settings {
        self.0.runs.settings()
    }

    /// Waits until what runs here has stopped, which it does when `stop` is cancelled, and closes the journal. What is left
    /// goes on next time.
    pub async fn close(self) {
        self.0.runs.finish().await;
    }

    fn sweep(&self, every: Duration, stop: CancellationToken) {
        let office = Arc::downgrade(&self.0);
        self.0.runs.aside(async move {
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(every) => {}
                }
                let Some(office) = office.upgrade() else { return };
                let sessions = Arc::clone(&office.sessions);
                let _ = tokio::task::spawn_blocking(move || sessions.sweep()).await;
            }
        });
    }

    /// Does something with the conversations, where it may wait for the disk.
    async fn sessions<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Sessions) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let sessions = Arc::clone(&self.0.sessions);
        let done = tokio::task::spawn_blocking(move || work(&sessions)).await;
        done.map_err(|error| Refusal(format!("the conversation cannot be looked up: {error}")))
    }

    /// Takes into a conversation what became of questions that nobody waited for to the end.
    async fn catch_up(&self, session: &str) -> Result<(), Refusal> {
        let conversation = session.to_owned();
        for run in self.sessions(move |sessions| sessions.open(&conversation)).await? {
            let report = self.0.runs.find(&run).and_then(|id| view::report(self.0.runs.journal(), &id));
            let answer = match report {
                Ok(report) if view::of(&report).stand.is_final() => Some((report.answer(), report.run.origins())),
                Ok(_) => continue,
                // It was removed.
                Err(_) => None,
            };
            let conversation = session.to_owned();
            let take = move |sessions: &Sessions| {
                let answer = answer.as_ref().map(|(answer, origins)| (answer.as_str(), origins));
                sessions.answered(&conversation, &run, answer);
            };
            self.sessions(take).await?;
        }
        Ok(())
    }

    fn seen(&self, id: &RunId) -> Result<View, Refusal> {
        view::view(self.0.runs.journal(), id)
    }

    /// Says something to a run that is not over, and gives how it stands then.
    async fn tell(&self, run: &str, input: impl FnOnce(&Run) -> Result<Input, Refusal>) -> Result<View, Refusal> {
        let id = self.0.runs.find(run)?;
        let report = view::report(self.0.runs.journal(), &id)?;
        if report.run.is_over() {
            return Err(Refusal(format!("run {id} is over already: it is {}", report.run.status())));
        }
        let input = input(&report.run)?;
        match input.question() {
            Some(at) => {
                let journal = self.0.runs.journal();
                self.0.runs.give(&PersonResponse { journal, id: &id, seen: &report.run, at, input: &input }).await?;
            }
            None => self.0.runs.tell(&id, input).await?,
        }
        self.seen(&id)
    }

    /// Waits for a run, passes on what happens, and gives what it came to.
    async fn wait(
        &self,
        id: RunId,
        (query, session): (Query, String),
        listener: Listener,
        mut heard: broadcast::Receiver<(RunId, Progress)>,
    ) -> Result<Answered, Refusal> {
        let mut unwanted =
            Unwanted { office: self.clone(), id: id.clone(), listener: listener.clone(), is_over: false };
        let pass_on = |(run, progress): (RunId, Progress)| {
            if run == id {
                let _ = listener.progress.send(progress);
            }
        };
        let mut rest = std::pin::pin!(self.0.runs.until_rest(&id));
        loop {
            tokio::select! {
                rested = &mut rest => break rested?,
                told = next_of(&mut heard) => pass_on(told),
            }
        }
        // The last words were said before it came to rest.
        rest_of(&mut heard).into_iter().for_each(pass_on);
        unwanted.is_over = true;
        let report = view::report(self.0.runs.journal(), &id)?;
        let view = view::of(&report);
        if view.stand.is_final() {
            let (conversation, run) = (session.clone(), id.to_string());
            let (answer, origins) = (view.answer.clone(), report.run.origins());
            self.sessions(move |sessions| sessions.answered(&conversation, &run, Some((&answer, &origins)))).await?;
        }
        let messages = query.history.then(|| messages(self.0.runs.journal(), &id)).transpose();
        let messages = messages.map_err(|error| error.to_string())?;
        Ok(Answered { view, session, messages })
    }
}

/// Cancels the run of a question that is no longer wanted. A client that only went away may come back for it.
struct Unwanted {
    office: Office,
    id: RunId,
    listener: Listener,
    is_over: bool,
}

impl Drop for Unwanted {
    fn drop(&mut self) {
        if self.is_over || !self.listener.unwanted.is_cancelled() || self.office.0.runs.is_stopping() {
            return;
        }
        let (office, id) = (self.office.clone(), self.id.clone());
        self.office.0.runs.aside(async move {
            let cancel = Input::Cancel { by: "the client that asked".into(), step: None };
            let _ = office.0.runs.tell(&id, cancel).await;
        });
    }
}

fn goal(work: &Work, text: String) -> Goal {
    let mode = work.agent.clone().map_or(Mode::Plan, Mode::Agent);
    Goal { text, mode, ..Goal::default() }
}

/// The one open question or approval that is meant.
fn meant(run: &Run, id: Option<&str>, wanted: impl Fn(&Effect) -> bool, what: &str) -> Result<Address, Refusal> {
    let open = run.open().iter().filter(|(_, open)| wanted(&open.effect)).map(|(at, _)| at.clone());
    let open: Vec<Address> = open.collect();
    let listed = || open.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match (id, open.as_slice()) {
        (_, []) => Err(Refusal(format!("the run does not wait for {what}; it is {}", run.status()))),
        (None, [one]) => Ok(one.clone()),
        (None, _) => Err(Refusal(format!("several are open; say which one with `id`: {}", listed()))),
        (Some(id), _) => {
            let at: Address = id.parse().map_err(|_| format!("`{id}` is not an id; open are: {}", listed()))?;
            // People name the call as well as its approval.
            let at = if what == "an approval" { at.sibling(Kind::Approve, at.n) } else { at };
            let found = open.contains(&at).then_some(at);
            found.ok_or_else(|| Refusal(format!("`{id}` is not open; open are: {}", listed())))
        }
    }
}

impl Face for Office {
    fn query(&self, query: Query, listener: Listener) -> Doing<'_, Answered> {
        Box::pin(async move {
            if let Some(session) = &query.session {
                self.catch_up(session).await?;
            }
            let (session, question) = (query.session.clone(), query.work.goal.clone());
            let put = move |sessions: &Sessions| {
                let session = session.map_or_else(|| sessions.begin(), Ok)?;
                let put = sessions.put(&session, &question)?;
                Ok::<_, String>((session, put))
            };
            let (session, (text, origins)) = self.sessions(put).await??;
            // Before it begins, so that nothing is missed.
            let heard = self.0.heard.listen();
            let asked = if text == query.work.goal { String::new() } else { query.work.goal.clone() };
            let id = self.0.runs.start(Goal { origins, asked, ..goal(&query.work, text) }).await?;
            let (conversation, run, question) = (session.clone(), id.to_string(), query.work.goal.clone());
            self.sessions(move |sessions| sessions.asked(&conversation, &run, &question)).await?;
            self.wait(id, (query, session), listener, heard).await
        })
    }

    fn follow(&self, run: String, query: Query, listener: Listener) -> Doing<'_, Answered> {
        Box::pin(async move {
            let id = self.0.runs.find(&run)?;
            let session = query.session.clone().unwrap_or_default();
            self.wait(id, (query, session), listener, self.0.heard.listen()).await
        })
    }

    fn dispatch(&self, work: Work) -> Doing<'_, View> {
        Box::pin(async move {
            let text = work.goal.clone();
            let id = self.0.runs.start(goal(&work, text)).await?;
            self.seen(&id)
        })
    }

    fn view(&self, run: String) -> Doing<'_, View> {
        Box::pin(async move { self.seen(&self.0.runs.find(&run)?) })
    }

    fn pause(&self, run: String) -> Doing<'_, View> {
        Box::pin(async move { self.tell(&run, |_| Ok(Input::Pause)).await })
    }

    fn resume(&self, run: String) -> Doing<'_, View> {
        Box::pin(async move { self.tell(&run, |_| Ok(Input::Resume { budget: None, approvals: None })).await })
    }

    fn cancel(&self, run: String) -> Doing<'_, View> {
        Box::pin(async move {
            let id = self.0.runs.find(&run)?;
            self.tell(&run, |_| Ok(Input::Cancel { by: "a client".into(), step: None })).await?;
            // What had begun is being stopped: that is soon.
            let _ = tokio::time::timeout(std::time::Duration::from_secs(2), self.0.runs.until_rest(&id)).await;
            self.seen(&id)
        })
    }

    fn approve(&self, run: String, id: Option<String>, allow: bool, because: String) -> Doing<'_, View> {
        Box::pin(async move {
            self.tell(&run, |run| {
                let is_approval = |effect: &Effect| matches!(effect, Effect::Approval { .. });
                let at = meant(run, id.as_deref(), is_approval, "an approval")?;
                Ok(Input::Verdict {
                    id: Some(at),
                    verdict: Verdict { allow, by: "a client".into(), because, ..Verdict::default() },
                })
            })
            .await
        })
    }

    fn answer(&self, run: String, id: Option<String>, text: String) -> Doing<'_, View> {
        Box::pin(async move {
            self.tell(&run, |run| {
                let is_question = |effect: &Effect| matches!(effect, Effect::Question { .. });
                let at = meant(run, id.as_deref(), is_question, "an answer")?;
                if let Some(Effect::Question { inquiry: Some(inquiry), .. }) = run.open().get(&at).map(|o| &o.effect) {
                    inquiry.read(&text).map_err(|why| Refusal(format!("the answer does not fit: {why}")))?;
                }
                Ok(Input::Answer { id: Some(at), text })
            })
            .await
        })
    }

    fn decline(&self, run: String, id: String) -> Doing<'_, View> {
        Box::pin(async move {
            self.tell(&run, |run| {
                let is_question = |effect: &Effect| matches!(effect, Effect::Question { .. });
                let at = meant(run, Some(&id), is_question, "an answer")?;
                Ok(Input::Decline { id: Some(at), by: "a client".into(), dismissed: false })
            })
            .await
        })
    }

    fn search(&self, query: String) -> Doing<'_, Vec<Hit>> {
        Box::pin(async move { self.0.files.search(&query).await })
    }

    fn fetch(&self, id: String) -> Doing<'_, Document> {
        Box::pin(async move { self.0.files.fetch(&id).await })
    }

    fn files(&self, tool: &'static str, arguments: Value) -> Doing<'_, Output> {
        Box::pin(self.0.files.call(tool, arguments))
    }

    fn read(&self, path: String) -> Doing<'_, String> {
        Box::pin(async move { self.0.files.read(&path).await })
    }

    fn exists(&self, path: String) -> Doing<'_, bool> {
        Box::pin(async move { self.0.files.exists(&path).await })
    }

    fn list(&self, folder: String, recursive: bool) -> Doing<'_, Listed> {
        Box::pin(async move { self.0.files.list(&folder, recursive).await })
    }

    fn changes(&self) -> broadcast::Receiver<Changed> {
        self.0.heard.changed.subscribe()
    }

    fn runs(&self) -> Doing<'_, Vec<View>> {
        Box::pin(async move {
            let newest = self.0.runs.newest(LISTED)?;
            newest.iter().map(|id| self.seen(id)).collect()
        })
    }

    fn report(&self, run: String) -> Doing<'_, Value> {
        Box::pin(async move { Ok(view::report(self.0.runs.journal(), &self.0.runs.find(&run)?)?.to_json()) })
    }

    fn graph(&self, run: String) -> Doing<'_, Value> {
        Box::pin(async move {
            Ok(node_link(&view::report(self.0.runs.journal(), &self.0.runs.find(&run)?)?, EdgeList::default()))
        })
    }
}
