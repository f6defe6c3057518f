//! Fixtures that ask the client something: in several rounds in the new era, in the middle of the call in the old one.

#![expect(deprecated, reason = "the suite's fixtures ask for sampling and roots, which leave the protocol")]

use serde_json::{Map, Value, json};
use updraft_mcp::server::model::{
    CallToolResult, CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    GetPromptResult, InputRequest, InputRequests, ListRootsRequest, PromptMessage, Role, SamplingMessage,
};
use updraft_mcp::server::{BackendOutcome, ClientCaller, ClientQuestions, ErrorData, PromptRequest, ToolRequest};

use crate::fixed::text;

pub(crate) fn form(message: &str, properties: &Value, required: &[&str]) -> InputRequest {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let request = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    match serde_json::from_value::<ElicitRequestParams>(request) {
        Ok(params) => InputRequest::Elicitation(ElicitRequest::new(params)),
        Err(_) => InputRequest::ListRoots(ListRootsRequest::default()),
    }
}

fn name_form(message: &str) -> InputRequest {
    form(message, &json!({ "name": { "type": "string" } }), &["name"])
}

fn sampling(prompt: &str) -> InputRequest {
    let params = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
    InputRequest::CreateMessage(CreateMessageRequest::new(params))
}

fn roots() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest::default())
}

fn asks<const N: usize>(requests: [(&str, InputRequest); N], state: Option<Value>) -> BackendOutcome<CallToolResult> {
    let requests: InputRequests = requests.into_iter().map(|(key, request)| (key.to_owned(), request)).collect();
    BackendOutcome::Asks(ClientQuestions { requests, state })
}

/// A reply, if it has the shape of one.
fn reply<'a>(call: &'a ToolRequest, key: &str) -> Option<&'a Map<String, Value>> {
    call.replies.get(key).and_then(Value::as_object)
}

fn field(reply: &Map<String, Value>, name: &str) -> String {
    let found = reply.get("content").and_then(|content| content.get(name)).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

/// The text of a sampled message, of one part or of several.
fn sampled(reply: &Map<String, Value>) -> String {
    let content = reply.get("content").cloned().unwrap_or_default();
    let first = content.get(0).cloned().unwrap_or(content);
    first["text"].as_str().unwrap_or_default().to_owned()
}

/// What came of a fixture that asks; nothing if it is not one.
pub(crate) fn call(
    call: &ToolRequest,
    caller: &ClientCaller,
) -> Result<Option<BackendOutcome<CallToolResult>>, ErrorData> {
    let done = |said: String| BackendOutcome::Done(text(said));
    Ok(Some(match call.name.as_str() {
        "test_input_required_result_elicitation" => match reply(call, "user_name") {
            Some(reply) => done(format!("Hello, {}!", field(reply, "name"))),
            None => asks([("user_name", name_form("What is your name?"))], None),
        },
        "test_input_required_result_sampling" => match reply(call, "capital_question") {
            Some(reply) => done(format!("Sampling response: {}", sampled(reply))),
            None => asks([("capital_question", sampling("What is the capital of France?"))], None),
        },
        "test_input_required_result_list_roots" => match reply(call, "client_roots") {
            Some(reply) => done(format!("Client roots: {}", Value::Object(reply.clone()))),
            None => asks([("client_roots", roots())], None),
        },
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            if call.state.is_some() {
                return Ok(Some(done("Confirmed: state-ok".to_owned())));
            }
            let form = form("Please confirm", &json!({ "ok": { "type": "boolean" } }), &["ok"]);
            asks([("confirm", form)], Some(json!({ "stage": "confirm" })))
        }
        "test_input_required_result_multiple_inputs" => {
            let keys = ["user_name", "greeting", "client_roots"];
            if call.state.is_some() && keys.iter().all(|key| reply(call, key).is_some()) {
                return Ok(Some(done("All inputs received".to_owned())));
            }
            let requests = [
                ("user_name", name_form("What is your name?")),
                ("greeting", sampling("Generate a greeting")),
                ("client_roots", roots()),
            ];
            asks(requests, Some(json!({ "stage": "gather" })))
        }
        "test_input_required_result_multi_round" => match call.state.as_ref().and_then(|state| state["round"].as_u64())
        {
            None => asks([("step1", name_form("Step 1: What is your name?"))], Some(json!({ "round": 1 }))),
            Some(1) => {
                let color =
                    form("Step 2: What is your favorite color?", &json!({ "color": { "type": "string" } }), &["color"]);
                asks([("step2", color)], Some(json!({ "round": 2 })))
            }
            Some(_) => done("Multi-round flow complete".to_owned()),
        },
        "test_input_required_result_capabilities" => by_capabilities(call, caller),
        "test_streaming_elicitation" => {
            let form = form("Provide a value", &json!({ "value": { "type": "string" } }), &["value"]);
            asks([("streaming_elicitation", form)], None)
        }
        _ => return Ok(old_era(call)),
    }))
}

/// Asks only for what the client says it can give.
fn by_capabilities(call: &ToolRequest, caller: &ClientCaller) -> BackendOutcome<CallToolResult> {
    if !call.replies.is_empty() {
        return BackendOutcome::Done(text("Capability-aware flow complete"));
    }
    let own = caller.capabilities();
    let mut requests = InputRequests::new();
    if own.elicitation.is_some() {
        requests.insert("user_name".to_owned(), name_form("What is your name?"));
    }
    if own.sampling.is_some() {
        requests.insert("greeting".to_owned(), sampling("Generate a greeting"));
    }
    if own.roots.is_some() {
        requests.insert("client_roots".to_owned(), roots());
    }
    if requests.is_empty() {
        return BackendOutcome::Done(text("Client declared nothing that could be asked"));
    }
    BackendOutcome::Asks(ClientQuestions { requests, state: None })
}

/// The fixtures of the revisions in which a server sends requests.
fn old_era(call: &ToolRequest) -> Option<BackendOutcome<CallToolResult>> {
    let given = |name: &str| call.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let request = match call.name.as_str() {
        "test_sampling" => sampling(given("prompt")),
        "test_elicitation" => {
            let text = |description: &str| json!({ "type": "string", "description": description });
            let properties = json!({ "username": text("User's response"), "email": text("User's email address") });
            form(given("message"), &properties, &["username", "email"])
        }
        "test_elicitation_sep1034_defaults" => form("Please provide values (all have defaults)", &defaults(), &[]),
        "test_elicitation_sep1330_enums" => form("Test enum schema improvements", &enums(), &[]),
        _ => return None,
    };
    let Some(reply) = reply(call, "asked") else { return Some(asks([("asked", request)], None)) };
    if call.name == "test_sampling" {
        return Some(BackendOutcome::Done(text(format!("LLM response: {}", sampled(reply)))));
    }
    let (action, content) = (reply.get("action").cloned(), reply.get("content").cloned());
    let said = format!("User response: action={}, content={}", action.unwrap_or_default(), content.unwrap_or_default());
    Some(BackendOutcome::Done(text(said)))
}

fn defaults() -> Value {
    json!({
        "name": { "type": "string", "description": "User's name", "default": "John Doe" },
        "age": { "type": "integer", "description": "User's age", "default": 30 },
        "score": { "type": "number", "description": "User's score", "default": 95.5 },
        "status": { "type": "string", "description": "User's status", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "description": "Whether user is verified", "default": true }
    })
}

fn enums() -> Value {
    let plain = json!(["option1", "option2", "option3"]);
    let titled = |word: &str| {
        json!([
            { "const": "value1", "title": format!("First {word}") },
            { "const": "value2", "title": format!("Second {word}") },
            { "const": "value3", "title": format!("Third {word}") }
        ])
    };
    json!({
        "untitledSingle": { "type": "string", "enum": plain },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"] },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } }
    })
}

/// The prompt that asks; nothing if it is another one.
pub(crate) fn prompt(wanted: &PromptRequest) -> Option<BackendOutcome<GetPromptResult>> {
    if wanted.name != "test_input_required_result_prompt" {
        return None;
    }
    if let Some(reply) = wanted.replies.get("user_context").and_then(Value::as_object) {
        let said = format!("Prompt with elicited context: {}", field(reply, "context"));
        return Some(BackendOutcome::Done(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, said)])));
    }
    let context = json!({ "context": { "type": "string" } });
    let context = form("What context should the prompt use?", &context, &["context"]);
    Some(BackendOutcome::Asks(ClientQuestions { requests: [("user_context".to_owned(), context)].into(), state: None }))
}
