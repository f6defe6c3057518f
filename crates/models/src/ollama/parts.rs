//! Parses answers of Ollama: line by line, or a whole answer.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use updraft_run::{FinishReason, TokenUsage};

use crate::DeltaCallback;
use crate::answer_builder::{AnswerBuilder, PartialArguments};
use crate::counts::count;
use crate::dialect::{AnswerDecoder, garbled};
use crate::refusal;
use crate::retry::AttemptError;
use crate::text::LenientText;

/// Parses lines.
pub(super) struct OllamaDecoder {
    /// The model, by which its thoughts are recognised.
    pub(super) name: String,
}

impl AnswerDecoder for OllamaDecoder {
    fn take(&mut self, data: &[u8], fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) -> Result<(), AttemptError> {
        // A proxy that treats the lines as one JSON document delivers all of them at once.
        for line in serde_json::Deserializer::from_slice(data).into_iter::<OllamaLine<'_>>() {
            self.add(line.map_err(|why| garbled(&why, data))?, fold, hear)?;
        }
        Ok(())
    }
}

impl OllamaDecoder {
    fn add(&self, line: OllamaLine<'_>, fold: &mut AnswerBuilder, hear: DeltaCallback<'_>) -> Result<(), AttemptError> {
        if let Some(error) = line.error.filter(|raw| raw.get() != "null") {
            return Err(refusal::in_stream(error.get()));
        }
        if let Some(said) = line.message {
            fold.think(said.thinking.as_str(), hear);
            fold.say(said.content.as_str(), hear);
            for call in said.tool_calls.into_iter().flatten() {
                let index = fold.calls.len();
                let written = fold.call(index, call.id.as_str(), call.function.name.as_str(), hear);
                written.arguments = PartialArguments::Whole(call.function.arguments);
            }
        }
        if line.done.unwrap_or(false) {
            // Older servers do not count a prompt that they still had in memory: then all counts are estimated.
            let output = line.eval_count.unwrap_or(0);
            fold.usage = line.prompt_eval_count.map(|input| TokenUsage { input, output, ..TokenUsage::default() });
            fold.finish =
                Some(if line.done_reason.as_str() == "length" { FinishReason::Length } else { FinishReason::Stop });
            fold.done = true;
            if !fold.reasoning.is_empty() {
                fold.opaque.push(json!({ "of": self.name }));
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct OllamaLine<'a> {
    #[serde(default, borrow)]
    message: Option<OllamaReply<'a>>,
    #[serde(default)]
    done: Option<bool>,
    #[serde(default, borrow)]
    done_reason: LenientText<'a>,
    #[serde(default, deserialize_with = "count")]
    prompt_eval_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    eval_count: Option<u64>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct OllamaReply<'a> {
    #[serde(default, borrow)]
    content: LenientText<'a>,
    #[serde(default, borrow)]
    thinking: LenientText<'a>,
    #[serde(default, borrow)]
    tool_calls: Option<Vec<OllamaReplyCall<'a>>>,
}

#[derive(Deserialize)]
struct OllamaReplyCall<'a> {
    #[serde(default, borrow)]
    id: LenientText<'a>,
    #[serde(borrow)]
    function: OllamaReplyFunction<'a>,
}

#[derive(Deserialize)]
struct OllamaReplyFunction<'a> {
    #[serde(default, borrow)]
    name: LenientText<'a>,
    #[serde(default)]
    arguments: Value,
}
