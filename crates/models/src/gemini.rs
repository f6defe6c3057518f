//! The dialect of Google's `generateContent` API, through AI Studio with a key or in a Google Cloud project.

mod body;
mod family;
mod parts;
mod signatures;
mod wire;

use reqwest::header::{HeaderMap, HeaderValue};
use updraft_run::{Message, ThinkingEffort};

use self::family::GeminiFamily;
use crate::Prompt;
use crate::dialect::{AnswerDecoder, Dialect, field, push, separate};

/// The streaming `generateContent` API.
#[derive(Clone, Debug)]
pub(crate) struct GeminiDialect {
    /// The provider and the model, by which own signatures are recognised.
    pub(crate) name: String,
    pub(crate) model: String,
    pub(crate) place: GeminiService,
    pub(crate) temperature: Option<f64>,
}

/// The service that hosts the models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GeminiService {
    /// AI Studio.
    Studio,
    /// A project of Google Cloud.
    Cloud {
        project: String,
        location: String,
        /// The project that is charged, if the credentials name another.
        charged: Option<String>,
    },
}

/// The address of Google Cloud for a location.
pub(crate) fn cloud_base(location: &str) -> String {
    match location {
        "global" => "https://aiplatform.googleapis.com/v1".to_owned(),
        "us" | "eu" => format!("https://aiplatform.{location}.rep.googleapis.com/v1"),
        region => format!("https://{region}-aiplatform.googleapis.com/v1"),
    }
}

/// Whether a model accepts pictures, judged by its name; `None` for models other than Gemini.
pub(crate) fn sees(model: &str) -> Option<bool> {
    let rest = model.strip_prefix("gemini-")?;
    Some(!rest.starts_with("1.0") && rest != "pro" && !rest.contains("-tts"))
}

impl GeminiDialect {
    fn family(&self) -> GeminiFamily {
        GeminiFamily::of(&self.model)
    }

    fn config<'a>(&self, prompt: &Prompt<'a>) -> body::GenerationConfig<'a> {
        let fits = prompt.tools.is_empty() || self.takes_schema_beside_tools();
        let schema = prompt.schema.filter(|_| fits);
        body::GenerationConfig {
            max_output_tokens: self.cap(prompt),
            temperature: self.temperature,
            response_mime_type: schema.map(|_| "application/json"),
            response_json_schema: schema,
            thinking: self.family().thinking(prompt.think),
        }
    }
}

impl Dialect for GeminiDialect {
    fn path(&self) -> String {
        let Self { model, place, .. } = self;
        let is_whole = model.contains('/');
        match place {
            GeminiService::Studio if is_whole => format!("/{model}:streamGenerateContent?alt=sse"),
            GeminiService::Studio => format!("/models/{model}:streamGenerateContent?alt=sse"),
            GeminiService::Cloud { project, location, .. } => {
                let model = if is_whole { model.clone() } else { format!("publishers/google/models/{model}") };
                format!("/projects/{project}/locations/{location}/{model}:streamGenerateContent?alt=sse")
            }
        }
    }

    fn headers(&self, headers: &mut HeaderMap) {
        if let GeminiService::Cloud { charged: Some(charged), .. } = &self.place
            && let Ok(value) = HeaderValue::from_str(charged)
        {
            headers.insert("x-goog-user-project", value);
        }
    }

    fn begin(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()> {
        bytes.push(b'{');
        if !prompt.system.is_empty() {
            field(bytes, "systemInstruction", &body::instruction(prompt.system))?;
        }
        if !prompt.tools.is_empty() {
            field(bytes, "tools", &body::tools(prompt.tools))?;
        }
        separate(bytes);
        bytes.extend_from_slice(br#""contents":["#);
        Ok(())
    }

    fn message(&self, bytes: &mut Vec<u8>, message: &Message) -> serde_json::Result<()> {
        let writer = body::ContentWriter { name: &self.name, wants_signatures: self.family().wants_signatures() };
        // An empty message is left out: a content without parts is refused, but two contents of one role in a row are
        // accepted.
        match writer.content(message) {
            Some(content) => push(bytes, &content),
            None => Ok(()),
        }
    }

    fn finish(&self, bytes: &mut Vec<u8>, prompt: &Prompt<'_>) -> serde_json::Result<()> {
        bytes.push(b']');
        field(bytes, "generationConfig", &self.config(prompt))?;
        bytes.push(b'}');
        Ok(())
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::new(parts::GeminiDecoder::new(&self.name))
    }

    fn can_be_told_to_think(&self, prompt: &Prompt<'_>) -> bool {
        self.family().thinking(prompt.think).is_some()
    }

    fn room_to_think(&self, think: ThinkingEffort) -> u64 {
        self.family().room(think)
    }

    fn cap(&self, prompt: &Prompt<'_>) -> u64 {
        prompt.max_output.saturating_add(self.room_to_think(prompt.think)).min(self.family().most_output())
    }

    fn takes_schema_beside_tools(&self) -> bool {
        // Older models refuse a response type if functions are declared.
        matches!(self.family(), GeminiFamily::Level(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_location_has_an_address() {
        assert_eq!(cloud_base("global"), "https://aiplatform.googleapis.com/v1");
        assert_eq!(cloud_base("europe-west4"), "https://europe-west4-aiplatform.googleapis.com/v1");
        assert_eq!(cloud_base("eu"), "https://aiplatform.eu.rep.googleapis.com/v1");
    }

    #[test]
    fn models_that_see_are_told_by_their_names() {
        assert_eq!(sees("gemini-2.5-flash"), Some(true));
        assert_eq!(sees("gemini-1.0-pro"), Some(false));
        assert_eq!(sees("gemini-2.5-flash-preview-tts"), Some(false));
        assert_eq!(sees("gemma-3-27b-it"), None);
    }
}
