//! Parameters that cannot be obeyed: those that would change the form of the answer are refused, those that only tune a
//! model are left to the agents' own settings.

use serde_json::Value;

use super::failure::OpenAiFailure;

/// Whether a parameter is absent, null, false or empty.
fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(all) => all.is_empty(),
        _ => false,
    }
}

/// Refuses what agents do not do, for chat and responses alike.
pub(super) fn check(request: &Value) -> Result<(), OpenAiFailure> {
    let calls_nothing = request["tool_choice"] == "none";
    for name in ["tools", "functions"] {
        if !is_unset(&request[name]) && !calls_nothing {
            return Err(OpenAiFailure::unsupported(
                name,
                format!(
                    "`{name}` is not taken: agents use the tools of the server. Connect yours to it as an MCP server, or \
                     leave `{name}` out"
                ),
            ));
        }
    }
    for name in ["logprobs", "audio", "stop", "prompt", "conversation"] {
        if !is_unset(&request[name]) {
            return Err(OpenAiFailure::unsupported(name, format!("`{name}` is not supported; leave it out")));
        }
    }
    if !matches!(request["n"].as_u64(), None | Some(1)) {
        return Err(OpenAiFailure::unsupported("n", "one answer is given; leave `n` out"));
    }
    let spoken = request["modalities"].as_array().is_some_and(|all| all.iter().any(|one| one != "text"));
    if spoken { Err(OpenAiFailure::unsupported("modalities", "answers are text")) } else { Ok(()) }
}

/// A text of the request; absent if it is null.
pub(super) fn text<'a>(request: &'a Value, name: &str) -> Result<Option<&'a str>, OpenAiFailure> {
    match &request[name] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        _ => Err(OpenAiFailure::invalid(name, format!("`{name}` must be a string"))),
    }
}

/// A switch of the request; off if it is absent.
pub(super) fn switch(request: &Value, name: &str) -> Result<bool, OpenAiFailure> {
    match &request[name] {
        Value::Null => Ok(false),
        Value::Bool(on) => Ok(*on),
        _ => Err(OpenAiFailure::invalid(name, format!("`{name}` must be true or false"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_tunes_a_model_is_let_pass_and_what_changes_the_answer_is_refused() {
        let fine = json!({ "temperature": 0.2, "top_p": 1, "max_tokens": 5, "n": 1, "tools": [], "stop": null,
                           "response_format": { "type": "text" }, "text": { "format": { "type": "text" } } });
        assert_eq!(check(&fine), Ok(()));
        assert_eq!(check(&json!({ "tools": [{}], "tool_choice": "none" })), Ok(()));
        let wrong = [
            (json!({ "tools": [{ "type": "function" }] }), "tools"),
            (json!({ "n": 2 }), "n"),
            (json!({ "logprobs": true }), "logprobs"),
            (json!({ "stop": ["x"] }), "stop"),
            (json!({ "modalities": ["text", "audio"] }), "modalities"),
        ];
        for (request, param) in wrong {
            assert_eq!(check(&request).unwrap_err().param.as_deref(), Some(param));
        }
    }
}
