//! The two servers in Rust: ours, and the bare SDK with the least there can be.

use std::sync::Arc;

use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use updraft_mcp::server::{McpHandler, PlainBackend, PlainTool, over_stdio};

use crate::Outcome;

fn schema() -> Value {
    json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] })
}

fn ours() -> Outcome<McpHandler> {
    let echo =
        PlainTool::new("echo", "Echo", schema(), |arguments: Value| async move { Ok(arguments["text"].clone()) });
    Ok(McpHandler::new(Arc::new(PlainBackend::new("echo", "0", "", vec![echo])), b"a key for a measurement of calls")?)
}

#[derive(Clone)]
struct Bare;

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = if let Value::Object(schema) = schema() { schema } else { serde_json::Map::new() };
        Ok(ListToolsResult::with_all_items(vec![Tool::new("echo", "Echo", Arc::new(schema))]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = request.arguments.as_ref().and_then(|given| given["text"].as_str()).unwrap_or_default();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn block_on(work: impl Future<Output = Outcome<()>>) -> Outcome<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

pub(crate) fn stdio(who: &str) -> Outcome<()> {
    block_on(async {
        if who == "ours" {
            over_stdio(&ours()?, CancellationToken::new()).await?;
        } else {
            Bare.serve(rmcp::transport::io::stdio_pipes()).await?.waiting().await?;
        }
        Ok(())
    })
}

pub(crate) fn http(who: &str, port: u16) -> Outcome<()> {
    block_on(async {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
        let router = if who == "ours" {
            let service = updraft_mcp::server::http(&ours()?, &[], &[], CancellationToken::new());
            axum::Router::new().route_service("/mcp", service)
        } else {
            let (sessions, config) = (Arc::new(LocalSessionManager::default()), StreamableHttpServerConfig::default());
            axum::Router::new().route_service("/mcp", StreamableHttpService::new(|| Ok(Bare), sessions, config))
        };
        axum::serve(listener.tap_io(|stream| drop(stream.set_nodelay(true))), router).await?;
        Ok(())
    })
}
