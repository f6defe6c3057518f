//! Webhooks: other servers are told when a run ends or needs a person, as [Standard Webhooks] has it.
//!
//! Each server has a task of its own. It sends the oldest message until the server takes it, waiting longer each time; only
//! then comes the next. What waits is in the journal (`WebhookOutbox`), so it outlives this process. If several servers
//! serve a workspace, one of them sends, and another takes over when it ends.
//!
//! [Standard Webhooks]: https://www.standardwebhooks.com

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use updraft_workbench::service::{WebhookMessage, WebhookOutbox};
use updraft_workbench::settings::WebhookEndpoint;
use updraft_workbench::{Fault, UpdraftService, time_format};

/// How long a server has to take a message.
const PATIENCE: Duration = Duration::from_secs(15);
/// The wait after the first failure; it doubles each time, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// The wait after the journal could not be read.
const REST: Duration = Duration::from_secs(10);
/// How long it takes until new events are looked at: many may come at once.
const GATHER: Duration = Duration::from_millis(100);
/// A message that no attempt has delivered for this long is given up, so that newer ones are not held up for ever.
const GIVE_UP: Duration = Duration::from_hours(3 * 24);

/// The webhooks of a server.
#[derive(Clone, Default)]
pub struct Webhooks(Arc<Vec<WebhookState>>);

/// One of them.
pub(crate) struct WebhookState {
    /// Where it is.
    pub(crate) endpoint: WebhookEndpoint,
    secret: Vec<u8>,
    sends: AtomicBool,
    waiting: AtomicUsize,
    last_failure: Mutex<Option<String>>,
}

impl WebhookState {
    /// Whether this process sends the messages.
    pub(crate) fn sends(&self) -> bool {
        self.sends.load(Ordering::Relaxed)
    }

    /// How many messages wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Why the last attempt failed, if it did.
    pub(crate) fn last_failure(&self) -> Option<String> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, failure: Option<String>) {
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }
}

impl Webhooks {
    /// The webhooks of the settings. Each must have its secret.
    pub fn of(service: &UpdraftService) -> Result<Self, Fault> {
        let state = |endpoint: &WebhookEndpoint| {
            let secret = key(&endpoint.secret()?)?;
            let (sends, waiting, last_failure) = (AtomicBool::new(false), AtomicUsize::new(0), Mutex::default());
            Ok(WebhookState { endpoint: endpoint.clone(), secret, sends, waiting, last_failure })
        };
        let endpoints = &service.settings().effective.webhooks;
        Ok(Self(Arc::new(endpoints.iter().map(state).collect::<Result<_, Fault>>()?)))
    }

    /// Each of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &WebhookState> {
        self.0.iter()
    }

    /// Sends messages until it is stopped, once no other process does.
    pub(crate) async fn deliver(&self, service: &UpdraftService, stop: &CancellationToken) {
        if self.0.is_empty() {
            return;
        }
        let _turn = tokio::select! {
            () = stop.cancelled() => return,
            turn = service.runs.outbox_turn() => turn
                .inspect_err(|fault| tracing::warn!("another server may send the same: {}", fault.in_one_line())),
        };
        let tasks = TaskTracker::new();
        for n in 0..self.0.len() {
            let (own, service, stop) = (self.clone(), service.clone(), stop.clone());
            tasks.spawn(async move {
                let Some(state) = own.0.get(n) else { return };
                state.sends.store(true, Ordering::Relaxed);
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = deliver_to(state, &service) => {}
                }
            });
        }
        tasks.close();
        tasks.wait().await;
    }
}

/// The key in a secret: what follows `whsec_` is base64, anything else is the key itself.
fn key(secret: &str) -> Result<Vec<u8>, Fault> {
    match secret.trim().strip_prefix("whsec_") {
        Some(coded) => STANDARD.decode(coded).map_err(|_| {
            Fault::config("the secret of a webhook begins with `whsec_`, but the rest is not base64")
                .hint("copy it again from where the receiver shows it")
        }),
        None => Ok(secret.trim().as_bytes().to_vec()),
    }
}

/// Sends messages for ever. What cannot be read now, such as a journal on a full disk, is tried again.
async fn deliver_to(state: &WebhookState, service: &UpdraftService) {
    while let Err(fault) = deliver_while_possible(state, service).await {
        tracing::error!(url = state.endpoint.url, "a webhook waits: {}", fault.in_one_line());
        state.note(Some(fault.message));
        tokio::time::sleep(REST).await;
    }
}

async fn deliver_while_possible(state: &WebhookState, service: &UpdraftService) -> Result<(), Fault> {
    let client = client()?;
    let mut outbox = service.runs.outbox(&state.endpoint).await?;
    loop {
        outbox.look().await?;
        while let Some(message) = outbox.first().await? {
            state.waiting.store(outbox.len(), Ordering::Relaxed);
            send_until_taken(state, &client, &mut outbox, &message).await?;
            outbox.settle(&message).await?;
            state.waiting.store(outbox.len(), Ordering::Relaxed);
        }
        wait_for_news(&mut outbox).await;
    }
}

async fn wait_for_news(outbox: &mut WebhookOutbox) {
    outbox.changed().await;
    tokio::time::sleep(GATHER).await;
}

/// Sends a message until the server takes it, or it is given up.
async fn send_until_taken(
    state: &WebhookState,
    client: &reqwest::Client,
    outbox: &mut WebhookOutbox,
    message: &WebhookMessage,
) -> Result<(), Fault> {
    let (began, mut wait) = (tokio::time::Instant::now(), FIRST_WAIT);
    let body = message.body.to_string();
    loop {
        let failure = match attempt(state, client, &message.id, &body).await {
            Ok(()) => {
                state.note(None);
                return Ok(());
            }
            Err(failure) => failure,
        };
        if began.elapsed() > GIVE_UP {
            tracing::error!(url = state.endpoint.url, id = message.id, failure, "a message is given up");
            state.note(Some(failure));
            return Ok(());
        }
        tracing::warn!(url = state.endpoint.url, id = message.id, failure, "a message is sent again in {wait:?}");
        state.note(Some(failure));
        // Others wait behind it in the meantime.
        outbox.look().await?;
        state.waiting.store(outbox.len(), Ordering::Relaxed);
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

async fn attempt(state: &WebhookState, client: &reqwest::Client, id: &str, body: &str) -> Result<(), String> {
    let seconds = time_format::now().0 / 1_000;
    let sent = client
        .post(&state.endpoint.url)
        .header("content-type", "application/json")
        .header("webhook-id", id)
        .header("webhook-timestamp", seconds.to_string())
        .header("webhook-signature", signature(&state.secret, id, seconds, body)?)
        .body(body.to_owned())
        .send()
        .await;
    let answer = sent.map_err(|error| updraft_run::error_chain(&error.without_url()))?;
    if answer.status().is_success() { Ok(()) } else { Err(format!("the receiver answered {}", answer.status())) }
}

/// What shows that a message is ours: HMAC-SHA256 of its id, the time and its body.
fn signature(secret: &[u8], id: &str, seconds: i64, body: &str) -> Result<String, String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).map_err(|error| error.to_string())?;
    mac.update(format!("{id}.{seconds}.{body}").as_bytes());
    Ok(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

/// A client for servers that are told something.
pub(crate) fn client() -> Result<reqwest::Client, Fault> {
    // Fails if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .no_proxy()
        // The signature is for this address.
        .redirect(reqwest::redirect::Policy::none())
        .timeout(PATIENCE)
        .user_agent(concat!("updraft/", env!("CARGO_PKG_VERSION")))
        .build();
    client.map_err(|error| {
        Fault::failed(format!("could not create an HTTP client: {}", updraft_run::error_chain(&error)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's libraries.
    #[test]
    fn a_message_is_signed_as_the_standard_has_it() {
        let secret = key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = "{\"test\": 2432232314}";
        let signed = signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body).unwrap();
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(key(" plain \n").unwrap(), b"plain");
        assert!(key("whsec_?").is_err());
    }
}
