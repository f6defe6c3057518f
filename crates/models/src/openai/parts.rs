//! Parses Chat Completions answers: chunks of a stream, or a whole answer.

use updraft_run::{FinishReason, TokenUsage};

use super::wire::{CallPart, ChatChunk, ChatDelta, ChatUsage, LenientText};
use crate::DeltaCallback;
use crate::answer_builder::AnswerBuilder;
use crate::dialect::{AnswerDecoder, read};
use crate::refusal;
use crate::retry::AttemptError;

/// Parses chunks. All other state is in the answer builder.
pub(super) struct ChatDecoder {
    /// The name that thoughts are marked with, if they are sent back.
    pub(super) thoughts_of: Option<String>,
}

impl AnswerDecoder for ChatDecoder {
    fn take(&mut self, data: &[u8], fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) -> Result<(), AttemptError> {
        if let Some(name) = self.thoughts_of.take_if(|_| !fold.reasoning.is_empty()) {
            fold.opaque.push(serde_json::json!({ "of": name }));
        }
        if data == b"[DONE]" {
            fold.done = true;
            return Ok(());
        }
        let chunk: ChatChunk<'_> = read(data)?;
        if let Some(error) = chunk.error.filter(|raw| raw.get() != "null") {
            return Err(refusal::in_stream(error.get()));
        }
        if let Some(used) = chunk.usage {
            fold.usage = usage_of(&used).or(fold.usage.take());
        }
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index.unwrap_or(0) == 0) {
            for part in [&choice.delta, &choice.message].into_iter().flatten() {
                add(part, fold, hear);
            }
            match choice.finish_reason.as_str() {
                "" => {}
                "length" => fold.finish = Some(FinishReason::Length),
                reason @ "content_filter" => fold.withhold(reason, ""),
                "error" => return Err(AttemptError::Cut("the server stopped with an error".to_owned())),
                _ => fold.finish = Some(FinishReason::Stop),
            }
        }
        Ok(())
    }
}

fn add(part: &ChatDelta<'_>, fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) {
    // A few servers fill both fields with the same text.
    let thought = [&part.reasoning_content, &part.reasoning].map(LenientText::as_str);
    fold.think(thought.into_iter().find(|text| !text.is_empty()).unwrap_or_default(), hear);
    fold.say(part.content.as_str(), hear);
    fold.say(part.refusal.as_str(), hear);
    for call in part.tool_calls.iter().flatten() {
        add_call(call, fold, hear);
    }
}

/// Adds to the call that a part continues: by its index; without an index the last call, unless an id shows that a new
/// one begins.
fn add_call(part: &CallPart<'_>, fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) {
    let id = part.id.as_str();
    let index = part.index.unwrap_or_else(|| fold.calls.last().map_or(0, |call| call.index));
    // Searched from the end: servers that give every call the index 0 begin each call with a new id.
    let found = fold.call_at(index).is_some_and(|call| id.is_empty() || call.id.is_empty() || call.id == id);
    let name = part.function.as_ref().map(|function| function.name.as_str()).unwrap_or_default();
    if !found {
        fold.call(index, id, name, hear);
    }
    let Some(call) = fold.call_at(index) else { return };
    if call.id.is_empty() {
        call.id.push_str(id);
    }
    if call.name.is_empty() && !name.is_empty() {
        call.name.push_str(name);
        hear(crate::Delta::Call(name));
    }
    if let Some(function) = &part.function {
        call.add(function.arguments.as_str());
    }
}

/// The token counts, if there are any.
fn usage_of(used: &ChatUsage) -> Option<TokenUsage> {
    let input = used.prompt_tokens?;
    let written = used.completion_tokens?;
    let reasoning = used.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens).unwrap_or(0);
    // Some servers count reasoning separately from the output, which the total shows.
    let beside = used.total_tokens.is_some_and(|total| total == input + written + reasoning) && reasoning > 0;
    Some(TokenUsage {
        input,
        output: written + if beside { reasoning } else { 0 },
        cached: used.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens).unwrap_or(0),
        reasoning,
        ..TokenUsage::default()
    })
}
