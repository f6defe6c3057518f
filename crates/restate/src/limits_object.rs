//! The object `Limits`, one for each model and key: which requests were sent lately, so that all workers together stay
//! within what the provider allows.
//!
//! The time is that of the worker that Restate calls, which is the same one as long as it is there. It is read once: what
//! was decided is stored, and a request that comes again gets the same answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::invocation::{Command, Invocation};
use crate::runs_object::{HandlerFault, json, parse};

/// The name of the service. Every worker offers it, and the one that registered last is called.
pub(crate) const LIMITS: &str = "Limits";
/// The key of an object's state.
const BOOK: &str = "book";

/// How long a request counts, in milliseconds: a minute, and what it may take until the provider counts it.
const WINDOW: u64 = 65_000;
/// A running request of which nothing was heard for this long has been lost with its worker.
const LOST: u64 = 60_000;
/// When to ask again if it is not known when a running request ends.
const LOOK_AGAIN: u64 = 200;
/// A clock that was set back, or is another one, by more than this.
const CLOCK_CHANGE: u64 = 5_000;

/// What a provider allows. A missing limit means unlimited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitTerms {
    /// Requests per minute.
    pub requests: Option<u32>,
    /// Tokens per minute.
    pub tokens: Option<u64>,
    /// The least time between two requests, in milliseconds.
    pub spacing: u64,
    /// The most requests at the same time.
    pub concurrency: Option<u32>,
}

/// A request to a model that a worker wants to send.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AskRequest {
    /// An id that no other request has.
    pub(crate) id: String,
    /// How many tokens it is expected to use.
    pub(crate) tokens: u64,
    pub(crate) terms: LimitTerms,
}

/// A request to a model that is over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EndRequest {
    pub(crate) id: String,
    /// How many tokens it has used, if that is known.
    pub(crate) tokens: Option<u64>,
}

/// The state of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LimitBook {
    /// When it was changed last.
    now: u64,
    sent: Vec<SentRequest>,
    /// How many milliseconds to wait before asking again, for whoever asked last.
    wait: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SentRequest {
    id: String,
    at: u64,
    /// When its worker was last heard of it.
    heard: u64,
    tokens: u64,
    is_open: bool,
    /// When it ended, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<u64>,
}

impl LimitBook {
    /// Brings it to the present.
    fn pass_time(&mut self, now: u64) {
        if now + CLOCK_CHANGE < self.now {
            // How old requests are is known all the same.
            let back = self.now - now;
            for sent in &mut self.sent {
                (sent.at, sent.heard) = (sent.at.saturating_sub(back), sent.heard.saturating_sub(back));
                sent.ended = sent.ended.map(|ended| ended.saturating_sub(back));
            }
            self.now = now;
        }
        self.now = self.now.max(now);
        let now = self.now;
        for sent in &mut self.sent {
            sent.is_open &= now < sent.heard + LOST;
        }
        // Of one that has ended it may be heard later that it still runs: such a word can have been on its way.
        let has_just_ended = |sent: &SentRequest| sent.ended.is_some_and(|ended| now < ended + LOST);
        self.sent.retain(|sent| sent.is_open || now < sent.at + WINDOW || has_just_ended(sent));
    }

    /// Lets a request pass, or says how long to wait.
    fn ask(&mut self, request: AskRequest) {
        let AskRequest { id, tokens, terms } = request;
        self.wait = 0;
        let now = self.now;
        // It has passed already, and still runs, unless it has ended.
        if let Some(sent) = self.sent.iter_mut().find(|sent| sent.id == id) {
            (sent.heard, sent.is_open) = (now, sent.ended.is_none());
            return;
        }
        let mut recent: Vec<&SentRequest> = self.sent.iter().filter(|sent| now < sent.at + WINDOW).collect();
        recent.sort_by_key(|sent| sent.at);
        let mut waits = vec![0];
        if let Some(most) = terms.requests
            && let Some(over) = (recent.len() + 1).checked_sub(most.max(1) as usize).filter(|over| *over > 0)
        {
            waits.extend(recent.get(over - 1).map(|sent| sent.at + WINDOW - now));
        }
        if let Some(most) = terms.tokens {
            let mut used = recent.iter().map(|sent| sent.tokens).sum::<u64>();
            // One that is larger than the limit goes alone.
            for sent in &recent {
                if used + tokens <= most {
                    break;
                }
                used -= sent.tokens;
                waits.push(sent.at + WINDOW - now);
            }
        }
        if let Some(last) = recent.last() {
            waits.push((last.at + terms.spacing).saturating_sub(now));
        }
        let open = self.sent.iter().filter(|sent| sent.is_open).count();
        if terms.concurrency.is_some_and(|most| open >= most.max(1) as usize) {
            waits.push(LOOK_AGAIN);
        }
        self.wait = waits.into_iter().max().unwrap_or_default();
        if self.wait == 0 {
            self.sent.push(SentRequest { id, at: now, heard: now, tokens, is_open: true, ended: None });
        }
    }

    fn end(&mut self, request: &EndRequest) {
        self.wait = 0;
        for sent in self.sent.iter_mut().filter(|sent| sent.id == request.id) {
            (sent.is_open, sent.ended) = (false, Some(self.now));
            sent.tokens = request.tokens.unwrap_or(sent.tokens);
        }
    }
}

/// What a handler does, at this time in milliseconds.
pub(crate) fn carry_out(handler: &str, invocation: &Invocation, now: u64) -> Result<Vec<Command>, HandlerFault> {
    let book = if let Some(stored) = invocation.replayed.first() {
        parse(stored)?
    } else {
        let mut book: LimitBook = match invocation.state.get(BOOK) {
            Some(book) => parse(book)?,
            None => LimitBook::default(),
        };
        book.pass_time(now);
        match handler {
            "ask" => book.ask(parse(&invocation.input)?),
            _ => book.end(&parse(&invocation.input)?),
        }
        book
    };
    Ok(vec![Command::Set { key: BOOK, value: json(&book)? }, Command::Output(json(&book.wait)?)])
}

/// What `ask` answered: how long to wait before asking again, if the request may not be sent now.
pub(crate) fn wait_of(milliseconds: u64) -> Option<Duration> {
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(book: &mut LimitBook, id: &str, tokens: u64, terms: &LimitTerms, now: u64) -> u64 {
        book.pass_time(now);
        book.ask(AskRequest { id: id.into(), tokens, terms: terms.clone() });
        book.wait
    }

    #[test]
    fn requests_and_tokens_leave_the_window_after_a_minute() {
        let (mut book, terms) = (LimitBook::default(), LimitTerms { requests: Some(2), ..LimitTerms::default() });
        let mut ask = |id: &str, now| asked(&mut book, id, 0, &terms, now);
        assert_eq!([ask("a", 1_000), ask("b", 2_000), ask("c", 3_000)], [0, 0, WINDOW - 2_000]);
        assert_eq!(ask("a", 3_000), 0, "one that asks again has passed already");
        book.end(&EndRequest { id: "a".into(), tokens: None });
        let mut ask = |id: &str, now| asked(&mut book, id, 0, &terms, now);
        assert_eq!([ask("c", 1_000 + WINDOW - 1), ask("c", 1_000 + WINDOW)], [1, 0]);

        let (mut book, terms) = (LimitBook::default(), LimitTerms { tokens: Some(1_000), ..LimitTerms::default() });
        assert_eq!(asked(&mut book, "a", 600, &terms, 0), 0);
        assert_eq!(asked(&mut book, "b", 500, &terms, 1), WINDOW - 1);
        book.end(&EndRequest { id: "a".into(), tokens: Some(500) });
        assert_eq!(asked(&mut book, "b", 500, &terms, 2), 0, "it has used less");
        assert!(asked(&mut book, "large", 5_000, &terms, 3) > 0);
        book.end(&EndRequest { id: "b".into(), tokens: None });
        assert_eq!(asked(&mut book, "large", 5_000, &terms, 3 + WINDOW), 0, "it goes alone");
    }

    #[test]
    fn requests_are_spaced_and_no_more_run_at_once_than_allowed() {
        let terms = LimitTerms { spacing: 4_500, concurrency: Some(2), ..LimitTerms::default() };
        let mut book = LimitBook::default();
        assert_eq!(asked(&mut book, "a", 0, &terms, 0), 0);
        assert_eq!(asked(&mut book, "b", 0, &terms, 1_000), 3_500);
        assert_eq!(asked(&mut book, "b", 0, &terms, 4_500), 0);
        assert_eq!(asked(&mut book, "c", 0, &terms, 9_000), LOOK_AGAIN);
        book.end(&EndRequest { id: "a".into(), tokens: None });
        assert_eq!(asked(&mut book, "c", 0, &terms, 9_000), 0);
        assert_eq!(asked(&mut book, "b", 0, &terms, 60_000), 0, "it still runs");
        assert_eq!(asked(&mut book, "d", 0, &terms, 69_000), 0, "of c, nothing was heard");
        assert_eq!(asked(&mut book, "e", 0, &terms, 75_000), LOOK_AGAIN, "b and d run");
    }

    #[test]
    fn a_late_word_that_a_request_runs_does_not_reopen_it() {
        let terms = LimitTerms { concurrency: Some(1), ..LimitTerms::default() };
        // One that ended within the minute in which it counts, and one that ran for longer.
        for ended in [30_000, 100_000] {
            let mut book = LimitBook::default();
            for now in (0..=ended).step_by(20_000) {
                assert_eq!(asked(&mut book, "a", 0, &terms, now), 0);
            }
            book.pass_time(ended);
            book.end(&EndRequest { id: "a".into(), tokens: None });
            assert_eq!(asked(&mut book, "a", 0, &terms, ended + 10), 0, "it was on its way when the request ended");
            assert_eq!(asked(&mut book, "b", 0, &terms, ended + 20), 0, "the place is free");
            assert_eq!(asked(&mut book, "a", 0, &terms, ended + 30), 0);
            assert_eq!(asked(&mut book, "c", 0, &terms, ended + 40), LOOK_AGAIN, "b runs");
        }
    }

    #[test]
    fn one_that_was_taken_for_lost_and_is_heard_of_again_counts_again() {
        let terms = LimitTerms { concurrency: Some(1), ..LimitTerms::default() };
        let mut book = LimitBook::default();
        assert_eq!(asked(&mut book, "a", 0, &terms, 0), 0);
        book.pass_time(LOST);
        assert!(!book.sent[0].is_open);
        assert_eq!(asked(&mut book, "a", 0, &terms, LOST + 1), 0);
        assert_eq!(asked(&mut book, "b", 0, &terms, LOST + 2), LOOK_AGAIN);
    }

    #[test]
    fn another_clock_neither_frees_nor_blocks_anybody_for_long() {
        let (mut book, terms) = (LimitBook::default(), LimitTerms { requests: Some(1), ..LimitTerms::default() });
        assert_eq!(asked(&mut book, "a", 0, &terms, 10_000_000), 0);
        book.end(&EndRequest { id: "a".into(), tokens: None });
        assert_eq!(asked(&mut book, "b", 0, &terms, 6_000_000), WINDOW);
        assert_eq!(asked(&mut book, "b", 0, &terms, 6_000_000 + WINDOW), 0);
    }
}
