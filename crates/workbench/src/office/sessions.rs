//! Conversations of several questions: bounded in number, length and age.

mod kept;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use updraft_run::Origins;

use crate::places::unguessable;
use kept::{Kept, Said};

/// How a question that goes on with a conversation is put.
const CONVERSATION: &str = include_str!("conversation.md");
/// How many conversations there may be, how long, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// How long a conversation may rest.
    pub age: Duration,
    /// How often those that have rested too long are let go.
    pub sweep: Duration,
    /// Conversations at once; beyond, the one that rested longest goes.
    pub most: usize,
    /// Questions that a conversation remembers.
    pub turns: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { age: Duration::from_mins(30), sweep: Duration::from_mins(1), most: 256, turns: 20 }
    }
}

/// Characters of one question or answer that are remembered.
const LONGEST: usize = 8_000;

/// The conversations there are. Reads and writes files, so it is not for an async function.
pub(super) struct Sessions {
    open: Mutex<BTreeMap<String, Session>>,
    kept: Kept,
    limits: SessionLimits,
}

struct Session {
    said: Said,
    last: Instant,
}

impl Sessions {
    /// Those of a workspace, kept in this folder.
    pub(super) fn new(folder: PathBuf, workspace: String, limits: SessionLimits) -> Self {
        Self { open: Mutex::default(), kept: Kept::new(folder, workspace, limits.age), limits }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new conversation. Nobody can guess its id.
    pub(super) fn begin(&self) -> Result<String, String> {
        let id = unguessable(16)?;
        self.take_in(&mut self.lock(), &id, Said::default());
        Ok(id)
    }

    /// Adds a conversation; beyond the most, the one that rested longest goes.
    fn take_in(&self, sessions: &mut BTreeMap<String, Session>, id: &str, said: Said) {
        while sessions.len() >= self.limits.most {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.last).map(|(id, _)| id.clone());
            let Some(oldest) = oldest else { break };
            sessions.remove(&oldest);
            self.kept.forget(&oldest);
        }
        sessions.insert(id.to_owned(), Session { said, last: Instant::now() });
    }

    /// A conversation that has not rested too long, wherever it is kept.
    fn known<'a>(&self, sessions: &'a mut BTreeMap<String, Session>, id: &str) -> Option<&'a mut Session> {
        if !sessions.contains_key(id)
            && let Some(said) = self.kept.read(id)
        {
            self.take_in(sessions, id, said);
        }
        sessions.get_mut(id).filter(|session| session.last.elapsed() < self.limits.age)
    }

    /// A question as it is put to the agents: with what was said before in this conversation, and where words of that came
    /// from: an answer may repeat what a page says, and is not the user's word for being in their question.
    pub(super) fn put(&self, id: &str, question: &str) -> Result<(String, Origins), String> {
        let mut sessions = self.lock();
        let session = self.known(&mut sessions, id);
        let session = session.ok_or("this session is not known or has expired; leave `session` out to begin anew")?;
        session.last = Instant::now();
        let turns = session.said.turns.iter().map(|(question, answer)| (question.as_str(), answer.as_str()));
        let text = with_conversation(question, &turns.collect::<Vec<_>>());
        Ok((text, session.said.origins.clone()))
    }

    /// Remembers that a run pursues a question. It may be answered when nobody waits for it any more.
    pub(super) fn asked(&self, id: &str, run: &str, question: &str) {
        let mut sessions = self.lock();
        if let Some(session) = self.known(&mut sessions, id) {
            let open = &mut session.said.open;
            open.push_back((run.to_owned(), short(question)));
            while open.len() > self.limits.turns {
                open.pop_front();
            }
            session.last = Instant::now();
            self.kept.write(id, &session.said);
        }
    }

    /// The runs whose answers are not known yet.
    pub(super) fn open(&self, id: &str) -> Vec<String> {
        let mut sessions = self.lock();
        let open = self.known(&mut sessions, id).map(|session| session.said.open.iter());
        open.into_iter().flatten().map(|(run, _)| run.clone()).collect()
    }

    /// Remembers what a question came to, and where words of the answer came from; without an answer, forgets it. What has
    /// gone, or was heard before, changes nothing.
    pub(super) fn answered(&self, id: &str, run: &str, answer: Option<(&str, &Origins)>) {
        let mut sessions = self.lock();
        let Some(session) = self.known(&mut sessions, id) else { return };
        let said = &mut session.said;
        let Some(at) = said.open.iter().position(|(open, _)| open == run) else { return };
        let Some((_, question)) = said.open.remove(at) else { return };
        if let Some((answer, origins)) = answer {
            said.origins.merge(origins);
            said.turns.push_back((question, short(answer)));
            while said.turns.len() > self.limits.turns {
                said.turns.pop_front();
            }
            session.last = Instant::now();
        }
        self.kept.write(id, &session.said);
    }

    /// Lets go of those that have rested too long.
    pub(super) fn sweep(&self) {
        self.lock().retain(|_, session| session.last.elapsed() < self.limits.age);
        self.kept.sweep();
    }
}

/// A question as it is put to the agents where it goes on with a conversation: with the questions and answers before it, the
/// oldest first, each cut to its size.
pub fn with_conversation(question: &str, turns: &[(&str, &str)]) -> String {
    if turns.is_empty() {
        return question.to_owned();
    }
    let said = turns.iter().map(|(question, answer)| format!("User: {}\n\nAnswer: {}", short(question), short(answer)));
    let said = said.collect::<Vec<_>>().join("\n\n");
    let (before, after) = CONVERSATION.trim().split_once("{said}").unwrap_or((CONVERSATION, ""));
    format!("{}{said}{after}", before.replace("{question}", question))
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

    const PAGE: &str = "https://a.example/page";

    /// Conversations whose folder goes with the first part.
    fn sessions() -> (tempfile::TempDir, Sessions) {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(folder.path().join("sessions"), "/workspace".to_owned(), SessionLimits::default());
        (folder, sessions)
    }

    #[test]
    fn a_conversation_goes_on_after_a_restart_and_says_so_in_no_other_workspace() {
        let (folder, before) = sessions();
        let id = before.begin().unwrap();
        say(&before, &id, "What is it?", "A loom.");
        let after = Sessions::new(folder.path().join("sessions"), "/workspace".to_owned(), SessionLimits::default());
        let (put, origins) = after.put(&id, "Who made it?").unwrap();
        assert!(put.contains("Answer: A loom."), "{put}");
        assert_eq!(origins.names(), [PAGE], "what it was made of is not forgotten");
        let elsewhere =
            Sessions::new(folder.path().join("sessions"), "/elsewhere".to_owned(), SessionLimits::default());
        assert!(elsewhere.put(&id, "Who made it?").unwrap_err().contains("leave `session` out"));
    }

    fn say(sessions: &Sessions, id: &str, question: &str, answer: &str) {
        sessions.asked(id, "run", question);
        sessions.answered(id, "run", Some((answer, &Origins::of(PAGE))));
    }

    #[test]
    fn a_question_is_answered_once_even_after_a_restart_and_one_whose_run_is_gone_is_forgotten() {
        let (folder, before) = sessions();
        let id = before.begin().unwrap();
        before.asked(&id, "one", "Which colour?");
        before.asked(&id, "two", "Which size?");
        assert_eq!(before.put(&id, "And now?").unwrap(), ("And now?".to_owned(), Origins::default()));
        let after = Sessions::new(folder.path().join("sessions"), "/workspace".to_owned(), SessionLimits::default());
        assert_eq!(after.open(&id), ["one", "two"]);
        after.answered(&id, "two", None);
        after.answered(&id, "one", Some(("Blue.", &Origins::default())));
        after.answered(&id, "one", Some(("Red.", &Origins::default())));
        assert!(after.open(&id).is_empty());
        let (put, _) = after.put(&id, "And now?").unwrap();
        assert!(put.contains("User: Which colour?\n\nAnswer: Blue."), "{put}");
        assert!(!put.contains("size") && !put.contains("Red"), "{put}");
    }

    #[test]
    fn a_question_is_put_with_what_was_said_before() {
        let (_folder, sessions) = sessions();
        let id = sessions.begin().unwrap();
        assert_eq!(sessions.put(&id, "What is it?").unwrap().0, "What is it?");
        say(&sessions, &id, "What is it?", "A loom.");
        let (put, _) = sessions.put(&id, "Who made it?").unwrap();
        assert!(put.starts_with("Who made it?"), "{put}");
        assert!(put.contains("User: What is it?\n\nAnswer: A loom."), "{put}");
    }

    #[test]
    fn ids_are_long_and_differ() {
        let (_folder, sessions) = sessions();
        let (one, other) = (sessions.begin().unwrap(), sessions.begin().unwrap());
        assert_eq!((one.len(), other.len()), (32, 32));
        assert_ne!(one, other);
    }

    #[tokio::test(start_paused = true)]
    async fn a_conversation_that_rests_too_long_is_gone() {
        let (_folder, sessions) = sessions();
        let id = sessions.begin().unwrap();
        tokio::time::advance(SessionLimits::default().age + Duration::from_secs(1)).await;
        assert!(sessions.put(&id, "Still there?").unwrap_err().contains("expired"));
        sessions.sweep();
        assert_eq!(sessions.lock().len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn beyond_the_most_the_one_that_rested_longest_goes() {
        let (_folder, sessions) = sessions();
        let first = sessions.begin().unwrap();
        for _ in 0..SessionLimits::default().most {
            tokio::time::advance(Duration::from_millis(1)).await;
            sessions.begin().unwrap();
        }
        assert_eq!(sessions.lock().len(), SessionLimits::default().most);
        assert!(sessions.put(&first, "?").is_err());
    }

    #[test]
    fn a_conversation_remembers_only_its_last_turns() {
        let (_folder, sessions) = sessions();
        let id = sessions.begin().unwrap();
        for n in 0..=SessionLimits::default().turns {
            say(&sessions, &id, &format!("question {n}."), &"x".repeat(LONGEST + 5));
        }
        let (put, _) = sessions.put(&id, "go on").unwrap();
        assert!(!put.contains("question 0.") && put.contains("question 1."));
        assert!(put.contains("[…]") && put.len() < (LONGEST + 100) * (SessionLimits::default().turns + 1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_limits_are_those_of_the_settings() {
        let folder = tempfile::tempdir().unwrap();
        let limits = SessionLimits { age: Duration::from_secs(5), most: 1, turns: 1, ..SessionLimits::default() };
        let sessions = Sessions::new(folder.path().join("sessions"), "/workspace".to_owned(), limits);
        let first = sessions.begin().unwrap();
        let id = sessions.begin().unwrap();
        assert!(sessions.put(&first, "?").is_err(), "there is room for one");
        say(&sessions, &id, "One?", "1.");
        say(&sessions, &id, "Two?", "2.");
        let (put, _) = sessions.put(&id, "And?").unwrap();
        assert!(put.contains("Two?") && !put.contains("One?"), "{put}");
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(sessions.put(&id, "Still there?").unwrap_err().contains("expired"));
    }
}
