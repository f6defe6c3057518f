//! Parses answers of Anthropic: events of a stream, or a whole answer.

use updraft_run::{FinishReason, TokenUsage};

use super::thought::{ThoughtBlock, ThoughtPlace, kept};
use super::wire::{AnthropicBlock, AnthropicDelta, AnthropicError, AnthropicEvent, AnthropicUsage};
use crate::DeltaCallback;
use crate::answer_builder::{AnswerBuilder, PartialArguments};
use crate::dialect::{AnswerDecoder, read};
use crate::refusal::{in_stream, shorten};
use crate::retry::AttemptError;

/// Parses events.
pub(super) struct AnthropicDecoder {
    /// The model, whose thoughts are kept.
    own: String,
    /// Thoughts that are not complete yet.
    open: Vec<OpenThought>,
    used: AnthropicUsage,
}

/// A thought that is being received.
struct OpenThought {
    index: usize,
    place: ThoughtPlace,
    thinking: String,
    signature: String,
}

impl AnthropicDecoder {
    pub(super) fn new(own: String) -> Self {
        Self { own, open: Vec::new(), used: AnthropicUsage::default() }
    }

    fn begin(&mut self, index: usize, block: AnthropicBlock<'_>, fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) {
        let place = ThoughtPlace { text: fold.text.len(), calls: fold.calls.len() };
        match block.kind.as_str() {
            "text" => fold.say(block.text.as_str(), hear),
            "thinking" => {
                fold.think(block.thinking.as_str(), hear);
                let (thinking, signature) = (block.thinking.as_str().to_owned(), block.signature.as_str().to_owned());
                self.open.push(OpenThought { index, place, thinking, signature });
            }
            "redacted_thinking" => {
                fold.opaque.push(kept(&self.own, place, &ThoughtBlock::RedactedThinking { data: block.data.as_str() }));
            }
            "tool_use" => {
                let call = fold.call(index, block.id.as_str(), block.name.as_str(), hear);
                if let Some(input) = block.input {
                    call.arguments = PartialArguments::Whole(input);
                }
            }
            _ => {}
        }
    }

    fn go_on(&mut self, index: usize, delta: &AnthropicDelta<'_>, fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) {
        fold.say(delta.text.as_str(), hear);
        fold.think(delta.thinking.as_str(), hear);
        if let Some(open) = self.open.iter_mut().find(|open| open.index == index) {
            open.thinking.push_str(delta.thinking.as_str());
            open.signature.push_str(delta.signature.as_str());
        }
        let arguments = delta.partial_json.as_str();
        if let Some(call) = fold.call_at(index).filter(|_| !arguments.is_empty()) {
            call.add(arguments);
        }
    }

    /// A block is complete. A thought without a signature is dropped, because it would not be accepted later.
    fn end(&mut self, index: usize, fold: &mut AnswerBuilder) {
        let Some(at) = self.open.iter().position(|open| open.index == index) else { return };
        let OpenThought { place, thinking, signature, .. } = self.open.remove(at);
        if !signature.is_empty() {
            let thought = ThoughtBlock::Thinking { thinking: &thinking, signature: &signature };
            fold.opaque.push(kept(&self.own, place, &thought));
        }
    }

    fn count(&mut self, used: Option<AnthropicUsage>, fold: &mut AnswerBuilder) {
        let Some(used) = used else { return };
        let own = &mut self.used;
        own.input_tokens = used.input_tokens.or(own.input_tokens);
        own.output_tokens = used.output_tokens.or(own.output_tokens);
        own.cache_creation_input_tokens = used.cache_creation_input_tokens.or(own.cache_creation_input_tokens);
        own.cache_read_input_tokens = used.cache_read_input_tokens.or(own.cache_read_input_tokens);
        own.output_tokens_details = used.output_tokens_details.or(own.output_tokens_details.take());
        if own.input_tokens.is_some() && own.output_tokens.is_some() {
            fold.usage = Some(usage_of(own));
        }
    }
}

impl AnswerDecoder for AnthropicDecoder {
    fn take(&mut self, data: &[u8], fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) -> Result<(), AttemptError> {
        let event: AnthropicEvent<'_> = read(data)?;
        if let Some(error) = event.error.filter(|raw| raw.get() != "null") {
            return Err(trouble_of(error.get()));
        }
        match event.kind.as_str() {
            "message_start" => self.count(event.message.and_then(|message| message.usage), fold),
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.begin(event.index, block, fold, hear);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = &event.delta {
                    self.go_on(event.index, delta, fold, hear);
                }
            }
            "content_block_stop" => self.end(event.index, fold),
            "message_delta" => {
                self.count(event.usage, fold);
                if let Some(delta) = &event.delta {
                    stop(delta.stop_reason.as_str(), fold);
                }
            }
            "message_stop" => fold.done = true,
            "message" => {
                for (index, block) in event.content.into_iter().enumerate() {
                    self.begin(index, block, fold, hear);
                    self.end(index, fold);
                }
                self.count(event.usage, fold);
                stop(event.stop_reason.as_str(), fold);
            }
            _ => {}
        }
        Ok(())
    }
}

fn stop(reason: &str, fold: &mut AnswerBuilder) {
    match reason {
        "" => {}
        "max_tokens" | "model_context_window_exceeded" => fold.finish = Some(FinishReason::Length),
        "refusal" => fold.withhold(reason, ""),
        _ => fold.finish = Some(FinishReason::Stop),
    }
}

fn usage_of(used: &AnthropicUsage) -> TokenUsage {
    let cached = used.cache_read_input_tokens.unwrap_or(0);
    let stored = used.cache_creation_input_tokens.unwrap_or(0);
    let details = used.output_tokens_details.as_ref();
    TokenUsage {
        input: used.input_tokens.unwrap_or(0) + cached + stored,
        output: used.output_tokens.unwrap_or(0),
        cached,
        stored,
        reasoning: details.and_then(|details| details.thinking_tokens).unwrap_or(0),
        ..TokenUsage::default()
    }
}

/// Translates an error in a stream: it has the same meaning as the HTTP status for its kind.
fn trouble_of(error: &str) -> AttemptError {
    let Ok(fault) = serde_json::from_str::<AnthropicError<'_>>(error) else { return in_stream(error) };
    let status = match fault.kind.as_str() {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return in_stream(error),
    };
    AttemptError::of_status(status, shorten(fault.message.as_str()), None)
}
