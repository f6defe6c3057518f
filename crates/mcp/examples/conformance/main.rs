//! The fixtures of the official conformance suite, served by the same handler and transport as Updraft itself.
//!
//! `conformance [PORT]` serves them at `http://127.0.0.1:PORT/mcp` and prints the address; tests/mcp/conformance.py runs the
//! suite against it. What each fixture must give stands in the suite.

#![expect(deprecated, reason = "the suite asks for a log, which leaves the protocol")]

mod fixed;
mod offered;
mod rounds;
mod tasks;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use updraft_mcp::server::model::{
    CallToolResult, Prompt, PromptArgument, Resource, ResourceContents, ResourceTemplate, ServerCapabilities,
    ServerConfig, Tool,
};
use updraft_mcp::server::model::{DetailedTask, GetPromptResult, Implementation, InputResponses};
use updraft_mcp::server::{
    BackendFuture, BackendOutcome, ClientCaller, ErrorData, McpHandler, PromptRequest, ServerBackend, ToolRequest, http,
};

/// The suite's fixtures.
struct Fixtures {
    tasks: tasks::Table,
}

impl ServerBackend for Fixtures {
    fn about(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_logging()
            .enable_completions()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("updraft-conformance", "0"))
    }

    fn tools(&self) -> Vec<Tool> {
        offered::tools()
    }

    fn call<'a>(
        &'a self,
        call: ToolRequest,
        caller: &'a ClientCaller,
    ) -> BackendFuture<'a, BackendOutcome<CallToolResult>> {
        Box::pin(async move {
            if let Some(outcome) = rounds::call(&call, caller)? {
                return Ok(outcome);
            }
            if let Some(outcome) = self.tasks.call(&call, caller).await? {
                return Ok(outcome);
            }
            fixed::call(&call, caller).await.map(BackendOutcome::Done)
        })
    }

    fn resources(&self) -> BackendFuture<'_, Vec<Resource>> {
        Box::pin(async {
            Ok(vec![
                Resource::new("test://static-text", "Static Text Resource").with_mime_type("text/plain"),
                Resource::new("test://static-binary", "Static Binary Resource").with_mime_type("image/png"),
                Resource::new("test://watched-resource", "Watched Resource").with_mime_type("text/plain"),
            ])
        })
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate::new("test://template/{id}/data", "Dynamic Resource").with_mime_type("application/json")]
    }

    fn read<'a>(&'a self, uri: &'a str) -> BackendFuture<'a, Vec<ResourceContents>> {
        Box::pin(async move { fixed::read(uri).map(|contents| vec![contents]) })
    }

    fn prompts(&self) -> Vec<Prompt> {
        let argument = |name: &str, required| PromptArgument::new(name).with_description(name).with_required(required);
        let arguments = vec![argument("arg1", true), argument("arg2", false)];
        let plain = |name: &str| Prompt::new(name, Some(name), None);
        vec![
            plain("test_simple_prompt"),
            Prompt::new("test_prompt_with_arguments", Some("Takes arguments"), Some(arguments)),
            plain("test_prompt_with_embedded_resource"),
            plain("test_prompt_with_image"),
            plain("test_input_required_result_prompt"),
        ]
    }

    fn prompt<'a>(
        &'a self,
        wanted: PromptRequest,
        _: &'a ClientCaller,
    ) -> BackendFuture<'a, BackendOutcome<GetPromptResult>> {
        Box::pin(async move {
            match rounds::prompt(&wanted) {
                Some(outcome) => Ok(outcome),
                None => fixed::prompt(&wanted).map(BackendOutcome::Done),
            }
        })
    }

    fn completions(&self, argument: &str) -> Vec<String> {
        match argument {
            "id" => ["1", "2", "3"].map(str::to_owned).to_vec(),
            _ => ["test value", "testing", "tested"].map(str::to_owned).to_vec(),
        }
    }

    fn task<'a>(&'a self, id: &'a str) -> BackendFuture<'a, DetailedTask> {
        Box::pin(async move { self.tasks.get(id) })
    }

    fn answer_task<'a>(&'a self, id: &'a str, replies: InputResponses) -> BackendFuture<'a, ()> {
        Box::pin(async move { self.tasks.answer(id, replies) })
    }

    fn cancel_task<'a>(&'a self, id: &'a str) -> BackendFuture<'a, ()> {
        Box::pin(async move { self.tasks.cancel(id) })
    }
}

/// The error for what the suite does not know.
fn unknown(what: &str, name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("no {what} `{name}`"), None)
}

#[expect(clippy::print_stdout, reason = "whoever started it reads the address")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).map_or(Ok(0), |port| port.parse::<u16>())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let fixtures = Arc::new(Fixtures { tasks: tasks::Table::default() });
        let handler = McpHandler::new(fixtures, b"a key for tests, known to everyone")?;
        let service = http(&handler, &[], &[], CancellationToken::new());
        let router = axum::Router::new().route_service("/mcp", service);
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
        println!("http://{}/mcp", listener.local_addr()?);
        axum::serve(listener, router).await?;
        Ok(())
    })
}
