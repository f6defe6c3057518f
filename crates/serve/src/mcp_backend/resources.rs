//! Runs, their graphs and their results as MCP resources.

use updraft_mcp::server::ErrorData;
use updraft_mcp::server::model::{Resource, ResourceContents, ResourceTemplate};
use updraft_workbench::Fault;
use updraft_workbench::service::LiveRuns;

use super::results;

const RUNS: &str = "updraft://runs";
const JSON: &str = "application/json";

/// The list of runs, and each of the newest runs.
pub(super) fn list(runs: &LiveRuns) -> Result<Vec<Resource>, ErrorData> {
    let all = Resource::new(RUNS, "runs").with_title("Runs").with_description("The newest runs in this workspace.");
    let mut resources = vec![all.with_mime_type(JSON)];
    for view in runs.list().map_err(|fault| refused(&fault))? {
        let goal: String = view.goal.chars().take(80).collect();
        let one = Resource::new(format!("{RUNS}/{}", view.run), view.run.clone()).with_title(goal);
        resources.push(one.with_description(format!("{}: {}", view.word(), view.message)).with_mime_type(JSON));
    }
    Ok(resources)
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |end: &str, name: &str, mime: &str, text: &str| {
        let uri = format!("{RUNS}/{{run}}{end}");
        ResourceTemplate::new(uri, name).with_description(text).with_mime_type(mime)
    };
    vec![
        template("", "run", JSON, "A run with its steps, variables, costs, and what it is waiting for."),
        template("/graph", "run-graph", JSON, "A run's graph as node-link data."),
        template("/output", "run-output", "text/markdown", "The result of a run, or its partial result so far."),
    ]
}

pub(super) async fn read(runs: &LiveRuns, uri: &str) -> Result<Vec<ResourceContents>, ErrorData> {
    let unknown = || ErrorData::resource_not_found(format!("no resource `{uri}`"), None);
    let rest = uri.strip_prefix(RUNS).ok_or_else(unknown)?;
    if rest.is_empty() {
        let views = runs.list().map_err(|fault| refused(&fault))?;
        let list: Vec<_> = views.iter().map(results::data).collect();
        return Ok(vec![contents(uri, JSON, serde_json::Value::from(list).to_string())]);
    }
    let rest = rest.strip_prefix('/').ok_or_else(unknown)?;
    let (run, part) = rest.split_once('/').unwrap_or((rest, ""));
    let (mime, text) = match part {
        "" => (JSON, runs.report(run).map_err(|_| unknown())?.to_string()),
        "graph" => (JSON, runs.graph(run).map_err(|_| unknown())?.to_string()),
        "output" => ("text/markdown", runs.view(run).await.map_err(|_| unknown())?.answer),
        _ => return Err(unknown()),
    };
    Ok(vec![contents(uri, mime, text)])
}

fn contents(uri: &str, mime: &str, text: String) -> ResourceContents {
    ResourceContents::TextResourceContents { uri: uri.to_owned(), mime_type: Some(mime.to_owned()), text, meta: None }
}

fn refused(fault: &Fault) -> ErrorData {
    ErrorData::internal_error(fault.in_one_line(), None)
}
