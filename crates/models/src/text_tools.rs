//! Tools for models without tool support: described in the prompt, and called by JSON that is constrained by a schema.
//!
//! Some servers silently drop `tools`, because the model's template has no place for them. Such a model gets a
//! description of each tool with its arguments and one worked example, and its answer is constrained to "a call of one
//! of these, or the answer": the examples convey the meaning, the schema enforces the form, and a small model needs
//! both.

mod bounds;
mod episodes;
mod example;
mod required;
mod worked_examples;

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use updraft_lenient::{JsonFault, repair};
use updraft_run::{FinishReason, Message, ModelAnswer, ToolCall, ToolSpec};

pub(crate) use self::bounds::StringBounds;
use self::episodes::episodes;
pub(crate) use self::episodes::result_in_words;
use self::required::{is_needed, needed};
use self::worked_examples::{WorkedExample, first_sentence, turns};
use crate::Prompt;
use crate::features::{ModelFeatures, written_in_order};
use crate::member_order::in_order;

const PROTOCOL: &str = include_str!("text_tools/tools.md");

/// A prompt with its tools described in text.
pub(crate) struct ToolTextPrompt {
    system: String,
    schema: Value,
    /// The conversation, after an example conversation, with its calls written out.
    messages: Vec<Message>,
}

impl ToolTextPrompt {
    pub(crate) fn new(prompt: &Prompt<'_>, manner: ModelFeatures) -> Self {
        let is_small = manner.is_small();
        let bounds = StringBounds::within(prompt.max_output);
        let bound = |schema: &Value| if manner.local { bounds.on(schema) } else { schema.clone() };
        let must_call = is_small && is_first(prompt);
        let told: Vec<ToolSpec> = prompt.tools.iter().map(|tool| as_told(tool, is_small)).collect();
        let mut system = format!("{}\n\n{}", prompt.system, PROTOCOL).trim().to_owned();
        let mut ways = Vec::with_capacity(told.len() + 1);
        let mut shown = Vec::with_capacity(told.len());
        for tool in &told {
            let parameters = &tool.parameters;
            let example = WorkedExample::of(tool, parameters);
            let (name, whole) = (&tool.name, tool.description.trim());
            let (about, lines) = if is_small {
                (format!("{}.", first_sentence(whole)), String::new())
            } else {
                (whole.to_owned(), example.lines())
            };
            let _ = write!(system, "\n\n## {name}\n\n{about}{}{lines}", listed(parameters));
            shown.push(example);
            ways.push(object_of([
                ("action".to_owned(), json!({ "const": tool.name })),
                ("args".to_owned(), bound(parameters)),
            ]));
        }
        let answer = match (prompt.schema, prompt.brief.writes.as_slice()) {
            (Some(schema), _) => bound(schema),
            (None, []) => any_text(manner.local, bounds),
            (None, names) => object_of(names.iter().map(|name| (name.clone(), any_value(manner.local, bounds)))),
        };
        let names: Vec<&str> = told.iter().map(|tool| tool.name.as_str()).collect();
        let tasks = if is_small && answer["type"] == "string" { episodes(&names) } else { None };
        let in_order = |message: &Message| with_calls_in_order(message, &told);
        let mut messages = match tasks {
            Some(tasks) => tasks,
            None if is_small => turns(&shown, &answer).iter().map(in_order).collect(),
            None => Vec::new(),
        };
        let answer_again = |message: &Message| match message {
            Message::Assistant(said) if is_small => as_answer(said, &answer),
            _ => None,
        };
        messages
            .extend(prompt.messages.iter().map(|message| answer_again(message).unwrap_or_else(|| in_order(message))));
        if !must_call {
            ways.push(object_of([("answer".to_owned(), answer)]));
        }
        Self { system, schema: json!({ "anyOf": ways }), messages }
    }

    /// The same prompt for a model without tools.
    pub(crate) fn prompt<'a>(&'a self, prompt: &Prompt<'a>) -> Prompt<'a> {
        Prompt {
            system: &self.system,
            tools: &[],
            schema: Some(&self.schema),
            messages: &self.messages,
            ..prompt.clone()
        }
    }

    /// The answer with its call, or unwrapped. Anything else stays as it was written.
    pub(crate) fn read(mut answer: ModelAnswer, messages: usize) -> ModelAnswer {
        answer.writes_calls = true;
        let Some(repaired) = repair(&answer.text) else { return answer };
        // A call or an answer is the whole message. JSON that is quoted in prose is neither.
        let is_prose =
            |what: JsonFault| matches!(what, JsonFault::Prose | JsonFault::TrailingText | JsonFault::SeveralValues);
        if repaired.repairs.iter().any(|repair| is_prose(repair.what)) {
            return answer;
        }
        let is_risky = repaired.is_risky() || answer.finish == FinishReason::Length;
        let Value::Object(mut said) = repaired.value else { return answer };
        if let Some(Value::String(name)) = said.get("action")
            && let Some(args @ Value::Object(_)) = said.get("args")
        {
            let fault = is_risky.then(|| "the call was cut off, or was not valid JSON; send it again".to_owned());
            let args = if is_risky { Value::Object(Map::new()) } else { args.clone() };
            answer.calls = vec![ToolCall { id: format!("c{messages}.0"), name: name.clone(), args, fault }];
            answer.text.clear();
        } else if answer.finish == FinishReason::Length && !matches!(said.get("answer"), Some(Value::String(_))) {
            // A value that was completed by the repair is not one that the model gave.
            return answer;
        } else if let (1, Some(inner)) = (said.len(), said.remove("answer")) {
            answer.text = if let Value::String(text) = inner { text } else { inner.to_string() };
            answer.writes_calls = false;
        }
        answer
    }
}

/// Whether this is the model's first turn. A small one that may answer at once does so without having looked at anything.
fn is_first(prompt: &Prompt<'_>) -> bool {
    !prompt.own_messages().iter().any(|one| matches!(one, Message::Assistant(_)))
}

/// A tool as the model is told of it.
fn as_told(tool: &ToolSpec, is_small: bool) -> ToolSpec {
    let parameters = if is_small { needed(tool) } else { tool.parameters.clone() };
    ToolSpec { parameters, ..tool.clone() }
}

/// An answer that was sent back, in the form in which the model gave it; nothing if it is something else.
fn as_answer(said: &ModelAnswer, schema: &Value) -> Option<Message> {
    let is_answer = said.calls.is_empty() && !said.writes_calls && said.finish != FinishReason::Length;
    if !is_answer || said.text.is_empty() || said.text.trim_start().starts_with(['{', '`']) {
        return None;
    }
    let data = serde_json::from_str(&said.text).ok().filter(|_| schema["type"] != "string");
    let value = data.unwrap_or_else(|| Value::from(said.text.as_str()));
    Some(Message::Assistant(Arc::new(ModelAnswer {
        text: json!({ "answer": value }).to_string(),
        ..ModelAnswer::default()
    })))
}

/// The arguments, one per line, in the order in which they are written.
fn listed(parameters: &Value) -> String {
    let Some(properties) = parameters["properties"].as_object() else { return String::new() };
    let line = |(name, schema): (&String, &Value)| {
        let kind = match schema["type"].as_str() {
            // What is inside them cannot be said in a word.
            Some("object" | "array") => schema.to_string(),
            Some(kind) => kind.to_owned(),
            None => schema.get("enum").map_or_else(|| "any".to_owned(), |values| format!("one of {values}")),
        };
        let optional = if is_needed(name, parameters) { "" } else { ", optional" };
        let what = schema["description"].as_str().map(|what| format!(": {what}")).unwrap_or_default();
        format!("\n- {name} ({kind}{optional}){what}")
    };
    in_order(properties, parameters).map(line).collect()
}

/// The message with its calls written out, with their arguments in the order of the tools' schemas.
fn with_calls_in_order(message: &Message, tools: &[ToolSpec]) -> Message {
    let Message::Assistant(answer) = message else { return message.clone() };
    if answer.calls.is_empty() {
        return message.clone();
    }
    let calls = answer.calls.iter().map(|call| {
        let tool = tools.iter().find(|tool| tool.name == call.name);
        written_in_order(&call.name, &call.args, tool.map_or(&Value::Null, |tool| &tool.parameters))
    });
    let said = Some(answer.text.clone()).filter(|text| !text.is_empty());
    let text = said.into_iter().chain(calls).collect::<Vec<_>>().join("\n");
    Message::Assistant(Arc::new(ModelAnswer { text, ..ModelAnswer::default() }))
}

fn any_text(is_local: bool, bounds: StringBounds) -> Value {
    if is_local { json!({ "type": "string", "maxLength": bounds.text }) } else { json!({ "type": "string" }) }
}

/// The schema for the value of a variable: anything. A small model is limited to values of bounded length.
fn any_value(is_local: bool, bounds: StringBounds) -> Value {
    if !is_local {
        return json!({});
    }
    let text = any_text(is_local, bounds);
    let list = json!({ "type": "array", "items": { "type": "string", "maxLength": bounds.string }, "maxItems": 16 });
    json!({ "anyOf": [text, { "type": "number" }, { "type": "boolean" }, list] })
}

/// The schema of an object with exactly these members.
fn object_of(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    let properties: Map<String, Value> = members.into_iter().collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "required": required, "additionalProperties": false, "properties": properties })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskBrief;
    use crate::features::ToolCallStyle;

    fn told(window: u64, brief: &TaskBrief) -> ToolTextPrompt {
        let properties = json!({"path": {"type": "string", "description": "Where."}, "start": {"type": "integer"}});
        let parameters = json!({"type": "object", "properties": properties, "required": ["path"]});
        let description = "Reads a file. Long ones are cut.".into();
        let tools = [ToolSpec { name: "read_file".into(), description, parameters }];
        let prompt = Prompt { tools: &tools, system: "Be brief.", ..Prompt::empty(brief) };
        ToolTextPrompt::new(
            &prompt,
            ModelFeatures { tools: ToolCallStyle::Text, sees: false, local: true, window: Some(window), closes: false },
        )
    }

    fn read(text: &str) -> ModelAnswer {
        ToolTextPrompt::read(ModelAnswer { text: text.to_owned(), ..ModelAnswer::default() }, 3)
    }

    #[test]
    fn tools_are_told_with_a_task_and_a_bounded_schema() {
        let told = told(32_768, &TaskBrief::default());
        assert!(told.system.starts_with("Be brief.\n\n# Tools"));
        assert!(
            told.system
                .contains("Reads a file. Long ones are cut.\n- path (string): Where.\n- start (integer, optional)"),
            "{}",
            told.system
        );
        let task = "Task: Reads a file: path notes.txt.";
        let call = r#"Answer: {"action":"read_file","args":{"path":"notes.txt"}}"#;
        assert!(told.system.ends_with(&format!("{task}\n{call}")), "{}", told.system);
        assert!(told.messages.is_empty());
        let args = &told.schema["anyOf"][0]["properties"]["args"]["properties"];
        assert_eq!((&args["path"]["maxLength"], &args["start"]["type"]), (&json!(400), &json!("integer")));
        assert_eq!(told.schema["anyOf"][1]["properties"]["answer"]["maxLength"], 1_024);
    }

    #[test]
    fn a_small_model_can_answer_once_it_has_called_a_tool() {
        let tool = |name: &str| ToolSpec { name: name.into(), description: String::new(), parameters: json!({}) };
        let tools = [tool("read_file"), tool("write_file")];
        let brief = TaskBrief::default();
        let told = |messages: &[Message]| {
            let features = ModelFeatures {
                tools: ToolCallStyle::Text,
                sees: false,
                local: true,
                window: Some(8_192),
                closes: false,
            };
            let prompt = Prompt { tools: &tools, messages, ..Prompt::empty(&brief) };
            ToolTextPrompt::new(&prompt, features)
        };
        let ways = |messages: &[Message]| told(messages).schema["anyOf"].as_array().unwrap().len();
        let goal = Message::User("How many rows?".into());
        assert_eq!(ways(std::slice::from_ref(&goal)), 2);
        let called = Message::Assistant(Arc::new(ModelAnswer { writes_calls: true, ..ModelAnswer::default() }));
        assert_eq!(ways(&[goal.clone(), called, Message::Results(Vec::new())]), 3);
        let sent_back = Message::Assistant(Arc::new(ModelAnswer { text: "10".into(), ..ModelAnswer::default() }));
        let Some(Message::Assistant(said)) = told(&[goal, sent_back]).messages.pop() else { panic!() };
        assert_eq!(said.text, r#"{"answer":"10"}"#);
    }

    #[test]
    fn a_small_window_is_told_only_what_is_needed() {
        let told = told(4_096, &TaskBrief::default());
        assert!(told.system.ends_with("Reads a file.\n- path (string): Where."), "{}", told.system);
        assert_eq!(told.messages[0], Message::User("Reads a file: path notes.txt.".into()));
        assert!(told.schema["anyOf"][0]["properties"]["args"]["properties"]["start"].is_null());
    }

    #[test]
    fn an_answer_holds_the_variables_the_step_writes() {
        let brief = TaskBrief { writes: vec!["sum".into(), "how".into()], ..TaskBrief::default() };
        let answer = &told(65_536, &brief).schema["anyOf"][1]["properties"]["answer"];
        assert_eq!(answer["required"], json!(["how", "sum"]));
        assert_eq!(answer["additionalProperties"], false);
        assert_eq!(answer["properties"]["sum"]["anyOf"][1]["type"], "number");
    }

    #[test]
    fn a_call_and_an_answer_are_taken_out_of_the_json() {
        let answer = read(r#"{"action": "read_file", "args": {"path": "a.txt"}}"#);
        assert_eq!((answer.calls[0].name.as_str(), &answer.calls[0].args), ("read_file", &json!({"path": "a.txt"})));
        assert_eq!((answer.calls[0].id.as_str(), answer.text.as_str()), ("c3.0", ""));
        assert_eq!(read(r#"{"answer": "forty-two"}"#).text, "forty-two");
        assert_eq!(read(r#"{"answer": {"a": 1}}"#).text, r#"{"a":1}"#);
        assert_eq!(read("plain words").text, "plain words");
        let quoted = r#"Write {"action": "read_file", "args": {"path": "a.txt"}} to call it."#;
        assert_eq!((read(quoted).text.as_str(), read(quoted).calls.len()), (quoted, 0));
    }

    #[test]
    fn a_call_that_broke_off_is_sent_back() {
        let answer = read(r#"{"action": "read_file", "args": {"path": "a.t"#);
        assert!(answer.calls[0].fault.is_some());
        assert_eq!(answer.calls[0].args, json!({}));
    }
}
