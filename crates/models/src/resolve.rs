//! Turns the name of a model into a model.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::access::is_local;
use crate::anthropic::{self, AnthropicDialect};
use crate::dialect::Dialect;
use crate::discover::DiscoveryQuery;
use crate::fallback::FallbackChain;
use crate::gemini::{self, GeminiDialect, GeminiService};
use crate::google;
use crate::known_features::KnownFeatures;
use crate::ollama::{self, OllamaDialect};
use crate::openai::{self, ChatDialect, ChatVendor, ServerQuirks};
use crate::providers::{DialectKind, Provider, provider, providers};
use crate::remote::RemoteModel;
use crate::responses::ResponsesDialect;
use crate::spec::{self, ModelSpec};
use crate::{Auth, BuiltinModel, Endpoint, Error, Model, ModelAccess, ScriptedModel, SecretString};

/// Finds the model of this name, with its fallbacks; nothing is sent. `auto` does not probe servers here: see
/// [`choose`](crate::choose).
pub fn resolve(text: &str, access: &ModelAccess) -> Result<Arc<dyn Model>, Error> {
    let text = text.trim();
    if let Some(own) = access.profiles.get(text).filter(|own| *own != text) {
        return resolve(own, access);
    }
    let mut models: Vec<Arc<dyn Model>> =
        spec::parse(text)?.iter().map(|spec| one(spec, access)).collect::<Result<_, _>>()?;
    match models.len() {
        1 => Ok(models.remove(0)),
        _ => Ok(Arc::new(FallbackChain::new(text.to_owned(), models))),
    }
}

fn one(spec: &ModelSpec, access: &ModelAccess) -> Result<Arc<dyn Model>, Error> {
    let unknown = || Error::Unknown { name: spec.to_string(), close: close_to(&spec.to_string(), access) };
    match (spec.provider.as_str(), spec.name.as_str()) {
        ("builtin", "") => Ok(Arc::new(BuiltinModel)),
        ("auto", "") => match crate::auto::by_key(access) {
            Some(name) => resolve(&name, access),
            None => Ok(Arc::new(BuiltinModel)),
        },
        ("scripted", path) if !path.is_empty() => Ok(Arc::new(ScriptedModel::load(Path::new(path))?)),
        ("recorded", run) if !run.is_empty() => match &access.recorded {
            Some(recordings) => (recordings.0)(run),
            None => Err(unknown()),
        },
        (_, "") => Err(unknown()),
        (_, _) => {
            let (speech, endpoint, key) = endpoint_of(spec, access)?;
            Ok(Arc::new(remote(speech, endpoint, key, access)?))
        }
    }
}

/// Where the model of a provider is, in which dialect, and with which key it is reached.
pub(crate) fn endpoint_of(
    spec: &ModelSpec,
    access: &ModelAccess,
) -> Result<(DialectKind, Endpoint, Option<SecretString>), Error> {
    let unknown = || Error::Unknown { name: spec.to_string(), close: close_to(&spec.to_string(), access) };
    let (name, model) = (spec.provider.as_str(), spec.name.as_str());
    let (speech, known, base) = access.find(name).ok_or_else(unknown)?;
    // A key is sent only to the address it was configured for.
    let is_own = spec.base.as_ref().is_none_or(|own| own.trim_end_matches('/') == base.trim_end_matches('/'));
    let may_have = name != "openai-compatible" || access.base(name).is_some();
    let key = access.key(name).filter(|_| is_own && may_have).cloned();
    if known.is_some_and(|known| !known.is_open) && access.key(name).is_some() && !is_own {
        return Err(elsewhere(name, known));
    }
    let base = spec.base.clone().unwrap_or(base);
    if known.is_some_and(|known| !known.is_open) && access.key(name).is_none() {
        return Err(keyless(spec, known));
    }
    let endpoint = Endpoint {
        provider: name.to_owned(),
        model: model.to_owned(),
        auth: Auth::Open,
        price: access.prices.get(&format!("{name}/{model}")).copied(),
        patience: access.patience.clone(),
        http: access.http.clone(),
        tuning: spec.tuning.clone(),
        limit: access.limit_of(name, model),
        limits: access.limits.clone(),
        styles: access.styles.clone(),
        cache: access.cache.clone(),
        base,
    };
    Ok((speech, endpoint, key))
}

/// A model behind HTTP in its dialect, with its known features.
fn remote(
    speech: DialectKind,
    mut endpoint: Endpoint,
    key: Option<SecretString>,
    access: &ModelAccess,
) -> Result<RemoteModel, Error> {
    let model = endpoint.model.clone();
    let local = is_local(&endpoint.base);
    let temperature = endpoint.tuning.temperature;
    let (dialect, known): (Box<dyn Dialect>, KnownFeatures) = match speech {
        DialectKind::Chat => {
            endpoint.auth = key.map_or(Auth::Open, Auth::Bearer);
            let house = match endpoint.provider.as_str() {
                "openai" => ChatVendor::OpenAi,
                "openrouter" => ChatVendor::Router,
                _ if local => ChatVendor::Local,
                _ => ChatVendor::Other,
            };
            let taste = ServerQuirks {
                nine_letters: endpoint.provider == "mistral",
                thoughts_of: (endpoint.provider == "deepseek").then(|| format!("deepseek/{model}")),
            };
            let known = match house {
                ChatVendor::OpenAi => KnownFeatures::cloud(openai::sees(&model)),
                ChatVendor::Local => KnownFeatures::found_by(DiscoveryQuery::Props),
                ChatVendor::Router | ChatVendor::Other => KnownFeatures { sees: None, ..KnownFeatures::cloud(true) },
            };
            // `openai-compatible` stands for any server; a provider of the settings is no better known.
            let is_unknown = endpoint.provider == "openai-compatible" || provider(&endpoint.provider).is_none();
            (Box::new(ChatDialect { model, house, temperature, is_unknown, taste, thinks: OnceLock::new() }), known)
        }
        DialectKind::Responses => {
            endpoint.auth = key.map_or(Auth::Open, Auth::Bearer);
            let known = KnownFeatures::cloud(openai::sees(&model));
            (Box::new(ResponsesDialect::new(&endpoint.provider, &model, temperature)), known)
        }

        DialectKind::Anthropic => {
            endpoint.auth = key.map_or(Auth::Open, |key| Auth::Header("x-api-key", key));
            let known = KnownFeatures::cloud(anthropic::sees(&model));
            (Box::new(AnthropicDialect::new(&endpoint.provider, &model, temperature)), known)
        }

        DialectKind::Gemini => {
            endpoint.auth = key.map_or(Auth::Open, |key| Auth::Header("x-goog-api-key", key));
            gemini(&endpoint, GeminiService::Studio)
        }
        DialectKind::Vertex => {
            let google::CloudAccess { auth, project, location, charged } = google::enter(access, key)?;
            endpoint.auth = auth;
            if endpoint.base.is_empty() {
                endpoint.base = gemini::cloud_base(&location);
            }
            gemini(&endpoint, GeminiService::Cloud { project, location, charged })
        }

        DialectKind::Ollama => {
            endpoint.auth = key.map_or(Auth::Open, Auth::Bearer);
            endpoint.base = ollama::address(&endpoint.base);
            let local = !ollama::is_cloud(&model, &endpoint.base);
            (
                Box::new(OllamaDialect::new(&endpoint)),
                KnownFeatures { local, ..KnownFeatures::found_by(DiscoveryQuery::Show) },
            )
        }
    };
    RemoteModel::new(endpoint, dialect, known)
}

/// Gemini, on either service.
fn gemini(endpoint: &Endpoint, place: GeminiService) -> (Box<dyn Dialect>, KnownFeatures) {
    let Endpoint { provider, model, tuning, .. } = endpoint;
    let name = format!("{provider}/{model}");
    let known = KnownFeatures { sees: gemini::sees(model), ..KnownFeatures::cloud(true) };
    (Box::new(GeminiDialect { name, model: model.clone(), place, temperature: tuning.temperature }), known)
}

fn elsewhere(name: &str, known: Option<Provider>) -> Error {
    let variable = known.and_then(|known| known.bases.first().copied()).unwrap_or("base_url");
    Error::Config {
        what: format!("the key of `{name}` is sent only to the address that it was set for"),
        hint: format!("set {variable} to the other address, or write `openai-compatible/` for a server without keys"),
    }
}

fn keyless(spec: &ModelSpec, known: Option<Provider>) -> Error {
    let variables = known.map(|known| known.keys.join(" or ")).unwrap_or_default();
    let more = if spec.provider == "openai" {
        "; for a server without keys write `openai-compatible/` in front of its model"
    } else {
        ""
    };
    Error::Config { what: format!("`{spec}` needs a key"), hint: format!("set {variables}{more}") }
}

/// A form of model names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelNameForm {
    /// The form; upper-case words are placeholders.
    pub spec: String,
    /// A description.
    pub about: &'static str,
    /// What it requires; empty if nothing.
    pub needs: String,
}

/// All forms of model names.
pub fn known() -> Vec<ModelNameForm> {
    let known = |spec: &str, about| ModelNameForm { spec: spec.to_owned(), about, needs: String::new() };
    let mut all = vec![known("auto", "the first of these that can be reached")];
    for provider in providers() {
        let needs = if provider.is_open { String::new() } else { provider.keys.join(" or ") };
        let names = [provider.models.fast, provider.models.strong].into_iter().filter(|name| !name.is_empty());
        for name in names.chain(["NAME"]) {
            let spec = format!("{}/{name}", provider.name);
            all.push(ModelNameForm { spec, about: provider.about, needs: needs.clone() });
        }
    }
    all.push(known("scripted/PATH", "answers from a JSON file, for tests"));
    all.push(known("recorded/RUN", "the answers that an earlier run heard"));
    all.push(known("builtin", "no language model: plans, uses tools and quotes, without inventing"));
    all
}

/// The most similar names, or all of them.
fn close_to(written: &str, access: &ModelAccess) -> Vec<String> {
    let own = access.profiles.keys().cloned();
    let all: Vec<String> = known().into_iter().map(|known| known.spec).chain(own).collect();
    let provider = written.split('/').next().unwrap_or_default();
    let near = |known: &&String| {
        let model = known.split('/').next_back().unwrap_or_default();
        let family = known.split('/').next().unwrap_or_default();
        strsim::damerau_levenshtein(written, known) <= 2
            || strsim::damerau_levenshtein(written, model) <= 1
            || strsim::damerau_levenshtein(provider, family) <= 2
    };
    let close: Vec<String> = all.iter().filter(near).cloned().collect();
    let any = || all.iter().filter(|name| name.ends_with("/NAME") || !name.contains('/')).cloned().collect();
    if close.is_empty() { any() } else { close }
}
