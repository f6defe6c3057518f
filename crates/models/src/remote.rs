//! A model behind HTTP, for all dialects: sends requests, reads streamed answers, and retries if that costs nothing.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use reqwest::header::{CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Request, Response, Url};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use updraft_run::{Ceiling, EffectKind, ModelAnswer, Price, ThinkingEffort, TokenUsage, TraceParent};

use crate::access::is_local;
use crate::answer_builder::AnswerBuilder;
use crate::cache::{CacheKey, keep, look_up};
use crate::dialect::Dialect;
use crate::discover;
use crate::endpoint::{Endpoint, ModelTuning, below, parse_base};
use crate::features::{self, ModelFeatures, ToolCallStyle};
use crate::json_repair::legible;
use crate::known_features::KnownFeatures;
use crate::observed_style::ObservedStyle;
use crate::response_content::{ResponseContent, content_type};
use crate::retry::{AttemptError, RetryPolicy, waited};
use crate::schema_support::SchemaSupport;
use crate::scripted::tell;
use crate::silence_timer::SilenceTimer;
use crate::stream_splitter::StreamSplitter;
use crate::text_tools::{StringBounds, ToolTextPrompt};
use crate::unreached::{cut, unreached};
use crate::{
    Delta, DeltaCallback, Error, Model, ModelFuture, Prompt, RequestDraft, RequestPermit, exhausted_for, prices,
    refusal,
};

/// How long to wait for the end of the body after the last part: a connection can be reused only if its body was read
/// to the end.
const DRAIN_LIMIT: Duration = Duration::from_millis(50);

const A_MINUTE: Duration = Duration::from_mins(1);

/// If a provider asks for a longer wait, its quota is used up.
const LONGEST_PAUSE: Duration = Duration::from_mins(10);

/// The header by which a request names its place in a trace.
const TRACEPARENT: &str = "traceparent";

/// A model behind HTTP.
#[derive(Debug)]
pub(crate) struct RemoteModel {
    name: String,
    base: Url,
    url: Url,
    headers: HeaderMap,
    client: reqwest::Client,
    dialect: Box<dyn Dialect>,
    endpoint: Endpoint,
    known: KnownFeatures,
    found: OnceCell<ModelFeatures>,
    prices: prices::CachedPrice,
    schemas: SchemaSupport,
    style: ObservedStyle,
    /// The key for rate limits: the model and the API key.
    account: String,
}

impl RemoteModel {
    /// Checks the address and the key; nothing is sent yet. The first use of `https://` loads the system's
    /// certificates.
    pub(crate) fn new(endpoint: Endpoint, dialect: Box<dyn Dialect>, known: KnownFeatures) -> Result<Self, Error> {
        let base = parse_base(&endpoint.base)?;
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        endpoint.auth.write_fixed(&mut headers)?;
        dialect.headers(&mut headers);
        Ok(Self {
            name: format!("{}/{}", endpoint.provider, endpoint.model),
            style: ObservedStyle::new(format!("{}/{} at {base}", endpoint.provider, endpoint.model)),
            account: format!("{}/{} {}", endpoint.provider, endpoint.model, endpoint.auth.fingerprint()),
            client: endpoint.http.client(&base)?.clone(),
            url: below(&base, &dialect.path()),
            base,
            headers,
            dialect,
            known: KnownFeatures { sees: endpoint.tuning.sees.or(known.sees), ..known },
            endpoint,
            found: OnceCell::new(),
            prices: prices::CachedPrice::default(),
            schemas: SchemaSupport::default(),
        })
    }

    /// The features of the model. If they are unknown, the server is asked once.
    async fn manner(&self) -> ModelFeatures {
        let KnownFeatures { tools: usual, sees, local, ask } = self.known;
        let (said, settled) = (self.endpoint.tuning.window, self.style.settled(&self.endpoint));
        let with_style = |found: ModelFeatures| ModelFeatures { tools: settled.unwrap_or(found.tools), ..found };
        let known = |found: discover::DiscoveredModel| ModelFeatures {
            tools: usual.or(found.tools).unwrap_or_default(),
            sees: sees.or(found.sees).unwrap_or(!local),
            local,
            window: said.or(found.context),
            closes: found.closes,
        };
        let Some(question) =
            ask.filter(|question| question.says_more() || settled.or(usual).is_none() || sees.is_none())
        else {
            return with_style(known(discover::DiscoveredModel::default()));
        };
        let asked = self.found.get_or_try_init(|| async {
            let said = question.ask(&self.client, &self.base, &self.headers, &self.endpoint.model).await;
            said.inspect(|found| self.dialect.learn(found)).map(known).ok_or(())
        });
        with_style(asked.await.copied().unwrap_or_else(|()| known(discover::DiscoveredModel::default())))
    }

    async fn ask_with_retries(
        &self,
        prompt: &Prompt<'_>,
        body: Vec<u8>,
        salt: u64,
        hear: DeltaCallback<'_>,
    ) -> Result<ModelAnswer, Error> {
        let kept = self.endpoint.cache.as_ref().map(|cache| (cache, self.key_of(&body)));
        if let Some((cache, key)) = &kept
            && let Some(answer) = look_up(cache, key).await
        {
            tell(&answer, hear);
            return Ok(answer);
        }
        let patience = &self.endpoint.patience;
        if prompt.attempt > 1 {
            hear(Delta::Again("the answer was interrupted"));
            // A restarting server, behind a tunnel or a container's port, breaks connections for some seconds.
            tokio::time::sleep(patience.wait(prompt.attempt, None, salt)).await;
        }
        let (asked, mut attempt) = (Instant::now(), 1);
        loop {
            let mut began = AnswerStart::No;
            let trouble = match self.attempt(prompt, body.clone(), &mut began, hear).await {
                Ok((mut answer, sent)) => {
                    if let Some((cache, key)) = kept {
                        keep(cache, key, &answer).await;
                    }
                    answer.waited = waited(asked, sent);
                    return Ok(answer);
                }
                Err(trouble) => trouble.without(&self.endpoint.auth),
            };
            if let (AnswerStart::Perhaps, AttemptError::Silent(limit)) = (began, &trouble) {
                return Err(Error::Silent { model: self.name.clone(), limit: *limit });
            }
            if began == AnswerStart::Perhaps {
                let again = trouble.passes();
                return Err(Error::Broken { model: self.name.clone(), message: trouble.words(), again });
            }
            if !trouble.passes() || attempt >= patience.attempts {
                return Err(trouble.into_error(&self.name, attempt));
            }
            tracing::debug!(model = %self.name, attempt, ?trouble, "asking again");
            trouble.tell(hear);
            tokio::time::sleep(patience.wait_after(&trouble, attempt, salt)).await;
            attempt += 1;
        }
    }

    /// Sends one request, and gives the answer with the time at which it was sent.
    async fn attempt(
        &self,
        prompt: &Prompt<'_>,
        body: Vec<u8>,
        began: &mut AnswerStart,
        hear: DeltaCallback<'_>,
    ) -> Result<(ModelAnswer, Instant), AttemptError> {
        let sent = body.len();
        let request = self.request(body, prompt.trace).await?;
        let permit = self.admit(prompt, hear).await;
        let sent_at = Instant::now();
        let mut watch = SilenceTimer::new(self.endpoint.patience.silence);
        *began = AnswerStart::Perhaps;
        let response = watch.over(self.client.execute(request)).await?;
        let response = response.map_err(|why| {
            if why.is_connect() {
                *began = AnswerStart::No;
                return unreached(&self.url, &why);
            }
            cut(why)
        })?;
        permit.heard();
        if !response.status().is_success() {
            *began = AnswerStart::No;
            let refused = refusal::read(response, &mut watch).await;
            return Err(self.apply_rate_limit(refused));
        }
        // At the reset everything is available again; some is available earlier.
        if let Some(wait) = exhausted_for(response.headers()).filter(|wait| *wait <= LONGEST_PAUSE) {
            self.endpoint.limits.pause(&self.account, wait.min(A_MINUTE));
        }
        let fold = match content_type(&response) {
            ResponseContent::Parts => self.read_parts(response, &mut watch, began, hear).await?,
            ResponseContent::Whole => self.read_whole(response, &mut watch, hear).await?,
            ResponseContent::Page => {
                *began = AnswerStart::No;
                return Err(AttemptError::Useless(format!("a web page came from {}", self.url.path())));
            }
            ResponseContent::Packed(how) => {
                return Err(AttemptError::Useless(format!("its body is packed as `{how}`, which was not requested")));
            }
        };
        let answer = fold.into_answer(prompt, sent, |usage| self.price_of(usage))?;
        permit.used(answer.usage.tokens());
        Ok((answer, sent_at))
    }

    /// Pauses all requests with the same key. A wait of hours becomes a refusal: another model may be used meanwhile.
    fn apply_rate_limit(&self, refused: AttemptError) -> AttemptError {
        match refused {
            AttemptError::Busy { status, message, after: Some(after) } if after > LONGEST_PAUSE => {
                AttemptError::Refused { status, message: format!("{message} (it asks to wait {})", in_words(after)) }
            }
            AttemptError::Busy { status: 429 | 503 | 529, after: Some(after), .. } => {
                self.endpoint.limits.pause(&self.account, after);
                refused
            }
            other => other,
        }
    }

    /// Waits for the provider's limits.
    async fn admit(&self, prompt: &Prompt<'_>, hear: DeltaCallback<'_>) -> RequestPermit {
        let Endpoint { provider, limit, limits, .. } = &self.endpoint;
        let tokens = limit.tokens.map_or(0, |_| prompt.estimated_tokens() / 2 + prompt.max_output);
        let mut waiting = |wait: Duration| {
            hear(Delta::Waiting(&format!("waiting {} for {provider}'s limit", in_words(wait))));
        };
        limits.admit(&self.account, limit, tokens, &mut waiting).await
    }

    async fn request(&self, body: Vec<u8>, trace: Option<TraceParent>) -> Result<Request, AttemptError> {
        let mut request = Request::new(Method::POST, self.url.clone());
        *request.headers_mut() = self.headers.clone();
        if self.found.get().is_some_and(|manner| manner.closes) {
            request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(trace) = trace.and_then(|trace| HeaderValue::try_from(trace.to_string()).ok()) {
            request.headers_mut().insert(TRACEPARENT, trace);
        }
        self.endpoint.auth.write_fresh(request.headers_mut()).await?;
        *request.body_mut() = Some(body.into());
        Ok(request)
    }

    async fn read_parts(
        &self,
        mut response: Response,
        watch: &mut SilenceTimer,
        began: &mut AnswerStart,
        hear: DeltaCallback<'_>,
    ) -> Result<AnswerBuilder, AttemptError> {
        let mut frames = StreamSplitter::new(self.dialect.framing());
        let mut decoder = self.dialect.decoder();
        let mut fold = AnswerBuilder::default();
        let mut heard = 0;
        while !fold.done {
            let Some(piece) = watch.over(response.chunk()).await?.map_err(cut)? else {
                frames.finish(|data| decoder.take(&legible(data), &mut fold, hear))?;
                return Ok(fold);
            };
            fold.weigh(piece.len())?;
            let fed = frames.feed(&piece, |data| decoder.take(&legible(data), &mut fold, hear));
            // A refusal in place of an answer costs nothing, whatever its status.
            if matches!(fed, Err(AttemptError::Refused { .. })) && !fold.has_begun() {
                *began = AnswerStart::No;
            }
            fed?;
            let now = if fold.has_begun() { fold.amount() } else { 0 };
            if std::mem::replace(&mut heard, now) != now {
                // Some providers hold back the arguments of a call until they are complete, and only send pings
                // meanwhile.
                let RetryPolicy { silence, stall, .. } = self.endpoint.patience;
                watch.progress(if fold.calls.is_empty() { stall } else { silence.max(stall) });
            }
        }
        let _ = tokio::time::timeout(DRAIN_LIMIT, response.chunk()).await;
        Ok(fold)
    }

    /// Reads an answer from a server that does not stream although it was asked to.
    async fn read_whole(
        &self,
        mut response: Response,
        watch: &mut SilenceTimer,
        hear: DeltaCallback<'_>,
    ) -> Result<AnswerBuilder, AttemptError> {
        let mut all = Vec::new();
        let mut fold = AnswerBuilder::default();
        while let Some(piece) = watch.over(response.chunk()).await?.map_err(cut)? {
            fold.weigh(piece.len())?;
            // Some servers send white space to keep the connection open.
            if !piece.trim_ascii().is_empty() {
                watch.progress(self.endpoint.patience.stall);
            }
            all.extend_from_slice(&piece);
        }
        self.dialect.decoder().take(&legible(&all), &mut fold, hear)?;
        Ok(fold)
    }

    /// The cache key of an answer: the same request to the same server.
    fn key_of(&self, body: &[u8]) -> CacheKey {
        let place = format!("{}{}", self.url.authority(), self.url.path());
        CacheKey::of(&self.endpoint.provider, &place, body)
    }

    /// The price for a call with this usage.
    fn price_of(&self, usage: &TokenUsage) -> Option<Price> {
        let Endpoint { provider, model, price, .. } = &self.endpoint;
        price.or_else(|| self.prices.price_for(provider, model, usage).filter(|_| !self.is_remote_ollama()))
    }

    /// Whether this is Ollama, which is free locally, on someone else's machine.
    fn is_remote_ollama(&self) -> bool {
        self.endpoint.provider == "ollama" && !is_local(&self.endpoint.base)
    }
}

impl Model for RemoteModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn price(&self) -> Option<Price> {
        let Endpoint { provider, model, price, .. } = &self.endpoint;
        price.or_else(|| self.prices.highest(provider, model).filter(|_| !self.is_remote_ollama()))
    }

    fn sees(&self) -> Option<bool> {
        self.known.sees
    }

    fn window(&self) -> Pin<Box<dyn Future<Output = Option<u64>> + Send + '_>> {
        let Endpoint { provider, model, .. } = &self.endpoint;
        Box::pin(async move {
            if let Some(window) = self.manner().await.window {
                return Some(window);
            }
            match self.known.ask {
                Some(question) => question.ask_window(&self.client, &self.base, &self.headers, model).await,
                None => prices::context_window(provider, model),
            }
        })
    }

    fn tool_style(&self) -> Option<ToolCallStyle> {
        self.style.settled(&self.endpoint)
    }

    fn learn_tool_style(&self, style: ToolCallStyle) {
        self.style.learn(&self.endpoint, style);
    }

    fn hosts(&self) -> Vec<String> {
        let host = match self.base.host() {
            Some(url::Host::Domain(name)) if name == "localhost" || name.ends_with(".localhost") => None,
            Some(url::Host::Ipv4(address)) if address.is_loopback() => None,
            Some(url::Host::Ipv6(address)) if address.is_loopback() => None,
            Some(host) => Some(host.to_string()),
            None => None,
        };
        // A local server that forwards requests.
        let hired = self.endpoint.provider == "ollama" && !self.known.local;
        host.or_else(|| hired.then(|| "ollama.com".to_owned())).into_iter().collect()
    }

    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt<'a>,
        draft: &'a mut RequestDraft,
        hear: DeltaCallback<'a>,
    ) -> ModelFuture<'a> {
        Box::pin(async move {
            let manner = self.manner().await;
            let tuned = within(&self.tuned(prompt), manner.window);
            let omitted = self.omitted(prompt, &tuned, manner);
            // The address of a conversation in memory distinguishes it from others that fail at the same time.
            let salt = std::ptr::from_ref(draft) as u64;
            // A summary is plain text, whatever form the step's answers have.
            let is_summary = prompt.brief.side_question == Some(EffectKind::Compact);
            if manner.tools == ToolCallStyle::Text && !prompt.tools.is_empty() && !is_summary {
                let told = ToolTextPrompt::new(&tuned, manner);
                let prompt = told.prompt(&tuned);
                draft.extend(&self.whose(manner), &*self.dialect, manner, &prompt)?;
                let body = draft.finished(&*self.dialect, &prompt)?;
                let answer = self.ask_with_retries(&prompt, body, salt, hear).await?;
                return Ok(ModelAnswer { omitted, ..ToolTextPrompt::read(answer, prompt.messages.len()) });
            }
            let bounds = StringBounds::within(tuned.max_output);
            let bounded = tuned.schema.filter(|_| manner.local).map(|schema| bounds.on(schema));
            let schema = self.schemas.allowed(bounded.as_ref().or(tuned.schema));
            let mut prompt = Prompt { schema, ..tuned };
            draft.extend(&self.whose(manner), &*self.dialect, manner, &prompt)?;
            loop {
                let body = draft.finished(&*self.dialect, &prompt)?;
                match self.ask_with_retries(&prompt, body, salt, hear).await {
                    Err(error) if self.schemas.is_refused(&prompt, &error) => prompt.schema = None,
                    answered => {
                        let mut answer = self.style.heard(&self.endpoint, self.known.local, answered?, &prompt);
                        if manner.is_small() {
                            answer.calls.truncate(1);
                        }
                        return Ok(ModelAnswer { omitted, ..answer });
                    }
                }
            }
        })
    }

    fn ceiling(&self, prompt: &Prompt<'_>) -> Ceiling {
        let tuned = within(&self.tuned(prompt), self.found.get().and_then(|manner| manner.window));
        let usage =
            TokenUsage { input: prompt.estimated_tokens(), output: self.dialect.cap(&tuned), ..TokenUsage::default() };
        Ceiling { tokens: usage.tokens(), cost: self.price().map(|price| price.ceiling(&usage)) }
    }
}

impl RemoteModel {
    /// The owner of a draft: another model, server or set of features writes different bytes.
    fn whose(&self, manner: ModelFeatures) -> String {
        format!("{} at {} {manner:?}", self.name, self.url.authority())
    }

    /// Requested settings that this model does not support, as messages.
    fn omitted(&self, prompt: &Prompt<'_>, tuned: &Prompt<'_>, manner: ModelFeatures) -> Vec<String> {
        let mut omitted = Vec::new();
        let chosen = [prompt.think, self.endpoint.tuning.think];
        let wishes = chosen
            .into_iter()
            .find(|think| *think != ThinkingEffort::Auto)
            .is_some_and(|think| think != ThinkingEffort::Off);
        if wishes && !self.dialect.can_be_told_to_think(tuned) {
            omitted.push(features::unthinking(&self.name));
        }
        omitted.extend(manner.unshown(&self.name, prompt.messages));
        omitted
    }

    /// The prompt with the settings of this model.
    fn tuned<'a>(&self, prompt: &Prompt<'a>) -> Prompt<'a> {
        let ModelTuning { think, max_output, .. } = self.endpoint.tuning;
        let think = [prompt.think, think, prompt.need].into_iter().find(|think| *think != ThinkingEffort::Auto);
        let think = think.unwrap_or_default();
        let is_limited = prompt.is_limited || max_output.is_some();
        let max_output = max_output.map_or(prompt.max_output, |cap| cap.min(prompt.max_output));
        Prompt { max_output, is_limited, think, ..prompt.clone() }
    }
}

/// The prompt with a limit on the answer that leaves room for the question in a small context window.
fn within<'a>(prompt: &Prompt<'a>, window: Option<u64>) -> Prompt<'a> {
    let most = window.map_or(u64::MAX, |window| window / 2);
    let is_limited = prompt.is_limited || most < prompt.max_output;
    Prompt { max_output: prompt.max_output.min(most), is_limited, ..prompt.clone() }
}

/// Whether the provider may have begun to answer, and so to charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerStart {
    No,
    Perhaps,
}

/// A wait in words.
fn in_words(wait: Duration) -> String {
    match wait.as_secs() {
        0 => format!("{} ms", wait.as_millis()),
        seconds @ 1..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}
