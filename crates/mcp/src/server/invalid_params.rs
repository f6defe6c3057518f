//! Errors for requests of a known method with invalid parameters. The SDK treats them as custom methods, and would
//! answer that there is no such method.

#![expect(deprecated, reason = "what leaves the protocol is still spoken by clients of earlier revisions")]

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CancelTaskParams, CompleteRequestParams, CustomRequest, ErrorCode, GetPromptRequestParams,
    GetTaskParams, ReadResourceRequestParams, ServerCapabilities, SetLevelRequestParams, SubscribeRequestParams,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Methods that the era without sessions no longer has: they are refused whatever their parameters.
const GONE: [&str; 4] = ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// The error for a request whose method or parameters the SDK does not know.
pub(super) fn why(request: CustomRequest, own: &ServerCapabilities, is_modern: bool) -> ErrorData {
    let CustomRequest { method, params, .. } = request;
    let params = params.unwrap_or_else(|| json!({}));
    let family = method.split('/').next().unwrap_or_default();
    let is_offered = match family {
        "tools" | "tasks" | "ping" => true,
        "prompts" => own.prompts.is_some(),
        "resources" => own.resources.is_some(),
        "completion" => own.completions.is_some(),
        "logging" => own.logging.is_some(),
        _ => false,
    };
    let fault = match method.as_str() {
        gone if is_modern && GONE.contains(&gone) => None,
        _ if !is_offered => None,
        "tools/call" => fault::<CallToolRequestParams>(params),
        "prompts/get" => fault::<GetPromptRequestParams>(params),
        "resources/read" => fault::<ReadResourceRequestParams>(params),
        "resources/subscribe" => fault::<SubscribeRequestParams>(params),
        "resources/unsubscribe" => fault::<UnsubscribeRequestParams>(params),
        "completion/complete" => fault::<CompleteRequestParams>(params),
        "logging/setLevel" => fault::<SetLevelRequestParams>(params),
        "tasks/get" => fault::<GetTaskParams>(params),
        "tasks/update" => fault::<UpdateTaskParams>(params),
        "tasks/cancel" => fault::<CancelTaskParams>(params),
        _ => None,
    };
    match fault {
        Some(fault) => ErrorData::invalid_params(format!("`{method}`: {fault}"), None),
        None => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
    }
}

/// What is wrong with the parameters.
fn fault<P: DeserializeOwned>(params: Value) -> Option<String> {
    serde_json::from_value::<P>(params).err().map(|error| error.to_string())
}
