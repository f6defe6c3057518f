//! Conversations of several questions: stored in the journal's file, limited in number, length and age.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::warn;
use updraft_journal::{Change, Journal, StoredValue};
use updraft_run::{ConversationLimits, EarlierConversation, Origins};

use crate::fault::Fault;
use crate::flags::Flags;
use crate::folders::{AppFolders, unguessable};
use crate::settings::WorkspaceSettings;

/// The prefix of the scopes that conversations are stored under.
const SCOPE: &str = "sessions ";

/// The scope of a workspace's conversations: each workspace has its own limits.
fn scope(workspace: &str) -> String {
    format!("{SCOPE}{workspace}")
}

/// Removes the conversations of all workspaces that have been idle for longer than the settings there allow.
/// Conversations of a workspace whose settings cannot be read are kept.
pub async fn sweep_conversations(folders: &AppFolders, journal: &Journal) -> Result<(), Fault> {
    for scope in journal.stored_scopes(SCOPE)? {
        let workspace = scope.strip_prefix(SCOPE).unwrap_or_default();
        match WorkspaceSettings::load(folders, Path::new(workspace), &Flags::default()) {
            Ok(settings) => {
                let limits = settings.effective.serving.sessions();
                journal.sweep_stored(&scope, limits.age, limits.most).await?;
            }
            Err(error) => warn!(%error, workspace, "conversations are kept: the settings there cannot be read"),
        }
    }
    Ok(())
}

/// How many conversations are kept, how many turns of each, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// How long a conversation may be idle.
    pub age: Duration,
    /// How often idle conversations are removed.
    pub sweep: Duration,
    /// Most conversations at once; beyond that, the one that was idle longest is removed.
    pub most: usize,
    /// Most questions that a conversation remembers.
    pub turns: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { age: Duration::from_mins(30), sweep: Duration::from_mins(1), most: 256, turns: 20 }
    }
}

/// Most characters of one question or answer that are remembered.
const LONGEST: usize = 8_000;

/// The conversations of a workspace. They are not kept in memory, so any process can continue one.
pub(super) struct Sessions {
    journal: Journal,
    workspace: String,
    scope: String,
    limits: SessionLimits,
    conversation: ConversationLimits,
}

/// The questions and answers of a conversation, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Conversation {
    workspace: String,
    /// Questions and their answers.
    turns: VecDeque<(String, String)>,
    /// Runs with their questions that have no answer yet.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    open: VecDeque<(String, String)>,
    /// The origins of text in the answers.
    #[serde(default, skip_serializing_if = "Origins::is_empty")]
    origins: Origins,
    /// What was said before `turns`, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    summary: String,
}

impl Conversation {
    /// Moves the oldest turns into the summary.
    fn shorten(&mut self, most: usize, limits: ConversationLimits) {
        let mut older =
            EarlierConversation { summary: std::mem::take(&mut self.summary), ..EarlierConversation::default() };
        while self.turns.len() > most {
            let Some((question, answer)) = self.turns.pop_front() else { break };
            older.add("user", &question);
            older.add("assistant", &answer);
        }
        older.fold(ConversationLimits { messages: 0, ..limits });
        self.summary = older.summary;
    }
}

impl Sessions {
    pub(super) fn new(
        journal: Journal,
        workspace: String,
        limits: SessionLimits,
        conversation: ConversationLimits,
    ) -> Self {
        Self { journal, scope: scope(&workspace), workspace, limits, conversation }
    }

    /// Begins a conversation under an id that cannot be guessed. If there are too many, the one that was idle longest
    /// is removed.
    pub(super) async fn begin(&self) -> Result<String, Fault> {
        let id = unguessable(16).map_err(Fault::failed)?;
        let begun = Conversation { workspace: self.workspace.clone(), ..Conversation::default() };
        let text = serde_json::to_string(&begun).map_err(|error| Fault::failed(error.to_string()))?;
        let set = move |_| (Change::Set(text.clone()), ());
        self.journal.change_stored(&self.scope, &id, set).await?;
        self.sweep().await;
        Ok(id)
    }

    /// The conversation so far, and the origins of text in it: an answer may repeat text of a web page, which must not
    /// count as the user's own words.
    pub(super) async fn earlier(&self, id: &str) -> Result<(EarlierConversation, Origins), Fault> {
        let limits = self.conversation;
        let put = move |said: &mut Conversation| {
            let mut earlier = EarlierConversation { summary: said.summary.clone(), ..EarlierConversation::default() };
            for (question, answer) in &said.turns {
                earlier.add("user", question);
                earlier.add("assistant", answer);
            }
            earlier.fold(limits);
            (earlier, said.origins.clone())
        };
        let put = self.change(id, put).await?;
        put.ok_or_else(|| Fault::usage("this session is not known or has expired; omit `session` to start a new one"))
    }

    /// Remembers that a run works on a question. The answer may come when no client waits any more.
    pub(super) async fn asked(&self, id: &str, run: &str, question: &str) -> Result<(), Fault> {
        let (most, asked) = (self.limits.turns, (run.to_owned(), short(question)));
        let add = move |said: &mut Conversation| {
            said.open.push_back(asked.clone());
            while said.open.len() > most {
                said.open.pop_front();
            }
        };
        self.change(id, add).await.map(drop)
    }

    /// The runs that have not answered yet.
    pub(super) fn open(&self, id: &str) -> Result<Vec<String>, Fault> {
        let stored = self.journal.stored(&self.scope, id)?;
        let open = stored.as_ref().and_then(|stored| known(stored, &self.workspace, self.limits.age));
        Ok(open.into_iter().flat_map(|said| said.open).map(|(run, _)| run).collect())
    }

    /// Remembers the answer to a question and its origins; without an answer, forgets the question. Does nothing if the
    /// conversation is gone or the answer is already known.
    pub(super) async fn answered(&self, id: &str, run: &str, answer: Option<(&str, &Origins)>) -> Result<(), Fault> {
        let (most, run, limits) = (self.limits.turns, run.to_owned(), self.conversation);
        let answer = answer.map(|(answer, origins)| (short(answer), origins.clone()));
        let take = move |said: &mut Conversation| {
            let Some(at) = said.open.iter().position(|(open, _)| *open == run) else { return };
            let Some((_, question)) = said.open.remove(at) else { return };
            if let Some((answer, origins)) = &answer {
                said.origins.merge(origins);
                said.turns.push_back((question, answer.clone()));
                said.shorten(most, limits);
            }
        };
        self.change(id, take).await.map(drop)
    }

    /// Removes conversations that have been idle for too long.
    pub(super) async fn sweep(&self) {
        if let Err(error) = self.journal.sweep_stored(&self.scope, self.limits.age, self.limits.most).await {
            warn!(%error, "old conversations could not be removed");
        }
    }

    /// Imports the conversations that earlier versions kept in a folder, one file each, and removes the files.
    pub(super) async fn take_over(&self, folder: &Path) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let changed = entry.metadata().and_then(|about| about.modified());
            let is_fresh = changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < self.limits.age));
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let said = serde_json::from_str::<Conversation>(&text).ok().filter(|_| is_fresh);
            if let Some(Conversation { workspace, .. }) = said {
                let set = move |stored: Option<StoredValue>| {
                    (stored.map_or_else(|| Change::Set(text.clone()), |_| Change::Nothing), ())
                };
                let id = entry.file_name();
                if let Err(error) = self.journal.change_stored(&scope(&workspace), &id.to_string_lossy(), set).await {
                    warn!(%error, "a conversation could not be taken over");
                    return;
                }
            }
        }
        let _ = std::fs::remove_dir_all(folder);
    }

    /// Changes a conversation of this workspace. Returns `None` if there is none, or it has been idle for too long.
    async fn change<T: Send + 'static>(
        &self,
        id: &str,
        change: impl Fn(&mut Conversation) -> T + Send + 'static,
    ) -> Result<Option<T>, Fault> {
        let (workspace, age) = (self.workspace.clone(), self.limits.age);
        let change = move |stored: Option<StoredValue>| {
            let found = stored.as_ref().and_then(|stored| known(stored, &workspace, age));
            let Some(mut said) = found else { return (Change::Nothing, None) };
            let given = change(&mut said);
            (serde_json::to_string(&said).map_or(Change::Nothing, Change::Set), Some(given))
        };
        Ok(self.journal.change_stored(&self.scope, id, change).await?)
    }
}

fn known(stored: &StoredValue, workspace: &str, age: Duration) -> Option<Conversation> {
    let said: Conversation = serde_json::from_str(&stored.value).ok().filter(|_| stored.age < age)?;
    (said.workspace == workspace).then_some(said)
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} […]", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Kind;

    const PAGE: &str = "https://a.example/page";
    const LIMITS: SessionLimits =
        SessionLimits { age: Duration::from_mins(30), sweep: Duration::from_mins(1), most: 256, turns: 3 };

    fn sessions(folder: &tempfile::TempDir, workspace: &str, limits: SessionLimits) -> Sessions {
        let journal =
            Journal::open(&folder.path().join("journal.db"), updraft_journal::JournalOptions::default()).unwrap();
        Sessions::new(journal, workspace.to_owned(), limits, ConversationLimits::default())
    }

    fn said(earlier: &EarlierConversation) -> Vec<String> {
        earlier.history.iter().map(|message| format!("{}: {}", message.role, message.content)).collect()
    }

    async fn say(sessions: &Sessions, id: &str, question: &str, answer: &str) {
        sessions.asked(id, "run", question).await.unwrap();
        sessions.answered(id, "run", Some((answer, &Origins::of(PAGE)))).await.unwrap();
    }

    #[tokio::test]
    async fn a_conversation_goes_on_after_a_restart_and_says_so_in_no_other_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let before = sessions(&folder, "/workspace", LIMITS);
        let id = before.begin().await.unwrap();
        assert!(before.earlier(&id).await.unwrap().0.is_empty());
        say(&before, &id, "What is it?", "A loom.").await;
        drop(before);
        let after = sessions(&folder, "/workspace", LIMITS);
        let (earlier, origins) = after.earlier(&id).await.unwrap();
        assert_eq!(said(&earlier), ["user: What is it?", "assistant: A loom."]);
        assert_eq!(origins.names(), [PAGE], "what it was made of is not forgotten");
        let elsewhere = sessions(&folder, "/elsewhere", LIMITS);
        assert!(elsewhere.earlier(&id).await.unwrap_err().message.contains("omit `session`"));
    }

    #[tokio::test]
    async fn a_question_is_answered_once_even_after_a_restart_and_one_whose_run_is_gone_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let before = sessions(&folder, "/workspace", LIMITS);
        let id = before.begin().await.unwrap();
        before.asked(&id, "one", "Which colour?").await.unwrap();
        before.asked(&id, "two", "Which size?").await.unwrap();
        assert_eq!(before.earlier(&id).await.unwrap(), (EarlierConversation::default(), Origins::default()));
        drop(before);
        let after = sessions(&folder, "/workspace", LIMITS);
        assert_eq!(after.open(&id).unwrap(), ["one", "two"]);
        after.answered(&id, "two", None).await.unwrap();
        after.answered(&id, "one", Some(("Blue.", &Origins::default()))).await.unwrap();
        after.answered(&id, "one", Some(("Red.", &Origins::default()))).await.unwrap();
        assert!(after.open(&id).unwrap().is_empty());
        let (earlier, _) = after.earlier(&id).await.unwrap();
        assert_eq!(said(&earlier), ["user: Which colour?", "assistant: Blue."]);
    }

    #[tokio::test]
    async fn a_conversation_that_rests_too_long_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let patient = sessions(&folder, "/workspace", LIMITS);
        let id = patient.begin().await.unwrap();
        let hasty = sessions(&folder, "/workspace", SessionLimits { age: Duration::ZERO, ..LIMITS });
        assert!(hasty.earlier(&id).await.unwrap_err().message.contains("expired"));
        assert!(patient.earlier(&id).await.is_ok());
        hasty.sweep().await;
        assert!(patient.earlier(&id).await.is_err());
    }

    #[tokio::test]
    async fn what_the_journal_cannot_do_is_no_fault_of_whoever_asks() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = sessions(&folder, "/workspace", LIMITS);
        assert_eq!(sessions.earlier("unknown").await.unwrap_err().kind, Kind::Usage);
        sessions.journal.clone().close().await;
        assert_eq!(sessions.begin().await.unwrap_err().kind, Kind::Failed);
        assert_eq!(sessions.earlier("unknown").await.unwrap_err().kind, Kind::Failed);
    }

    #[tokio::test]
    async fn beyond_the_most_the_one_that_rested_longest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = sessions(&folder, "/workspace", SessionLimits { most: 2, ..LIMITS });
        let (first, second) = (sessions.begin().await.unwrap(), sessions.begin().await.unwrap());
        assert_eq!((first.len(), first == second), (32, false));
        sessions.earlier(&first).await.unwrap();
        sessions.begin().await.unwrap();
        assert!(sessions.earlier(&first).await.is_ok() && sessions.earlier(&second).await.is_err());
    }

    #[tokio::test]
    async fn the_limits_of_a_workspace_leave_the_conversations_of_others_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (roomy, narrow) = (
            sessions(&folder, "/roomy", LIMITS),
            sessions(&folder, "/narrow", SessionLimits { most: 1, age: Duration::ZERO, ..LIMITS }),
        );
        let (first, second) = (roomy.begin().await.unwrap(), roomy.begin().await.unwrap());
        narrow.begin().await.unwrap();
        assert!(roomy.earlier(&first).await.is_ok() && roomy.earlier(&second).await.is_ok());
    }

    #[tokio::test]
    async fn a_conversation_remembers_only_its_last_turns() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = sessions(&folder, "/workspace", LIMITS);
        let id = sessions.begin().await.unwrap();
        for n in 0..=LIMITS.turns {
            say(&sessions, &id, &format!("question {n}."), &"x".repeat(LONGEST + 5)).await;
        }
        let (earlier, _) = sessions.earlier(&id).await.unwrap();
        assert_eq!(earlier.history.len(), 2 * LIMITS.turns);
        assert!(earlier.summary.starts_with("User: question 0.\nAnswer: xxx"), "{}", earlier.summary);
        assert!(earlier.history[1].content.ends_with("[…]"));
    }

    #[tokio::test]
    async fn what_earlier_versions_kept_in_files_is_taken_over_once() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("sessions");
        std::fs::create_dir(&old).unwrap();
        let id = "0123456789abcdef0123456789abcdef";
        let text = r#"{"workspace": "/workspace", "turns": [["What is it?", "A loom."]]}"#;
        std::fs::write(old.join(id), text).unwrap();
        std::fs::write(old.join("half.new"), "{").unwrap();
        let of_another = sessions(&folder, "/elsewhere", LIMITS);
        of_another.take_over(&old).await;
        let sessions = sessions(&folder, "/workspace", LIMITS);
        assert!(sessions.earlier(id).await.unwrap().0.history[1].content == "A loom." && !old.exists());
    }
}
