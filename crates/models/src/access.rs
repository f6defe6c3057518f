//! What is needed to reach models: keys, addresses, limits and prices. The caller fills it in from the environment and
//! the settings.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use reqwest::Url;
use updraft_run::Price;

use crate::providers::{DialectKind, Provider, provider};
use crate::{AnswerCache, CallStyles, Error, Http, Model, RateLimit, RateLimiter, RetryPolicy, SecretString};

/// What is needed to reach models.
#[derive(Clone, Debug, Default)]
pub struct ModelAccess {
    /// Keys and addresses by provider name, including providers that only the settings define.
    pub reach: BTreeMap<String, ProviderAccess>,
    /// The additional settings of Vertex.
    pub google: GoogleProject,
    /// Prices by `provider/name`.
    pub prices: BTreeMap<String, Price>,
    /// User-defined names for models.
    pub profiles: BTreeMap<String, String>,
    /// Limits by `provider/name`, or by provider.
    pub limit: BTreeMap<String, RateLimit>,
    /// Enforces these limits.
    pub limits: RateLimiter,
    /// Time limits and retries.
    pub patience: RetryPolicy,
    /// The connections, shared by all models.
    pub http: Http,
    /// Whether `auto` may look for servers on this machine.
    pub probe: bool,
    /// Reads the keys again, for processes that outlive a key.
    pub keys: Option<KeySource>,
    /// How models call tools, as far as their answers have shown it.
    pub styles: CallStyles,
    /// The cache of answers to earlier requests, if it is enabled.
    pub cache: Option<AnswerCache>,
    /// Finds the answers of an earlier run, for `recorded/RUN`.
    pub recorded: Option<Recordings>,
}

/// How to reach one provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderAccess {
    /// Its key, if one is set.
    pub key: Option<SecretString>,
    /// Its address, if it is not the default.
    pub base: Option<String>,
    /// The dialect of a provider that only the settings define.
    pub speech: Option<DialectKind>,
}

/// A Google Cloud project and its credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoogleProject {
    /// The project (`GOOGLE_CLOUD_PROJECT`).
    pub project: Option<String>,
    /// The location (`GOOGLE_CLOUD_LOCATION`).
    pub location: Option<String>,
    /// The credentials file (`GOOGLE_APPLICATION_CREDENTIALS`, or gcloud's default path).
    pub credentials: Option<PathBuf>,
    /// The address of the metadata server, as `host:port` (`GCE_METADATA_HOST`), which is used if there is no file. If
    /// this is not set either, the default address is tried.
    pub metadata: Option<String>,
}

/// Reads the current keys of all providers, by name.
#[derive(Clone)]
pub struct KeySource(pub Arc<dyn Fn() -> BTreeMap<String, SecretString> + Send + Sync>);

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(..)")
    }
}

/// Finds a model that repeats the answers of an earlier run.
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

    /// The same access with the current keys, if some have changed. Addresses stay the same, so nothing is sent to
    /// another place.
    #[must_use]
    pub fn renewed(&self) -> Option<Self> {
        let keys = (self.keys.as_ref()?.0)();
        let mut renewed = self.clone();
        for (provider, key) in keys {
            renewed.reach.entry(provider).or_default().key = Some(key);
        }
        (renewed.reach != self.reach).then_some(renewed)
    }

    /// Whether everything that a provider needs is set, as far as can be known without a request.
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

    /// The configured address of a provider.
    pub fn base(&self, provider: &str) -> Option<&str> {
        self.reach.get(provider)?.base.as_deref()
    }

    /// The rate limit of a model. By default Gemini has the limits of its free tier.
    pub fn limit_of(&self, provider: &str, model: &str) -> RateLimit {
        let set = self.limit.get(&format!("{provider}/{model}")).or_else(|| self.limit.get(provider));
        let usual = if provider == "gemini" { RateLimit::GEMINI_FREE } else { RateLimit::default() };
        set.cloned().unwrap_or(usual)
    }

    /// The dialect and the address of a provider; `None` if it is unknown.
    pub(crate) fn find(&self, name: &str) -> Option<(DialectKind, Option<Provider>, String)> {
        let known = provider(name);
        let reach = self.reach.get(name);
        let speech = reach.and_then(|reach| reach.speech).or_else(|| known.map(|known| known.speech))?;
        let base = reach.and_then(|reach| reach.base.clone()).or_else(|| Some(known?.base.to_owned()))?;
        Some((speech, known, base))
    }
}

/// An address for display: without user name and password.
pub fn shown(base: &str) -> String {
    let (scheme, rest) = base.split_once("://").unwrap_or(("", base));
    let (place, path) = rest.split_once('/').map_or((rest, None), |(place, path)| (place, Some(path)));
    let Some((_, host)) = place.rsplit_once('@') else { return base.to_owned() };
    format!("{scheme}://…@{host}{}", path.map(|path| format!("/{path}")).unwrap_or_default())
}

/// Whether an address is on this machine or in the local network.
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
