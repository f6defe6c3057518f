//! A run told as a response: each moment of the run becomes events, which are numbered from 0.
//!
//! The events depend on the journal and the kept request alone. Read again, they are the same with the same numbers, so
//! a number names a place in the journal, for every process that reads it. The pieces of an answer that is still being
//! written have the numbers that they will have once it is in the journal. If it never gets there, what comes next has a
//! number from which on none of these pieces can be, whether they were told or not.

use serde_json::{Value, json};
use updraft_run::{Status, TokenUsage};
use updraft_workbench::service::{NumberedMoment, RunMoment};

use super::answer_form::NO_OBJECT;
use super::answer_teller::{AnswerTeller, pieces};
use super::response_body::{self, MessageEnd, ResponseProgress, ResponseState};
use super::response_record::ResponseRecord;
use super::waits;

/// After an answer that broke off, numbers go on at the next multiple of this: more than an answer has pieces.
const STRIDE: u64 = 1_000_000;

/// A response as far as it was told.
pub(super) struct ResponseStory {
    record: ResponseRecord,
    progress: ResponseProgress,
    /// The lines of the progress that is being told.
    lines: Option<Vec<String>>,
    /// The answer that is being told, and the id of its message once that has begun.
    answer: AnswerTeller,
    message: Option<String>,
    /// Where the page is.
    origin: String,
    /// The number of the next event.
    next: u64,
    events: Vec<Value>,
}

impl ResponseStory {
    /// The beginning of a response.
    pub(super) fn new(record: ResponseRecord, origin: &str) -> Self {
        let state = if record.background { ResponseState::Queued } else { ResponseState::InProgress };
        let usage = TokenUsage::default();
        let progress = ResponseProgress { state, completed: None, error: None, output: Vec::new(), usage };
        let mut story = Self {
            record,
            progress,
            lines: None,
            answer: AnswerTeller::default(),
            message: None,
            origin: origin.to_owned(),
            next: 0,
            events: Vec::new(),
        };
        story.tell_state("response.created");
        if state == ResponseState::Queued {
            story.tell_state("response.queued");
            story.progress.state = ResponseState::InProgress;
        }
        story.tell_state("response.in_progress");
        story
    }

    /// The response as it is now.
    pub(super) fn body(&self) -> Value {
        response_body::body(&self.record, &self.progress)
    }

    /// Takes the events that were told since this was called last.
    pub(super) fn drain(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }

    /// How many events were told: the number of the next.
    pub(super) fn told(&self) -> u64 {
        self.next
    }

    /// Where the response stands.
    pub(super) fn state(&self) -> ResponseState {
        self.progress.state
    }

    /// Tells more of what is probably the answer: what a model has written of it so far.
    pub(super) fn hear(&mut self, text: &str) {
        let new = self.answer.hear(text);
        self.say(&new);
    }

    /// Tells what a moment means.
    pub(super) fn take(&mut self, moment: &NumberedMoment) {
        if moment.position <= self.record.after {
            return;
        }
        self.progress.usage = moment.usage.clone();
        let seconds = moment.at.0.div_euclid(1_000);
        match &moment.moment {
            RunMoment::Progress(line) => {
                self.end_remark();
                self.line(line);
            }
            RunMoment::Writes(draft) => {
                self.end_remark();
                self.answer.begin(draft);
            }
            RunMoment::Written { text, .. } => {
                let new = self.answer.complete(text);
                self.say(&new);
            }
            RunMoment::BreaksOff => self.break_off(),
            RunMoment::Continues => {
                // The answer with which a response begins.
                if self.progress.state == ResponseState::Incomplete {
                    (self.progress.state, self.progress.completed) = (ResponseState::InProgress, None);
                    self.tell_state("response.in_progress");
                }
            }
            RunMoment::Asks(asked) => {
                self.message(&waits::asked(&self.record.run, asked, &self.origin));
                for wait in asked.iter().filter(|wait| wait.is_approval) {
                    let item = response_body::approval(wait);
                    self.item(&item, &item);
                }
                self.rest(ResponseState::Incomplete, seconds, "response.incomplete");
            }
            RunMoment::Rests(why) => {
                self.message(&waits::stopped(&self.record.run, why, &self.origin));
                self.rest(ResponseState::Incomplete, seconds, "response.incomplete");
            }
            RunMoment::Ends { status, answer, why } => {
                let told = self.record.form().told(answer);
                self.finish(told.as_deref().unwrap_or_default());
                let (state, event) = match status {
                    Status::Done | Status::Unproved if told.is_some() => {
                        (ResponseState::Completed, "response.completed")
                    }
                    Status::Cancelled => (ResponseState::Cancelled, "response.incomplete"),
                    _ => (ResponseState::Failed, "response.failed"),
                };
                if state == ResponseState::Failed {
                    let unsaid = if told.is_none() { NO_OBJECT } else { "the run ended without the result" };
                    let why = if why.is_empty() { unsaid } else { why };
                    self.progress.error = Some(why.to_owned());
                }
                self.rest(state, seconds, event);
            }
        }
    }

    fn rest(&mut self, state: ResponseState, seconds: i64, event: &str) {
        (self.progress.state, self.progress.completed) = (state, Some(seconds));
        self.tell_state(event);
    }

    fn tell(&mut self, kind: &str, mut event: Value) {
        event["type"] = kind.into();
        event["sequence_number"] = self.next.into();
        self.next += 1;
        self.events.push(event);
    }

    fn tell_state(&mut self, kind: &str) {
        self.tell(kind, json!({ "response": self.body() }));
    }

    /// An id for the next item.
    fn item_id(&self, prefix: &str) -> String {
        let response = self.record.id();
        format!("{prefix}_{}_{}", response.trim_start_matches("resp_"), self.progress.output.len())
    }

    /// An item that is there at once.
    fn item(&mut self, begun: &Value, whole: &Value) {
        let index = self.progress.output.len();
        self.tell("response.output_item.added", json!({ "output_index": index, "item": begun }));
        self.tell("response.output_item.done", json!({ "output_index": index, "item": whole }));
        self.progress.output.push(whole.clone());
    }

    /// A message that is there at once.
    fn message(&mut self, text: &str) {
        self.end_remark();
        self.say(&pieces(text));
        self.end_message(text, MessageEnd::Answer);
    }

    /// The rest of the answer, or all of it in a message of its own if something else was told before.
    fn finish(&mut self, answer: &str) {
        let rest = self.answer.rest(answer).filter(|_| self.message.is_some());
        match rest {
            Some(rest) => {
                self.say(&rest);
                self.end_message(answer, MessageEnd::Answer);
            }
            None if answer.trim().is_empty() => {
                self.end_remark();
                self.end_lines();
            }
            None => self.message(answer),
        }
    }

    /// More of a message, which begins with that.
    fn say<T: AsRef<str>>(&mut self, pieces: &[T]) {
        for piece in pieces {
            if self.message.is_none() {
                self.end_lines();
                let (index, id) = (self.progress.output.len(), self.item_id("msg"));
                let begun = response_body::message(&id, "", MessageEnd::Open);
                self.tell("response.output_item.added", json!({ "output_index": index, "item": begun }));
                self.message = Some(id);
                self.tell_text("response.content_part.added", json!({ "part": response_body::output_text("") }));
            }
            self.tell_text("response.output_text.delta", json!({ "delta": piece.as_ref(), "logprobs": [] }));
        }
    }

    /// An event about the text of the message.
    fn tell_text(&mut self, kind: &str, mut event: Value) {
        event["item_id"] = self.message.as_deref().into();
        event["output_index"] = self.progress.output.len().into();
        event["content_index"] = 0.into();
        self.tell(kind, event);
    }

    /// What was told was said on the way and is not the answer.
    fn end_remark(&mut self) {
        let told = std::mem::take(&mut self.answer);
        if self.message.is_some() {
            self.end_message(told.told(), MessageEnd::Remark);
        }
    }

    /// The answer that was being written is void. Whoever reads the journal later knows nothing of its message.
    fn break_off(&mut self) {
        let told = std::mem::take(&mut self.answer);
        if self.message.is_some() {
            self.end_message(told.told(), MessageEnd::Broken);
            self.progress.output.pop();
        }
        self.next = (self.next / STRIDE + 1) * STRIDE;
    }

    fn end_message(&mut self, text: &str, how: MessageEnd) {
        self.tell_text("response.output_text.done", json!({ "text": text, "logprobs": [] }));
        self.tell_text("response.content_part.done", json!({ "part": response_body::output_text(text) }));
        let id = self.message.take().unwrap_or_default();
        let (index, whole) = (self.progress.output.len(), response_body::message(&id, text, how));
        self.tell("response.output_item.done", json!({ "output_index": index, "item": whole }));
        self.progress.output.push(whole);
        self.answer = AnswerTeller::default();
    }

    /// A line of progress, as a part of a summary.
    fn line(&mut self, line: &str) {
        let (index, id) = (self.progress.output.len(), self.item_id("rs"));
        if self.lines.is_none() {
            let begun = response_body::reasoning(&id, "in_progress", &[]);
            self.tell("response.output_item.added", json!({ "output_index": index, "item": begun }));
        }
        let lines = self.lines.get_or_insert_default();
        let number = lines.len();
        lines.push(line.to_owned());
        let place = json!({ "item_id": id, "output_index": index, "summary_index": number });
        let mut tell = |kind: &str, key: &str, value: Value| {
            let mut event = place.clone();
            event[key] = value;
            self.tell(kind, event);
        };
        tell("response.reasoning_summary_part.added", "part", response_body::summary_text(""));
        tell("response.reasoning_summary_text.delta", "delta", line.into());
        tell("response.reasoning_summary_text.done", "text", line.into());
        tell("response.reasoning_summary_part.done", "part", response_body::summary_text(line));
    }

    fn end_lines(&mut self) {
        let Some(lines) = self.lines.take() else { return };
        let (index, id) = (self.progress.output.len(), self.item_id("rs"));
        let whole = response_body::reasoning(&id, "completed", &lines);
        self.tell("response.output_item.done", json!({ "output_index": index, "item": whole }));
        self.progress.output.push(whole);
    }
}

#[cfg(test)]
#[path = "response_story_tests.rs"]
mod tests;
