//! Reading an answer of Ollama: a line each, or the whole at once.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use updraft_run::{Finish, Usage};

use crate::Hear;
use crate::counts::count;
use crate::dialect::{Decode, garbled};
use crate::fold::{Arguments, Fold};
use crate::refusal;
use crate::retry::Trouble;
use crate::text::Text;

/// Reads lines.
pub(super) struct Parts {
    /// The model, by which its thoughts are known again.
    pub(super) name: String,
}

impl Decode for Parts {
    fn take(&mut self, data: &[u8], fold: &mut Fold, hear: Hear<'_>) -> Result<(), Trouble> {
        // A proxy that calls the lines one JSON document hands over all of them at once.
        for line in serde_json::Deserializer::from_slice(data).into_iter::<Line<'_>>() {
            self.add(line.map_err(|why| garbled(&why, data))?, fold, hear)?;
        }
        Ok(())
    }
}

impl Parts {
    fn add(&self, line: Line<'_>, fold: &mut Fold, hear: Hear<'_>) -> Result<(), Trouble> {
        if let Some(error) = line.error.filter(|raw| raw.get() != "null") {
            return Err(refusal::in_stream(error.get()));
        }
        if let Some(said) = line.message {
            fold.think(said.thinking.as_str(), hear);
            fold.say(said.content.as_str(), hear);
            for call in said.tool_calls.into_iter().flatten() {
                let index = fold.calls.len();
                let written = fold.call(index, call.id.as_str(), call.function.name.as_str(), hear);
                written.arguments = Arguments::Whole(call.function.arguments);
            }
        }
        if line.done.unwrap_or(false) {
            // Older servers leave out the prompt they still had in memory: then all is estimated.
            let output = line.eval_count.unwrap_or(0);
            fold.usage = line.prompt_eval_count.map(|input| Usage { input, output, ..Usage::default() });
            fold.finish = Some(if line.done_reason.as_str() == "length" { Finish::Length } else { Finish::Stop });
            fold.done = true;
            if !fold.reasoning.is_empty() {
                fold.opaque.push(json!({ "of": self.name }));
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(default, borrow)]
    message: Option<Said<'a>>,
    #[serde(default)]
    done: Option<bool>,
    #[serde(default, borrow)]
    done_reason: Text<'a>,
    #[serde(default, deserialize_with = "count")]
    prompt_eval_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    eval_count: Option<u64>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(default, borrow)]
    content: Text<'a>,
    #[serde(default, borrow)]
    thinking: Text<'a>,
    #[serde(default, borrow)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(default, borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(default, borrow)]
    name: Text<'a>,
    #[serde(default)]
    arguments: Value,
}
