//! The form that a client wants of an answer: text, or an object that fits a JSON Schema.

use serde_json::{Value, json};
use updraft_workbench::service::object_in;

use super::failure::OpenAiFailure;

/// Why an answer is not given that has another form.
pub(super) const NO_OBJECT: &str = "the answer is not the JSON object that was asked for";

/// The form of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AnswerForm {
    /// The schema of the object that is wanted; absent for text.
    schema: Option<Value>,
}

impl AnswerForm {
    /// As `response_format` of a chat says.
    pub(super) fn of_chat(request: &Value) -> Result<Self, OpenAiFailure> {
        let format = &request["response_format"];
        Self::read("response_format", format, "json_schema.", &format["json_schema"])
    }

    /// As a `text.format` of a response says.
    pub(super) fn of_response(format: &Value) -> Result<Self, OpenAiFailure> {
        Self::read("text.format", format, "", format)
    }

    fn read(param: &str, format: &Value, place: &str, details: &Value) -> Result<Self, OpenAiFailure> {
        match format["type"].as_str() {
            None if format.is_null() => Ok(Self::default()),
            Some("text") => Ok(Self::default()),
            Some("json_object") => Ok(Self { schema: Some(json!({ "type": "object" })) }),
            Some("json_schema") => {
                let schema = &details["schema"];
                let is_of_object = schema.is_object() && matches!(schema["type"].as_str(), Some("object"));
                if is_of_object {
                    return Ok(Self { schema: Some(schema.clone()) });
                }
                let message = "the schema must be that of an object: `\"type\": \"object\"` at its top";
                Err(OpenAiFailure::invalid(&format!("{param}.{place}schema"), message))
            }
            _ => {
                let message = format!("`{param}` is `text`, `json_object` or `json_schema`");
                Err(OpenAiFailure::invalid(&format!("{param}.type"), message))
            }
        }
    }

    /// The schema for the run, if the model that was named can keep to one.
    pub(super) fn schema_for(&self, agent: Option<&str>, param: &str) -> Result<Option<Value>, OpenAiFailure> {
        if self.schema.is_some() && agent.is_none() {
            return Err(OpenAiFailure::unsupported(
                param,
                format!("with the model `updraft`, `{param}` is text: name one agent, such as `updraft/thinker`"),
            ));
        }
        Ok(self.schema.clone())
    }

    /// What an agent is told about it.
    pub(super) fn instruction(&self) -> Option<String> {
        let schema = self.schema.as_ref()?;
        Some(format!("Answer with one JSON object and nothing around it. It fits this JSON Schema: {schema}"))
    }

    /// An answer in this form; `None` if it has another.
    pub(super) fn told(&self, answer: &str) -> Option<String> {
        if self.schema.is_some() { object_in(answer) } else { Some(answer.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_wanted_by_a_schema_or_without_one() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        let chat = |format: Value| AnswerForm::of_chat(&json!({ "response_format": format }));
        assert_eq!(chat(Value::Null), Ok(AnswerForm::default()));
        assert_eq!(chat(json!({ "type": "text" })), Ok(AnswerForm::default()));
        let by_schema =
            chat(json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": schema } })).unwrap();
        let format = json!({ "type": "json_schema", "name": "x", "schema": schema });
        assert_eq!(AnswerForm::of_response(&format).as_ref(), Ok(&by_schema));
        assert_eq!(by_schema.schema_for(Some("thinker"), "x"), Ok(Some(schema)));
        assert_eq!(by_schema.schema_for(None, "x").unwrap_err().code, "unsupported_parameter");
        assert_eq!(by_schema.told("```json\n{\"a\": \"b\",}\n```").as_deref(), Some("{\"a\":\"b\"}"));
        assert_eq!(by_schema.told("A loom."), None);
        let any = chat(json!({ "type": "json_object" })).unwrap();
        assert!(any.instruction().is_some() && AnswerForm::default().instruction().is_none());
        assert_eq!(AnswerForm::default().told("A loom.").as_deref(), Some("A loom."));
        let wrong = [
            (json!({ "type": "grammar" }), "response_format.type"),
            (json!("text"), "response_format.type"),
            (json!({ "type": "json_schema" }), "response_format.json_schema.schema"),
            (
                json!({ "type": "json_schema", "json_schema": { "schema": { "type": "array" } } }),
                "response_format.json_schema.schema",
            ),
        ];
        for (format, param) in wrong {
            assert_eq!(chat(format).unwrap_err().param.as_deref(), Some(param));
        }
    }
}
