//! Reads an answer that is nothing but calls written as text, from a model that was given native tools.
//!
//! Small models and servers without a matching parser do that: the right call, and no `tool_calls`. As text it would end the
//! step as its answer, with nothing done.

use updraft_lenient::{TextCall, calls_alone};
use updraft_run::{FinishReason, ModelAnswer, ToolCall, ToolSpec};

use crate::Prompt;

/// The calls that the whole text of an answer is, apart from one code fence. Empty if it is anything else: only the names of
/// the tools that the model was given count, so that an answer that is meant to be JSON stays one.
pub(crate) fn written_calls(answer: &ModelAnswer, prompt: &Prompt<'_>) -> Vec<ToolCall> {
    if !answer.calls.is_empty() || answer.finish == FinishReason::Filtered {
        return Vec::new();
    }
    let written = calls_alone(&answer.text, &prompt.brief.writes);
    let calls = written.into_iter().enumerate().map(|(at, call)| {
        let name = tool_named(prompt.tools, &call.name)?.to_owned();
        let fault = fault_of(&call, answer.finish);
        let args = if fault.is_none() { call.args } else { serde_json::json!({}) };
        Some(ToolCall { id: format!("c{}.{at}", prompt.messages.len()), name, args, fault })
    });
    calls.collect::<Option<Vec<ToolCall>>>().unwrap_or_default()
}

/// The tool of this name, or the tool of a server that calls it so.
fn tool_named<'a>(tools: &'a [ToolSpec], name: &str) -> Option<&'a str> {
    let names = || tools.iter().map(|tool| tool.name.as_str());
    let bare = |tool: &str| {
        tool.strip_prefix("mcp_").and_then(|rest| rest.split_once('_')).is_some_and(|(_, own)| own == name)
    };
    names().find(|tool| *tool == name).or_else(|| names().find(|tool| bare(tool)))
}

/// Why a call must not be made as it was read.
fn fault_of(call: &TextCall, finish: FinishReason) -> Option<String> {
    if finish == FinishReason::Length {
        return Some("the answer was cut off at the limit on output".to_owned());
    }
    if call.repairs.iter().any(|repair| repair.what.is_risky()) {
        return Some("the call was not valid JSON; send it again".to_owned());
    }
    (!call.args.is_object()).then(|| "the arguments are not an object".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::TaskBrief;

    fn read_with(text: &str, writes: &[&str]) -> Vec<(String, String)> {
        let brief =
            TaskBrief { writes: writes.iter().map(|name| (*name).to_owned()).collect(), ..TaskBrief::default() };
        let tool = |name: &str| ToolSpec { name: name.into(), description: String::new(), parameters: json!({}) };
        let tools = [tool("write_file"), tool("mcp_github_search")];
        let answer = ModelAnswer { text: text.to_owned(), ..ModelAnswer::default() };
        let calls = written_calls(&answer, &Prompt { tools: &tools, ..Prompt::empty(&brief) });
        calls.into_iter().map(|call| (call.name, call.args.to_string())).collect()
    }

    fn read(text: &str) -> Vec<(String, String)> {
        read_with(text, &[])
    }

    #[test]
    fn every_known_form_of_a_call_is_read() {
        let call = ("write_file".to_owned(), r#"{"path":"a"}"#.to_owned());
        for text in [
            r#"{"name": "write_file", "arguments": {"path": "a"}}"#,
            "```json\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a\"}}\n```",
            r#"{"name": "write_file", "parameters": {"path": "a"}}"#,
            r#"{"tool": "write_file", "args": {"path": "a"}}"#,
            r#"{"action": "write_file", "action_input": {"path": "a"}}"#,
            r#"{"type": "function", "function": {"name": "write_file", "arguments": "{\"path\": \"a\"}"}}"#,
            r#"{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "write_file", "arguments": "{\"path\": \"a\"}"}}]}"#,
            r#"[{"name": "write_file", "arguments": {"path": "a"}}]"#,
            "<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>",
            "```xml\n<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>\n```",
            "<tools>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a\"}}\n</tools>",
            "<function=write_file><parameter=path>a</parameter></function>",
            r#"[TOOL_CALLS] [{"name": "write_file", "arguments": {"path": "a"}}]"#,
            r#"<|python_tag|>{"name": "write_file", "parameters": {"path": "a"}}"#,
        ] {
            assert_eq!(read(text), std::slice::from_ref(&call), "{text}");
        }
        let two =
            "{\"name\": \"write_file\", \"arguments\": {\"path\": \"a\"}}\n{\"name\": \"search\", \"arguments\": {}}";
        assert_eq!(read(two), [call, ("mcp_github_search".to_owned(), "{}".to_owned())]);
    }

    #[test]
    fn an_answer_that_is_meant_to_be_json_or_prose_stays_one() {
        for text in [
            r#"{"name": "Ann", "arguments": {"age": 3}}"#,
            r#"[{"name": "write_file", "arguments": {}}, {"name": "Ben", "arguments": {}}]"#,
            r#"Write {"name": "write_file", "arguments": {"path": "a"}} to call it."#,
            r#"{"name": "write_file", "description": "Writes a file."}"#,
            r#"{"name": "write_file"}"#,
            "",
        ] {
            assert_eq!(read(text), [], "{text}");
        }
        let result = r#"{"name": "write_file", "arguments": {"path": "a"}}"#;
        assert_eq!(read_with(result, &["arguments"]), [], "it is the value of a variable");
    }

    #[test]
    fn a_call_that_was_cut_off_is_not_made() {
        let text = r#"{"name": "write_file", "arguments": {"path": "a", "content": "be"#.to_owned();
        let answer = ModelAnswer { text, finish: FinishReason::Length, ..ModelAnswer::default() };
        let brief = TaskBrief::default();
        let tools = [ToolSpec { name: "write_file".into(), description: String::new(), parameters: json!({}) }];
        let calls = written_calls(&answer, &Prompt { tools: &tools, ..Prompt::empty(&brief) });
        assert!(calls[0].fault.is_some());
        assert_eq!(calls[0].args, json!({}));
    }
}
