//! Parses answers of Gemini: events of a stream, or a whole answer.

use updraft_run::{FinishReason, TokenUsage};

use super::signatures;
use super::wire::{Candidate, GeminiChunk, GeminiReplyPart, GeminiUsage, Modality};
use crate::DeltaCallback;
use crate::answer_builder::{AnswerBuilder, PartialArguments};
use crate::dialect::{AnswerDecoder, read};
use crate::refusal;
use crate::retry::AttemptError;

/// Parses events, and remembers the model and the token counts.
pub(super) struct GeminiDecoder {
    name: String,
    used: GeminiUsage,
}

impl GeminiDecoder {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), used: GeminiUsage::default() }
    }
}

impl AnswerDecoder for GeminiDecoder {
    fn take(&mut self, data: &[u8], fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) -> Result<(), AttemptError> {
        // Servers that do not support `alt=sse` send all events as one list.
        if data.trim_ascii_start().starts_with(b"[") {
            let all: Vec<GeminiChunk<'_>> = read(data)?;
            return all.into_iter().try_for_each(|chunk| self.add(chunk, fold, hear));
        }
        let chunk: GeminiChunk<'_> = read(data)?;
        self.add(chunk, fold, hear)
    }
}

impl GeminiDecoder {
    fn add(
        &mut self,
        chunk: GeminiChunk<'_>,
        fold: &mut AnswerBuilder,
        hear: DeltaCallback<'_>,
    ) -> Result<(), AttemptError> {
        if let Some(error) = chunk.error.filter(|raw| raw.get() != "null") {
            return Err(refusal::in_stream(error.get()));
        }
        if let Some(used) = chunk.usage_metadata {
            self.used.update(used);
            fold.usage = self.used.usage();
        }
        if let Some(feedback) = chunk.prompt_feedback.filter(|feedback| !feedback.block_reason.as_str().is_empty()) {
            fold.withhold(feedback.block_reason.as_str(), "");
        }
        for candidate in chunk.candidates.into_iter().flatten().filter(|one| one.index.unwrap_or(0) == 0) {
            let Candidate { content, finish_reason, finish_message, .. } = candidate;
            for part in content.and_then(|content| content.parts).into_iter().flatten() {
                self.add_part(part, fold, hear);
            }
            stop(finish_reason.as_str(), finish_message.as_str(), fold, hear)?;
        }
        Ok(())
    }

    fn add_part(&self, part: GeminiReplyPart<'_>, fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) {
        let signature = part.thought_signature.as_str();
        let (before, calls) = (fold.text.len(), fold.calls.len());
        if let Some(call) = part.function_call {
            fold.call(calls, call.id.as_str(), call.name.as_str(), hear).arguments = PartialArguments::Whole(call.args);
            if !signature.is_empty() {
                fold.opaque.push(signatures::signed_call(&self.name, before, calls, signature));
            }
        } else if part.thought == Some(true) {
            fold.think(part.text.as_str(), hear);
        } else {
            fold.say(part.text.as_str(), hear);
            if !signature.is_empty() {
                fold.opaque.push(signatures::signed_text(&self.name, before, fold.text.len(), calls, signature));
            }
        }
    }
}

/// Handles the finish reason. It is the same after a call as after any other answer.
fn stop(reason: &str, message: &str, fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) -> Result<(), AttemptError> {
    fold.finish = match reason {
        "" | "FINISH_REASON_UNSPECIFIED" => return Ok(()),
        "STOP" => Some(FinishReason::Stop),
        "MAX_TOKENS" | "CONTINUATION" => Some(FinishReason::Length),
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => {
            note_bad_call(reason, message, fold, hear)?;
            Some(FinishReason::Stop)
        }
        "MALFORMED_RESPONSE" | "TOO_MANY_TOOL_CALLS" | "MISSING_THOUGHT_SIGNATURE" => {
            return Err(AttemptError::Garbled(refusal::shorten(&format!("the model stopped with {reason} {message}"))));
        }
        // SAFETY, RECITATION and many more: each means that the rest is withheld.
        _ => {
            fold.withhold(reason, message);
            return Ok(());
        }
    };
    Ok(())
}

/// Handles a call that Google could not parse. If its name is visible, the model is told what was wrong, as for any
/// other call; otherwise the answer is useless.
fn note_bad_call(
    reason: &str,
    message: &str,
    fold: &mut AnswerBuilder,
    hear: DeltaCallback<'_>,
) -> Result<(), AttemptError> {
    let written = refusal::shorten(message);
    match called_name(message) {
        Some(name) => {
            let fault = format!("the call could not be read; write it as a function call with JSON: {written}");
            let index = fold.calls.len();
            fold.call(index, "", name, hear).arguments = PartialArguments::Unreadable(fault);
            Ok(())
        }
        // Then the fault is that the model called a tool that does not exist.
        None if !fold.calls.is_empty() => Ok(()),
        None => Err(AttemptError::Garbled(refusal::shorten(&format!("the model stopped with {reason} {written}")))),
    }
}

/// The tool's name in `Malformed function call: print(default_api.read(path='a'))` and in `… call:default_api:read{…}`.
fn called_name(message: &str) -> Option<&str> {
    let (_, written) = message.split_once("call:")?;
    let mut written = written.trim_start();
    for front in ["print(", "call:", "default_api.", "default_api:"] {
        written = written.strip_prefix(front).unwrap_or(written);
    }
    let end =
        written.find(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '_' | '-' | '.' | ':'))?;
    let (name, rest) = written.split_at(end);
    (!name.is_empty() && rest.starts_with(['(', '{'])).then_some(name)
}

impl GeminiUsage {
    fn update(&mut self, newer: GeminiUsage) {
        fn newest<T>(old: &mut Option<T>, new: Option<T>) {
            *old = new.or(old.take());
        }
        newest(&mut self.prompt_token_count, newer.prompt_token_count);
        newest(&mut self.tool_use_prompt_token_count, newer.tool_use_prompt_token_count);
        newest(&mut self.cached_content_token_count, newer.cached_content_token_count);
        newest(&mut self.candidates_token_count, newer.candidates_token_count);
        newest(&mut self.thoughts_token_count, newer.thoughts_token_count);
        newest(&mut self.prompt_tokens_details, newer.prompt_tokens_details);
    }

    /// The counts in our terms; `None` before the prompt has been counted. Thoughts are counted separately from the
    /// answer.
    fn usage(&self) -> Option<TokenUsage> {
        let reasoning = self.thoughts_token_count.unwrap_or(0);
        let shares = self.prompt_tokens_details.iter().flatten();
        let pictures = shares.filter(|share| share.modality == Some(Modality::Image));
        Some(TokenUsage {
            input: self.prompt_token_count? + self.tool_use_prompt_token_count.unwrap_or(0),
            output: self.candidates_token_count.unwrap_or(0) + reasoning,
            cached: self.cached_content_token_count.unwrap_or(0),
            pictures: pictures.filter_map(|share| share.token_count).sum(),
            reasoning,
            ..TokenUsage::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_found_in_a_call_that_cannot_be_read() {
        let cases = [
            ("Malformed function call: print(default_api.read_file(path='a'))", Some("read_file")),
            ("Malformed function call: call:default_api:read_file{path:a}", Some("read_file")),
            ("Malformed function call: call:search{query:\"x\"}", Some("search")),
            ("Malformed function call: print(157.3 * 1.04)", None),
            ("Malformed function call: Failed to parse", None),
            ("Malformed function call", None),
        ];
        for (message, name) in cases {
            assert_eq!(called_name(message), name, "{message}");
        }
    }
}
