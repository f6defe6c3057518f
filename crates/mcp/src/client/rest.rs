//! The plain form that some servers call `http`: `POST /tools/list` and `POST /tools/call`, and nothing else of MCP.
//!
//! It is made to look like a transport, so that everything above works as with any other server.

use std::sync::Arc;

use reqwest::header::HeaderMap;
use rmcp::model::{ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use url::Url;

use super::http;
use super::lines::{LARGEST, unusable};
use crate::error::{Error, chain, cut};

/// Answers that wait to be taken.
const WAITING: usize = 64;

/// A server of the plain form.
#[derive(Clone)]
struct Address {
    http: reqwest::Client,
    base: Url,
    headers: HeaderMap,
}

/// The plain form as a transport.
pub(super) struct Rest {
    address: Arc<Address>,
    answers: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    arriving: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
}

impl Rest {
    /// Finds out whether a server of this form is there, by asking for its tools.
    pub(super) async fn connect(http: reqwest::Client, url: Url, headers: HeaderMap) -> Result<Self, Error> {
        let address = Address { http, base: url, headers };
        let tools =
            address.post("tools/list", &json!({})).await.map_err(|error| Error::Unreachable(error.message.into()))?;
        listed(tools).map_err(|what| Error::Unreachable(format!("`POST tools/list` gave {what}")))?;
        let (answers, arriving) = mpsc::channel(WAITING);
        Ok(Self { address: Arc::new(address), answers, arriving })
    }
}

impl Address {
    async fn post(&self, path: &str, body: &Value) -> Result<Value, ErrorData> {
        let failed = |what: String| ErrorData::new(ErrorCode::INTERNAL_ERROR, what, None);
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        let request = self.http.post(url).headers(self.headers.clone()).json(body);
        let response = request.send().await.map_err(|error| failed(chain(&error)))?;
        let status = response.status();
        let body = http::body(response, LARGEST).await.map_err(|error| failed(chain(&error)))?;
        let Some(body) = body else { return Err(failed(format!("its answer has more than {} MB", LARGEST >> 20))) };
        if !status.is_success() {
            return Err(failed(format!("HTTP {status}: {}", cut(&String::from_utf8_lossy(&body), 300))));
        }
        serde_json::from_slice(&body).map_err(|error| failed(format!("its answer is no JSON: {error}")))
    }

    /// The result of one request, as MCP would give it.
    async fn answer(&self, request: &ClientRequest) -> Result<Value, ErrorData> {
        match request {
            ClientRequest::InitializeRequest(request) => Ok(json!({
                "protocolVersion": request.params.protocol_version, "capabilities": {"tools": {}},
                "serverInfo": {"name": self.base.host_str().unwrap_or("rest"), "version": "0"},
            })),
            ClientRequest::PingRequest(_) => Ok(json!({})),
            ClientRequest::ListToolsRequest(_) => {
                let tools = self.post("tools/list", &json!({})).await?;
                listed(tools).map_err(|what| ErrorData::new(ErrorCode::INTERNAL_ERROR, what, None))
            }
            ClientRequest::CallToolRequest(request) => {
                let arguments = request.params.arguments.clone().unwrap_or_default();
                let body = json!({"name": request.params.name, "arguments": arguments});
                Ok(result_of(self.post("tools/call", &body).await?))
            }
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "a plain HTTP server has tools only", None)),
        }
    }
}

/// A list of tools in any of the shapes in use, as MCP has it.
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

/// What a call gave, in any of the shapes in use, as MCP has it.
fn result_of(answer: Value) -> Value {
    if answer["content"].is_array() {
        return answer;
    }
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        return json!({"content": [{"type": "text", "text": words(error)}], "isError": true});
    }
    let result = ["result", "output", "data"].iter().find_map(|key| answer.get(key)).unwrap_or(&answer);
    if result["content"].is_array() {
        return result.clone();
    }
    let mut made = json!({"content": [{"type": "text", "text": words(result)}]});
    if result.is_object() {
        made["structuredContent"] = result.clone();
    }
    made
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What never goes wrong in handing over a message: the answer says what did.
#[derive(Debug, thiserror::Error)]
#[error("nobody takes answers any longer")]
pub(super) struct Closed;

impl Transport<RoleClient> for Rest {
    type Error = Closed;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Closed>> + Send + 'static {
        let (address, answers) = (Arc::clone(&self.address), self.answers.clone());
        async move {
            let JsonRpcMessage::Request(request) = message else { return Ok(()) };
            let answer = match address.answer(&request.request).await {
                Ok(result) => response(&result, request.id),
                Err(error) => ServerJsonRpcMessage::error(error, Some(request.id)),
            };
            answers.send(answer).await.map_err(|_| Closed)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.arriving.recv().await
    }

    async fn close(&mut self) -> Result<(), Closed> {
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
        assert_eq!(result_of(json!({"sum": 3}))["structuredContent"], json!({"sum": 3}));
    }
}
