//! Any server that speaks OpenAI's `/chat/completions`, always streaming.
//!
//! It does not know `<think>` tags or tool calls written as text: whoever reads the answer does.

mod body;
mod fold;
mod refusal;
mod watch;
mod wire;

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Request, Response, Url};
use updraft_run::Answer;

use self::fold::Fold;
use self::watch::Watch;
use crate::http::chain;
use crate::retry::Trouble;
use crate::sse::Events;
use crate::{Asking, Draft, Error, Hear, Http, Model, Patience, Price, Prompt, Token};

/// After the last event the end of the body is awaited this long: read to its end, a connection serves again.
const FAREWELL: Duration = Duration::from_millis(50);

/// A whole answer that is larger is not one that a model wrote.
const LARGEST_ANSWER: usize = 64 << 20;

/// Where a model is and how it is reached.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The provider's name, the first half of the model's.
    pub provider: String,
    /// The model, as the server knows it.
    pub model: String,
    /// The address before `/chat/completions`, such as `http://127.0.0.1:8080/v1`.
    pub base: String,
    /// The key, where one is needed.
    pub key: Option<Token>,
    /// What it costs, where that is known.
    pub price: Option<Price>,
    /// How long it is waited for.
    pub patience: Patience,
    /// The connections to use.
    pub http: Http,
}

/// A model behind `/chat/completions`.
#[derive(Debug)]
pub struct OpenAi {
    name: String,
    url: Url,
    headers: HeaderMap,
    cap: body::Cap,
    client: reqwest::Client,
    endpoint: Endpoint,
}

impl OpenAi {
    /// Checks the address and the key; nothing is sent yet. The first for `https://` loads the system's certificates.
    pub fn new(endpoint: Endpoint) -> Result<Self, Error> {
        let url = parse_base(&endpoint.base)?;
        let mut headers = HeaderMap::with_capacity(2);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = endpoint.key.as_ref().filter(|key| !key.is_empty()) {
            headers.insert(AUTHORIZATION, key.bearer()?);
        }
        Ok(Self {
            name: format!("{}/{}", endpoint.provider, endpoint.model),
            cap: body::Cap::understood_by(url.host_str().unwrap_or_default()),
            client: endpoint.http.client(url.scheme())?.clone(),
            url,
            headers,
            endpoint,
        })
    }

    async fn attempt(&self, prompt: &Prompt<'_>, body: Vec<u8>, hear: Hear<'_>) -> Result<Answer, Trouble> {
        let sent = body.len();
        let mut watch = Watch::new(self.endpoint.patience.stall);

        let response = watch.over(self.client.execute(self.request(body))).await?.map_err(cut)?;
        if !response.status().is_success() {
            return Err(refusal::read(response, &mut watch).await);
        }
        let fold = match content_type(&response) {
            Content::Events => read_events(response, &mut watch, hear).await?,
            Content::Whole => read_whole(response, &mut watch, hear).await?,
            Content::Page => return Err(Trouble::Useless(format!("a web page came from {}", self.url.path()))),
        };
        fold.into_answer(prompt, sent, self.endpoint.price)
    }

    fn request(&self, body: Vec<u8>) -> Request {
        let mut request = Request::new(Method::POST, self.url.clone());
        *request.headers_mut() = self.headers.clone();
        *request.body_mut() = Some(body.into());
        request
    }
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    fn price(&self) -> Option<Price> {
        self.endpoint.price
    }

    fn ask<'a>(&'a self, prompt: &'a Prompt<'a>, draft: &'a mut Draft, hear: Hear<'a>) -> Asking<'a> {
        Box::pin(async move {
            body::extend(draft, &self.endpoint.model, prompt)?;
            let tail = body::tail(self.cap, prompt)?;
            let patience = &self.endpoint.patience;
            // Where a conversation lies in memory sets it apart from those that fail at the same time.
            let salt = draft.bytes.as_ptr() as u64;
            let mut attempt = 1;
            loop {
                let trouble = match self.attempt(prompt, [&draft.bytes[..], &tail].concat(), hear).await {
                    Ok(answer) => return Ok(answer),
                    Err(trouble) => trouble.without(self.endpoint.key.as_ref()),
                };
                if !trouble.passes() || attempt >= patience.attempts {
                    return Err(trouble.into_error(&self.name, attempt));
                }
                tracing::debug!(model = %self.name, attempt, ?trouble, "asking again");
                trouble.tell(hear);
                tokio::time::sleep(patience.wait(attempt, trouble.asked_wait(), salt)).await;
                attempt += 1;
            }
        })
    }
}

fn parse_base(base: &str) -> Result<Url, Error> {
    let wrong = |what: String| Error::Config {
        what,
        hint: "give the address before `/chat/completions`, such as `http://127.0.0.1:8080/v1`".to_owned(),
    };
    let mut url = Url::parse(base.trim()).map_err(|why| wrong(format!("`{base}` is not an address: {why}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(format!("`{base}` is not an address that begins with `http://` or `https://`")));
    }
    let path = format!("{}/chat/completions", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

/// What a successful response holds, by its own word.
enum Content {
    Events,
    Whole,
    Page,
}

fn content_type(response: &Response) -> Content {
    let value = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    if value.starts_with(b"application/json") {
        Content::Whole
    } else if value.starts_with(b"text/html") {
        Content::Page
    } else {
        Content::Events
    }
}

async fn read_events(mut response: Response, watch: &mut Watch, hear: Hear<'_>) -> Result<Fold, Trouble> {
    let mut events = Events::default();
    let mut fold = Fold::default();
    while !fold.is_done() {
        let Some(piece) = watch.over(response.chunk()).await?.map_err(cut)? else {
            events.finish(|data| fold.take(data, hear))?;
            return Ok(fold);
        };
        events.feed(&piece, |data| fold.take(data, hear))?;
    }
    let _ = tokio::time::timeout(FAREWELL, response.chunk()).await;
    Ok(fold)
}

/// Reads an answer from a server that does not stream in spite of being asked to.
async fn read_whole(mut response: Response, watch: &mut Watch, hear: Hear<'_>) -> Result<Fold, Trouble> {
    let mut all = Vec::new();
    while let Some(piece) = watch.over(response.chunk()).await?.map_err(cut)? {
        all.extend_from_slice(&piece);
        if all.len() > LARGEST_ANSWER {
            return Err(Trouble::Useless("an answer without end".to_owned()));
        }
    }
    let mut fold = Fold::default();
    fold.take(&all, hear)?;
    Ok(fold)
}

fn cut(why: reqwest::Error) -> Trouble {
    Trouble::Cut(chain(&why.without_url()))
}
