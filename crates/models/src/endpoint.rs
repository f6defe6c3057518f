//! Where a model is, how it is reached, and how it is used.

use reqwest::Url;
use updraft_run::{Price, ThinkingEffort};

use crate::{AnswerCache, Auth, CallStyles, Error, Http, RateLimit, RateLimiter, RetryPolicy, ToolCallStyle};

/// Where a model is and how it is reached.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The provider's name, the first half of the model's.
    pub provider: String,
    /// The model's name at the server.
    pub model: String,
    /// The address that the dialect's path is added to, such as `http://127.0.0.1:8080/v1`.
    pub base: String,
    /// How to authenticate.
    pub auth: Auth,
    /// Its price, if it was configured; otherwise the price table is used.
    pub price: Option<Price>,
    /// Time limits and retries.
    pub patience: RetryPolicy,
    /// The connections to use.
    pub http: Http,
    /// How it is used.
    pub tuning: ModelTuning,
    /// Its rate limit.
    pub limit: RateLimit,
    /// Enforces the limits.
    pub limits: RateLimiter,
    /// How models call tools, as far as their answers have shown it.
    pub styles: CallStyles,
    /// The cache of answers to earlier requests, if it is enabled.
    pub cache: Option<AnswerCache>,
}

/// Settings of a model that differ from its defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelTuning {
    /// The thinking effort, if the prompt does not set it.
    pub think: ThinkingEffort,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// Limit on the tokens of one answer, if it is lower than the run's.
    pub max_output: Option<u64>,
    /// How it calls tools; discovered if it is `None`.
    pub tools: Option<ToolCallStyle>,
    /// Whether it accepts pictures; discovered if it is `None`.
    pub sees: Option<bool>,
    /// Size of its context window in tokens; discovered if it is `None`.
    pub window: Option<u64>,
}

/// Parses and checks an address: nothing is sent to an invalid one, and it must not contain secrets.
pub(crate) fn parse_base(base: &str) -> Result<Url, Error> {
    let wrong = |what: String| Error::Config {
        what,
        hint: "give the address before the provider's own paths, such as `http://127.0.0.1:8080/v1`".to_owned(),
    };
    let shown = base.split_once('@').map_or(base, |(_, rest)| rest);
    let url = Url::parse(base.trim()).map_err(|why| wrong(format!("`{shown}` is not an address: {why}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::Config {
            what: "the address contains a user name or a password, which would be stored with every run".to_owned(),
            hint: "put the key into a variable: `key_env` of `[providers.NAME]` names it".to_owned(),
        });
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(format!("`{base}` is not an address that begins with `http://` or `https://`")));
    }
    Ok(url)
}

/// An address below the base.
pub(crate) fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    let queries: Vec<&str> = base.query().into_iter().chain(query).collect();
    url.set_query(Some(queries.join("&")).filter(|query| !query.is_empty()).as_deref());
    url
}
