//! The plain HTTP form that some servers call `http`: only `POST /tools/list` and `POST /tools/call`, without the rest
//! of MCP.
//!
//! It is implemented as a transport, so that the other modules treat these servers like any other.

use std::sync::Arc;

use reqwest::header::HeaderMap;
use rmcp::model::{ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use url::Url;

use super::http;
use super::login::ServerLogin;
use super::login_retry::{AdmissionError, admitted};
use super::stdio::{LARGEST, UNUSABLE, unusable};
use crate::error::{Error, chain, cut};

/// Capacity of the queue of answers.
const WAITING: usize = 64;

/// A server of the plain form.
#[derive(Clone)]
struct RestEndpoint {
    http: reqwest::Client,
    base: Url,
    headers: HeaderMap,
    login: Arc<ServerLogin>,
}

/// The plain form as a transport.
pub(super) struct RestTransport {
    address: Arc<RestEndpoint>,
    answers: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    arriving: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
}

impl RestTransport {
    /// Connects if a server of this form is there, which is tested by requesting its tools.
    pub(super) async fn connect(
        http: reqwest::Client,
        url: Url,
        headers: HeaderMap,
        login: Arc<ServerLogin>,
    ) -> Result<Self, Error> {
        let address = RestEndpoint { http, base: url, headers, login };
        let tools = address.post("tools/list", &json!({})).await.map_err(|wrong| match wrong {
            RestFailure::Told(error) => Error::Unreachable(error.message.into()),
            RestFailure::Lost(RestError::Outside(AdmissionError::Login(_))) => Error::Login(String::new()),
            RestFailure::Lost(error) => Error::Unreachable(chain(&error)),
        })?;
        listed(tools).map_err(|what| Error::Unreachable(format!("`POST tools/list` gave {what}")))?;
        let (answers, arriving) = mpsc::channel(WAITING);
        Ok(Self { address: Arc::new(address), answers, arriving })
    }
}

impl RestEndpoint {
    async fn post(&self, path: &str, body: &Value) -> Result<Value, RestFailure> {
        let unusable = |what: String| RestFailure::Told(ErrorData::new(UNUSABLE, what, None));
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        let request = || self.http.post(url.clone()).headers(self.headers.clone()).json(body);
        let response = admitted(&self.login, request).await.map_err(RestError::Outside)?;
        let status = response.status();
        let body = http::body(response, LARGEST).await.map_err(RestError::Broken)?;
        let Some(body) = body else { return Err(unusable(format!("its answer has more than {} MB", LARGEST >> 20))) };
        let words = || format!("HTTP {status}: {}", cut(&String::from_utf8_lossy(&body), 300));
        if status.is_client_error() || status.is_redirection() {
            // A request that was refused had no effect.
            return Err(RestFailure::Told(ErrorData::new(ErrorCode(i32::from(status.as_u16())), words(), None)));
        }
        if !status.is_success() {
            return Err(RestError::Status(words()).into());
        }
        serde_json::from_slice(&body).map_err(|error| unusable(format!("its answer is not JSON: {error}")))
    }

    /// The result of one request, in the form of MCP.
    async fn answer(&self, request: &ClientRequest) -> Result<Value, RestFailure> {
        match request {
            ClientRequest::InitializeRequest(request) => Ok(json!({
                "protocolVersion": request.params.protocol_version, "capabilities": {"tools": {}},
                "serverInfo": {"name": self.base.host_str().unwrap_or("rest"), "version": "0"},
            })),
            ClientRequest::PingRequest(_) => Ok(json!({})),
            ClientRequest::ListToolsRequest(_) => {
                let tools = self.post("tools/list", &json!({})).await?;
                listed(tools).map_err(|what| RestFailure::Told(ErrorData::new(UNUSABLE, what, None)))
            }
            ClientRequest::CallToolRequest(request) => {
                let arguments = request.params.arguments.clone().unwrap_or_default();
                let body = json!({"name": request.params.name, "arguments": arguments});
                Ok(result_of(self.post("tools/call", &body).await?))
            }
            _ => {
                let what = "a plain HTTP server has tools only";
                Err(RestFailure::Told(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, what, None)))
            }
        }
    }
}

/// Converts a list of tools from any of the shapes in use to that of MCP.
fn listed(answer: Value) -> Result<Value, String> {
    let tools = match answer {
        Value::Array(tools) => tools,
        mut other => match [&["tools"][..], &["result", "tools"], &["data", "tools"]].iter().find_map(|path| {
            let found = path.iter().try_fold(&mut other, |value, key| value.get_mut(key))?;
            found.as_array_mut().map(std::mem::take)
        }) {
            Some(tools) => tools,
            None => return Err("no list of tools".to_owned()),
        },
    };
    let tool = |mut tool: Value| {
        let schema = ["inputSchema", "input_schema", "parameters", "schema"]
            .iter()
            .find_map(|key| tool.get_mut(key).filter(|schema| schema.is_object()).map(Value::take));
        json!({"name": tool["name"], "description": tool["description"].as_str().unwrap_or_default(),
               "inputSchema": schema.unwrap_or_else(|| json!({"type": "object"}))})
    };
    Ok(json!({"tools": tools.into_iter().filter(|tool| tool["name"].is_string()).map(tool).collect::<Vec<_>>()}))
}

/// Converts the result of a call from any of the shapes in use to that of MCP.
fn result_of(answer: Value) -> Value {
    let is_failed = |of: &Value| ["isError", "is_error"].iter().any(|key| of[*key] == json!(true));
    if answer["content"].is_array() {
        return answer;
    }
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        return json!({"content": [{"type": "text", "text": words(error)}], "isError": true});
    }
    let mut keys = vec!["result", "output", "data"];
    if is_failed(&answer) || answer["content"].is_string() {
        keys.extend(["content", "message"]);
    }
    let result = keys.iter().find_map(|key| answer.get(key)).unwrap_or(&answer);
    let has_failed = is_failed(&answer) || is_failed(result);
    if result["content"].is_array() {
        let mut result = result.clone();
        if has_failed {
            result["isError"] = json!(true);
        }
        return result;
    }
    let mut made = json!({"content": [{"type": "text", "text": words(result)}]});
    if has_failed {
        made["isError"] = json!(true);
    }
    if result.is_object() {
        made["structuredContent"] = result.clone();
    }
    made
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Why a request failed.
enum RestFailure {
    /// The server answered with an error.
    Told(ErrorData),
    /// There is no answer: it is unknown whether the request had an effect, unless no server was reached.
    Lost(RestError),
}

impl From<RestError> for RestFailure {
    fn from(lost: RestError) -> Self {
        RestFailure::Lost(lost)
    }
}

/// Why a message got no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum RestError {
    #[error(transparent)]
    Outside(#[from] AdmissionError),
    #[error("its answer was interrupted")]
    Broken(#[source] reqwest::Error),
    #[error("{0}")]
    Status(String),
    #[error("the connection is closed")]
    Closed,
}

impl Transport<RoleClient> for RestTransport {
    type Error = RestError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), RestError>> + Send + 'static {
        let (address, answers) = (Arc::clone(&self.address), self.answers.clone());
        async move {
            let JsonRpcMessage::Request(request) = message else { return Ok(()) };
            let answer = match address.answer(&request.request).await {
                Ok(result) => response(&result, request.id),
                Err(RestFailure::Told(error)) => ServerJsonRpcMessage::error(error, Some(request.id)),
                Err(RestFailure::Lost(lost)) => return Err(lost),
            };
            answers.send(answer).await.map_err(|_| RestError::Closed)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.arriving.recv().await
    }

    async fn close(&mut self) -> Result<(), RestError> {
        self.arriving.close();
        Ok(())
    }
}

fn response(result: &Value, id: RequestId) -> RxJsonRpcMessage<RoleClient> {
    let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
    serde_json::from_value(message).unwrap_or_else(|error| unusable(format!("its answer is malformed: {error}"), id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_tools_come_in_several_shapes() {
        let wanted = json!({"tools": [{"name": "add", "description": "", "inputSchema": {"type": "object"}}]});
        for shape in [
            json!([{"name": "add"}]),
            json!({"tools": [{"name": "add", "input_schema": {"type": "object"}}]}),
            json!({"result": {"tools": [{"name": "add", "parameters": {"type": "object"}}, {"nameless": 1}]}}),
        ] {
            assert_eq!(listed(shape), Ok(wanted.clone()));
        }
        assert!(listed(json!({"hello": 1})).is_err());
    }

    #[test]
    fn results_come_in_several_shapes() {
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        assert_eq!(result_of(text("3")), text("3"));
        assert_eq!(result_of(json!({"result": "3"})), text("3"));
        assert_eq!(result_of(json!({"result": text("3")})), text("3"));
        let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
        assert_eq!(result_of(json!({"error": "no"})), failed);
        for shape in [json!({"isError": true, "message": "no"}), json!({"result": "no", "isError": true})] {
            assert_eq!(result_of(shape), failed);
        }
        assert_eq!(result_of(json!({"isError": true}))["isError"], json!(true));
        assert_eq!(result_of(json!({"result": {"isError": true, "content": []}}))["isError"], json!(true));
        assert_eq!(result_of(json!({"sum": 3}))["structuredContent"], json!({"sum": 3}));
    }
}
