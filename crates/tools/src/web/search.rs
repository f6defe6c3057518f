//! Services that search the web: how each is asked, and how its answer becomes titled links.

use std::fmt;
use std::time::Duration;

use reqwest::header::ACCEPT;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use updraft_run::{Failure, FailureKind};
use url::Url;

use super::fetch::{self, FetchError};
use super::{WebConfig, plain_client};
use crate::truncate;

/// Most bytes of an answer.
const LARGEST: usize = 2 << 20;
/// The most results that Google gives at once.
const MOST_OF_GOOGLE: u64 = 10;

/// A service that searches the web.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchProvider {
    /// An instance of SearXNG, which needs no key.
    SearXng,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// Google's Programmable Search Engine.
    Google,
    /// Exa.
    Exa,
}

impl SearchProvider {
    /// All of them; the first that is configured is used.
    pub const ALL: [Self; 5] = [Self::SearXng, Self::Brave, Self::Tavily, Self::Google, Self::Exa];

    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::SearXng => "searxng",
            Self::Brave => "brave",
            Self::Tavily => "tavily",
            Self::Google => "google",
            Self::Exa => "exa",
        }
    }

    /// The variables that usually hold its key.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            Self::SearXng => &[],
            Self::Brave => &["BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"],
            Self::Tavily => &["TAVILY_API_KEY"],
            Self::Google => &["GOOGLE_SEARCH_API_KEY", "GOOGLE_CSE_API_KEY"],
            Self::Exa => &["EXA_API_KEY"],
        }
    }

    /// Where it is; an instance of SearXNG is where its user says.
    fn base(self) -> &'static str {
        match self {
            Self::SearXng => "",
            Self::Brave => "https://api.search.brave.com",
            Self::Tavily => "https://api.tavily.com",
            Self::Google => "https://www.googleapis.com",
            Self::Exa => "https://api.exa.ai",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::SearXng | Self::Tavily | Self::Exa => "search",
            Self::Brave => "res/v1/web/search",
            Self::Google => "customsearch/v1",
        }
    }
}

/// A key, which is never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SearchKey(String);

impl SearchKey {
    /// Wraps a key; white space around it is removed.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }
}

impl fmt::Debug for SearchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SearchKey(..)")
    }
}

/// Which service is asked, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchConfig {
    /// The service.
    pub provider: SearchProvider,
    /// Its address, if it is not the usual one; for SearXNG that of the instance.
    pub base: Option<String>,
    /// The key; empty for SearXNG.
    pub key: SearchKey,
    /// The id of the search engine, for Google.
    pub engine: String,
}

/// A page that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchHit {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) snippet: String,
}

impl SearchConfig {
    /// The address that is asked.
    pub(crate) fn address(&self) -> Result<Url, Failure> {
        let base = self.base.as_deref().unwrap_or(self.provider.base()).trim_end_matches('/');
        let fault = |why: &str| {
            let message = format!("`{base}`, the address for searching with {}, {why}", self.provider.name());
            Err(Failure::new(FailureKind::Config, message))
        };
        let lacks = match self.provider {
            SearchProvider::SearXng if base.is_empty() => {
                "an address: set SEARXNG_URL, or `base_url` under [search]".to_owned()
            }
            SearchProvider::Google if self.engine.is_empty() => {
                "the id of a search engine: set GOOGLE_CSE_ID, or `engine` under [search]".to_owned()
            }
            SearchProvider::Brave | SearchProvider::Tavily | SearchProvider::Google | SearchProvider::Exa
                if self.key.0.is_empty() =>
            {
                format!("a key: set {}", self.provider.keys().join(" or "))
            }
            _ => String::new(),
        };
        if !lacks.is_empty() {
            let message = format!("searching with {} needs {lacks}", self.provider.name());
            return Err(Failure::new(FailureKind::Config, message));
        }
        let Ok(url) = Url::parse(&format!("{base}/{}", self.provider.path())) else {
            return fault("is no address; expected one like `https://search.example`");
        };
        let is_here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        match url.scheme() {
            "https" => Ok(url),
            // A key is not sent where others can read it.
            "http" if self.key.0.is_empty() || is_here => Ok(url),
            _ => fault("is not HTTPS"),
        }
    }

    fn request(&self, client: &reqwest::Client, query: &str, count: u64) -> Result<RequestBuilder, Failure> {
        let mut url = self.address()?;
        let key = self.key.0.as_str();
        let number = count.to_string();
        let with = |url: &mut Url, pairs: &[(&str, &str)]| {
            url.query_pairs_mut().extend_pairs(pairs);
        };
        let posted =
            |url: Url, body: Value| client.post(url).header("content-type", "application/json").body(body.to_string());
        let request = match self.provider {
            SearchProvider::SearXng => {
                with(&mut url, &[("q", query), ("format", "json")]);
                client.get(url)
            }
            SearchProvider::Brave => {
                with(&mut url, &[("q", query), ("count", &number)]);
                client.get(url).header("x-subscription-token", key)
            }
            SearchProvider::Tavily => posted(url, json!({ "query": query, "max_results": count })).bearer_auth(key),
            SearchProvider::Google => {
                let number = count.min(MOST_OF_GOOGLE).to_string();
                with(&mut url, &[("key", key), ("cx", &self.engine), ("q", query), ("num", &number)]);
                client.get(url)
            }
            SearchProvider::Exa => {
                let contents = json!({ "highlights": { "maxCharacters": 500 } });
                posted(url, json!({ "query": query, "numResults": count, "contents": contents }))
                    .header("x-api-key", key)
            }
        };
        Ok(request.header(ACCEPT, "application/json"))
    }

    /// The hits in an answer.
    fn hits(&self, answer: &Value) -> Vec<SearchHit> {
        let (list, url, snippet) = match self.provider {
            SearchProvider::SearXng | SearchProvider::Tavily => (&answer["results"], "url", "content"),
            SearchProvider::Brave => (&answer["web"]["results"], "url", "description"),
            SearchProvider::Google => (&answer["items"], "link", "snippet"),
            SearchProvider::Exa => (&answer["results"], "url", "highlights"),
        };
        let text = |value: &Value| match value {
            Value::String(text) => without_tags(text),
            Value::Array(texts) => {
                let texts: Vec<String> = texts.iter().filter_map(Value::as_str).map(without_tags).collect();
                texts.join(" … ")
            }
            _ => String::new(),
        };
        let hit = |entry: &Value| {
            let url = entry[url].as_str().filter(|url| url.starts_with("http://") || url.starts_with("https://"))?;
            Some(SearchHit {
                title: truncate::line(&text(&entry["title"]), 200),
                url: truncate::line(url, 2000),
                snippet: truncate::line(&text(&entry[snippet]), 600),
            })
        };
        list.as_array().into_iter().flatten().filter_map(hit).collect()
    }
}

/// Asks a service. The client is created for the first question.
pub(crate) struct Searcher {
    pub(crate) config: Option<SearchConfig>,
    certificates: Vec<u8>,
    connect: Duration,
    client: OnceCell<reqwest::Client>,
}

impl Searcher {
    pub(crate) fn new(web: &WebConfig) -> Self {
        Self {
            config: web.search.clone(),
            certificates: web.certificates.clone(),
            connect: web.limits.connect,
            client: OnceCell::new(),
        }
    }

    /// Finds pages for a question.
    pub(crate) async fn search(
        &self,
        config: &SearchConfig,
        query: &str,
        count: u64,
    ) -> Result<Vec<SearchHit>, FetchError> {
        let make = || async { plain_client(&self.certificates, self.connect) };
        let client = self.client.get_or_try_init(make).await?;
        let request = config.request(client, query, count)?;
        let host = config.address()?.host_str().unwrap_or_default().to_owned();
        let response = request.send().await.map_err(|error| fetch::trouble(&host, &error.without_url()))?;
        let status = response.status();
        if !status.is_success() {
            return Err(refused(config, &host, response).await);
        }
        let (body, _) = fetch::body(response, LARGEST).await?;
        let answer: Value = serde_json::from_slice(&body).map_err(|_| {
            let why =
                format!("`{host}` answers {status} with something else than JSON; is it {}?", config.provider.name());
            Failure::new(FailureKind::Tool, why)
        })?;
        let mut hits = config.hits(&answer);
        hits.truncate(count as usize);
        Ok(hits)
    }
}

async fn refused(config: &SearchConfig, host: &str, response: Response) -> FetchError {
    let status = response.status();
    let said = fetch::body(response, 4 << 10).await.map(|(body, _)| String::from_utf8_lossy(&body).into_owned());
    let said = said.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let advice = match (config.provider, status) {
        (SearchProvider::SearXng, StatusCode::FORBIDDEN) => {
            "; the instance must allow JSON (`search: formats: [html, json]` in its settings.yml)"
        }
        (_, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => "; check the key",
        _ => "",
    };
    let why = format!("`{host}` answers {status}{advice}: {}", truncate::line(&said, 300));
    let failure = Failure::new(FailureKind::Tool, why.trim_end_matches([':', ' ']));
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        FetchError::Passing(failure)
    } else {
        FetchError::Lasting(failure)
    }
}

/// Some services mark words with tags and write entities.
fn without_tags(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        plain.push_str(before);
        match tag.split_once('>') {
            Some((name, after)) if name.starts_with(|c: char| c == '/' || c.is_ascii_alphabetic()) => rest = after,
            _ => {
                plain.push('<');
                rest = tag;
            }
        }
    }
    plain.push_str(rest);
    for (entity, character) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ] {
        plain = plain.replace(entity, character);
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_go_and_what_only_looks_like_one_stays() {
        assert_eq!(without_tags("<strong>Otters</strong> eat &amp; 1 < 2 &lt;b&gt;"), "Otters eat & 1 < 2 <b>");
    }

    #[test]
    fn a_key_is_not_sent_in_the_open_and_not_shown() {
        let config = |base: &str, key: &str| SearchConfig {
            provider: SearchProvider::Brave,
            base: Some(base.to_owned()),
            key: SearchKey::new(key),
            engine: String::new(),
        };
        assert!(config("http://search.example", "k").address().is_err());
        assert!(config("http://localhost:8080/", "k").address().is_ok());
        assert_eq!(
            config("https://search.example", "").address().unwrap_err().message,
            "searching with brave needs a key: set BRAVE_API_KEY or BRAVE_SEARCH_API_KEY"
        );
        assert!(config("nowhere", "k").address().is_err());
        assert!(!format!("{:?}", config("https://a.example", "sesame")).contains("sesame"));
    }
}
