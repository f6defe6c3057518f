//! `[[webhooks]]`: other servers that are told when a run ends or needs a person. Only the user's own file names them:
//! what a run is about leaves this machine.

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::layer::SettingsLayer;
use super::origin::SettingOrigin;
use crate::fault::Fault;
use crate::folders;

/// One `[[webhooks]]` as it was written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenWebhook {
    url: Spanned<String>,
    events: Option<Spanned<Vec<String>>>,
    secret_env: Spanned<String>,
}

/// What a server can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WebhookEvent {
    /// A run has ended.
    #[serde(rename = "run.ended")]
    Ended,
    /// A run asks a person, or has reached a limit.
    #[serde(rename = "run.needs_person")]
    NeedsPerson,
}

impl WebhookEvent {
    const ALL: [WebhookEvent; 2] = [WebhookEvent::Ended, WebhookEvent::NeedsPerson];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            WebhookEvent::Ended => "run.ended",
            WebhookEvent::NeedsPerson => "run.needs_person",
        }
    }
}

/// A server that is told about runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEndpoint {
    /// Where it is.
    pub url: String,
    /// What it is told.
    pub events: Vec<WebhookEvent>,
    /// The environment variable with the secret that messages are signed with.
    pub secret_env: String,
    /// Where this was written.
    pub(super) from: String,
}

impl WebhookEndpoint {
    /// The secret.
    pub fn secret(&self) -> Result<String, Fault> {
        folders::set(&self.secret_env).ok_or_else(|| {
            Fault::config(format!("the webhook `{}` has no secret: {} is not set", self.url, self.secret_env)).hint(
                format!(
                    "set it to the secret that the receiver knows, such as `whsec_…`: export {}=…",
                    self.secret_env
                ),
            )
        })
    }
}

/// Adds the endpoints of a layer.
pub(super) fn take(
    endpoints: &mut Vec<WebhookEndpoint>,
    layer: &SettingsLayer,
    ignored: &mut Vec<String>,
) -> Result<(), Fault> {
    for written in &layer.written.webhooks {
        if matches!(layer.origin, SettingOrigin::Workspace | SettingOrigin::Stranger) {
            ignored.push("`webhooks`, which only your own settings can name".to_owned());
            continue;
        }
        let WrittenWebhook { url, events, secret_env } = written;
        let is_address = ["https://", "http://"].iter().any(|scheme| {
            url.get_ref()
                .strip_prefix(scheme)
                .is_some_and(|rest| rest.starts_with(|first: char| first.is_alphanumeric() || first == '['))
        });
        if !is_address {
            let what = format!("{}: `{}` is not an address", layer.place(url), url.get_ref());
            return Err(Fault::config(what).hint("it begins with `https://` or `http://`"));
        }
        let known = |word: &String| WebhookEvent::ALL.into_iter().find(|event| event.word() == word);
        let events = match events {
            None => WebhookEvent::ALL.to_vec(),
            Some(words) => words.get_ref().iter().map(known).collect::<Option<Vec<_>>>().ok_or_else(|| {
                let all = WebhookEvent::ALL.map(WebhookEvent::word).join("`, `");
                Fault::config(format!("{}: `events` has a name that is not known", layer.place(words)))
                    .hint(format!("available: `{all}`"))
            })?,
        };
        let endpoint = WebhookEndpoint {
            url: url.get_ref().clone(),
            events,
            secret_env: secret_env.get_ref().clone(),
            from: layer.source(url),
        };
        endpoints.retain(|known| known.url != endpoint.url);
        endpoints.push(endpoint);
    }
    Ok(())
}

/// Every endpoint: name, value as TOML, where it came from.
pub(super) fn list(endpoints: &[WebhookEndpoint]) -> Vec<(String, String, String)> {
    let row = |endpoint: &WebhookEndpoint| {
        let words: Vec<&str> = endpoint.events.iter().map(|event| event.word()).collect();
        let value =
            format!("{{ url = {:?}, events = {words:?}, secret_env = {:?} }}", endpoint.url, endpoint.secret_env);
        ("webhooks".to_owned(), value, endpoint.from.clone())
    };
    endpoints.iter().map(row).collect()
}
