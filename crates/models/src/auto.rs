//! Chooses a model for `auto`, or for a purpose (such as `fast`) instead of a name.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

use crate::access::shown;
use crate::http::short_body;
use crate::providers::{ProviderModels, provider, providers};
use crate::{BuiltinModel, Error, Model, ModelAccess, ollama, resolve};

/// A running server on this machine answers well within this time.
const PROBE_TIME: Duration = Duration::from_millis(200);
/// A configured server may be far away.
const CONFIGURED_TIME: Duration = Duration::from_secs(3);

/// A model, and one line that says why it was chosen.
#[derive(Clone)]
pub struct ModelChoice {
    /// The model.
    pub model: Arc<dyn Model>,
    /// Its full name, with which the same model is found again.
    pub spec: String,
    /// What was chosen and why, for a person.
    pub why: String,
}

impl ModelChoice {
    fn new(spec: &str, why: &str, access: &ModelAccess) -> Result<Self, Error> {
        let model = resolve(spec, access)?;
        Ok(Self { why: format!("{}: {why}", model.name()), model, spec: spec.to_owned() })
    }

    fn builtin(why: &str) -> Self {
        Self { model: Arc::new(BuiltinModel), spec: "builtin".to_owned(), why: format!("builtin: {why}") }
    }
}

/// Finds the model of this name. For `auto`, it is the first that can be reached: by a key, on this machine, or the
/// built-in model.
pub async fn choose(spec: &str, access: &ModelAccess) -> Result<ModelChoice, Error> {
    let spec = spec.trim();
    if spec == "auto" {
        return first(access).await;
    }
    if is_purpose(spec) && !access.profiles.contains_key(spec) {
        let chosen = first(access).await?;
        return match for_purpose(spec, &chosen.spec, access) {
            Some(own) if own != chosen.spec => {
                ModelChoice::new(&own, &format!("it is the {spec} one of the available models"), access)
            }
            _ => Ok(chosen),
        };
    }
    let spec = access.profiles.get(spec).map_or(spec, String::as_str);
    let model = resolve(spec, access)?;
    Ok(ModelChoice { why: format!("{}, as asked for", model.name()), model, spec: spec.to_owned() })
}

async fn first(access: &ModelAccess) -> Result<ModelChoice, Error> {
    if let Some(base) = foreign_base(access)
        && let Some(chosen) = at_base(base, access).await?
    {
        return Ok(chosen);
    }
    if let Some(spec) = by_key(access) {
        let house = spec.split('/').next().unwrap_or_default();
        return ModelChoice::new(&spec, &format!("a key for {house} is set"), access);
    }
    let host = access.base("ollama").map(ollama::address);
    if let Some(host) = &host
        && let Some(name) = ollama_model(host, access, CONFIGURED_TIME).await
    {
        return ModelChoice::new(&format!("ollama/{name}?base={host}"), &format!("Ollama at {host} has it"), access);
    }
    if access.probe
        && let Some((spec, why)) = probe(access).await
    {
        return ModelChoice::new(&spec, &why, access);
    }
    let configured = [foreign_base(access), host.as_deref()].into_iter().flatten().map(shown);
    let configured: Vec<String> = configured.collect();
    Ok(ModelChoice::builtin(&match configured.as_slice() {
        [] => "no key is set and no server was found, so no language model is connected".to_owned(),
        silent => format!("{} lists no models, so no language model is connected", silent.join(" and ")),
    }))
}

/// The default model of the first provider for which a key is set.
pub(crate) fn by_key(access: &ModelAccess) -> Option<String> {
    let usable = |name: &str| access.key(name).is_some();
    let with_key = providers().into_iter().find(|one| usable(one.name) && !one.models.fast.is_empty() && !one.is_open);
    let has_entry = access.google.credentials.is_some() || access.google.metadata.is_some() || usable("vertex");
    let vertex = || provider("vertex").filter(|_| access.google.project.is_some() && has_entry);
    let chosen = with_key.or_else(vertex)?;
    Some(format!("{}/{}", chosen.name, chosen.models.fast))
}

/// A configured address for OpenAI's dialect that is not OpenAI's own.
fn foreign_base(access: &ModelAccess) -> Option<&str> {
    let base = access.base("openai-compatible").or_else(|| access.base("openai"))?;
    (!base.contains("api.openai.com")).then_some(base)
}

/// The first model of a configured server, if it answers.
async fn at_base(base: &str, access: &ModelAccess) -> Result<Option<ModelChoice>, Error> {
    let Some(name) = first_listed(base, access, CONFIGURED_TIME).await else { return Ok(None) };
    let spec = format!("openai-compatible/{name}?base={base}");
    ModelChoice::new(&spec, &format!("it is listed at {}", shown(base)), access).map(Some)
}

/// Asks the servers that commonly listen on this machine, in parallel; their order is the preference.
async fn probe(access: &ModelAccess) -> Option<(String, String)> {
    let servers = [
        ("llama.cpp", "http://127.0.0.1:8080/v1"),
        ("LM Studio", "http://127.0.0.1:1234/v1"),
        ("vLLM", "http://127.0.0.1:8000/v1"),
    ];
    let ollama = async {
        let host = provider("ollama")?.base;
        let name = ollama_model(host, access, PROBE_TIME).await?;
        Some((format!("ollama/{name}"), format!("Ollama answers at {host}")))
    };
    let others = servers.map(|(server, base)| async move {
        let name = first_listed(base, access, PROBE_TIME).await?;
        Some((format!("openai-compatible/{name}?base={base}"), format!("{server} answers at {base}")))
    });
    let (ollama, others) = futures_util::future::join(ollama, futures_util::future::join_all(others)).await;
    std::iter::once(ollama).chain(others).flatten().next()
}

/// Whether this is a purpose instead of a model's name.
pub fn is_purpose(name: &str) -> bool {
    matches!(name, "fast" | "strong" | "cheap" | "vision")
}

/// The model for a purpose: of the provider whose model was chosen; for pictures, of any provider that can be reached.
pub fn for_purpose(purpose: &str, chosen: &str, access: &ModelAccess) -> Option<String> {
    if let Some(own) = access.profiles.get(purpose) {
        return Some(own.clone());
    }
    let of = |models: ProviderModels| match purpose {
        "fast" => models.fast,
        "strong" => models.strong,
        "cheap" => models.cheap,
        "vision" => models.vision,
        _ => "",
    };
    // The strongest model may not be available for every key: then the default model is used.
    let spec = |name: &str| {
        let models = provider(name)?.models;
        let model = of(models);
        let usual = if purpose == "strong" { format!(" | {name}/{}", models.fast) } else { String::new() };
        (!model.is_empty()).then(|| format!("{name}/{model}{usual}"))
    };
    let own = chosen.split('/').next().unwrap_or_default();
    let any_that_sees =
        || providers().into_iter().filter(|one| access.key(one.name).is_some()).find_map(|one| spec(one.name));
    spec(own).or_else(|| if purpose == "vision" { any_that_sees() } else { None })
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
}

/// The first model that a server lists, if it answers in time. A server that is still loading answers 503 and is
/// skipped.
async fn first_listed(base: &str, access: &ModelAccess, limit: Duration) -> Option<String> {
    let listed: ModelList =
        get(&format!("{}/models", base.trim_end_matches('/')), "openai-compatible", access, limit).await?;
    listed.data.into_iter().map(|entry| entry.id).find(|name| is_talker(name))
}

#[derive(Deserialize)]
struct OllamaModels {
    models: Vec<OllamaTag>,
}

#[derive(Deserialize)]
struct OllamaTag {
    name: String,
    /// Newer servers list the capabilities of each model.
    #[serde(default)]
    capabilities: Option<Vec<Value>>,
}

/// A model of Ollama: the first that supports tools, otherwise the first.
async fn ollama_model(host: &str, access: &ModelAccess, limit: Duration) -> Option<String> {
    let installed: OllamaModels = get(&format!("{host}/api/tags"), "ollama", access, limit).await?;
    let has_tools =
        |tag: &&OllamaTag| tag.capabilities.as_ref().is_some_and(|all| all.iter().any(|one| one == "tools"));
    let talkers = || installed.models.iter().filter(|tag| is_talker(&tag.name));
    let best = talkers().find(has_tools).or_else(|| talkers().next());
    best.map(|tag| tag.name.clone())
}

/// Whether this is a chat model, judged by its name, and whether the name can be written in a model specification.
fn is_talker(name: &str) -> bool {
    let lower = name.to_lowercase();
    let others = ["embed", "rerank", "whisper", "tts", "bge-", "clip"];
    !others.iter().any(|other| lower.contains(other)) && !name.contains(['?', '&', '|'])
}

async fn get<T: for<'de> Deserialize<'de>>(url: &str, whose: &str, access: &ModelAccess, limit: Duration) -> Option<T> {
    let url = Url::parse(url).ok()?;
    let client = access.http.client(&url).ok()?;
    let asked = async {
        let mut request = client.get(url);
        if let Some(key) = access.key(whose) {
            request = request.header(reqwest::header::AUTHORIZATION, key.header("Bearer ").ok()?);
        }
        let response = request.send().await.ok()?.error_for_status().ok()?;
        serde_json::from_slice(&short_body(response).await?).ok()
    };
    tokio::time::timeout(limit, asked).await.ok()?
}
