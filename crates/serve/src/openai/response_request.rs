//! A request for a response, read and checked.

use serde_json::{Map, Value, json};

use super::answer_form::AnswerForm;
use super::content::SentConversation;
use super::failure::OpenAiFailure;
use super::parameters;
use super::response_record::kept_item;
use super::waits::WaitReply;

/// The most pairs of `metadata`, and the most characters of their names and values.
const MOST_PAIRS: usize = 16;
const LONGEST_NAME: usize = 64;
const LONGEST_VALUE: usize = 512;

/// What a client asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ResponseRequest {
    pub(super) model: String,
    pub(super) instructions: Option<String>,
    pub(super) previous: Option<String>,
    pub(super) background: bool,
    pub(super) stream: bool,
    pub(super) metadata: Map<String, Value>,
    /// The form of the answer, and as it was sent.
    pub(super) form: AnswerForm,
    pub(super) format: Option<Value>,
    pub(super) conversation: SentConversation,
    /// Decisions about calls of the run that is continued.
    pub(super) decisions: Vec<WaitReply>,
    /// The items as they came.
    items: Vec<Value>,
}

impl ResponseRequest {
    /// Reads a request.
    pub(super) fn read(body: &Value) -> Result<Self, OpenAiFailure> {
        parameters::check(body)?;
        let text = |name| parameters::text(body, name).map(|text| text.map(str::to_owned));
        let mut request = Self {
            model: text("model")?.unwrap_or_default(),
            instructions: text("instructions")?,
            previous: text("previous_response_id")?,
            background: parameters::switch(body, "background")?,
            stream: parameters::switch(body, "stream")?,
            metadata: metadata(&body["metadata"])?,
            form: AnswerForm::of_response(&body["text"]["format"])?,
            format: body["text"].get("format").filter(|format| !format.is_null()).cloned(),
            ..Self::default()
        };
        match &body["input"] {
            Value::String(text) => {
                let item = json!({ "type": "message", "role": "user", "content": text });
                request.item(&item, "input")?;
            }
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    request.item(item, &format!("input[{n}]"))?;
                }
            }
            _ => return Err(OpenAiFailure::invalid("input", "`input` must be a string or a list of items")),
        }
        Ok(request)
    }

    fn item(&mut self, item: &Value, param: &str) -> Result<(), OpenAiFailure> {
        match item["type"].as_str() {
            None | Some("message") => {
                let role = item["role"].as_str().unwrap_or_default();
                self.conversation.add(role, &item["content"], param)?;
            }
            Some("mcp_approval_response") => self.decisions.push(WaitReply::of_item(item, param)?),
            // What we have sent before and a client sends back: it was progress, or a question.
            Some("reasoning" | "mcp_approval_request") => return Ok(()),
            Some(other) => {
                return Err(OpenAiFailure::unsupported(
                    &format!("{param}.type"),
                    format!("an item `{other}` is not taken; items are messages and `mcp_approval_response`"),
                ));
            }
        }
        self.items.push(item.clone());
        Ok(())
    }

    /// The items as they are kept and shown again.
    pub(super) fn kept_items(&self, response: &str) -> Vec<Value> {
        let mark = response.trim_start_matches("resp_");
        let id = |item: &Value| if item["type"] == "mcp_approval_response" { "mcpa" } else { "msg" };
        self.items.iter().enumerate().map(|(n, item)| kept_item(item, format!("{}_{mark}_in{n}", id(item)))).collect()
    }
}

fn metadata(value: &Value) -> Result<Map<String, Value>, OpenAiFailure> {
    let wrong = || {
        let message = "`metadata` has at most 16 pairs of strings: names of 64 characters, values of 512";
        OpenAiFailure::invalid("metadata", message)
    };
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(pairs) => {
            let fits = |(name, value): (&String, &Value)| {
                let value = value.as_str().map(|value| value.chars().count());
                name.chars().count() <= LONGEST_NAME && value.is_some_and(|length| length <= LONGEST_VALUE)
            };
            if pairs.len() <= MOST_PAIRS && pairs.iter().all(fits) { Ok(pairs.clone()) } else { Err(wrong()) }
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_a_text_or_items_and_what_is_not_taken_is_named() {
        let read = |body: Value| ResponseRequest::read(&body);
        let plain = read(json!({ "model": "updraft", "input": "Hello" })).unwrap();
        assert_eq!(plain.conversation.messages[0].content, "Hello");
        let kept = plain.kept_items("resp_x");
        assert_eq!(kept[0]["content"], json!([{ "type": "input_text", "text": "Hello" }]));
        let items = json!([
            { "role": "developer", "content": "Be brief." },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Hi." }] },
            { "type": "reasoning", "id": "rs_1", "summary": [] },
            { "type": "mcp_approval_response", "approval_request_id": "mcpr_a/0/0/approve.0", "approve": true },
        ]);
        let several = read(json!({ "input": items, "metadata": { "a": "b" }, "background": true })).unwrap();
        assert_eq!(several.conversation.instructions, ["Be brief."]);
        assert_eq!((several.decisions.len(), several.items.len()), (1, 3));
        let wrong = [
            (json!({ "input": 5 }), "input"),
            (json!({ "input": [{ "type": "function_call_output" }] }), "input[0].type"),
            (json!({ "input": "x", "stream": "yes" }), "stream"),
            (json!({ "input": "x", "metadata": { "a": 1 } }), "metadata"),
            (json!({ "input": "x", "model": 1 }), "model"),
        ];
        for (body, param) in wrong {
            assert_eq!(read(body).unwrap_err().param.as_deref(), Some(param));
        }
    }
}
