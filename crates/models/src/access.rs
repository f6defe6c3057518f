//! What is needed to reach models. Whoever reads the environment and the settings fills it in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use reqwest::Url;
use updraft_run::Price;

use crate::providers::{DialectKind, Provider, provider};
use crate::{AnswerCache, Error, Http, Model, RateLimit, RateLimiter, RetryPolicy, SecretString};

/// What is needed to reach models.
#[derive(Clone, Debug, Default)]
pub struct ModelAccess {
    /// Keys and addresses by the provider's name; also of providers that only the settings know.
    pub reach: BTreeMap<String, ProviderAccess>,
    /// What Vertex needs beside them.
    pub google: GoogleProject,
    /// Prices by `provider/name`.
    pub prices: BTreeMap<String, Price>,
    /// Models by the names people gave them.
    pub profiles: BTreeMap<String, String>,
    /// Limits by `provider/name`, or by provider.
    pub limit: BTreeMap<String, RateLimit>,
    /// Who keeps them.
    pub limits: RateLimiter,
    /// How long providers are waited for.
    pub patience: RetryPolicy,
    /// The connections, shared by all models.
    pub http: Http,
    /// Whether `auto` may look for servers on this machine.
    pub probe: bool,
    /// Reads the keys again, for processes that live longer than a key.
    pub keys: Option<KeySource>,
    /// Answers to requests that were made before, where they are kept.
    pub cache: Option<AnswerCache>,
    /// Finds the answers of an earlier run, for `recorded/RUN`.
    pub recorded: Option<Recordings>,
}

/// How one provider is reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderAccess {
    /// Its key, where one is set.
    pub key: Option<SecretString>,
    /// Where it is, where that is not the usual place.
    pub base: Option<String>,
    /// How it is spoken to, for a provider that only the settings know.
    pub speech: Option<DialectKind>,
}

/// A Google Cloud project, and who we are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoogleProject {
    /// The project (`GOOGLE_CLOUD_PROJECT`).
    pub project: Option<String>,
    /// The place (`GOOGLE_CLOUD_LOCATION`).
    pub location: Option<String>,
    /// The file with credentials (`GOOGLE_APPLICATION_CREDENTIALS`, or where gcloud puts it).
    pub credentials: Option<PathBuf>,
    /// Where the machine we run on is asked for a token, as `host:port` (`GCE_METADATA_HOST`), where there is no file.
    /// Where this is not set either, the usual place is tried.
    pub metadata: Option<String>,
}

/// Reads the keys of all providers, by their names, as they are set now.
#[derive(Clone)]
pub struct KeySource(pub Arc<dyn Fn() -> BTreeMap<String, SecretString> + Send + Sync>);

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(..)")
    }
}

/// Finds a model that says what an earlier run heard.
#[derive(Clone)]
pub struct Recordings(pub Arc<RecordingFinder>);

/// From the id of a run to a model that repeats its answers.
pub type RecordingFinder = dyn Fn(&str) -> Result<Arc<dyn Model>, Error> + Send + Sync;

impl fmt::Debug for Recordings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recordings(..)")
    }
}

impl ModelAccess {
    /// The key for a provider.
    pub fn key(&self, provider: &str) -> Option<&SecretString> {
        self.reach.get(provider)?.key.as_ref().filter(|key| !key.is_empty())
    }

    /// The same with the keys of now, where some have changed. Addresses stay: nothing goes elsewhere than before.
    #[must_use]
    pub fn renewed(&self) -> Option<Self> {
        let keys = (self.keys.as_ref()?.0)();
        let mut renewed = self.clone();
        for (provider, key) in keys {
            renewed.reach.entry(provider).or_default().key = Some(key);
        }
        (renewed.reach != self.reach).then_some(renewed)
    }

    /// Whether what a provider needs is there, as far as can be told without asking it.
    pub fn can_use(&self, provider: &Provider) -> bool {
        match provider.speech {
            DialectKind::Vertex => self.google.project.is_some(),
            DialectKind::Chat
            | DialectKind::Responses
            | DialectKind::Anthropic
            | DialectKind::Gemini
            | DialectKind::Ollama => provider.is_open || self.key(provider.name).is_some(),
        }
    }

    /// The address of a provider that was set.
    pub fn base(&self, provider: &str) -> Option<&str> {
        self.reach.get(provider)?.base.as_deref()
    }

    /// How often a model may be asked. Gemini's free tier is assumed where nothing else is said.
    pub fn limit_of(&self, provider: &str, model: &str) -> RateLimit {
        let set = self.limit.get(&format!("{provider}/{model}")).or_else(|| self.limit.get(provider));
        let usual = if provider == "gemini" { RateLimit::GEMINI_FREE } else { RateLimit::default() };
        set.cloned().unwrap_or(usual)
    }

    /// How a provider is spoken to and where it is; `None` for one that nobody knows.
    pub(crate) fn find(&self, name: &str) -> Option<(DialectKind, Option<Provider>, String)> {
        let known = provider(name);
        let reach = self.reach.get(name);
        let speech = reach.and_then(|reach| reach.speech).or_else(|| known.map(|known| known.speech))?;
        let base = reach.and_then(|reach| reach.base.clone()).or_else(|| Some(known?.base.to_owned()))?;
        Some((speech, known, base))
    }
}

/// An address as it may be shown: without a name and a password.
pub fn shown(base: &str) -> String {
    let (scheme, rest) = base.split_once("://").unwrap_or(("", base));
    let (place, path) = rest.split_once('/').map_or((rest, None), |(place, path)| (place, Some(path)));
    let Some((_, host)) = place.rsplit_once('@') else { return base.to_owned() };
    format!("{scheme}://…@{host}{}", path.map(|path| format!("/{path}")).unwrap_or_default())
}

/// Whether an address is on this machine, or in the network of the house.
pub(crate) fn is_local(base: &str) -> bool {
    let Ok(url) = Url::parse(base.trim()) else { return false };
    match url.host() {
        Some(url::Host::Domain(name)) => matches!(name.rsplit('.').next(), Some("localhost" | "local")),
        Some(url::Host::Ipv4(address)) => address.is_loopback() || address.is_private() || address.is_unspecified(),
        Some(url::Host::Ipv6(address)) => address.is_loopback() || address.is_unique_local(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        assert_eq!(shown("http://user:hunter22@127.0.0.1:1/v1"), "http://…@127.0.0.1:1/v1");
        assert_eq!(shown("https://api.openai.com/v1"), "https://api.openai.com/v1");
        assert_eq!(shown("http://host/a@b"), "http://host/a@b");
    }

    #[test]
    fn what_is_near_is_told_from_what_is_far() {
        for near in ["http://127.0.0.1:8080/v1", "http://localhost:1", "http://[::1]/v1", "http://192.168.1.7:8000/v1"]
        {
            assert!(is_local(near), "{near}");
        }
        for far in ["https://api.openai.com/v1", "http://127.example.com", "nonsense"] {
            assert!(!is_local(far), "{far}");
        }
    }
}
