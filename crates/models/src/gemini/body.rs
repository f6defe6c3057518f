//! Serialises messages, tools and settings for Gemini.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use updraft_run::{Message, Picture, ToolCall, ToolResult, ToolSpec};

use super::family::ThinkingConfig;
use super::signatures;

/// Writes messages as contents.
pub(super) struct ContentWriter<'a> {
    /// The provider and the model of the request.
    pub(super) name: &'a str,
    /// Whether calls must be signed.
    pub(super) wants_signatures: bool,
}

impl ContentWriter<'_> {
    /// One message; `None` if it is empty. There are only two roles: results belong to the user.
    pub(super) fn content<'a>(&self, message: &'a Message) -> Option<GeminiContent<'a>> {
        let (role, parts) = match message {
            Message::User(text) => ("user", vec![GeminiPart::text(if text.is_empty() { " " } else { text })]),
            Message::Assistant(answer) => ("model", signatures::parts_of(answer, self.name, self.wants_signatures)),
            Message::Results(results) => ("user", results.iter().map(GeminiPart::result).collect()),
            Message::Pictures(pictures) => ("user", pictures.iter().flat_map(GeminiPart::picture).collect()),
        };
        let says = parts.iter().any(|part| !part.is_empty());
        says.then_some(GeminiContent { role: Some(role), parts })
    }
}

#[derive(Serialize)]
pub(super) struct GeminiContent<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<GeminiPart<'a>>,
}

/// The system instruction.
pub(super) fn instruction(text: &str) -> GeminiContent<'_> {
    GeminiContent { role: None, parts: vec![GeminiPart::text(text)] }
}

/// One part of a content: text, a picture, a call or a result, and its signature.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiPart<'a> {
    #[serde(flatten)]
    holds: GeminiPartData<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum GeminiPartData<'a> {
    Text(&'a str),
    InlineData(InlineBlob<'a>),
    FunctionCall(GeminiCall<'a>),
    FunctionResponse(GeminiCallResult<'a>),
}

impl<'a> GeminiPart<'a> {
    fn of(holds: GeminiPartData<'a>) -> Self {
        Self { holds, thought_signature: None }
    }

    pub(super) fn text(text: &'a str) -> Self {
        Self::of(GeminiPartData::Text(text))
    }

    pub(super) fn call(call: &'a ToolCall) -> Self {
        Self::of(GeminiPartData::FunctionCall(GeminiCall { id: &call.id, name: allowed(&call.name), args: &call.args }))
    }

    fn result(result: &'a ToolResult) -> Self {
        let ToolResult { call, name, text, is_error } = result;
        let response = if *is_error { GeminiCallOutput::Error(text) } else { GeminiCallOutput::Output(text) };
        Self::of(GeminiPartData::FunctionResponse(GeminiCallResult { id: call, name: allowed(name), response }))
    }

    /// A picture after a text with its name.
    fn picture(picture: &'a Picture) -> [Self; 2] {
        let blob = InlineBlob { mime_type: &picture.mime, data: STANDARD.encode(&picture.bytes) };
        [Self::text(&picture.name), Self::of(GeminiPartData::InlineData(blob))]
    }

    pub(super) fn sign(&mut self, signature: &'a str) {
        self.thought_signature = Some(signature);
    }

    pub(super) fn is_signed(&self) -> bool {
        self.thought_signature.is_some()
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self.holds, GeminiPartData::FunctionCall(_))
    }

    fn is_empty(&self) -> bool {
        matches!(self.holds, GeminiPartData::Text("")) && !self.is_signed()
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineBlob<'a> {
    mime_type: &'a str,
    data: String,
}

#[derive(Debug, Serialize)]
struct GeminiCall<'a> {
    id: &'a str,
    name: Cow<'a, str>,
    #[serde(serialize_with = "as_object")]
    args: &'a Value,
}

#[derive(Debug, Serialize)]
struct GeminiCallResult<'a> {
    id: &'a str,
    name: Cow<'a, str>,
    response: GeminiCallOutput<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum GeminiCallOutput<'a> {
    Output(&'a str),
    Error(&'a str),
}

/// Arguments as an object; missing arguments become an empty one.
fn as_object<S: Serializer>(args: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    if args.is_object() { args.serialize(serializer) } else { Map::new().serialize(serializer) }
}

/// The name with forbidden characters replaced: a model may have called a tool that does not exist.
fn allowed(name: &str) -> Cow<'_, str> {
    let may = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | ':' | '-');
    let begins_well = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    if begins_well && name.len() <= 64 && name.chars().all(may) {
        return Cow::Borrowed(name);
    }
    let front = if begins_well { "" } else { "_" };
    let letters = name.chars().map(|letter| if may(letter) { letter } else { '_' });
    Cow::Owned(front.chars().chain(letters).take(64).collect())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiTools<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Value,
}

/// All tools, in one list of functions.
pub(super) fn tools(tools: &[ToolSpec]) -> [GeminiTools<'_>; 1] {
    let declared = tools.iter().map(|tool| FunctionDeclaration {
        name: &tool.name,
        description: &tool.description,
        parameters_json_schema: &tool.parameters,
    });
    [GeminiTools { function_declarations: declared.collect() }]
}

/// The generation settings.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerationConfig<'a> {
    pub(super) max_output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_json_schema: Option<&'a Value>,
    #[serde(rename = "thinkingConfig", skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<ThinkingConfig>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_tool_can_have_are_made_fit() {
        assert_eq!(allowed("mcp.read_file-2"), "mcp.read_file-2");
        assert_eq!(allowed("read file!"), "read_file_");
        assert_eq!(allowed("7zip"), "_7zip");
        assert_eq!(allowed(""), "_");
        assert_eq!(allowed(&"ä".repeat(100)).len(), 64);
    }
}
