//! A run told as a response: each moment of the run becomes events, which are numbered from 0.
//!
//! The events depend on the journal and the kept request alone. Read again, they are the same with the same numbers, so
//! a number names a place in the journal, for every process that reads it.

use serde_json::{Value, json};
use updraft_run::{Status, TokenUsage};
use updraft_workbench::service::{NumberedMoment, RunMoment};

use super::response_body::{self, ResponseProgress, ResponseState};
use super::response_record::ResponseRecord;
use super::waits;

/// About how many bytes of an answer one event has.
const PIECE: usize = 160;

/// A response as far as it was told.
pub(super) struct ResponseStory {
    record: ResponseRecord,
    progress: ResponseProgress,
    /// The lines of the progress that is being told.
    lines: Option<Vec<String>>,
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
        let mut story = Self { record, progress, lines: None, origin: origin.to_owned(), next: 0, events: Vec::new() };
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

    /// Tells what a moment means.
    pub(super) fn take(&mut self, moment: &NumberedMoment) {
        if moment.position <= self.record.after {
            return;
        }
        self.progress.usage = moment.usage.clone();
        let seconds = moment.at.0.div_euclid(1_000);
        match &moment.moment {
            RunMoment::Progress(line) => self.line(line),
            RunMoment::Continues => {
                // The answer with which a response begins.
                if self.progress.state == ResponseState::Incomplete {
                    (self.progress.state, self.progress.completed) = (ResponseState::InProgress, None);
                    self.tell_state("response.in_progress");
                }
            }
            RunMoment::Asks(asked) => {
                self.end_lines();
                self.message(&waits::asked(&self.record.run, asked, &self.origin));
                for wait in asked.iter().filter(|wait| wait.is_approval) {
                    let item = response_body::approval(wait);
                    self.item(&item, &item);
                }
                self.rest(ResponseState::Incomplete, seconds, "response.incomplete");
            }
            RunMoment::Rests(why) => {
                self.end_lines();
                self.message(&waits::stopped(&self.record.run, why, &self.origin));
                self.rest(ResponseState::Incomplete, seconds, "response.incomplete");
            }
            RunMoment::Ends { status, answer, why } => {
                self.end_lines();
                if !answer.trim().is_empty() {
                    self.message(answer);
                }
                let (state, event) = match status {
                    Status::Done | Status::Unproved => (ResponseState::Completed, "response.completed"),
                    Status::Cancelled => (ResponseState::Cancelled, "response.incomplete"),
                    _ => (ResponseState::Failed, "response.failed"),
                };
                if state == ResponseState::Failed {
                    let why = if why.is_empty() { "the run ended without the result" } else { why };
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

    fn message(&mut self, text: &str) {
        let (index, id) = (self.progress.output.len(), self.item_id("msg"));
        let place = || json!({ "item_id": id, "output_index": index, "content_index": 0 });
        let with = |more: Value| {
            let mut event = place();
            if let (Value::Object(event), Value::Object(more)) = (&mut event, more) {
                event.extend(more);
            }
            event
        };
        let begun = response_body::message(&id, None);
        self.tell("response.output_item.added", json!({ "output_index": index, "item": begun }));
        self.tell("response.content_part.added", with(json!({ "part": response_body::output_text("") })));
        for piece in pieces(text) {
            self.tell("response.output_text.delta", with(json!({ "delta": piece, "logprobs": [] })));
        }
        self.tell("response.output_text.done", with(json!({ "text": text, "logprobs": [] })));
        self.tell("response.content_part.done", with(json!({ "part": response_body::output_text(text) })));
        let whole = response_body::message(&id, Some(text));
        self.tell("response.output_item.done", json!({ "output_index": index, "item": whole }));
        self.progress.output.push(whole);
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

/// A text in pieces that end after a space or a line, if there is one.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let (mut rest, mut pieces) = (text, Vec::new());
    while rest.len() > PIECE {
        let end = rest.floor_char_boundary(PIECE);
        let end = rest[..end].rfind([' ', '\n']).map_or(end, |at| at + 1);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use updraft_run::{RunId, Timestamp};

    use super::*;

    fn story() -> ResponseStory {
        let record = ResponseRecord {
            run: RunId::from_bits([7; 10]),
            after: 0,
            created: 1,
            model: "updraft".into(),
            instructions: None,
            previous: None,
            background: true,
            metadata: serde_json::Map::new(),
            input: Vec::new(),
        };
        ResponseStory::new(record, "http://127.0.0.1:7717")
    }

    fn at(position: u64, moment: RunMoment) -> NumberedMoment {
        NumberedMoment { position, at: Timestamp(5_000), usage: TokenUsage::default(), moment }
    }

    fn ends(status: Status, answer: &str) -> RunMoment {
        RunMoment::Ends { status, answer: answer.to_owned(), why: "why".to_owned() }
    }

    #[test]
    fn events_are_numbered_without_gaps_and_end_with_the_whole() {
        let mut told = story();
        told.take(&at(3, RunMoment::Progress("planned: 2 steps".into())));
        told.take(&at(5, RunMoment::Progress("a (coder) begins".into())));
        told.take(&at(9, ends(Status::Done, "A loom.")));
        let events = told.drain();
        let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
        assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
        let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
        assert_eq!(
            kinds[..4],
            ["response.created", "response.queued", "response.in_progress", "response.output_item.added"]
        );
        let last = events.last().unwrap();
        assert_eq!((last["type"].as_str(), &last["response"]), (Some("response.completed"), &told.body()));
        let body = told.body();
        assert_eq!(body["output"][0]["summary"][1]["text"], "a (coder) begins");
        assert_eq!(
            (&body["output"][1]["content"][0]["text"], &body["status"]),
            (&"A loom.".into(), &"completed".into())
        );
    }

    #[test]
    fn a_run_that_ends_otherwise_says_so() {
        for (status, word, event) in [
            (Status::Failed, "failed", "response.failed"),
            (Status::NotDone, "failed", "response.failed"),
            (Status::Cancelled, "cancelled", "response.incomplete"),
            (Status::Unproved, "completed", "response.completed"),
        ] {
            let mut told = story();
            told.take(&at(3, ends(status, "")));
            let body = told.body();
            assert_eq!((body["status"].as_str(), body["error"].is_object()), (Some(word), word == "failed"));
            assert_eq!(told.drain().last().unwrap()["type"], event);
        }
    }

    #[test]
    fn pieces_join_to_the_text_again() {
        for text in ["", "short", &"word ".repeat(200), &"ä".repeat(500), "a\nb"] {
            let pieces = pieces(text);
            assert_eq!(pieces.concat(), *text);
            assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= PIECE));
        }
    }
}
