//! One prompt: begins or continues a run, tells the editor what happens, asks it, and says how it ended.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use updraft_run::{EffectAddress, RunId, RunPhase};
use updraft_workbench::Fault;
use updraft_workbench::history::{EntryKind, QuestionEntry, RunHistory};
use updraft_workbench::service::{LiveRuns, LiveText, OrderFace, RunConversation, RunFeed, RunOrder};

use crate::asking::{EDITOR, EditorQuestion, QuestionOutcome};
use crate::channel::{EditorChannel, EditorReply};
use crate::content::PromptContent;
use crate::handshake::EditorAbilities;
use crate::narrator::RunNarrator;
use crate::options::SessionNote;
use crate::rpc::RpcFailure;

/// How long calls that have begun may take to stop when a turn is cancelled.
const PATIENCE: Duration = Duration::from_secs(20);

/// A prompt that is worked on.
pub(crate) struct PromptTurn {
    pub(crate) session: String,
    pub(crate) folder: PathBuf,
    pub(crate) runs: LiveRuns,
    pub(crate) channel: EditorChannel,
    pub(crate) editor: EditorAbilities,
    pub(crate) cancelled: CancellationToken,
}

/// How a run stands.
enum RunStand {
    /// It works, or its questions are with the editor.
    Working,
    /// It can go on only when the user has said more.
    Waiting,
    /// It rests until somebody continues it.
    Resting { is_exhausted: bool },
    /// It is over.
    Over,
}

impl PromptTurn {
    /// Works on a prompt until it is answered. The result says why it ended.
    pub(crate) async fn work(
        &self,
        content: PromptContent,
        note: &SessionNote,
        so_far: Option<RunConversation>,
    ) -> Result<Value, RpcFailure> {
        let (words, whole) = (content.words.clone(), content.text());
        let last = match so_far.as_ref().and_then(|conversation| conversation.runs.last()) {
            Some(last) => Some((last.clone(), self.look(last, |history| history.run().is_over()).await?)),
            None => None,
        };
        let (run, after, own) = match last {
            Some((last, false)) => (last.clone(), self.go_on(&last, content).await?, whole),
            ended => (self.begin(content, note, ended.map(|(last, _)| last)).await?, 0, words),
        };
        let narrator = RunNarrator::new(&self.runs, &run, self.folder.clone(), after, Some(own));
        Box::pin(self.follow(&run, after, narrator)).await
    }

    /// Starts a run. The first one of a session has the id of the session.
    async fn begin(
        &self,
        content: PromptContent,
        note: &SessionNote,
        last: Option<RunId>,
    ) -> Result<RunId, RpcFailure> {
        let text = content.text();
        let asked = if text == content.words { String::new() } else { content.words };
        let order = RunOrder {
            goal: text,
            asked,
            mode: note.run_mode(),
            pictures: content.pictures,
            origins: content.origins,
            follows: last.clone(),
            face: OrderFace::Editor,
            ..RunOrder::default()
        };
        let id = match (&last, RunId::parse(&self.session)) {
            (None, Ok(id)) => Box::pin(self.runs.order_as(id, order)).await?,
            _ => Box::pin(self.runs.order(order)).await?,
        };
        Ok(id)
    }

    /// Continues a run that has not ended: the prompt answers its question, or is a message to it. Gives the place after
    /// which it is told.
    async fn go_on(&self, run: &RunId, content: PromptContent) -> Result<u64, RpcFailure> {
        if !content.pictures.is_empty() {
            return Err(RpcFailure::invalid_params(
                "the last turn was interrupted and goes on with this prompt, which cannot bring pictures; send text first",
            ));
        }
        let state = |history: &RunHistory| {
            let is_stopped = matches!(history.run().phase(), RunPhase::Paused | RunPhase::Exhausted(_));
            let question = open_questions(history).into_iter().find(|question| !question.is_approval);
            (history.position(), is_stopped, question)
        };
        let (position, is_stopped, question) = self.look(run, state).await?;
        let id = run.as_str();
        if is_stopped {
            Box::pin(self.runs.resume(id)).await?;
        }
        match question {
            Some(question) => {
                Box::pin(self.runs.answer(id, Some(&question.address.to_string()), content.text())).await?;
            }
            None => Box::pin(self.runs.tell_user(id, content.text())).await?,
        }
        Ok(position)
    }

    /// Follows a run until it ends, needs the user, or is cancelled.
    async fn follow(&self, run: &RunId, after: u64, narrator: RunNarrator) -> Result<Value, RpcFailure> {
        let (feed, positions) = self.runs.watched_feed(run.as_str())?;
        let (earlier, live) = feed.live();
        let mut watch = RunWatch {
            turn: self,
            run,
            after,
            feed,
            positions,
            live,
            narrator: Some(narrator),
            asked: BTreeMap::new(),
            settled: BTreeMap::new(),
            answers: JoinSet::new(),
        };
        for piece in &earlier {
            watch.piece(piece).await;
        }
        let mut is_cancelled = false;
        let mut deadline = Instant::now();
        loop {
            let stand = watch.catch_up(is_cancelled).await?;
            match stand {
                RunStand::Over if is_cancelled => return Ok(stop("cancelled")),
                RunStand::Over => return Ok(stop("end_turn")),
                RunStand::Working | RunStand::Waiting | RunStand::Resting { .. } if is_cancelled => {
                    if Instant::now() >= deadline {
                        return Ok(stop("cancelled"));
                    }
                }
                RunStand::Working => {}
                RunStand::Waiting => return Ok(stop("end_turn")),
                RunStand::Resting { is_exhausted } => {
                    let why = Box::pin(self.runs.view(run.as_str())).await?.message;
                    let text = format!("The run has stopped: {why}. Your next message continues it.");
                    watch.say(&text).await;
                    return Ok(stop(if is_exhausted { "max_turn_requests" } else { "end_turn" }));
                }
            }
            let wants_to_stop = watch.next(&self.cancelled, is_cancelled, deadline).await?;
            if wants_to_stop && !is_cancelled {
                is_cancelled = true;
                deadline = Instant::now() + PATIENCE;
                watch.answers.shutdown().await;
                // It may have ended by itself.
                let _ = Box::pin(self.runs.cancel(run.as_str(), EDITOR)).await;
            }
        }
    }

    /// Looks at a run as it is now.
    async fn look<T: Send + 'static>(
        &self,
        run: &RunId,
        look: impl FnOnce(&RunHistory) -> T + Send + 'static,
    ) -> Result<T, RpcFailure> {
        let feed = self.runs.feed(run.as_str())?;
        let seen = tokio::task::spawn_blocking(move || feed.read(look)).await;
        Ok(seen.map_err(|error| RpcFailure::internal(error.to_string()))??)
    }
}

/// A run that is followed for a turn.
struct RunWatch<'a> {
    turn: &'a PromptTurn,
    run: &'a RunId,
    /// The last event before the turn: until there is another one, the prompt has not arrived.
    after: u64,
    feed: Arc<RunFeed>,
    positions: watch::Receiver<u64>,
    live: broadcast::Receiver<LiveText>,
    narrator: Option<RunNarrator>,
    /// The questions that the editor has, with the ids of the requests.
    asked: BTreeMap<EffectAddress, (u64, EditorQuestion)>,
    /// The questions that the editor has answered, and whether the run takes the answers.
    settled: BTreeMap<EffectAddress, bool>,
    answers: JoinSet<(EffectAddress, EditorReply)>,
}

impl RunWatch<'_> {
    /// Tells the editor what has happened, asks what is to be asked, and says how the run stands.
    async fn catch_up(&mut self, is_cancelled: bool) -> Result<RunStand, RpcFailure> {
        self.positions.borrow_and_update();
        let Some(mut narrator) = self.narrator.take() else { return Err(gone()) };
        let feed = Arc::clone(&self.feed);
        let read = move || {
            feed.read(|history| {
                let told = narrator.tell(history);
                let calls = |question: &QuestionEntry| {
                    let call = question.address.sibling(updraft_run::EffectKind::Call, question.address.n);
                    narrator.call_id(&call)
                };
                let open: Vec<(QuestionEntry, String)> =
                    open_questions(history).into_iter().map(|question| (question.clone(), calls(&question))).collect();
                (told, open, stand(history), history.position())
            })
            .map(|seen| (seen, narrator))
        };
        let read = tokio::task::spawn_blocking(read).await.map_err(|error| RpcFailure::internal(error.to_string()))?;
        let ((told, open, stand, position), narrator) = read?;
        self.narrator = Some(narrator);
        for update in told {
            self.turn.channel.update(&self.turn.session, update).await;
        }
        let gone: Vec<EffectAddress> = self
            .asked
            .keys()
            .filter(|at| !open.iter().any(|(question, _)| question.address == **at))
            .cloned()
            .collect();
        for at in gone {
            // Somebody else has answered.
            if let Some((id, _)) = self.asked.remove(&at) {
                self.turn.channel.withdraw(id).await;
            }
        }
        if !is_cancelled {
            for (question, call) in &open {
                self.ask(question, call);
            }
        }
        let is_answered = open.iter().any(|(question, _)| self.settled.get(&question.address) == Some(&true));
        Ok(match stand {
            RunStand::Waiting if !self.asked.is_empty() || is_answered => RunStand::Working,
            RunStand::Waiting | RunStand::Resting { .. } if position <= self.after => RunStand::Working,
            other => other,
        })
    }

    fn ask(&mut self, question: &QuestionEntry, call: &str) {
        let turn = self.turn;
        if self.asked.contains_key(&question.address) || self.settled.contains_key(&question.address) {
            return;
        }
        let Some(asked) = EditorQuestion::of(&turn.session, call, question, turn.editor, &turn.folder) else { return };
        let (id, at, channel) = (turn.channel.next_id(), question.address.clone(), turn.channel.clone());
        let (method, params) = (asked.method, asked.params.clone());
        self.asked.insert(at.clone(), (id, asked));
        self.answers.spawn(async move { (at, channel.ask(id, method, params).await) });
    }

    /// Waits until something happens besides pieces of text. Says whether the turn is to be cancelled.
    async fn next(
        &mut self,
        cancelled: &CancellationToken,
        is_cancelled: bool,
        deadline: Instant,
    ) -> Result<bool, RpcFailure> {
        loop {
            tokio::select! {
                () = cancelled.cancelled(), if !is_cancelled => return Ok(true),
                () = tokio::time::sleep_until(deadline), if is_cancelled => return Ok(false),
                changed = self.positions.changed() => {
                    changed.map_err(|_| gone())?;
                    return if *self.positions.borrow() == u64::MAX { Err(gone()) } else { Ok(false) };
                }
                Some(Ok((at, reply))) = self.answers.join_next(), if !is_cancelled => {
                    let Some((_, question)) = self.asked.remove(&at) else { continue };
                    let passed = Box::pin(question.pass(&self.turn.runs, self.run.as_str(), reply)).await;
                    self.settled.insert(at, matches!(passed, QuestionOutcome::Passed));
                    return Ok(matches!(passed, QuestionOutcome::Cancelled));
                }
                piece = self.live.recv() => match piece {
                    Ok(piece) => self.piece(&piece).await,
                    Err(broadcast::error::RecvError::Lagged(_)) => {
                        let (earlier, live) = self.feed.live();
                        self.live = live;
                        for piece in &earlier {
                            self.piece(piece).await;
                        }
                    }
                    Err(broadcast::error::RecvError::Closed) => return Err(gone()),
                },
            }
        }
    }

    async fn piece(&mut self, piece: &LiveText) {
        let update = self.narrator.as_mut().and_then(|narrator| narrator.piece(piece));
        if let Some(update) = update {
            self.turn.channel.update(&self.turn.session, update).await;
        }
    }

    /// Says something that is not in the journal.
    async fn say(&self, text: &str) {
        let update = json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } });
        self.turn.channel.update(&self.turn.session, update).await;
    }
}

/// The questions that a run waits for.
fn open_questions(history: &RunHistory) -> Vec<QuestionEntry> {
    let open = history.entries().iter().filter_map(|entry| match &entry.kind {
        EntryKind::Question(question) if history.run().open().contains_key(&question.address) => {
            Some((**question).clone())
        }
        _ => None,
    });
    open.collect()
}

fn stand(history: &RunHistory) -> RunStand {
    let run = history.run();
    match run.phase() {
        RunPhase::Over { .. } => RunStand::Over,
        RunPhase::Paused if run.is_at_rest() => RunStand::Resting { is_exhausted: false },
        RunPhase::Exhausted(_) if run.is_at_rest() => RunStand::Resting { is_exhausted: true },
        RunPhase::Running if run.is_at_rest() && !open_questions(history).is_empty() => RunStand::Waiting,
        RunPhase::New | RunPhase::Running | RunPhase::Paused | RunPhase::Exhausted(_) | RunPhase::Cancelling { .. } => {
            RunStand::Working
        }
    }
}

fn stop(reason: &str) -> Value {
    json!({ "stopReason": reason })
}

fn gone() -> RpcFailure {
    Fault::failed("the run cannot be read any more: it was removed, or the journal is damaged").into()
}
