//! Writes, reads and deletes objects of a bucket, and tries again while the store is away.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use reqwest::header::{self, HeaderMap};
use reqwest::redirect::Policy;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use updraft_journal::hash_of;
use updraft_run::{Timestamp, error_chain};

use crate::bucket_address::{BucketAddress, BucketSettings};
use crate::bucket_fault::{BucketFault, StoreRefusal};
use crate::s3_signature::{DATE, PAYLOAD, S3Credentials, SignableRequest, TOKEN, signing_time};

/// The first wait after a failed attempt; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// How long an answer, or the next piece of it, may take.
const ATTEMPT: Duration = Duration::from_secs(10);
/// How long it may take until the store accepts a connection.
const CONNECT: Duration = Duration::from_secs(3);
/// Uploads may be this slow, in bytes a second.
const SLOWEST: u64 = 128 << 10;
/// How long an attempt may take when the process is stopping.
const LAST_ATTEMPT: Duration = Duration::from_secs(3);
/// No value of ours is larger.
const LARGEST: usize = 1 << 30;

/// A client of one bucket.
pub(crate) struct BucketClient {
    http: reqwest::Client,
    pub(crate) address: BucketAddress,
    credentials: S3Credentials,
    now: fn() -> Timestamp,
    stop: CancellationToken,
}

/// One request.
#[derive(Clone, Copy)]
pub(crate) struct BucketRequest<'a> {
    pub(crate) action: BucketAction,
    /// The object, without the prefix.
    pub(crate) name: &'a str,
    pub(crate) body: &'a [u8],
}

/// What is done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BucketAction {
    Write,
    /// Writes it unless there is one.
    WriteNew,
    Read,
    Delete,
}

/// An answer of the store.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BucketReply {
    /// It is done; this is the object, if it was read.
    Done(Vec<u8>),
    /// There is no such object.
    Absent,
    /// There is one already.
    Present,
}

impl BucketAction {
    fn method(self) -> reqwest::Method {
        match self {
            Self::Write | Self::WriteNew => reqwest::Method::PUT,
            Self::Read => reqwest::Method::GET,
            Self::Delete => reqwest::Method::DELETE,
        }
    }

    fn deed(self) -> &'static str {
        match self {
            Self::Write | Self::WriteNew => "write an object",
            Self::Read => "read an object",
            Self::Delete => "delete an object",
        }
    }
}

impl BucketClient {
    /// A client that gives up when `stop` is cancelled. Nothing is sent yet.
    pub(crate) fn new(
        settings: &BucketSettings,
        now: fn() -> Timestamp,
        stop: CancellationToken,
    ) -> Result<Self, BucketFault> {
        let (address, credentials) = (settings.address()?, settings.credentials()?);
        // Fails if another provider was chosen before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let unusable = |error: reqwest::Error| BucketFault::Setting {
            what: format!("could not create an HTTP client: {}", error_chain(&error.without_url())),
            hint: "check HTTPS_PROXY and the system's certificates (`ca-certificates`)",
        };
        // A store that redirects is not the one that the signature is for.
        let mut builder = reqwest::Client::builder().no_proxy().redirect(Policy::none());
        builder = builder.tcp_nodelay(true).connect_timeout(CONNECT);
        if let Some((proxy, except)) = settings.proxy.as_ref().filter(|_| address.is_secure) {
            let except = except.as_deref().and_then(reqwest::NoProxy::from_string);
            builder = builder.proxy(reqwest::Proxy::all(proxy).map_err(unusable)?.no_proxy(except));
        }
        let http = builder.build().map_err(unusable)?;
        Ok(Self { http, address, credentials, now, stop })
    }

    /// Sends a request until there is an answer, for some time: the store may be restarting.
    pub(crate) async fn send(
        &self,
        request: BucketRequest<'_>,
        patience: Duration,
    ) -> Result<BucketReply, BucketFault> {
        let (begun, mut wait) = (Instant::now(), FIRST_WAIT);
        loop {
            let tried = tokio::select! {
                tried = self.attempt(request) => tried,
                () = self.out_of_patience() => Err(self.unreachable("this process is stopping")),
            };
            let fault = match tried {
                Err(fault) if fault.is_passing() => fault,
                other => return other,
            };
            if begun.elapsed() >= patience || self.stop.is_cancelled() {
                return Err(fault);
            }
            tracing::debug!(%fault, "the store was not reached");
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.stop.cancelled() => {}
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Returns some time after the process was told to stop.
    async fn out_of_patience(&self) {
        self.stop.cancelled().await;
        tokio::time::sleep(LAST_ATTEMPT).await;
    }

    async fn attempt(&self, request: BucketRequest<'_>) -> Result<BucketReply, BucketFault> {
        let broken = |error: reqwest::Error| self.unreachable(&error_chain(&error.without_url()));
        let late = |_| self.unreachable("it does not answer in time");
        let patience = ATTEMPT + Duration::from_secs(request.body.len() as u64 / SLOWEST);
        let sent = timeout(patience, self.signed(request).send()).await;
        let mut reply = sent.map_err(late)?.map_err(broken)?;
        let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
        let mut body = Vec::new();
        while let Some(piece) = timeout(ATTEMPT, reply.chunk()).await.map_err(late)?.map_err(broken)? {
            body.extend_from_slice(&piece);
            if body.len() > LARGEST {
                let place = self.address.shown.clone();
                return Err(BucketFault::Unreliable { place, what: "an object is larger than any of ours" });
            }
        }
        self.read(request.action, status, &headers, body)
    }

    fn signed(&self, request: BucketRequest<'_>) -> reqwest::RequestBuilder {
        let BucketRequest { action, name, body } = request;
        let (method, path) = (action.method(), self.address.path_of(name));
        let mut headers = BTreeMap::from([
            ("host", self.address.host.clone()),
            (DATE, signing_time((self.now)())),
            (PAYLOAD, hash_of(body).to_string()),
        ]);
        headers.extend(self.credentials.session_token.clone().map(|token| (TOKEN, token)));
        if action == BucketAction::WriteNew {
            headers.insert("if-none-match", "*".to_owned());
        }
        let signable = SignableRequest { method: method.as_str(), path: &path, headers };
        let authorization = self.credentials.authorization(&self.address.region, &signable);
        let headers = signable.headers;
        let mut built = self.http.request(method, format!("{}{path}", self.address.origin));
        for (name, value) in headers {
            built = built.header(name, value);
        }
        built = built.header(header::AUTHORIZATION, authorization);
        if matches!(action, BucketAction::Write | BucketAction::WriteNew) { built.body(body.to_vec()) } else { built }
    }

    /// What an answer means.
    fn read(
        &self,
        action: BucketAction,
        status: u16,
        headers: &HeaderMap,
        body: Vec<u8>,
    ) -> Result<BucketReply, BucketFault> {
        if (200..300).contains(&status) {
            return Ok(BucketReply::Done(body));
        }
        let refusal = StoreRefusal::read(status, &body);
        let is_write = matches!(action, BucketAction::Write | BucketAction::WriteNew);
        match (status, refusal.code.as_str()) {
            // Any other 404 may come from a proxy that does not know the way.
            (404, "NoSuchKey") if !is_write => return Ok(BucketReply::Absent),
            (412, _) if action == BucketAction::WriteNew => return Ok(BucketReply::Present),
            // Another one is writing it at this moment.
            (409, _) if action == BucketAction::WriteNew => return Err(self.unreachable(&refusal.to_string())),
            (408 | 429 | 500 | 502..=599, _) | (_, "RequestTimeout") => {
                return Err(self.unreachable(&format!("it answers {status} {}", refusal.code)));
            }
            _ => {}
        }
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(ToOwned::to_owned);
        let ahead = text("date").and_then(|date| self.ahead(&date));
        let region = text("x-amz-bucket-region").or(refusal.region.clone());
        let refusal = Box::new(StoreRefusal { region, ahead, ..refusal });
        Err(BucketFault::Refused { place: self.address.shown.clone(), deed: action.deed(), refusal })
    }

    /// How far a clock is ahead of the one here, in seconds.
    fn ahead(&self, date: &str) -> Option<i64> {
        let there = httpdate::parse_http_date(date).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(i64::try_from(there.as_secs()).ok()? - (self.now)().0 / 1000)
    }

    fn unreachable(&self, why: &str) -> BucketFault {
        BucketFault::Unreachable { place: self.address.shown.clone(), why: why.to_owned() }
    }
}
