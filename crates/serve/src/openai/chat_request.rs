//! A request for a chat completion, read and checked.

use serde_json::Value;

use super::answer_form::AnswerForm;
use super::content::SentConversation;
use super::failure::OpenAiFailure;
use super::parameters;

/// What a client asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ChatRequest {
    pub(super) model: String,
    pub(super) stream: bool,
    /// Whether a stream ends with a chunk about usage.
    pub(super) with_usage: bool,
    /// The form of the answer.
    pub(super) form: AnswerForm,
    pub(super) conversation: SentConversation,
}

impl ChatRequest {
    /// Reads a request.
    pub(super) fn read(body: &Value) -> Result<Self, OpenAiFailure> {
        parameters::check(body)?;
        let mut request = Self {
            model: parameters::text(body, "model")?.unwrap_or_default().to_owned(),
            stream: parameters::switch(body, "stream")?,
            form: AnswerForm::of_chat(body)?,
            ..Self::default()
        };
        let options = &body["stream_options"];
        if !options.is_null() {
            if !request.stream {
                return Err(OpenAiFailure::invalid("stream_options", "`stream_options` needs `stream: true`"));
            }
            request.with_usage = parameters::switch(options, "include_usage")?;
        }
        let messages = body["messages"].as_array();
        let messages = messages.ok_or_else(|| OpenAiFailure::invalid("messages", "`messages` must be a list"))?;
        for (n, message) in messages.iter().enumerate() {
            let role = message["role"].as_str().unwrap_or_default();
            request.conversation.add(role, &message["content"], &format!("messages[{n}]"))?;
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_and_options_are_read_and_mistakes_named() {
        let messages = json!([{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "Hello" }]);
        let body = json!({ "model": "updraft", "messages": messages, "stream": true,
                           "stream_options": { "include_usage": true } });
        let request = ChatRequest::read(&body).unwrap();
        assert!(request.stream && request.with_usage && request.conversation.messages.len() == 1);
        let wrong = [
            (json!({}), "messages"),
            (json!({ "messages": [{ "role": "x", "content": "" }] }), "messages[0].role"),
            (json!({ "messages": [], "stream_options": {} }), "stream_options"),
            (json!({ "messages": [], "stream": 1 }), "stream"),
        ];
        for (body, param) in wrong {
            assert_eq!(ChatRequest::read(&body).unwrap_err().param.as_deref(), Some(param));
        }
    }
}
