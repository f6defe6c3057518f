//! Sessions: begun, loaded, resumed, listed, closed, deleted. A session is a conversation of runs, and a note about what was
//! chosen for it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{RunId, Timestamp};
use updraft_workbench::journal::new_id;
use updraft_workbench::service::{ConversationBook, LiveRuns, RunConversation};
use updraft_workbench::{GivenServers, time_format};

use crate::agent::{AcpAgent, OpenSession};
use crate::channel::EditorReply;
use crate::folder_services::ServiceKey;
use crate::narrator::RunNarrator;
use crate::options::{SessionNote, UsualChoices, choose};
use crate::rpc::RpcFailure;

/// Under this name notes about sessions are kept.
const FACE: &str = "acp";
/// How many sessions are on a page of the list.
const PAGE: usize = 50;

/// Which session is opened, and where.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionParams {
    #[serde(default)]
    session_id: String,
    cwd: PathBuf,
    #[serde(default)]
    mcp_servers: Vec<EditorServer>,
}

/// Which sessions are listed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListParams {
    cwd: Option<PathBuf>,
    cursor: Option<String>,
}

/// An MCP server of the editor.
#[derive(Deserialize)]
struct EditorServer {
    name: String,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Vec<NamedText>,
    url: Option<String>,
    #[serde(default)]
    headers: Vec<NamedText>,
}

impl std::fmt::Debug for EditorServer {
    /// Variables and headers may be keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EditorServer({})", self.name)
    }
}

#[derive(Deserialize)]
struct NamedText {
    name: String,
    value: String,
}

/// A line of the list.
struct SessionRow {
    id: String,
    cwd: String,
    workspace: String,
    title: Option<String>,
    updated: Timestamp,
}

impl AcpAgent {
    /// `session/new`
    pub(crate) async fn new_session(&self, params: SessionParams) -> EditorReply {
        let id = new_id()?.to_string();
        let note = SessionNote { cwd: params.cwd.display().to_string(), ..SessionNote::default() };
        let opened = self.open(&params, &note).await?;
        let runs = opened.service.service.runs.clone();
        keep(&runs, &id, &note).await?;
        let usual = self.usual(&opened.folder).await?;
        self.sessions().insert(id.clone(), opened);
        let mut reply = state(&usual, &note, &runs);
        reply["sessionId"] = json!(id);
        Ok(reply)
    }

    /// `session/load`: the whole conversation is told before the answer, and nothing after it.
    pub(crate) async fn load_session(&self, params: SessionParams) -> EditorReply {
        let (reply, runs, folder, conversation) = self.reopen(&params).await?;
        for run in conversation.map(|conversation| conversation.runs).unwrap_or_default() {
            let (feed, id) = (runs.feed(run.as_str())?, run.clone());
            let mut narrator = RunNarrator::new(&runs, &id, folder.clone(), 0, None);
            let told = tokio::task::spawn_blocking(move || feed.read(|history| narrator.tell(history))).await;
            for update in told.map_err(|error| RpcFailure::internal(error.to_string()))?? {
                self.channel.update(&params.session_id, update).await;
            }
        }
        Ok(reply)
    }

    /// `session/resume`: the same, and nothing is told.
    pub(crate) async fn resume_session(&self, params: SessionParams) -> EditorReply {
        Ok(self.reopen(&params).await?.0)
    }

    async fn reopen(
        &self,
        params: &SessionParams,
    ) -> Result<(Value, LiveRuns, PathBuf, Option<RunConversation>), RpcFailure> {
        let id = &params.session_id;
        if self.sessions().get(id).is_some_and(|session| session.turn.is_some()) {
            return Err(RpcFailure::invalid_request("the session works on a prompt; cancel it first"));
        }
        let cwd = params.cwd.display().to_string();
        let mut opened = self.open(params, &SessionNote::default()).await?;
        let usual_runs = opened.service.service.runs.clone();
        let note = note(&usual_runs, id)?;
        let conversation = conversation(&usual_runs, id).await?;
        let is_known = note.as_ref().map_or(conversation.is_some(), |note| !note.is_deleted);
        if !is_known {
            return Err(RpcFailure::not_found(format!("there is no session `{id}` in `{cwd}`; list the sessions")));
        }
        let note = note.unwrap_or_else(|| SessionNote { cwd, ..SessionNote::default() });
        if note.mode.is_some() || note.model.is_some() {
            opened = self.open(params, &note).await?;
        }
        let (usual, folder) = (self.usual(&opened.folder).await?, opened.folder.clone());
        let runs = opened.service.service.runs.clone();
        self.sessions().insert(id.clone(), opened);
        Ok((state(&usual, &note, &runs), runs, folder, conversation))
    }

    /// Opens the service that a session needs.
    async fn open(&self, params: &SessionParams, note: &SessionNote) -> Result<OpenSession, RpcFailure> {
        let cwd = &params.cwd;
        if !cwd.is_absolute() {
            return Err(RpcFailure::invalid_params(format!("`cwd` is `{}`; name an absolute path", cwd.display())));
        }
        let folder = cwd.canonicalize().ok().filter(|folder| folder.is_dir()).ok_or_else(|| {
            RpcFailure::invalid_params(format!("`cwd` is `{}`, which is not a folder", cwd.display()))
        })?;
        let servers = given(&params.mcp_servers);
        let service = self.services.get(&self.key(&folder, servers.clone(), note).await?).await?;
        Ok(OpenSession { folder, servers, service, turn: None })
    }

    async fn key(
        &self,
        folder: &Path,
        servers: Option<GivenServers>,
        note: &SessionNote,
    ) -> Result<ServiceKey, RpcFailure> {
        let usual = self.usual(folder).await?;
        Ok(ServiceKey {
            folder: folder.to_owned(),
            servers,
            approvals: usual.approvals(note),
            model: usual.model(note),
        })
    }

    async fn usual(&self, folder: &Path) -> Result<UsualChoices, RpcFailure> {
        let (folders, folder, flags) = (self.setup.folders.clone(), folder.to_owned(), self.setup.flags.clone());
        let read = tokio::task::spawn_blocking(move || UsualChoices::read(&folders, &folder, &flags)).await;
        Ok(read.map_err(|error| RpcFailure::internal(error.to_string()))??)
    }

    /// `session/list`
    pub(crate) async fn list_sessions(&self, params: ListParams) -> EditorReply {
        let wanted = params.cwd.map(|cwd| cwd.canonicalize().unwrap_or(cwd).display().to_string());
        let skipped = params.cursor.as_deref().map(str::parse::<usize>).transpose();
        let skipped =
            skipped.map_err(|_| RpcFailure::invalid_params("this cursor is not from here; omit it"))?.unwrap_or(0);
        let Some(book) = ConversationBook::open(&self.setup.folders)? else { return Ok(json!({ "sessions": [] })) };
        let (reader, folder) = (book.clone(), wanted.clone());
        let rows = tokio::task::spawn_blocking(move || rows(&reader, folder.as_deref())).await;
        book.close().await;
        let rows = rows.map_err(|error| RpcFailure::internal(error.to_string()))??;
        let is_wanted = |row: &&SessionRow| wanted.as_ref().is_none_or(|wanted| row.workspace == *wanted);
        let mut left = rows.iter().filter(is_wanted).skip(skipped);
        let page: Vec<Value> = left.by_ref().take(PAGE).map(SessionRow::to_json).collect();
        let mut reply = json!({ "sessions": page });
        if left.next().is_some() {
            reply["nextCursor"] = json!((skipped + PAGE).to_string());
        }
        Ok(reply)
    }

    /// `session/close`: what is under way is cancelled. The session can be loaded again.
    pub(crate) async fn close_session(&self, id: &str) -> EditorReply {
        self.session(id)?;
        self.leave(id).await;
        Ok(json!({}))
    }

    /// Cancels the turn of a session and forgets that it is open.
    async fn leave(&self, id: &str) {
        self.cancel(id);
        self.sessions().remove(id);
        self.services.sweep().await;
    }

    /// `session/delete`: the session is not listed any more. Its runs stay in the journal until they are removed there.
    pub(crate) async fn delete_session(&self, id: &str) -> EditorReply {
        self.leave(id).await;
        let Some(book) = ConversationBook::open(&self.setup.folders)? else { return Ok(json!({})) };
        let deleted = delete(&book, id).await;
        book.close().await;
        deleted.map(|()| json!({}))
    }

    /// Changes what is chosen for a session, and gives everything that can be chosen. It holds from the next run on.
    pub(crate) async fn set_option(&self, id: &str, option: &str, value: &Value) -> Result<Value, RpcFailure> {
        let session = self.session(id)?;
        let runs = session.service.service.runs.clone();
        let cwd = session.folder.display().to_string();
        let mut note = note(&runs, id)?.unwrap_or_else(|| SessionNote { cwd, ..SessionNote::default() });
        let usual = self.usual(&session.folder).await?;
        let offered = usual.options_json(&note, &runs);
        choose(&mut note, &offered, option, value)?;
        let key = self.key(&session.folder, session.servers.clone(), &note).await?;
        let service = self.services.get(&key).await?;
        keep(&runs, id, &note).await?;
        let options = usual.options_json(&note, &service.service.runs);
        if let Some(open) = self.sessions().get_mut(id) {
            open.service = service;
        }
        if option == "mode" {
            let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": usual.current(&note) });
            self.channel.update(id, update).await;
        }
        Ok(options)
    }
}

/// What is kept about a session.
pub(crate) fn note(runs: &LiveRuns, id: &str) -> Result<Option<SessionNote>, RpcFailure> {
    let text = runs.note(FACE, id)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// The runs of a session.
pub(crate) async fn conversation(runs: &LiveRuns, id: &str) -> Result<Option<RunConversation>, RpcFailure> {
    let Ok(root) = RunId::parse(id) else { return Ok(None) };
    let runs = runs.clone();
    let found = tokio::task::spawn_blocking(move || runs.conversation(&root)).await;
    Ok(found.map_err(|error| RpcFailure::internal(error.to_string()))??)
}

impl SessionRow {
    fn to_json(&self) -> Value {
        let mut row = json!({ "sessionId": self.id, "cwd": self.cwd, "updatedAt": time_format::iso(self.updated) });
        if let Some(title) = &self.title {
            row["title"] = json!(title);
        }
        row
    }
}

/// All sessions, those that changed last first. Blocks on the disk.
fn rows(book: &ConversationBook, workspace: Option<&str>) -> Result<Vec<SessionRow>, RpcFailure> {
    let mut notes = BTreeMap::new();
    for note in book.notes(FACE)? {
        if let Ok(read) = serde_json::from_str::<SessionNote>(&note.text) {
            notes.insert(note.key.clone(), (note, read));
        }
    }
    let mut rows = Vec::new();
    for conversation in book.conversations(workspace)? {
        let id = conversation.root.to_string();
        let note = notes.remove(&id).map(|(_, note)| note).unwrap_or_default();
        if !note.is_deleted {
            let cwd = if note.cwd.is_empty() { conversation.workspace.clone() } else { note.cwd };
            let (title, updated) = (Some(conversation.title), conversation.updated);
            rows.push(SessionRow { id, cwd, workspace: conversation.workspace, title, updated });
        }
    }
    for (id, (note, read)) in notes {
        if !read.is_deleted {
            rows.push(SessionRow { id, cwd: read.cwd, workspace: note.workspace, title: None, updated: note.written });
        }
    }
    rows.sort_by(|one, other| other.updated.cmp(&one.updated).then_with(|| one.id.cmp(&other.id)));
    Ok(rows)
}

async fn delete(book: &ConversationBook, id: &str) -> Result<(), RpcFailure> {
    let reader = book.clone();
    let all = tokio::task::spawn_blocking(move || reader.conversations(None)).await;
    let all = all.map_err(|error| RpcFailure::internal(error.to_string()))??;
    let conversation = all.into_iter().find(|conversation| conversation.root.as_str() == id);
    match conversation {
        Some(RunConversation { workspace, .. }) => {
            let note = SessionNote { cwd: workspace.clone(), is_deleted: true, ..SessionNote::default() };
            let text = serde_json::to_string(&note).map_err(|error| RpcFailure::internal(error.to_string()))?;
            book.keep_note(FACE, &workspace, id, text).await?;
        }
        // A session that never had a turn is only a note.
        None => {
            for note in book.notes(FACE)?.into_iter().filter(|note| note.key == id) {
                book.drop_note(FACE, &note.workspace, id).await?;
            }
        }
    }
    Ok(())
}

async fn keep(runs: &LiveRuns, id: &str, note: &SessionNote) -> Result<(), RpcFailure> {
    let text = serde_json::to_string(note).map_err(|error| RpcFailure::internal(error.to_string()))?;
    Ok(runs.keep_note(FACE, id, text).await?)
}

/// What is chosen for a session, and what can be.
fn state(usual: &UsualChoices, note: &SessionNote, runs: &LiveRuns) -> Value {
    json!({ "modes": usual.modes_json(note), "configOptions": usual.options_json(note, runs) })
}

/// The editor's servers, in the form of a file of servers.
fn given(servers: &[EditorServer]) -> Option<GivenServers> {
    let texts = |list: &[NamedText]| -> Value {
        list.iter()
            .map(|NamedText { name, value }| (name.clone(), json!(value)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let entry = |server: &EditorServer| match &server.url {
        Some(url) => json!({ "type": "http", "url": url, "headers": texts(&server.headers) }),
        None => json!({ "command": server.command, "args": server.args, "env": texts(&server.env) }),
    };
    let named: serde_json::Map<String, Value> =
        servers.iter().map(|server| (server.name.clone(), entry(server))).collect();
    (!named.is_empty()).then(|| GivenServers::new(json!({ "mcpServers": named }).to_string()))
}
