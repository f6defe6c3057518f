//! What messages of the agent may hold: the keys of version 1 of the protocol. Keys of our own belong in `_meta`.

use serde_json::Value;

/// An object of the protocol: its required keys, and the others.
type Shape = (&'static [&'static str], &'static [&'static str]);

const UPDATES: [(&str, Shape); 9] = [
    ("user_message_chunk", (&["content"], &["messageId"])),
    ("agent_message_chunk", (&["content"], &["messageId"])),
    ("agent_thought_chunk", (&["content"], &["messageId"])),
    ("tool_call", (&["toolCallId", "title"], &["kind", "status", "content", "locations", "rawInput", "rawOutput"])),
    (
        "tool_call_update",
        (&["toolCallId"], &["title", "kind", "status", "content", "locations", "rawInput", "rawOutput"]),
    ),
    ("plan", (&["entries"], &[])),
    ("current_mode_update", (&["currentModeId"], &[])),
    ("config_option_update", (&["configOptions"], &[])),
    ("session_info_update", (&[], &["title", "updatedAt"])),
];
const INITIALIZE: Shape = (&["protocolVersion"], &["agentCapabilities", "agentInfo", "authMethods"]);
const CAPABILITIES: Shape =
    (&[], &["loadSession", "promptCapabilities", "mcpCapabilities", "sessionCapabilities", "auth"]);
const NEW: Shape = (&["sessionId"], &["modes", "configOptions"]);
const OPENED: Shape = (&[], &["modes", "configOptions"]);
const LIST: Shape = (&["sessions"], &["nextCursor"]);
const LISTED: Shape = (&["sessionId", "cwd"], &["title", "updatedAt", "additionalDirectories"]);
const STEP: Shape = (&["content", "priority", "status"], &[]);
const OPTION: Shape = (&["id", "name", "type", "currentValue", "options"], &["description", "category"]);
const PERMISSION: Shape = (&["sessionId", "toolCall", "options"], &[]);

fn check(what: &str, value: &Value, (required, others): Shape) {
    let object = value.as_object().unwrap_or_else(|| panic!("{what} is not an object: {value}"));
    for key in required {
        assert!(object.contains_key(*key), "{what} has no `{key}`: {value}");
    }
    for key in object.keys() {
        let key = key.as_str();
        let is_known = key == "_meta" || required.contains(&key) || others.contains(&key);
        assert!(is_known, "{what} has a key of its own, `{key}`: {value}");
    }
}

fn each(what: &str, list: &Value, shape: Shape) {
    for value in list.as_array().unwrap_or_else(|| panic!("{what} is not a list: {list}")) {
        check(what, value, shape);
    }
}

/// Looks at everything that an agent said. `asked` finds the method that an answer is about.
pub(crate) fn check_all(said: &[Value], asked: impl Fn(&Value) -> Option<&'static str>) {
    for message in said {
        check("a message", message, (&["jsonrpc"], &["id", "method", "params", "result", "error"]));
        match message["method"].as_str() {
            Some("session/update") => {
                check("the parameters", &message["params"], (&["sessionId", "update"], &[]));
                let mut update = message["params"]["update"].clone();
                let kind = update.as_object_mut().unwrap().remove("sessionUpdate").unwrap();
                let known = UPDATES.iter().find(|(name, _)| kind == *name);
                let (name, shape) = known.unwrap_or_else(|| panic!("an update of an unknown kind: {message}"));
                check(name, &update, *shape);
                if *name == "plan" {
                    each("a step", &update["entries"], STEP);
                }
            }
            Some("session/request_permission") => check("a permission", &message["params"], PERMISSION),
            Some(_) => {}
            None if message.get("error").is_some() => {
                let error = &message["error"];
                assert!(message.get("result").is_none() && error["code"].is_i64(), "{message}");
                let words = error["message"].as_str().unwrap();
                assert!(!words.is_empty() && !words.contains('\n'), "{message}");
            }
            None => result(&message["result"], asked(&message["id"])),
        }
    }
}

fn result(result: &Value, method: Option<&'static str>) {
    match method {
        Some("initialize") => {
            check("initialize", result, INITIALIZE);
            check("the capabilities", &result["agentCapabilities"], CAPABILITIES);
        }
        Some("session/new") => {
            check("session/new", result, NEW);
            each("an option", &result["configOptions"], OPTION);
        }
        Some("session/load" | "session/resume") => check("a session that was opened", result, OPENED),
        Some("session/list") => {
            check("session/list", result, LIST);
            each("a listed session", &result["sessions"], LISTED);
        }
        Some("session/prompt") => check("the end of a turn", result, (&["stopReason"], &[])),
        Some("session/close" | "session/delete" | "session/set_mode") => check("an empty result", result, (&[], &[])),
        Some(_) | None => assert!(result.is_object(), "{result}"),
    }
}
