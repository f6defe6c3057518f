//! Tools for models that know none: told in the prompt, called by JSON that a schema holds in form.
//!
//! Some servers drop `tools` without a word, because the model's template has no place for them. Such a model is told
//! each tool with its arguments and one worked example, and the answer is held to "a call of one of these, or the
//! answer": the examples give sense, the schema gives form, and a small model needs both.

mod example;

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use updraft_run::{Answer, Finish, ToolCall, repair};

use self::example::example_of;
use crate::Prompt;
use crate::manner::{Manner, written};

const PROTOCOL: &str = include_str!("told/tools.md");

/// Letters of a string where the schema sets no limit: without one, small models repeat themselves to the cap.
const LONGEST_STRING: u64 = 400;
/// The same where the string is a whole text. llama.cpp's grammars allow no more than 2,000.
const LONGEST_TEXT: u64 = 1_900;
/// Members of a list where the schema sets no limit.
const LONGEST_LIST: u64 = 64;
/// Deeper schemas are left as they are.
const DEEPEST: usize = 32;

/// A prompt with its tools put into words.
pub(crate) struct Told {
    system: String,
    schema: Value,
}

impl Told {
    pub(crate) fn new(prompt: &Prompt<'_>, manner: Manner) -> Self {
        let mut system = format!("{}\n\n{}", prompt.system.trim_end(), PROTOCOL.trim_end());
        let mut ways = Vec::with_capacity(prompt.tools.len() + 1);
        for tool in prompt.tools {
            let example = written(&tool.name, &example_of(&tool.parameters));
            let (name, description, parameters) = (&tool.name, tool.description.trim(), &tool.parameters);
            let _ = write!(system, "\n\n## {name}\n\n{description}\nArguments: {parameters}\nExample: {example}");
            let args = if manner.local { bounded(parameters) } else { parameters.clone() };
            ways.push(object_of([("action", json!({ "const": tool.name })), ("args", args)]));
        }
        let free = json!({ "type": "string", "maxLength": LONGEST_TEXT });
        ways.push(object_of([("answer", prompt.schema.map_or(free, bounded))]));
        Self { system, schema: json!({ "anyOf": ways }) }
    }

    /// The same prompt for a model without tools.
    pub(crate) fn prompt<'a>(&'a self, prompt: &Prompt<'a>) -> Prompt<'a> {
        Prompt { system: &self.system, tools: &[], schema: Some(&self.schema), ..prompt.clone() }
    }

    /// The answer with its call, or with the answer taken out of its wrapping. Anything else stays as it was written.
    pub(crate) fn read(mut answer: Answer, messages: usize) -> Answer {
        let Some(repaired) = repair(&answer.text) else { return answer };
        let is_risky = repaired.is_risky() || answer.finish == Finish::Length;
        let Value::Object(mut said) = repaired.value else { return answer };
        if let Some(Value::String(name)) = said.get("action")
            && let Some(args @ Value::Object(_)) = said.get("args")
        {
            let fault = is_risky.then(|| "the call broke off, or was not valid JSON; send it again".to_owned());
            let args = if is_risky { Value::Object(Map::new()) } else { args.clone() };
            answer.calls = vec![ToolCall { id: format!("c{messages}.0"), name: name.clone(), args, fault }];
            answer.text.clear();
        } else if let (1, Some(inner)) = (said.len(), said.remove("answer")) {
            answer.text = if let Value::String(text) = inner { text } else { inner.to_string() };
        }
        answer
    }
}

/// An object that has exactly these members.
fn object_of<const N: usize>(members: [(&str, Value); N]) -> Value {
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let required = json!(names);
    let properties: Map<String, Value> = members.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The schema with a limit on every string and list that has none.
pub(crate) fn bounded(schema: &Value) -> Value {
    let mut schema = schema.clone();
    bound(&mut schema, "", DEEPEST);
    schema
}

fn bound(schema: &mut Value, name: &str, depth: usize) {
    let (Value::Object(object), Some(depth)) = (schema, depth.checked_sub(1)) else { return };
    let is = |object: &Map<String, Value>, kind: &str| object.get("type").is_some_and(|found| found == kind);
    let is_open = ["enum", "const", "pattern", "format", "maxLength"].iter().all(|word| !object.contains_key(*word));
    if is(object, "string") && is_open {
        let is_text = matches!(name, "content" | "text" | "code" | "answer" | "body" | "old" | "new" | "output");
        object.insert("maxLength".to_owned(), json!(if is_text { LONGEST_TEXT } else { LONGEST_STRING }));
    }
    if is(object, "array") && !object.contains_key("maxItems") {
        object.insert("maxItems".to_owned(), json!(LONGEST_LIST));
    }
    for (word, inner) in object.iter_mut() {
        match (word.as_str(), inner) {
            ("properties" | "$defs" | "definitions", Value::Object(members)) => {
                for (name, member) in members {
                    bound(member, name, depth);
                }
            }
            ("items" | "additionalProperties", inner @ Value::Object(_)) => bound(inner, name, depth),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(members)) => {
                for member in members {
                    bound(member, name, depth);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use updraft_run::ToolSpec;

    use super::*;
    use crate::Brief;
    use crate::manner::ToolsBy;

    fn told() -> Told {
        let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        let tools = [ToolSpec { name: "read_file".into(), description: "Reads.".into(), parameters }];
        let brief = Brief::default();
        let prompt = Prompt { tools: &tools, system: "Be brief.", ..Prompt::empty(&brief) };
        Told::new(&prompt, Manner { tools: ToolsBy::Text, sees: false, local: true })
    }

    fn read(text: &str) -> Answer {
        Told::read(Answer { text: text.to_owned(), ..Answer::default() }, 3)
    }

    #[test]
    fn tools_are_told_with_an_example_and_a_bounded_schema() {
        let told = told();
        assert!(told.system.starts_with("Be brief.\n\n# Tools"));
        assert!(told.system.contains(r#"Example: {"action":"read_file","args":{"path":"notes.txt"}}"#));
        let args = &told.schema["anyOf"][0]["properties"]["args"];
        assert_eq!(args["properties"]["path"]["maxLength"], LONGEST_STRING);
        assert_eq!(told.schema["anyOf"][1]["properties"]["answer"]["maxLength"], LONGEST_TEXT);
    }

    #[test]
    fn a_call_and_an_answer_are_taken_out_of_the_json() {
        let answer = read(r#"{"action": "read_file", "args": {"path": "a.txt"}}"#);
        assert_eq!((answer.calls[0].name.as_str(), &answer.calls[0].args), ("read_file", &json!({"path": "a.txt"})));
        assert_eq!((answer.calls[0].id.as_str(), answer.text.as_str()), ("c3.0", ""));
        assert_eq!(read(r#"{"answer": "forty-two"}"#).text, "forty-two");
        assert_eq!(read(r#"{"answer": {"a": 1}}"#).text, r#"{"a":1}"#);
        assert_eq!(read("plain words").text, "plain words");
    }

    #[test]
    fn a_call_that_broke_off_is_sent_back() {
        let answer = read(r#"{"action": "read_file", "args": {"path": "a.t"#);
        assert!(answer.calls[0].fault.is_some());
        assert_eq!(answer.calls[0].args, json!({}));
    }
}
