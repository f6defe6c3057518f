//! A person's response to a question of a run. Several people may respond at once: the first response counts, and the
//! others are told which one that was.

use std::ops::ControlFlow;

use updraft_journal::{Journal, SendOutcome};
use updraft_run::{EffectAddress, EffectKind, Event, Input, Reply, Run, RunId, Timestamp};

use crate::Error;

/// How many characters of the first answer are shown to a person whose own answer came too late.
const SHOWN: usize = 80;

/// One person's response to one open question.
#[derive(Debug)]
pub struct PersonResponse<'a> {
    /// The journal of the run.
    pub journal: &'a Journal,
    /// The run.
    pub id: &'a RunId,
    /// The run as the person saw it, with the question still open.
    pub seen: &'a Run,
    /// The question's address.
    pub at: &'a EffectAddress,
    /// The response.
    pub input: &'a Input,
}

/// What happened to a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseStatus {
    /// It is in the inbox and waits for the run's owner. No other response to the question can overtake it.
    Waits,
    /// It counts: the run has received it, or the same response from someone else.
    Counts,
    /// Another response was first; for example "approved by Ann".
    Overtaken(String),
    /// The run no longer waits for a response.
    Unwanted,
}

impl PersonResponse<'_> {
    /// Puts the response into the inbox, unless another response to the same question is already waiting there. In that
    /// case, returns what that response says, and whether it is the same.
    pub async fn send(&self, now: Timestamp) -> Result<Option<(String, bool)>, Error> {
        loop {
            // The question's address is the key: the journal holds at most one response to each question.
            let sent = self.journal.send(self.id, &self.at.to_string(), self.input, now).await?;
            if sent != SendOutcome::Repeated {
                return Ok(None);
            }
            let inbox = self.journal.inbox(self.id)?;
            if let Some(first) = inbox.into_iter().find(|waiting| waiting.input.question() == Some(self.at)) {
                // The waiting response may itself be too late: then the run already has its answer.
                let reply = self.stands_in_journal()?.or_else(|| self.reply_to(&first.input));
                let words = reply.as_ref().map_or_else(|| "answered".to_owned(), |reply| self.describe(reply));
                return Ok(Some((words, reply.is_some_and(|reply| self.agrees_with(&reply)))));
            }
            // The waiting response was taken in the meantime, so ours goes in; `status` then tells which one counts.
        }
    }

    /// What happened to the response after it was sent.
    pub fn status(&self) -> Result<ResponseStatus, Error> {
        // Read first: an input leaves the inbox in the transaction that records its consequences.
        let waits = self.journal.inbox(self.id)?.iter().any(|waiting| waiting.input.question() == Some(self.at));
        Ok(match self.stands_in_journal()? {
            Some(reply) if self.agrees_with(&reply) => ResponseStatus::Counts,
            Some(reply) => ResponseStatus::Overtaken(self.describe(&reply)),
            None if waits => ResponseStatus::Waits,
            None => ResponseStatus::Unwanted,
        })
    }

    /// The reply to the question that the run has recorded.
    fn stands_in_journal(&self) -> Result<Option<Reply>, Error> {
        let mut stands = None;
        self.journal.read(self.id, 0, &mut |_, record| {
            stands = reply_at(record.events, self.at);
            if stands.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(stands)
    }

    /// The reply that the run would record for an input to this question.
    fn reply_to(&self, input: &Input) -> Option<Reply> {
        reply_at(self.seen.clone().advance(input.clone(), Timestamp(0)).events, self.at)
    }

    fn agrees_with(&self, stands: &Reply) -> bool {
        match (self.reply_to(self.input), stands) {
            // The person and the reason may differ; the consequences for later calls may not.
            (Some(Reply::Verdict(own)), Reply::Verdict(stands)) => {
                (own.allow, own.always) == (stands.allow, stands.always)
            }
            (own, stands) => own.as_ref() == Some(stands),
        }
    }

    fn describe(&self, reply: &Reply) -> String {
        let by = |who: &str| if who.is_empty() { String::new() } else { format!(" by {who}") };
        match reply {
            Reply::Verdict(verdict) => {
                let verb = match (self.at.kind == EffectKind::Approve, verdict.allow) {
                    (true, true) => "approved",
                    (true, false) => "denied",
                    (false, _) => "declined",
                };
                let always = if verdict.always.is_some() { ", and all such calls from now on" } else { "" };
                format!("{verb}{}{always}", by(&verdict.by))
            }
            Reply::Said(text) => {
                let cut = if text.chars().count() > SHOWN { "…" } else { "" };
                format!("answered with {:?}{cut}", text.chars().take(SHOWN).collect::<String>())
            }
            Reply::Cancelled => "dismissed without an answer".into(),
            _ => "closed, because the call that asked has ended".into(),
        }
    }
}

/// Whether a question stays open when the process that drove the run is gone. A question asked during a call is closed
/// with that call, unless the call is repeated: then it asks the same question and gets the answer.
pub fn outlives_its_process(run: &Run, question: &EffectAddress) -> bool {
    let mut next = run.clone();
    next.advance(Input::Recovered { found: Vec::new() }, Timestamp(0));
    next.open().contains_key(question)
}

fn reply_at(events: Vec<Event>, at: &EffectAddress) -> Option<Reply> {
    events.into_iter().find_map(|event| match event {
        Event::Replied { id, reply, .. } if id == *at => Some(reply),
        _ => None,
    })
}
