//! From a name as people write it to a model, and the choice where they wrote `auto`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::{Builtin, Endpoint, Error, Http, Model, OpenAi, Patience, Price, Scripted, Token};

const OPENAI: &str = "https://api.openai.com/v1";
/// Where llama.cpp's server listens unless told otherwise.
const LOCAL: &str = "http://127.0.0.1:8080/v1";
/// What `auto` takes where a key for OpenAI is known: able to use tools, and cheap.
const OPENAI_DEFAULT: &str = "openai/gpt-5-mini";
/// A server on this machine that is there answers well within this.
const PROBE_TIME: Duration = Duration::from_millis(200);
/// A server that was configured may be across the world.
const CONFIGURED_TIME: Duration = Duration::from_secs(3);

/// What is needed to reach models. Whoever reads the environment and the settings fills it in.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The key for OpenAI and servers like it (`OPENAI_API_KEY`).
    pub openai_key: Option<Token>,
    /// Where such a server is, `/v1` included (`OPENAI_BASE_URL`).
    pub openai_base: Option<String>,
    /// Prices by `provider/name`.
    pub prices: BTreeMap<String, Price>,
    /// How long providers are waited for.
    pub patience: Patience,
    /// The connections, shared by all models.
    pub http: Http,
    /// Whether `auto` may look for servers on this machine.
    pub probe: bool,
}

/// A model, and one line that says why it was taken.
#[derive(Clone)]
pub struct Chosen {
    /// The model.
    pub model: Arc<dyn Model>,
    /// What was taken and why, for a person.
    pub why: String,
}

/// A way to name a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Known {
    /// How it is written; capitals stand for what varies.
    pub spec: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What it needs, empty where that is nothing.
    pub needs: &'static str,
}

/// All ways to name a model.
pub fn known() -> Vec<Known> {
    let known = |spec, about, needs| Known { spec, about, needs };
    vec![
        known("auto", "the first of these that can be reached", ""),
        known("openai/gpt-5-mini", "OpenAI, cheap and able", "OPENAI_API_KEY"),
        known("openai/gpt-5", "OpenAI, able", "OPENAI_API_KEY"),
        known("openai/NAME", "any model of OpenAI", "OPENAI_API_KEY"),
        known(
            "openai-compatible/NAME",
            "a server with /chat/completions: llama.cpp, LM Studio, vLLM, Ollama and others",
            "OPENAI_BASE_URL, unless it listens on 127.0.0.1:8080",
        ),
        known("scripted/PATH", "answers from a JSON file, for tests", ""),
        known("builtin", "no language model: plans, uses tools and quotes, without inventing", ""),
    ]
}

/// Finds the model of this name; nothing is sent. `auto` does not probe here: see [`choose`].
pub fn resolve(spec: &str, access: &Access) -> Result<Arc<dyn Model>, Error> {
    let spec = spec.trim();
    match spec.split_once('/') {
        Some(("openai", name)) if !name.is_empty() => openai(name, access),
        Some(("openai-compatible", name)) if !name.is_empty() => {
            let base = access.openai_base.as_deref().unwrap_or(LOCAL);
            compatible(name, base, access)
        }
        Some(("scripted", path)) if !path.is_empty() => Ok(Arc::new(Scripted::load(Path::new(path))?)),
        None if spec == "builtin" => Ok(builtin()),
        None if spec == "auto" => match access.openai_key {
            Some(_) => resolve(OPENAI_DEFAULT, access),
            None => Ok(builtin()),
        },
        _ => Err(Error::Unknown { name: spec.to_owned(), close: close_to(spec) }),
    }
}

/// Finds the model of this name, or for `auto` the first that can be reached: by a key, on this machine, or built in.
pub async fn choose(spec: &str, access: &Access) -> Result<Chosen, Error> {
    if spec.trim() != "auto" {
        let model = resolve(spec, access)?;
        return Ok(Chosen { why: format!("{}, as asked for", model.name()), model });
    }
    if access.openai_key.is_some() {
        let model = resolve(OPENAI_DEFAULT, access)?;
        return Ok(Chosen { why: format!("{}: a key for OpenAI is set", model.name()), model });
    }
    if let Some(base) = &access.openai_base {
        return at_base(base, access).await;
    }
    if access.probe
        && let Some((server, base, name)) = probe(access).await
    {
        let model = compatible(&name, base, access)?;
        return Ok(Chosen { why: format!("{}: {server} answers at {base}", model.name()), model });
    }
    let why = "builtin: no key is set and no server was found, so no language model is connected".to_owned();
    Ok(Chosen { model: builtin(), why })
}

/// The first model of a server that was configured, or the built-in one where it does not answer.
async fn at_base(base: &str, access: &Access) -> Result<Chosen, Error> {
    let Some(name) = first_model(base, access, CONFIGURED_TIME).await else {
        let why = format!("builtin: no key is set and {base} lists no models, so no language model is connected");
        return Ok(Chosen { model: builtin(), why });
    };
    let model = compatible(&name, base, access)?;
    Ok(Chosen { why: format!("{}: it is listed at {base}", model.name()), model })
}

fn openai(name: &str, access: &Access) -> Result<Arc<dyn Model>, Error> {
    let base = access.openai_base.as_deref().unwrap_or(OPENAI);
    if access.openai_key.as_ref().is_none_or(Token::is_empty) {
        return Err(Error::Config {
            what: format!("`openai/{name}` needs a key"),
            hint: "set OPENAI_API_KEY; for a server without keys write `openai-compatible/` in front of its model"
                .to_owned(),
        });
    }
    endpoint("openai", name, base, access)
}

fn compatible(name: &str, base: &str, access: &Access) -> Result<Arc<dyn Model>, Error> {
    endpoint("openai-compatible", name, base, access)
}

fn endpoint(provider: &str, name: &str, base: &str, access: &Access) -> Result<Arc<dyn Model>, Error> {
    let model = OpenAi::new(Endpoint {
        provider: provider.to_owned(),
        model: name.to_owned(),
        base: base.to_owned(),
        key: access.openai_key.clone(),
        price: access.prices.get(&format!("{provider}/{name}")).copied(),
        patience: access.patience.clone(),
        http: access.http.clone(),
    })?;
    Ok(Arc::new(model))
}

fn builtin() -> Arc<dyn Model> {
    Arc::new(Builtin)
}

/// The names nearest to what was written, or all of them.
fn close_to(spec: &str) -> Vec<String> {
    let all: Vec<&str> = known().into_iter().map(|known| known.spec).collect();
    let provider = spec.split('/').next().unwrap_or_default();
    let near = |known: &&str| {
        let model = known.split('/').next_back().unwrap_or_default();
        let family = known.split('/').next().unwrap_or_default();
        strsim::damerau_levenshtein(spec, known) <= 2
            || strsim::damerau_levenshtein(spec, model) <= 1
            || strsim::damerau_levenshtein(provider, family) <= 2
    };
    let close: Vec<String> = all.iter().copied().filter(near).map(str::to_owned).collect();
    if close.is_empty() { all.into_iter().map(str::to_owned).collect() } else { close }
}

/// Asks the servers that commonly listen on this machine, all at once.
async fn probe(access: &Access) -> Option<(&'static str, &'static str, String)> {
    let servers =
        [("llama.cpp", LOCAL), ("LM Studio", "http://127.0.0.1:1234/v1"), ("vLLM", "http://127.0.0.1:8000/v1")];
    let asked =
        servers.map(|(server, base)| async move { Some((server, base, first_model(base, access, PROBE_TIME).await?)) });
    futures_util::future::join_all(asked).await.into_iter().flatten().next()
}

#[derive(Deserialize)]
struct Listed {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
}

/// The first model that a server lists, if it answers at once. One that is still loading answers 503, and is passed over.
async fn first_model(base: &str, access: &Access, limit: Duration) -> Option<String> {
    let url = reqwest::Url::parse(&format!("{}/models", base.trim_end_matches('/'))).ok()?;
    let client = access.http.client(url.scheme()).ok()?;
    let asked = async {
        let response = client.get(url).send().await.ok()?.error_for_status().ok()?;
        let listed: Listed = serde_json::from_slice(&response.bytes().await.ok()?).ok()?;
        listed.data.into_iter().next().map(|entry| entry.id)
    };
    tokio::time::timeout(limit, asked).await.ok()?
}
