//! Runs that programs order with everything that belongs to them: a conversation they keep themselves, and pictures.

use serde_json::Value;
use updraft_lenient::whole_object;
use updraft_run::{EarlierMessage, Goal, Input, Origins, RunId, RunMode};

use super::runs::{ENTRY_POINT, LiveRuns};
use crate::fault::Fault;
use crate::goal_pictures::pictures_of;
use crate::journal::new_id;
use crate::start::NewGoal;

/// Where the answers in a conversation come from that a program sends along.
const SENT_ANSWERS: &str = "earlier answers that a program has sent";

/// A goal from a program, and what comes with it.
#[derive(Clone, Debug, Default)]
pub struct ProgramOrder {
    /// What is asked.
    pub goal: String,
    /// What holds besides, in the words of the program; may be empty.
    pub instructions: String,
    /// One agent instead of a plan.
    pub agent: Option<String>,
    /// The conversation so far, oldest first.
    pub earlier: Vec<EarlierMessage>,
    /// Pictures that come with the goal: names and bytes.
    pub pictures: Vec<(String, Vec<u8>)>,
    /// The run that it follows up on.
    pub follows: Option<RunId>,
    /// JSON Schema of an object that the answer must be. One agent must be named.
    pub schema: Option<Value>,
}

/// The object that an answer is, as plain JSON: without the fence or the faults that are forgiven to models.
pub fn object_in(answer: &str) -> Option<String> {
    whole_object(answer).map(|object| Value::Object(object).to_string())
}

impl LiveRuns {
    /// Starts a run for a program. When this returns, the goal is on disk and the run continues in the background.
    pub async fn order_for_program(&self, order: ProgramOrder) -> Result<RunId, Fault> {
        let ProgramOrder { goal: asked, instructions, agent, earlier, pictures, follows, schema } = order;
        if asked.trim().is_empty() {
            return Err(Fault::usage("the goal is empty; say what you want done"));
        }
        if self.is_stopping() {
            return Err(Fault::failed("the server is stopping; ask again when it is back"));
        }
        let mode = agent.map_or(RunMode::Plan, RunMode::Agent);
        let mut goal = match instructions.trim() {
            "" => Goal { text: asked, mode, ..Goal::default() },
            instructions => Goal { text: format!("{instructions}\n\n{asked}"), asked, mode, ..Goal::default() },
        };
        ENTRY_POINT.clone_into(&mut goal.door);
        if let Some(last) = &follows {
            self.continue_conversation(&mut goal, last).await?;
        }
        for message in &earlier {
            goal.earlier.add(&message.role, &message.content);
        }
        if earlier.iter().any(|message| !message.is_users()) {
            // What an answer was made of is not known any more.
            goal.origins.merge(&Origins::of(SENT_ANSWERS));
        }
        goal.earlier.fold(self.settings().effective.memory.conversation());
        let (pictures, bytes) = pictures_of(pictures)?;
        goal.pictures = pictures;
        goal.answer_schema = schema;
        let id = new_id()?;
        let new = NewGoal { goal, pictures: bytes, ..NewGoal::default() };
        self.bench().check(&new, Vec::new())?;
        let handle = Box::pin(self.bench().start(id.clone(), new)).await?;
        self.drive_on(handle, None);
        Ok(id)
    }

    /// Cancels a run in the background because nobody waits for it any more. Does nothing while the service stops: the
    /// run is continued by the next process.
    pub fn abandon(&self, run: &RunId, by: &str) {
        if self.is_stopping() {
            return;
        }
        let (runs, id, by) = (self.clone(), run.clone(), by.to_owned());
        self.in_background(async move {
            // It may have ended by itself.
            let _ = runs.tell(&id, Input::Cancel { by, step: None }).await;
        });
    }
}
