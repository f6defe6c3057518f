//! Fetches tokens: with a refresh token, with a signed request, or from the metadata server.

use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder, Response, Url};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::file::{GoogleAccount, ServiceAccount, UserAccount};
use super::{CredentialSource, jwt};
use crate::retry::AttemptError;
use crate::silence_timer::SilenceTimer;
use crate::{Http, RetryPolicy, SecretString, refusal};

/// The address of the metadata server. It is a number, because the name may lead anywhere on other machines.
const MACHINE: &str = "169.254.169.254";

/// On a machine of Google Cloud the metadata server answers at once; elsewhere there is none.
const PROBE_TIME: Duration = Duration::from_millis(800);

/// The header of every request to the metadata server, and of every answer.
const FLAVOUR: (&str, &str) = ("metadata-flavor", "Google");

/// Maximum bytes of an answer with a token.
const LARGEST_ANSWER: usize = 64 << 10;

/// A token and its remaining lifetime.
pub(super) struct FetchedToken {
    pub(super) token: SecretString,
    pub(super) life: Duration,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    #[serde(default)]
    expires_in: u64,
}

impl CredentialSource {
    /// Makes one request.
    pub(super) async fn fetch(&self, http: &Http, patience: &RetryPolicy) -> Result<FetchedToken, AttemptError> {
        let mut watch = SilenceTimer::new(patience.stall);
        match self {
            CredentialSource::Account(GoogleAccount::Person(person)) => {
                send(post(http, &person.token_uri, &refresh_form(person))?, &mut watch).await
            }
            CredentialSource::Account(GoogleAccount::Service(service)) => {
                send(post(http, &service.token_uri, &assertion_form(service)?)?, &mut watch).await
            }
            CredentialSource::Machine(host) => {
                // Without a proxy, which would answer for itself.
                let direct = Http::default();
                let (host, is_told) = host.as_deref().map_or((MACHINE, false), |host| (host, true));
                let base = parse(&format!("http://{host}/"))?;
                let client = direct.client(&base).map_err(|why| AttemptError::Useless(why.to_string()))?;
                if !is_told && !is_google(client, base.clone()).await {
                    let words = "no credentials are set, and this is not a Google Cloud machine";
                    return Err(AttemptError::Useless(words.to_owned()));
                }
                let mut url = base;
                url.set_path("/computeMetadata/v1/instance/service-accounts/default/token");
                send(client.get(url).header(FLAVOUR.0, FLAVOUR.1), &mut watch).await
            }
        }
    }
}

fn refresh_form(person: &UserAccount) -> String {
    let pairs = [
        ("grant_type", "refresh_token"),
        ("client_id", &person.client_id),
        ("client_secret", person.client_secret.reveal()),
        ("refresh_token", person.refresh_token.reveal()),
    ];
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

fn assertion_form(service: &ServiceAccount) -> Result<String, AttemptError> {
    let assertion = jwt::assertion(service).map_err(AttemptError::Useless)?;
    let pairs = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", &assertion)];
    Ok(Serializer::new(String::new()).extend_pairs(pairs).finish())
}

fn post(http: &Http, address: &str, form: &str) -> Result<RequestBuilder, AttemptError> {
    let url = parse(address)?;
    let client = http.client(&url).map_err(|why| AttemptError::Useless(why.to_string()))?;
    Ok(client.post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form.to_owned()))
}

fn parse(address: &str) -> Result<Url, AttemptError> {
    Url::parse(address).map_err(|why| AttemptError::Useless(format!("`{address}` is not an address: {why}")))
}

async fn send(request: RequestBuilder, watch: &mut SilenceTimer) -> Result<FetchedToken, AttemptError> {
    let response = watch.over(request.send()).await?.map_err(cut)?;
    if !response.status().is_success() {
        return Err(refusal::read(response, watch).await);
    }
    let body = read(response, watch).await?;
    // The answer may contain a secret, so it is not quoted.
    let granted: TokenResponse = serde_json::from_slice(&body).map_err(|why| {
        AttemptError::Useless(format!("no token in the answer (line {}, column {})", why.line(), why.column()))
    })?;
    Ok(FetchedToken { token: SecretString::new(granted.access_token), life: Duration::from_secs(granted.expires_in) })
}

async fn read(mut response: Response, watch: &mut SilenceTimer) -> Result<Vec<u8>, AttemptError> {
    let mut body = Vec::new();
    while let Some(piece) = watch.over(response.chunk()).await?.map_err(cut)? {
        body.extend_from_slice(&piece);
        if body.len() > LARGEST_ANSWER {
            return Err(AttemptError::Useless("an answer too large for a token".to_owned()));
        }
    }
    Ok(body)
}

fn cut(why: reqwest::Error) -> AttemptError {
    AttemptError::Cut(updraft_run::error_chain(&why.without_url()))
}

/// Whether the metadata server of Google Cloud answers there.
async fn is_google(client: &Client, url: Url) -> bool {
    let asked = tokio::time::timeout(PROBE_TIME, client.get(url).header(FLAVOUR.0, FLAVOUR.1).send());
    let Ok(Ok(response)) = asked.await else { return false };
    response.headers().get(FLAVOUR.0).is_some_and(|value| value == FLAVOUR.1)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    async fn found(answer: &'static str) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let serve = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.read(&mut [0; 1024]).await;
            socket.write_all(answer.as_bytes()).await.unwrap();
        };
        let http = Http::default();
        let (is_google, ()) = tokio::join!(is_google(http.client(&url).unwrap(), url.clone()), serve);
        is_google
    }

    #[tokio::test]
    async fn a_machine_of_google_is_known_by_its_flavour() {
        assert!(found("HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\ncontent-length: 0\r\n\r\n").await);
        assert!(!found("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await);
        assert!(!found("").await);
    }
}
