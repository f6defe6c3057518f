//! Collects what is needed to reach models from the environment and the settings. Only this file reads their keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use updraft_models::{
    AnswerCache, CallStyles, Error, GoogleProject, Http, KeySource, Model, ModelAccess, ProviderAccess, RateLimiter,
    Recordings, RetryPolicy, SecretString, for_purpose, is_purpose, providers,
};

use crate::fault::Fault;
use crate::folders::{self, AppFolders};
use crate::settings::{WorkspaceSettings, read_dotenv};
use crate::{Flags, journal};

/// Everything needed to reach models. `.env` is read only in a trusted workspace, and never overrides the environment.
pub fn access(folders: &AppFolders, settings: &WorkspaceSettings, workspace: &Path) -> ModelAccess {
    let own =
        if settings.trust_state.is_trusted() { read_dotenv(&workspace.join(".env")) } else { BTreeMap::default() };
    let find = |name: &str| folders::set(name).or_else(|| own.get(name).filter(|value| !value.is_empty()).cloned());
    let any = |names: &[&str]| names.iter().find_map(|name| find(name));
    let models = &settings.effective.models;
    let mut reach: BTreeMap<String, ProviderAccess> = BTreeMap::new();
    for provider in providers() {
        let found =
            ProviderAccess { key: any(provider.keys).map(SecretString::new), base: any(provider.bases), speech: None };
        if found != ProviderAccess::default() {
            reach.insert(provider.name.to_owned(), found);
        }
    }
    for (name, provider) in &models.providers {
        let entry = reach.entry(name.clone()).or_default();
        if let Some(base) = &provider.value.base {
            entry.base = Some(base.clone());
        }
        if let Some(variable) = &provider.value.key_env {
            entry.key = find(variable).map(SecretString::new);
        }
        let is_known = updraft_models::provider(name).is_some();
        entry.speech = provider.value.speech.or((!is_known).then_some(updraft_models::DialectKind::Chat));
    }
    let (silence, stall) = (&settings.effective.silence, settings.effective.stall.value.0);
    // If the user allows longer pauses within an answer, the wait for its beginning is at least as long.
    let silence = if silence.is_default() { silence.value.0.max(stall) } else { silence.value.0 };
    ModelAccess {
        http: http(&find),
        reach,
        google: GoogleProject {
            project: any(&["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"]),
            location: any(&["GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION"]),
            credentials: find("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from).or_else(gcloud_credentials),
            metadata: find("GCE_METADATA_HOST"),
        },
        prices: models.prices.iter().map(|(name, price)| (name.clone(), price.value)).collect(),
        limit: models.limits.iter().map(|(name, limit)| (name.clone(), limit.value.clone())).collect(),
        limits: limits(folders),
        profiles: models.profiles.iter().map(|(name, spec)| (name.clone(), spec.value.clone())).collect(),
        probe: settings.effective.probe.value,
        patience: RetryPolicy {
            silence: Duration::from_millis(silence.max(1_000)),
            stall: Duration::from_millis(stall.max(1_000)),
            outage: Duration::from_millis(settings.effective.max_wait.value.0),
            ..RetryPolicy::default()
        },
        styles: CallStyles::at(folders.data.join("tool-calls.json")),
        cache: settings.effective.cache.value.then(|| AnswerCache::at(folders.data.join("answers"))),
        recorded: Some(recordings(folders)),
        keys: Some(keys(folders, workspace)),
    }
}

/// Reads the keys again whenever it is called: from the settings, and from `.env` of a trusted workspace.
fn keys(folders: &AppFolders, workspace: &Path) -> KeySource {
    let (folders, workspace) = (folders.clone(), workspace.to_owned());
    KeySource(Arc::new(move || {
        // If the settings cannot be read, no key changes.
        let Ok(settings) = WorkspaceSettings::load(&folders, &workspace, &Flags::default()) else {
            return BTreeMap::new();
        };
        let reach = access(&folders, &settings, &workspace).reach;
        reach.into_iter().filter_map(|(provider, reach)| Some((provider, reach.key?))).collect()
    }))
}

/// A model's name in a form that means the same from any folder.
pub fn model_spec(spec: &str) -> String {
    match spec.trim().strip_prefix("scripted/") {
        Some(file) => match Path::new(file).canonicalize() {
            Ok(real) => format!("scripted/{}", real.display()),
            Err(_) => spec.to_owned(),
        },
        None => spec.trim().to_owned(),
    }
}

/// A model's name with the id of the earlier run it refers to: `last` would mean another run tomorrow.
pub fn resolved(folders: &AppFolders, spec: &str) -> Result<String, Fault> {
    let Some(run) = spec.strip_prefix("recorded/") else { return Ok(spec.to_owned()) };
    Ok(format!("recorded/{}", journal::find_run(&journal::open_with_runs(folders)?, run)?))
}

/// The rate limits that all processes share. Tests with many processes use a shorter minute.
fn limits(folders: &AppFolders) -> RateLimiter {
    let file = folders.data.join("limits.db");
    match folders::set("UPDRAFT_TEST_MINUTE_MS").and_then(|number| number.parse().ok()) {
        Some(number) => RateLimiter::over(Some(file), Duration::from_millis(number)),
        None => RateLimiter::at(file),
    }
}

/// Answers of earlier runs, looked up when they are needed.
fn recordings(folders: &AppFolders) -> Recordings {
    let folders = folders.clone();
    Recordings(Arc::new(move |run| {
        let wrong = |what: String| Error::Config { what, hint: "`updraft runs` lists the runs there are".to_owned() };
        let found = journal::open_with_runs(&folders).and_then(|journal| {
            let id = journal::find_run(&journal, run)?;
            Ok(updraft_engine::recorded(&journal, &id)?)
        });
        Ok(Arc::new(found.map_err(|fault| wrong(fault.message))?) as Arc<dyn Model>)
    }))
}

/// The file that `gcloud auth application-default login` writes.
fn gcloud_credentials() -> Option<PathBuf> {
    let file = folders::home()?.join(".config/gcloud/application_default_credentials.json");
    file.is_file().then_some(file)
}

/// HTTP connections: through a proxy if one is set, except to this machine.
fn http(find: &dyn Fn(&str) -> Option<String>) -> Http {
    let proxy = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].iter().find_map(|name| folders::set(name));
    let except = find("NO_PROXY").or_else(|| find("no_proxy"));
    proxy.map_or_else(Http::default, |proxy| Http::through(proxy, except.as_deref()))
}

/// The model that an agent's file asks for: a model, a profile, or a purpose. If the user chose one model for
/// everything, purposes are ignored.
pub fn agents_model(wanted: &str, asked: &str, chosen: &str, access: &ModelAccess) -> Option<String> {
    if let Some(own) = access.profiles.get(wanted) {
        return Some(own.clone());
    }
    if !is_purpose(wanted) {
        return Some(wanted.to_owned());
    }
    let is_free = asked == "auto" || is_purpose(asked) || access.profiles.contains_key(asked);
    is_free.then(|| for_purpose(wanted, chosen, access)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_count_only_where_the_choice_was_left_to_us() {
        let mut access = ModelAccess::default();
        access.profiles.insert("mine".into(), "openai/gpt-5.4".into());
        let model = |wanted: &str, asked: &str| agents_model(wanted, asked, "openai/gpt-5.4-mini", &access);
        assert_eq!(model("strong", "auto").as_deref(), Some("openai/gpt-5.4 | openai/gpt-5.4-mini"));
        assert_eq!(model("strong", "openai/gpt-5.4-mini"), None);
        assert_eq!(model("mine", "openai/gpt-5.4-mini").as_deref(), Some("openai/gpt-5.4"));
        assert_eq!(model("gemini/x", "builtin").as_deref(), Some("gemini/x"));
    }
}
