//! `/tools`: the tools of the workspace, and a form for each, made from its schema, to try it.

use std::sync::Arc;

use axum::extract::{Form, Path, State};
use maud::{Markup, html};
use serde_json::{Map, Value};
use updraft_workbench::Fault;
use updraft_workbench::service::{ServerCard, ServerCardState, ToolCard};

use super::failure::PageFailure;
use super::layout::{self, PageFrame};
use super::{PageState, words};

fn frame<'a>(state: &PageState, title: &'a str) -> PageFrame<'a> {
    PageFrame { title, place: "/tools", kind: "tools", waiting: state.service.runs.waiting() }
}

pub(super) async fn list(State(state): State<Arc<PageState>>) -> Markup {
    let tools = state.service.files.tools();
    let runs = state.service.runs.clone();
    let (servers, remarks) = tokio::task::spawn_blocking(move || runs.servers()).await.unwrap_or_default();
    let body = html! {
        h1 { "Tools" }
        (server_list(&servers, &remarks))
        h2 { (words::count(tools.len() as u64, "tool")) }
        ul.tools {
            @for tool in &tools {
                li.tool-card {
                    a.tool href={ "/tools/" (words::query(&tool.name)) } { (tool.name) }
                    " " span.group { (tool.group) } " " span.source { (tool.source) }
                    p.about { (words::short(&tool.description, 200)) }
                }
            }
        }
    };
    layout::page(&frame(&state, "Tools"), &body)
}

/// The MCP servers: which are connected, which are not, and why.
fn server_list(servers: &[ServerCard], remarks: &[String]) -> Markup {
    html! {
        h2 { (words::count(servers.len() as u64, "MCP server")) }
        @if servers.is_empty() { p.empty { "None is configured here: " code { "updraft mcp add" } " adds one." } }
        ul.servers {
            @for server in servers {
                li.server data-state=(server.state.word()) {
                    strong { (server.name) }
                    " " span.status data-status=(shown(server.state)) {
                        span.sign aria-hidden="true" { (sign(server.state)) } " " (server.state.word())
                    }
                    " " span.group { (words::count(server.tools as u64, "tool")) }
                    @if !server.why.is_empty() { p.about { (words::ticked(&words::short(&server.why, 400))) } }
                    p.source { (server.file) }
                }
            }
        }
        @for remark in remarks { p.reason { (words::short(remark, 400)) } }
    }
}

/// The status of a step that looks the same.
fn shown(state: ServerCardState) -> &'static str {
    match state {
        ServerCardState::Connected => "completed",
        ServerCardState::Starting => "running",
        ServerCardState::Idle => "ready",
        ServerCardState::Failed => "failed",
        ServerCardState::Disabled => "skipped",
    }
}

fn sign(state: ServerCardState) -> &'static str {
    match state {
        ServerCardState::Connected => "✓",
        ServerCardState::Starting => "●",
        ServerCardState::Idle => "○",
        ServerCardState::Failed => "✗",
        ServerCardState::Disabled => "–",
    }
}

pub(super) async fn show(State(state): State<Arc<PageState>>, Path(name): Path<String>) -> Result<Markup, PageFailure> {
    let tool = find(&state, &name)?;
    Ok(layout::page(&frame(&state, &tool.name), &page(&tool, &[], None)))
}

fn find(state: &PageState, name: &str) -> Result<ToolCard, PageFailure> {
    let found = state.service.files.tools().into_iter().find(|tool| tool.name == name);
    found.ok_or_else(|| PageFailure::missing(Fault::usage(format!("there is no tool `{name}`"))))
}

/// Calls a tool, under the rules that hold for clients: what an agent would have to ask about is refused.
pub(super) async fn call(
    State(state): State<Arc<PageState>>,
    Path(name): Path<String>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Result<Markup, PageFailure> {
    let tool = find(&state, &name)?;
    let outcome = match arguments(&tool.parameters, &fields) {
        Ok(arguments) => state.service.files.call(&tool.name, arguments).await,
        Err(fault) => Err(fault),
    };
    let outcome = match outcome {
        Ok(output) => html! { h2 { "Result" } (words::verbatim(&output.text)) },
        Err(fault) => html! { h2 { "Refused" } p.failed { (fault.message) } },
    };
    Ok(layout::page(&frame(&state, &tool.name), &page(&tool, &fields, Some(&outcome))))
}

/// The arguments that the fields describe: texts as they are, everything else as JSON.
fn arguments(schema: &Value, fields: &[(String, String)]) -> Result<Value, Fault> {
    let mut arguments = Map::new();
    for (name, text) in fields.iter().filter_map(|(name, text)| Some((name.strip_prefix("field.")?, text))) {
        if text.is_empty() {
            continue;
        }
        let value = if schema["properties"][name]["type"] == "string" {
            Value::String(text.clone())
        } else {
            serde_json::from_str(text).map_err(|error| Fault::usage(format!("`{name}` is not JSON: {error}")))?
        };
        arguments.insert(name.to_owned(), value);
    }
    Ok(Value::Object(arguments))
}

fn page(tool: &ToolCard, fields: &[(String, String)], outcome: Option<&Markup>) -> Markup {
    let properties = tool.parameters["properties"].as_object();
    let required =
        |name: &str| tool.parameters["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let given = |name: &str| {
        let found = fields.iter().find(|(known, _)| known.strip_prefix("field.") == Some(name));
        found.map(|(_, text)| text.as_str()).unwrap_or_default()
    };
    html! {
        p { a href="/tools" { "All tools" } }
        h1 { (tool.name) }
        p.facts { "group " (tool.group) ", " (tool.source) }
        (words::verbatim(&tool.description))
        form.try-it method="post" action={ "/tools/" (words::query(&tool.name)) } {
            h2 { "Try it" }
            @for (n, (name, schema)) in properties.into_iter().flatten().enumerate() {
                @let kind = schema["type"].as_str().unwrap_or("JSON");
                div.field {
                    label for={ "field-" (n) } { code { (name) } " " span.kind { (kind) } @if required(name) { " (needed)" } }
                    @if let Some(choices) = schema["enum"].as_array().filter(|_| kind == "string") {
                        select id={ "field-" (n) } name={ "field." (name) } {
                            @if !required(name) { option value="" { "–" } }
                            @for choice in choices.iter().filter_map(Value::as_str) {
                                option value=(choice) selected[given(name) == choice] { (choice) }
                            }
                        }
                    } @else if kind == "boolean" {
                        select id={ "field-" (n) } name={ "field." (name) } {
                            option value="" { "–" }
                            @for word in ["true", "false"] { option value=(word) selected[given(name) == word] { (word) } }
                        }
                    } @else {
                        textarea id={ "field-" (n) } name={ "field." (name) } rows="1" required[required(name)] { (given(name)) }
                    }
                    @if let Some(about) = schema["description"].as_str() { p.about { (words::short(about, 300)) } }
                }
            }
            button type="submit" { "Call" }
        }
        div id="outcome" aria-live="polite" { @if let Some(outcome) = outcome { (outcome) } }
        details { summary { "Schema" } (words::value(&tool.parameters)) }
    }
}
