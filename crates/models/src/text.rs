//! Text in an answer, borrowed from the input unless it contains escapes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Text that servers also write as `null`, as a list of parts, or (for arguments) as the object itself.
#[derive(Debug, Default)]
pub(crate) struct LenientText<'a>(Cow<'a, str>);

impl LenientText<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LenientText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor).map(LenientText)
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
    text: LenientText<'a>,
}
