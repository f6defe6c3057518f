//! Texts as vectors, by a provider: OpenAI's `/embeddings` and servers that speak like it, Gemini, Ollama.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Request, Url};
use serde_json::{Value, json};
use updraft_run::TokenUsage;

use crate::endpoint::{Endpoint, below, parse_base};
use crate::providers::DialectKind;
use crate::resolve::endpoint_of;
use crate::retry::AttemptError;
use crate::silence_timer::SilenceTimer;
use crate::unreached::{cut, unreached};
use crate::{Auth, Error, ModelAccess, ollama, prices, refusal, spec};

/// Most texts of one request: the least that a provider takes (Gemini: 100).
const BATCH: usize = 64;
/// Most bytes of a text that are sent. Models read some thousand tokens, and refuse more.
const LONGEST: usize = 6_000;
/// How long a server may be silent, at most: somebody waits for a search.
const SILENCE: Duration = Duration::from_secs(30);
/// Most bytes of an answer: a batch of the longest vectors, written out.
const LARGEST: usize = 32 << 20;

/// A provider's model that turns texts into vectors.
#[derive(Debug)]
pub struct EmbeddingModel {
    name: String,
    form: EmbeddingForm,
    url: Url,
    headers: HeaderMap,
    client: reqwest::Client,
    endpoint: Endpoint,
    account: String,
}

/// How a provider wants to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EmbeddingForm {
    OpenAi,
    Gemini,
    Ollama,
}

impl EmbeddingModel {
    /// Finds the model of this name; nothing is sent. It has connections of its own, so it may be used in another
    /// runtime than other models.
    pub fn resolve(text: &str, access: &ModelAccess) -> Result<Self, Error> {
        let config = |what: String, hint: &str| Error::Config { what, hint: hint.to_owned() };
        let specs = spec::parse(text.trim())?;
        let [spec] = specs.as_slice() else {
            return Err(config(format!("`{text}` names several models"), "vectors of one model only can be compared"));
        };
        let (speech, mut endpoint, key) = endpoint_of(spec, access)?;
        endpoint.http = endpoint.http.apart();
        let (form, path) = match speech {
            DialectKind::Chat | DialectKind::Responses => (EmbeddingForm::OpenAi, "/embeddings".to_owned()),
            DialectKind::Gemini => {
                (EmbeddingForm::Gemini, format!("/{}:batchEmbedContents", gemini_name(&endpoint.model)))
            }
            DialectKind::Ollama => (EmbeddingForm::Ollama, "/api/embed".to_owned()),
            DialectKind::Anthropic | DialectKind::Vertex => {
                let what = format!("`{}` makes no vectors here", endpoint.provider);
                return Err(config(what, "use `gemini/`, `ollama/`, `openai/` or `openai-compatible/`, or `minilm`"));
            }
        };
        endpoint.auth = match (form, key) {
            (_, None) => Auth::Open,
            (EmbeddingForm::Gemini, Some(key)) => Auth::Header("x-goog-api-key", key),
            (EmbeddingForm::OpenAi | EmbeddingForm::Ollama, Some(key)) => Auth::Bearer(key),
        };
        if form == EmbeddingForm::Ollama {
            endpoint.base = ollama::address(&endpoint.base);
        }
        let base = parse_base(&endpoint.base)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        endpoint.auth.write_fixed(&mut headers)?;
        Ok(Self {
            name: format!("{}/{}", endpoint.provider, endpoint.model),
            account: format!("{}/{} {}", endpoint.provider, endpoint.model, endpoint.auth.fingerprint()),
            client: endpoint.http.client(&base)?.clone(),
            url: below(&base, &path),
            form,
            headers,
            endpoint,
        })
    }

    /// Its full name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One vector for each text. Failed requests are repeated as those to other models are; what it costs is logged.
    pub async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            vectors.extend(self.embed_batch(batch).await?);
        }
        Ok(vectors)
    }

    async fn embed_batch(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let patience = &self.endpoint.patience;
        let mut attempt = 1;
        loop {
            let trouble = match self.attempt(texts).await {
                Ok(vectors) => return Ok(vectors),
                Err(trouble) => trouble.without(&self.endpoint.auth),
            };
            if !trouble.passes() || attempt >= patience.attempts {
                return Err(trouble.into_error(&self.name, attempt));
            }
            tracing::debug!(model = %self.name, attempt, ?trouble, "asking again for vectors");
            tokio::time::sleep(patience.wait_after(&trouble, attempt, texts.len() as u64)).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, AttemptError> {
        let mut request = Request::new(Method::POST, self.url.clone());
        *request.headers_mut() = self.headers.clone();
        *request.body_mut() = Some(self.form.body(&self.endpoint.model, texts).to_string().into());
        let Endpoint { limit, limits, patience, .. } = &self.endpoint;
        let expected = texts.iter().map(|text| text.len() as u64 / 3).sum();
        let permit = limits.admit(&self.account, limit, expected, &mut |_| {}).await;
        let mut watch = SilenceTimer::new(patience.silence.min(SILENCE));
        let response = watch.over(self.client.execute(request)).await?;
        let mut response =
            response.map_err(|why| if why.is_connect() { unreached(&self.url, &why) } else { cut(why) })?;
        permit.heard();
        if !response.status().is_success() {
            return Err(refusal::read(response, &mut watch).await);
        }
        let mut body = Vec::new();
        while let Some(piece) = watch.over(response.chunk()).await?.map_err(cut)? {
            watch.progress(patience.stall);
            body.extend_from_slice(&piece);
            if body.len() > LARGEST {
                return Err(AttemptError::Useless(format!("its answer is larger than {LARGEST} bytes")));
            }
        }
        let answer: Value = serde_json::from_slice(&body)
            .map_err(|error| AttemptError::Useless(format!("its answer is not JSON: {error}")))?;
        let vectors = self.form.vectors(&answer).filter(|vectors| vectors.len() == texts.len());
        let vectors = vectors
            .ok_or_else(|| AttemptError::Useless(format!("its answer does not hold {} vectors", texts.len())))?;
        let tokens = self.form.tokens(&answer).unwrap_or(expected);
        permit.used(tokens);
        self.note_cost(tokens);
        Ok(vectors)
    }

    fn note_cost(&self, tokens: u64) {
        let Endpoint { provider, model, price, .. } = &self.endpoint;
        let usage = TokenUsage { input: tokens, ..TokenUsage::default() };
        let price = price.or_else(|| prices::price_for(provider, model, &usage));
        let dollars = price.map(|price| (price.input * tokens) as f64 / 1e9);
        tracing::info!(model = %self.name, tokens, dollars, "vectors were made");
    }
}

impl EmbeddingForm {
    fn body(self, model: &str, texts: &[String]) -> Value {
        let texts: Vec<&str> = texts.iter().map(|text| &text[..text.floor_char_boundary(LONGEST)]).collect();
        match self {
            // Servers refuse empty texts.
            EmbeddingForm::OpenAi => {
                json!({ "model": model, "input": texts.iter().map(|text| filled(text)).collect::<Vec<_>>(), "encoding_format": "float" })
            }
            EmbeddingForm::Ollama => json!({ "model": model, "input": texts, "truncate": true }),
            EmbeddingForm::Gemini => {
                let one = |text: &&str| json!({ "model": gemini_name(model), "content": { "parts": [{ "text": filled(text) }] } });
                json!({ "requests": texts.iter().map(one).collect::<Vec<_>>() })
            }
        }
    }

    /// The vectors of an answer, in the order of the texts.
    fn vectors(self, answer: &Value) -> Option<Vec<Vec<f32>>> {
        let numbers = |list: &Value| -> Option<Vec<f32>> {
            list.as_array()?.iter().map(|number| number.as_f64().map(|number| number as f32)).collect()
        };
        match self {
            EmbeddingForm::OpenAi => {
                let mut data: Vec<&Value> = answer["data"].as_array()?.iter().collect();
                data.sort_by_key(|one| one["index"].as_u64());
                data.into_iter().map(|one| numbers(&one["embedding"])).collect()
            }
            EmbeddingForm::Gemini => {
                answer["embeddings"].as_array()?.iter().map(|one| numbers(&one["values"])).collect()
            }
            EmbeddingForm::Ollama => answer["embeddings"].as_array()?.iter().map(numbers).collect(),
        }
    }

    fn tokens(self, answer: &Value) -> Option<u64> {
        match self {
            EmbeddingForm::OpenAi => answer["usage"]["prompt_tokens"].as_u64(),
            EmbeddingForm::Ollama => answer["prompt_eval_count"].as_u64(),
            EmbeddingForm::Gemini => answer["usageMetadata"]["promptTokenCount"].as_u64(),
        }
    }
}

fn filled(text: &str) -> &str {
    if text.trim().is_empty() { "-" } else { text }
}

/// `models/NAME`, as Gemini wants it.
fn gemini_name(model: &str) -> String {
    if model.contains('/') { model.to_owned() } else { format!("models/{model}") }
}
