//! A run told as the chunks of a chat completion.

use std::sync::Arc;

use serde_json::json;
use updraft_workbench::Fault;
use updraft_workbench::service::{NumberedMoment, RunMoment};

use super::OpenAiState;
use super::answer_teller::AnswerTeller;
use super::chat::answer;
use super::chat_body::ChatHead;
use super::failure::OpenAiFailure;
use super::run_stream::FrameTeller;
use crate::event_stream::data;

/// Separates what turned out not to be the answer from what follows.
const SEPARATOR: &str = "\n\n---\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// Tells a run.
pub(super) struct ChatTeller {
    state: Arc<OpenAiState>,
    head: ChatHead,
    teller: AnswerTeller,
    /// Whether the content so far ends with something that is not the answer.
    has_strayed: bool,
}

impl ChatTeller {
    pub(super) fn new(state: Arc<OpenAiState>, head: ChatHead) -> Self {
        Self { state, head, teller: AnswerTeller::default(), has_strayed: false }
    }

    fn chunk(&self, name: &str, text: &str) -> String {
        data(&self.head.chunk(&json!({ name: text }), None))
    }

    fn content<T: AsRef<str>>(&mut self, pieces: &[T]) -> String {
        let mut frames = String::new();
        if !pieces.is_empty() && std::mem::take(&mut self.has_strayed) {
            frames += &self.chunk("content", SEPARATOR);
        }
        frames.extend(pieces.iter().map(|piece| self.chunk("content", piece.as_ref())));
        frames
    }

    /// What was told is not the answer.
    fn stray(&mut self) {
        self.has_strayed |= !self.teller.told().is_empty();
        self.teller = AnswerTeller::default();
    }

    fn end(&mut self, moment: &NumberedMoment) -> String {
        let text = match answer(&self.head, &moment.moment, &self.state) {
            Ok(text) => text,
            Err(failure) => return failed(&failure),
        };
        if self.teller.rest(&text).is_none() {
            self.stray();
        }
        let rest = self.teller.rest(&text).unwrap_or_default();
        let mut frames = self.content(&rest);
        frames += &data(&self.head.chunk(&json!({}), Some("stop")));
        if self.head.with_usage {
            frames += &data(&self.head.usage_chunk(&moment.usage));
        }
        frames + DONE
    }
}

impl FrameTeller for ChatTeller {
    fn begin(&mut self) -> String {
        data(&self.head.chunk(&json!({ "role": "assistant", "content": "" }), None))
    }

    fn take(&mut self, moment: &NumberedMoment, is_last: bool) -> String {
        if is_last {
            return self.end(moment);
        }
        match &moment.moment {
            RunMoment::Progress(line) => return self.chunk("reasoning_content", &format!("{line}\n")),
            RunMoment::Written { text, calls: false } => {
                let pieces = self.teller.complete(text);
                return self.content(&pieces);
            }
            RunMoment::Writes(draft) => {
                self.stray();
                self.teller.begin(draft);
            }
            RunMoment::Written { calls: true, .. } | RunMoment::BreaksOff => self.stray(),
            RunMoment::Asks(_) | RunMoment::Rests(_) | RunMoment::Continues | RunMoment::Ends { .. } => {}
        }
        String::new()
    }

    fn hear(&mut self, text: &str) -> String {
        let pieces = self.teller.hear(text);
        self.content(&pieces)
    }

    fn fail(&mut self, fault: Fault) -> String {
        failed(&fault.into())
    }
}

fn failed(failure: &OpenAiFailure) -> String {
    format!("{}{DONE}", data(&failure.body()))
}
