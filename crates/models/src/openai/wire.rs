//! What a server sends, read where it lies: text is borrowed unless it holds escapes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// One event of a stream; a whole answer has the same shape, with `message` in place of `delta`.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(default, borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    pub(super) usage: Option<Used>,
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub(super) index: Option<u32>,
    #[serde(default, borrow)]
    pub(super) delta: Option<Part<'a>>,
    #[serde(default, borrow)]
    pub(super) message: Option<Part<'a>>,
    #[serde(default, borrow)]
    pub(super) finish_reason: Text<'a>,
}

/// A part of what the model says.
#[derive(Deserialize)]
pub(super) struct Part<'a> {
    #[serde(default, borrow)]
    pub(super) content: Text<'a>,
    #[serde(default, borrow)]
    pub(super) refusal: Text<'a>,
    /// As DeepSeek, llama.cpp and vLLM name it.
    #[serde(default, borrow)]
    pub(super) reasoning_content: Text<'a>,
    /// As OpenRouter and Ollama name it.
    #[serde(default, borrow)]
    pub(super) reasoning: Text<'a>,
    #[serde(default, borrow)]
    pub(super) tool_calls: Option<Vec<CallPart<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct CallPart<'a> {
    #[serde(default)]
    pub(super) index: Option<usize>,
    #[serde(default, borrow)]
    pub(super) id: Text<'a>,
    #[serde(default, borrow)]
    pub(super) function: Option<FunctionPart<'a>>,
}

#[derive(Deserialize)]
pub(super) struct FunctionPart<'a> {
    #[serde(default, borrow)]
    pub(super) name: Text<'a>,
    #[serde(default, borrow)]
    pub(super) arguments: Text<'a>,
}

#[derive(Deserialize)]
pub(super) struct Used {
    #[serde(default)]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(default)]
    pub(super) completion_tokens: Option<u64>,
    #[serde(default)]
    pub(super) prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    pub(super) completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize)]
pub(super) struct PromptDetails {
    #[serde(default)]
    pub(super) cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct CompletionDetails {
    #[serde(default)]
    pub(super) reasoning_tokens: Option<u64>,
}

/// Text that servers also write as `null`, as a list of parts, or (arguments) as the object it stands for.
#[derive(Debug, Default)]
pub(super) struct Text<'a>(Cow<'a, str>);

impl Text<'_> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor).map(Text)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut all = String::new();
        while let Some(part) = parts.next_element::<TextPart<'de>>()? {
            all.push_str(part.text.as_str());
        }
        Ok(Cow::Owned(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let object = serde_json::Map::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(Cow::Owned(serde_json::Value::Object(object).to_string()))
    }
}

#[derive(Deserialize)]
struct TextPart<'a> {
    #[serde(default, borrow)]
    text: Text<'a>,
}
