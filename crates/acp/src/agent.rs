//! The agent: reads messages of the editor, answers them, and keeps track of open sessions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use updraft_workbench::{AppFolders, Flags, GivenServers, Tell};

use crate::channel::{self, EditorChannel, EditorReply};
use crate::content::PromptContent;
use crate::folder_services::{FolderService, FolderServices};
use crate::handshake::{EditorAbilities, InitializeParams, introduction};
use crate::rpc::{self, LineReader, RpcFailure, RpcMessage};
use crate::sessions;
use crate::turn::PromptTurn;

/// What the agent needs.
pub struct AcpSetup {
    /// The folders that Updraft uses on this machine.
    pub folders: AppFolders,
    /// Settings for all sessions.
    pub flags: Flags,
    /// Receives messages for the user. They must not go to standard output.
    pub tell: Tell,
    /// The version of the program.
    pub version: &'static str,
}

/// Speaks with an editor until it leaves, or until `stop` is cancelled. Turns under way are interrupted then, and can be
/// continued later.
pub async fn serve(
    setup: AcpSetup,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: CancellationToken,
) {
    let (channel, queue) = EditorChannel::new();
    let mut writing = JoinSet::new();
    writing.spawn(channel::write(queue, output));
    let services = FolderServices::new(setup.folders.clone(), setup.flags.clone(), Arc::clone(&setup.tell));
    let agent = Arc::new(AcpAgent { setup, channel, services, sessions: Mutex::default(), editor: Mutex::default() });
    let mut lines = LineReader::new(BufReader::new(input));
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            line = lines.next() => match line {
                Some(line) => agent.take(&line, &mut tasks).await,
                None => break,
            },
            Some(_) = tasks.join_next() => {}
        }
    }
    tasks.shutdown().await;
    agent.services.close().await;
    drop(agent);
    // What is already said still arrives.
    while writing.join_next().await.is_some() {}
}

/// A session that the editor has opened.
#[derive(Clone)]
pub(crate) struct OpenSession {
    pub(crate) folder: PathBuf,
    pub(crate) servers: Option<GivenServers>,
    pub(crate) service: Arc<FolderService>,
    /// The turn that is under way.
    pub(crate) turn: Option<TurnToken>,
}

/// The agent.
pub(crate) struct AcpAgent {
    pub(crate) setup: AcpSetup,
    pub(crate) channel: EditorChannel,
    pub(crate) services: FolderServices,
    sessions: Mutex<BTreeMap<String, OpenSession>>,
    editor: Mutex<EditorAbilities>,
}

impl AcpAgent {
    /// Takes a message. What may last is done in a task.
    async fn take(self: &Arc<Self>, line: &[u8], tasks: &mut JoinSet<()>) {
        match rpc::read(line) {
            Ok(RpcMessage::Request { id, method, params }) if method == "session/prompt" => {
                // The turn is known before the next message is read, which may cancel it.
                match self.begin_turn(&params, &id) {
                    Ok((session, turn)) => {
                        let agent = Arc::clone(self);
                        tasks.spawn(async move {
                            let outcome = Box::pin(agent.prompt(&session, &params, turn)).await;
                            agent.end_turn(&session);
                            agent.channel.reply(&id, outcome).await;
                        });
                    }
                    Err(failure) => self.channel.reply(&id, Err(failure)).await,
                }
            }
            Ok(RpcMessage::Request { id, method, params }) => {
                let agent = Arc::clone(self);
                tasks.spawn(async move {
                    let outcome = Box::pin(agent.answer(&method, params)).await;
                    agent.channel.reply(&id, outcome).await;
                });
            }
            Ok(RpcMessage::Notification { method, params }) => match method.as_str() {
                "session/cancel" => self.cancel(params["sessionId"].as_str().unwrap_or_default()),
                "$/cancel_request" => self.cancel_request(&params["requestId"]),
                _ => {}
            },
            Ok(RpcMessage::Reply { id, outcome }) => self.channel.resolve(&id, outcome),
            Err((id, failure)) => self.channel.reply(&id, Err(failure)).await,
        }
    }

    async fn answer(&self, method: &str, params: Value) -> EditorReply {
        match method {
            "initialize" => {
                let said: InitializeParams = read(params)?;
                *self.editor.lock().unwrap_or_else(PoisonError::into_inner) = said.abilities();
                Ok(introduction(self.setup.version))
            }
            "session/new" => self.new_session(read(params)?).await,
            "session/load" => self.load_session(read(params)?).await,
            "session/resume" => self.resume_session(read(params)?).await,
            "session/list" => self.list_sessions(read(params)?).await,
            "session/close" => self.close_session(&id_in(&params)?).await,
            "session/delete" => self.delete_session(&id_in(&params)?).await,
            "session/set_mode" => self.set_option(&id_in(&params)?, "mode", &params["modeId"]).await.map(|_| json!({})),
            "session/set_config_option" => {
                let option = params["configId"].as_str().unwrap_or_default();
                let options = self.set_option(&id_in(&params)?, option, &params["value"]).await?;
                Ok(json!({ "configOptions": options }))
            }
            other => Err(RpcFailure::unknown_method(other)),
        }
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, OpenSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session that the editor has opened.
    pub(crate) fn session(&self, id: &str) -> Result<OpenSession, RpcFailure> {
        let known = self.sessions().get(id).cloned();
        known.ok_or_else(|| RpcFailure::not_found(format!("the session `{id}` is not open; load or resume it first")))
    }

    fn begin_turn(&self, params: &Value, request: &Value) -> Result<(String, TurnToken), RpcFailure> {
        let id = id_in(params)?;
        let mut sessions = self.sessions();
        let session = sessions
            .get_mut(&id)
            .ok_or_else(|| RpcFailure::not_found(format!("the session `{id}` is not open; load or resume it first")))?;
        if session.turn.is_some() {
            return Err(RpcFailure::invalid_request("the session works on another prompt; cancel that one first"));
        }
        let token = TurnToken { cancelled: CancellationToken::new(), request: request.clone() };
        session.turn = Some(token.clone());
        Ok((id, token))
    }

    fn end_turn(&self, id: &str) {
        if let Some(session) = self.sessions().get_mut(id) {
            session.turn = None;
        }
    }

    /// Works on a prompt.
    async fn prompt(&self, id: &str, params: &Value, turn: TurnToken) -> EditorReply {
        let session = self.session(id)?;
        let content = PromptContent::read(&params["prompt"], &session.folder)?;
        let runs = session.service.service.runs.clone();
        let note = sessions::note(&runs, id)?.unwrap_or_default();
        let so_far = sessions::conversation(&runs, id).await?;
        if so_far.is_none() {
            let title = content.words.lines().next().unwrap_or_default();
            let about = json!({ "sessionUpdate": "session_info_update", "title": title });
            self.channel.update(id, about).await;
        }
        let editor = *self.editor.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = PromptTurn {
            session: id.to_owned(),
            folder: session.folder,
            runs,
            channel: self.channel.clone(),
            editor,
            cancelled: turn.cancelled,
        };
        turn.work(content, &note, so_far).await
    }

    /// Cancels the turn of a session, if there is one.
    pub(crate) fn cancel(&self, id: &str) {
        if let Some(turn) = self.sessions().get(id).and_then(|session| session.turn.as_ref()) {
            turn.cancelled.cancel();
        }
    }

    fn cancel_request(&self, request: &Value) {
        for turn in self.sessions().values().filter_map(|session| session.turn.as_ref()) {
            if turn.request == *request {
                turn.cancelled.cancel();
            }
        }
    }
}

/// A turn that is under way.
#[derive(Clone)]
pub(crate) struct TurnToken {
    pub(crate) cancelled: CancellationToken,
    /// The id of the prompt's request.
    request: Value,
}

fn id_in(params: &Value) -> Result<String, RpcFailure> {
    let id = params["sessionId"].as_str().map(str::to_owned);
    id.ok_or_else(|| RpcFailure::invalid_params("`sessionId` is missing"))
}

/// Reads what comes with a request.
fn read<T: DeserializeOwned>(params: Value) -> Result<T, RpcFailure> {
    let params = if params.is_null() { json!({}) } else { params };
    serde_json::from_value(params).map_err(|error| RpcFailure::invalid_params(error.to_string()))
}
