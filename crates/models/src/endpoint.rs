//! Where a model is, how it is reached, and how it is used.

use reqwest::Url;
use updraft_run::{Price, ThinkingEffort};

use crate::{AnswerCache, Auth, Error, Http, RateLimit, RateLimiter, RetryPolicy, ToolCallStyle};

/// Where a model is and how it is reached.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The provider's name, the first half of the model's.
    pub provider: String,
    /// The model, as the server knows it.
    pub model: String,
    /// The address that the dialect's path is added to, such as `http://127.0.0.1:8080/v1`.
    pub base: String,
    /// How we say who we are.
    pub auth: Auth,
    /// What it costs, where that was set; else the table of prices is looked at.
    pub price: Option<Price>,
    /// How long it is waited for.
    pub patience: RetryPolicy,
    /// The connections to use.
    pub http: Http,
    /// How it is used.
    pub tuning: ModelTuning,
    /// How often it may be asked.
    pub limit: RateLimit,
    /// Who keeps the limits.
    pub limits: RateLimiter,
    /// Answers to requests that were made before, where they are kept.
    pub cache: Option<AnswerCache>,
}

/// How a model is used, where that differs from what it does by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelTuning {
    /// How much it thinks, where the prompt leaves that open.
    pub think: ThinkingEffort,
    /// How freely it chooses its words.
    pub temperature: Option<f64>,
    /// Cap on the tokens of one answer, where it is less than the run's.
    pub max_output: Option<u64>,
    /// How it calls tools; found out where not set.
    pub tools: Option<ToolCallStyle>,
    /// Whether it takes pictures; found out where not set.
    pub sees: Option<bool>,
}

/// The address, checked: nothing is sent to what is none, and nothing secret may stand in it.
pub(crate) fn parse_base(base: &str) -> Result<Url, Error> {
    let wrong = |what: String| Error::Config {
        what,
        hint: "give the address before the provider's own paths, such as `http://127.0.0.1:8080/v1`".to_owned(),
    };
    let shown = base.split_once('@').map_or(base, |(_, rest)| rest);
    let url = Url::parse(base.trim()).map_err(|why| wrong(format!("`{shown}` is not an address: {why}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::Config {
            what: "the address holds a name or a password, which would be kept with every run".to_owned(),
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
