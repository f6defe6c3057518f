//! Parses answers of the Responses API: events of a stream, or a whole answer.

use serde_json::Value;
use serde_json::value::RawValue;
use updraft_run::{FinishReason, TokenUsage};

use super::saved_items::{SavedItem, SavedItemPlace, keep};
use super::wire::{OutputItem, ResponsesError, ResponsesEvent, ResponsesUsage, WholeResponse};
use crate::DeltaCallback;
use crate::answer_builder::{AnswerBuilder, PartialArguments};
use crate::dialect::{self, AnswerDecoder, garbled};
use crate::refusal::shorten;
use crate::retry::AttemptError;

/// Parses events.
pub(super) struct ResponsesDecoder {
    /// The model, whose thoughts are kept.
    own: String,
    /// The items that have begun, by index, with the position of each and the length of the reasoning at that time.
    begun: Vec<(usize, SavedItemPlace, usize)>,
}

impl ResponsesDecoder {
    pub(super) fn new(own: String) -> Self {
        Self { own, begun: Vec::new() }
    }

    fn begin(&mut self, index: usize, item: &OutputItem<'_>, fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) {
        let place = SavedItemPlace { text: fold.text.len(), calls: fold.calls.len() };
        self.begun.push((index, place, fold.reasoning.len()));
        let phase = item.phase.as_str();
        if !phase.is_empty() {
            fold.opaque.extend(keep(&self.own, place, SavedItem::Phase(phase)));
        }
        if item.kind.as_str() == "function_call" {
            fold.call(index, item.call_id.as_str(), item.name.as_str(), hear);
        }
    }

    /// An item is complete. Its content is used if no part of it arrived before.
    fn end(
        &mut self,
        index: usize,
        raw: &RawValue,
        fold: &mut AnswerBuilder,
        hear: DeltaCallback<'_>,
    ) -> Result<(), AttemptError> {
        let item: OutputItem<'_> = read(raw)?;
        if !self.begun.iter().any(|(begun, ..)| *begun == index) {
            self.begin(index, &item, fold, hear);
        }
        let Some((_, place, thought)) = self.begun.iter().copied().find(|(begun, ..)| *begun == index) else {
            return Ok(());
        };
        match item.kind.as_str() {
            "function_call" => write_arguments(index, item.arguments.as_str(), fold),
            "message" if fold.text.len() == place.text => {
                for part in item.content.iter().flatten() {
                    fold.say(part.text.as_str(), hear);
                    fold.say(part.refusal.as_str(), hear);
                }
            }
            "reasoning" => {
                if fold.reasoning.len() == thought {
                    let parts = item.summary.iter().flatten().chain(item.content.iter().flatten());
                    parts.for_each(|part| fold.think(part.text.as_str(), hear));
                }
                if !item.encrypted_content.as_str().is_empty() {
                    fold.opaque.extend(self.kept(place, raw));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn kept(&self, place: SavedItemPlace, raw: &RawValue) -> Option<Value> {
        let mut item: Value = serde_json::from_str(raw.get()).ok()?;
        // It is complete, whatever its status says.
        item.as_object_mut()?.remove("status");
        keep(&self.own, place, SavedItem::Item(&item))
    }

    /// Parses a whole answer.
    fn take_whole(
        &mut self,
        raw: &RawValue,
        fold: &mut AnswerBuilder,
        hear: DeltaCallback<'_>,
    ) -> Result<(), AttemptError> {
        let response: WholeResponse<'_> = read(raw)?;
        for (index, item) in response.output.iter().enumerate() {
            self.end(index, item, fold, hear)?;
        }
        close(response.status.as_str(), raw, fold)
    }
}

impl AnswerDecoder for ResponsesDecoder {
    fn take(&mut self, data: &[u8], fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) -> Result<(), AttemptError> {
        if data == b"[DONE]" {
            fold.done = true;
            return Ok(());
        }
        let event: ResponsesEvent<'_> = dialect::read(data)?;
        match event.kind.as_str() {
            "response.output_item.added" => {
                if let Some(item) = event.item {
                    self.begin(event.output_index, &read(item)?, fold, hear);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.end(event.output_index, item, fold, hear)?;
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => fold.say(event.delta.as_str(), hear),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                fold.think(event.delta.as_str(), hear);
            }
            "response.reasoning_summary_part.added" if !fold.reasoning.is_empty() => fold.think("\n\n", hear),
            "response.function_call_arguments.delta" => {
                if let Some(call) = fold.call_at(event.output_index) {
                    call.add(event.delta.as_str());
                }
            }
            "response.function_call_arguments.done" => {
                write_arguments(event.output_index, event.arguments.as_str(), fold);
            }
            kind @ ("response.completed" | "response.incomplete" | "response.failed") => {
                if let Some(response) = event.response {
                    close(kind.trim_start_matches("response."), response, fold)?;
                }
            }
            "error" => {
                let bare = ResponsesError { kind: event.kind, code: event.code, message: event.message };
                return Err(trouble_of(Some(&event.error.unwrap_or(bare))));
            }
            "" => {
                if let Some(fault) = event.error {
                    return Err(trouble_of(Some(&fault)));
                }
                if event.object.as_str() == "response" {
                    self.take_whole(dialect::read(data)?, fold, hear)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Handles the end of the response.
fn close(how: &str, raw: &RawValue, fold: &mut AnswerBuilder) -> Result<(), AttemptError> {
    let response: WholeResponse<'_> = read(raw)?;
    fold.usage = response.usage.as_ref().and_then(usage_of).or(fold.usage.take());
    let why = response.incomplete_details.as_ref().map(|why| why.reason.as_str()).unwrap_or_default();
    fold.finish = Some(match (how, why) {
        ("failed" | "cancelled", _) => return Err(trouble_of(response.error.as_ref())),
        ("incomplete", "content_filter") => {
            fold.withhold(why, "");
            FinishReason::Filtered
        }
        ("incomplete", _) => FinishReason::Length,
        _ => FinishReason::Stop,
    });
    fold.done = true;
    Ok(())
}

fn read<'a, T: serde::Deserialize<'a>>(raw: &'a RawValue) -> Result<T, AttemptError> {
    serde_json::from_str(raw.get()).map_err(|why| garbled(&why, raw.get().as_bytes()))
}

/// Replaces the pieces of the arguments with the whole.
fn write_arguments(index: usize, arguments: &str, fold: &mut AnswerBuilder) {
    if let Some(call) = fold.call_at(index).filter(|_| !arguments.is_empty()) {
        call.arguments = PartialArguments::Text(arguments.to_owned());
    }
}

/// The token counts, if there are any.
fn usage_of(used: &ResponsesUsage) -> Option<TokenUsage> {
    let read = used.input_tokens_details.as_ref();
    let written = used.output_tokens_details.as_ref();
    Some(TokenUsage {
        input: used.input_tokens?,
        output: used.output_tokens?,
        cached: read.and_then(|details| details.cached_tokens).unwrap_or(0),
        stored: read.and_then(|details| details.cache_write_tokens).unwrap_or(0),
        reasoning: written.and_then(|details| details.reasoning_tokens).unwrap_or(0),
        ..TokenUsage::default()
    })
}

/// Translates an error in a stream. Most codes mean that the request is at fault.
fn trouble_of(fault: Option<&ResponsesError<'_>>) -> AttemptError {
    let Some(fault) = fault else { return AttemptError::Cut("the server stopped with an error".to_owned()) };
    let (kind, code, words) = (fault.kind.as_str(), fault.code.as_str(), fault.message.as_str());
    let status = match code {
        "rate_limit_exceeded" | "insufficient_quota" | "slow_down" => 429,
        "server_error" | "vector_store_timeout" | "internal_error" => 500,
        "" if kind == "invalid_request_error" => 400,
        "" => return AttemptError::Cut(shorten(words)),
        code if code.contains("overload") || code.contains("timeout") || code.contains("unavailable") => 503,
        code => code.parse().ok().filter(|status| (400..600).contains(status)).unwrap_or(400),
    };
    let message = if words.contains(code) { words.to_owned() } else { format!("{code}: {words}") };
    AttemptError::of_status(status, shorten(&message), None)
}
