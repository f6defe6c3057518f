//! Uses the workspace's files through the agents' tools, under the same rules, and searches them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::broadcast;
use tracing::info;
use updraft_run::{
    ApprovalMode, Origins, Permission, PreparedCall, ReadRules, Reply, Rights, RightsLayer, Rules, RunSettings,
    ToolCall, ToolCallOutcome, outcome_words,
};
use updraft_tools::{CallContext, Dispatcher, Place, WorkspaceIndex};

use super::files::changed;
use super::ingestion::IngestionState;
use super::service_types::{FileToolOutput, SearchHit, WorkspaceFileChange};
use crate::fault::Fault;
use crate::folders::AppFolders;
use crate::settings::RememberedRules;

/// Most documents that a search returns.
const HITS: usize = 20;
/// Passages that are asked for: some documents have several.
const PASSAGES: usize = 30;
/// Most passages of a document that are shown.
const SNIPPETS: usize = 3;
/// The tool that searches.
const RETRIEVE: &str = "retrieve";

/// The files of the workspace, as clients use them through tools.
pub struct WorkspaceFiles {
    pub(super) dispatcher: Dispatcher,
    pub(super) place: Place,
    /// What clients may do: the same mode and rules as for runs.
    pub(super) settings: RunSettings,
    /// Where rules are stored that people allow with "always", and for which folder.
    pub(super) folders: AppFolders,
    pub(super) folder: PathBuf,
    /// The index that `retrieve` searches, for documents as they were indexed.
    pub(super) index: Arc<WorkspaceIndex>,
    /// Receives the files that change.
    pub(super) changed: broadcast::Sender<WorkspaceFileChange>,
    /// Files that people bring into the index.
    pub(super) ingestion: IngestionState,
}

impl WorkspaceFiles {
    /// Reports files that clients and runs of this process change. A slow receiver misses some.
    pub fn changes(&self) -> broadcast::Receiver<WorkspaceFileChange> {
        self.changed.subscribe()
    }

    /// Calls a tool, if the rules allow it to a client.
    pub async fn call(&self, tool: &str, args: Value) -> Result<FileToolOutput, Fault> {
        let call = ToolCall { id: "1".into(), name: tool.to_owned(), args, fault: None };
        let prepared = self.dispatcher.prepare(&call, &self.place);
        if let Some(fault) = prepared.fault {
            return Err(Fault::usage(fault.message));
        }
        self.weigh(tool, &prepared)?;
        let output = self.perform(&call, &prepared).await?;
        if prepared.changes() {
            // A client's own call is in no run's journal, so it is logged here.
            info!(tool, files = prepared.writes.join(", "), "a client changed files");
        }
        Ok(output)
    }

    /// Whether a client may make a call. If an agent would need approval for it, it is refused, even under `--yes`: the
    /// user said that for runs, and nobody sees the question here. A rule that allows the call still counts.
    pub(super) fn weigh(&self, tool: &str, prepared: &PreparedCall) -> Result<(), Fault> {
        if self.settings.deny.iter().any(|denied| denied == tool) {
            return Err(Fault::usage(format!("`{tool}` is denied by `deny` in the settings")));
        }
        let none = Rules::default();
        let client =
            RightsLayer { whose: "a client", mode: Some(ApprovalMode::Refuse), read_only: false, rules: &none };
        // "Always" may have been said, or taken back, since the service was opened.
        let mut settings = self.settings.clone();
        RememberedRules::renew(&mut settings.rules, &self.folders, &self.folder);
        match Rights::of(&settings, &[]).child(client).weigh(tool, prepared, &Origins::default()) {
            Permission::Allowed => Ok(()),
            Permission::Denied(failure) => Err(Fault::usage(failure.message)),
            Permission::Asked(asking) => Err(Fault::usage(format!(
                "{}. Refused: nobody can be asked here; let an agent do it with `query` or `dispatch_agent_task`, where \
                 a person can approve it",
                asking.why
            ))),
        }
    }

    async fn perform(&self, call: &ToolCall, prepared: &PreparedCall) -> Result<FileToolOutput, Fault> {
        let mut context = CallContext::new(self.place.clone(), "mcp");
        context.around.reaches_outside = prepared.outside;
        // A client gets a file as it is, without the numbers that a model names lines by.
        context.around.by_code = true;
        context.around.read_rules = Arc::new(self.read_rules());
        let called = self.dispatcher.call(call, &context).await;
        match called.reply {
            Reply::Output(output) if !output.is_error => {
                for change in changed(&output.changes) {
                    // There may be no receiver.
                    let _ = self.changed.send(change);
                }
                Ok(FileToolOutput { text: output.text.clone(), value: output.value.clone() })
            }
            other => Err(Fault::usage(outcome_words(&ToolCallOutcome::Replied(other)).into_owned())),
        }
    }

    /// Finds documents by the workspace's index, best matches first: by what they say, then by their names. Files that
    /// may not be read are left out, so that the result reveals nothing about them.
    pub async fn search(&self, query: &str) -> Result<Vec<SearchHit>, Fault> {
        if !query.chars().any(char::is_alphanumeric) {
            return Err(Fault::usage("the query has no words to look for"));
        }
        let reading = PreparedCall { reads: vec![".".into()], leaves_out: true, ..PreparedCall::default() };
        [RETRIEVE, "search_files", "read_file"].iter().try_for_each(|tool| self.weigh(tool, &reading))?;
        let args = json!({ "query": query, "limit": PASSAGES });
        let call = ToolCall { id: "1".into(), name: RETRIEVE.to_owned(), args, fault: None };
        let found = self.perform(&call, &reading).await?.value.unwrap_or_default();
        let mut hits: Vec<(String, Vec<String>)> = Vec::new();
        for passage in found["passages"].as_array().into_iter().flatten() {
            let text = |name: &str| passage[name].as_str().unwrap_or_default().to_owned();
            let (path, snippet) = (text("path"), text("snippet"));
            match hits.iter_mut().find(|(known, _)| *known == path) {
                Some((_, snippets)) => snippets.push(snippet),
                None => hits.push((path, vec![snippet])),
            }
        }
        for path in self.named(query).await? {
            if !hits.iter().any(|(known, _)| *known == path) {
                hits.push((path, Vec::new()));
            }
        }
        Ok(hits.into_iter().take(HITS).map(|(path, snippets)| self.hit(path, &snippets)).collect())
    }

    /// The documents whose names contain words of the query: a picture or an empty file says nothing else.
    async fn named(&self, query: &str) -> Result<Vec<String>, Fault> {
        let is_sign = |c: char| !(c.is_alphanumeric() || c == '_');
        let words: Vec<String> = query.split(is_sign).map(str::to_lowercase).filter(|word| word.len() > 2).collect();
        let (index, rules) = (Arc::clone(&self.index), self.read_rules());
        let listed = tokio::task::spawn_blocking(move || index.documents(&rules)).await;
        let listed = listed.map_err(|error| Fault::usage(format!("the index cannot be read: {error}")))?;
        let listed = listed.map_err(|error| Fault::usage(updraft_run::error_chain(&error)))?;
        let score = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
            words.iter().filter(|word| name.contains(word.as_str())).count()
        };
        let mut found: Vec<(usize, String)> =
            listed.into_iter().map(|entry| (score(&entry.path), entry.path)).filter(|(score, _)| *score > 0).collect();
        found.sort_by(|(one, a), (other, b)| other.cmp(one).then(a.cmp(b)));
        Ok(found.into_iter().take(HITS).map(|(_, path)| path).collect())
    }

    /// Which files clients may not read.
    pub(super) fn read_rules(&self) -> ReadRules {
        ReadRules::of([&self.settings.rules])
    }

    fn hit(&self, path: String, snippets: &[String]) -> SearchHit {
        let shown: Vec<&str> = snippets.iter().take(SNIPPETS).map(|snippet| snippet.trim()).collect();
        SearchHit { title: path.clone(), url: self.url(&path), text: shown.join("\n…\n"), id: path }
    }

    pub(super) fn url(&self, path: &str) -> String {
        let whole = self.place.workspace.root().join(path);
        let mut url = String::from("file://");
        for byte in whole.to_string_lossy().bytes() {
            if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
                url.push(byte as char);
            } else {
                let _ = write!(url, "%{byte:02X}");
            }
        }
        url
    }
}
