//! What runs have around them: agents, tools, models, skills and MCP servers.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::{Map, Value};
use updraft_workbench::service::{FileToolOutput, ProviderCard, ServerCard, SkillCard, ToolCard};
use utoipa::ToSchema;

use super::SharedState;
use super::input::{ApiJson, ApiPath};
use super::problem::{ApiResult, Problem};

/// An agent that can work on a goal alone.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiAgent {
    /// Its name, for `agent` of a new run.
    name: String,
    /// What it is for.
    purpose: String,
}

/// List agents that can work on a goal alone
#[utoipa::path(get, path = "/agents", tag = "surroundings", responses((status = 200, body = [ApiAgent])))]
pub(super) async fn agents(State(state): State<SharedState>) -> Json<Vec<ApiAgent>> {
    let agents = state.service.runs.agents().into_iter();
    Json(agents.map(|agent| ApiAgent { name: agent.name, purpose: agent.purpose }).collect())
}

/// A tool.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiTool {
    /// Its name.
    name: String,
    /// What it does.
    description: String,
    /// JSON Schema of its arguments.
    parameters: Value,
    /// The group it belongs to.
    group: String,
    /// Where it comes from.
    source: String,
}

impl From<ToolCard> for ApiTool {
    fn from(card: ToolCard) -> Self {
        let ToolCard { name, description, parameters, group, source } = card;
        Self { name, description, parameters, group, source }
    }
}

/// List tools
#[utoipa::path(get, path = "/tools", tag = "surroundings", responses((status = 200, body = [ApiTool])))]
pub(super) async fn tools(State(state): State<SharedState>) -> Json<Vec<ApiTool>> {
    Json(state.service.files.tools().into_iter().map(ApiTool::from).collect())
}

/// The output of a tool.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiToolOutput {
    /// As text.
    text: String,
    /// As data, if it has any.
    value: Option<Value>,
}

/// Call a tool
///
/// The body holds the arguments. What an agent would have to ask a person for is refused: nobody can be asked here.
#[utoipa::path(
    post,
    path = "/tools/{name}",
    tag = "surroundings",
    params(("name" = String, Path, description = "The tool")),
    request_body = Object,
    responses((status = 200, body = ApiToolOutput))
)]
pub(super) async fn call(
    State(state): State<SharedState>,
    ApiPath(name): ApiPath<String>,
    ApiJson(args): ApiJson<Map<String, Value>>,
) -> ApiResult<Json<ApiToolOutput>> {
    let files = &state.service.files;
    if !files.tools().iter().any(|tool| tool.name == name) {
        return Err(Problem::missing("there is no such tool").hint("`GET /api/v1/tools` lists them"));
    }
    let FileToolOutput { text, value } = Box::pin(files.call(&name, Value::Object(args))).await?;
    Ok(Json(ApiToolOutput { text, value }))
}

/// Models.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiModels {
    /// The model that runs use unless they say otherwise.
    usual: String,
    /// Those who provide models.
    providers: Vec<ApiProvider>,
}

/// A provider of models.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiProvider {
    /// Its name.
    name: String,
    /// What it is.
    about: String,
    /// Whether it can be used: it has a key, or needs none.
    usable: bool,
    /// The models that are known by name; there may be others.
    models: Vec<ApiModel>,
}

/// A model.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiModel {
    /// Its name, for `model` of a new run.
    model: String,
    /// How many tokens it can read.
    context: Option<u64>,
}

impl From<ProviderCard> for ApiProvider {
    fn from(card: ProviderCard) -> Self {
        let ProviderCard { name, about, usable, models } = card;
        let models = models.into_iter().map(|(model, context)| ApiModel { model, context }).collect();
        Self { name, about, usable, models }
    }
}

/// List models
#[utoipa::path(get, path = "/models", tag = "surroundings", responses((status = 200, body = ApiModels)))]
pub(super) async fn models(State(state): State<SharedState>) -> Json<ApiModels> {
    let runs = &state.service.runs;
    let providers = runs.providers().into_iter().map(ApiProvider::from).collect();
    Json(ApiModels { usual: runs.usual_model().to_owned(), providers })
}

/// A skill: a folder with instructions for a kind of task.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiSkill {
    /// Its name; empty if it cannot be used.
    name: String,
    /// What it is for.
    description: String,
    /// Its folder.
    folder: String,
    /// Why it cannot be used.
    faults: Vec<String>,
    /// What is ignored in it.
    remarks: Vec<String>,
}

/// List skills
#[utoipa::path(get, path = "/skills", tag = "surroundings", responses((status = 200, body = [ApiSkill])))]
pub(super) async fn skills(State(state): State<SharedState>) -> ApiResult<Json<Vec<ApiSkill>>> {
    let runs = state.service.runs.clone();
    let all = tokio::task::spawn_blocking(move || runs.skills()).await?;
    let written = |SkillCard { folder, name, description, faults, remarks }: SkillCard| ApiSkill {
        name,
        description,
        folder,
        faults,
        remarks,
    };
    Ok(Json(all.into_iter().map(written).collect()))
}

/// The MCP servers that runs use.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiServers {
    /// The servers.
    servers: Vec<ApiServer>,
    /// What is wrong with other entries.
    remarks: Vec<String>,
}

/// An MCP server.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiServer {
    /// Its name.
    name: String,
    /// `connected`, `starting`, `idle`, `failed` or `disabled`.
    state: &'static str,
    /// Why it is in this state; empty if there is nothing to say.
    why: String,
    /// How many tools it has, as far as it has said.
    tools: usize,
}

/// List MCP servers that runs use; none is started for that
#[utoipa::path(get, path = "/servers", tag = "surroundings", responses((status = 200, body = ApiServers)))]
pub(super) async fn servers(State(state): State<SharedState>) -> ApiResult<Json<ApiServers>> {
    let runs = state.service.runs.clone();
    let (cards, remarks) = tokio::task::spawn_blocking(move || runs.servers()).await?;
    let written =
        |ServerCard { name, state, why, tools, .. }: ServerCard| ApiServer { name, state: state.word(), why, tools };
    Ok(Json(ApiServers { servers: cards.into_iter().map(written).collect(), remarks }))
}
