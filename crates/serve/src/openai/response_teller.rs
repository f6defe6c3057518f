//! The events of a response as frames, from a number on.

use serde_json::{Value, json};
use updraft_workbench::Fault;
use updraft_workbench::service::NumberedMoment;

use super::response_story::ResponseStory;
use super::run_stream::FrameTeller;
use crate::event_stream;

/// Tells a response.
pub(super) struct ResponseTeller {
    story: ResponseStory,
    /// The number of the last event that the client has.
    known: Option<u64>,
}

impl ResponseTeller {
    pub(super) fn new(story: ResponseStory, known: Option<u64>) -> Self {
        Self { story, known }
    }

    /// The events that the client does not have yet.
    fn fresh(&mut self, is_last: bool) -> String {
        let events = self.story.drain();
        let known = self.known;
        let is_fresh = |event: &&Value| known.is_none_or(|known| event["sequence_number"].as_u64() > Some(known));
        let frames: String = events.iter().filter(is_fresh).map(event_stream::event).collect();
        // Whoever knows an event that was never told, by another version for example, gets how it ended.
        let is_beyond = is_last && known.is_some_and(|known| known >= self.story.told());
        match events.last().filter(|_| is_beyond) {
            Some(last) => event_stream::event(last),
            None => frames,
        }
    }
}

impl FrameTeller for ResponseTeller {
    fn begin(&mut self) -> String {
        self.fresh(false)
    }

    fn take(&mut self, moment: &NumberedMoment, is_last: bool) -> String {
        self.story.take(moment);
        self.fresh(is_last)
    }

    fn hear(&mut self, text: &str) -> String {
        self.story.hear(text);
        self.fresh(false)
    }

    fn fail(&mut self, fault: Fault) -> String {
        let event = json!({ "type": "error", "code": "server_error", "message": fault.in_one_line(), "param": null,
                            "sequence_number": self.story.told() });
        event_stream::event(&event)
    }
}
