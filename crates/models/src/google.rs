//! Authentication in Google Cloud: application-default credentials, and the tokens they provide.
//!
//! A token is kept until shortly before it expires. Requests that need a new one wait for the one request that fetches
//! it, so that hundreds of simultaneous requests fetch one token.

mod fetch;
mod file;
mod jwt;

use std::fmt;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use self::fetch::FetchedToken;
use self::file::GoogleAccount;
use crate::{Auth, Error, GoogleProject, Http, ModelAccess, RetryPolicy, SecretString, TokenMinter};

/// A token is replaced this long before it expires, because sending a request may take a while. The metadata server
/// renews tokens five minutes before they expire, so this must be less.
const EARLY: Duration = Duration::from_mins(3);

/// The location for models that are the same everywhere.
const ANYWHERE: &str = "global";

/// The access to a Google Cloud project.
pub(crate) struct CloudAccess {
    pub(crate) auth: Auth,
    pub(crate) project: String,
    pub(crate) location: String,
    /// The project that is charged, if the credentials name one.
    pub(crate) charged: Option<String>,
}

/// Finds the project and its credentials: a token that was given, a file, or the metadata server of this machine.
pub(crate) fn enter(access: &ModelAccess, token: Option<SecretString>) -> Result<CloudAccess, Error> {
    let GoogleProject { project, location, credentials, metadata } = &access.google;
    let account = match credentials {
        Some(path) if token.is_none() => Some(GoogleAccount::read(path)?),
        Some(_) | None => None,
    };
    let project = project.clone().or_else(|| account.as_ref()?.project()).ok_or_else(|| Error::Config {
        what: "no Google Cloud project is set".to_owned(),
        hint: "set GOOGLE_CLOUD_PROJECT".to_owned(),
    })?;
    let charged = account.as_ref().and_then(GoogleAccount::charged);
    let source = match account {
        Some(account) => CredentialSource::Account(account),
        None => CredentialSource::Machine(metadata.clone()),
    };
    Ok(CloudAccess {
        auth: match token {
            Some(token) => Auth::Bearer(token),
            None => Auth::Minted(Arc::new(GoogleCredentials::new(source, access))),
        },
        project,
        location: location.clone().unwrap_or_else(|| ANYWHERE.to_owned()),
        charged,
    })
}

/// Where tokens come from.
#[derive(Debug)]
enum CredentialSource {
    /// A credentials file.
    Account(GoogleAccount),
    /// The metadata server at this address; without an address the default one, if this machine belongs to Google
    /// Cloud.
    Machine(Option<String>),
}

/// Application-default credentials.
struct GoogleCredentials {
    source: CredentialSource,
    http: Http,
    patience: RetryPolicy,
    kept: Mutex<Option<CachedToken>>,
    /// Held by the task that fetches a token.
    turn: Semaphore,
}

#[derive(Clone)]
struct CachedToken {
    token: SecretString,
    until: Instant,
}

impl GoogleCredentials {
    fn new(source: CredentialSource, access: &ModelAccess) -> Self {
        let (http, patience) = (access.http.clone(), access.patience.clone());
        Self { source, http, patience, kept: Mutex::new(None), turn: Semaphore::new(1) }
    }

    /// The current token, while it is valid.
    fn at_hand(&self) -> Option<SecretString> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        (kept.until > Instant::now()).then_some(kept.token)
    }

    async fn fresh(&self) -> Result<SecretString, Error> {
        let _turn = self.turn.acquire().await;
        // The task that held the permit before may have fetched one.
        if let Some(token) = self.at_hand() {
            return Ok(token);
        }
        let asked = Instant::now();
        let FetchedToken { token, life } = self.fetch().await?;
        let until = asked + life.saturating_sub(EARLY.min(life / 2));
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(CachedToken { token: token.clone(), until });
        Ok(token)
    }

    /// Fetches a token, with retries if they may help.
    async fn fetch(&self) -> Result<FetchedToken, Error> {
        let salt = std::ptr::from_ref(self) as u64;
        let mut attempt = 1;
        loop {
            let trouble = match self.source.fetch(&self.http, &self.patience).await {
                Ok(fetched) => return Ok(fetched),
                Err(trouble) => trouble,
            };
            if !trouble.passes() || attempt >= self.patience.attempts {
                let words = self.redact(trouble.words());
                return Err(Error::Config {
                    what: format!("no token from Google: {words}"),
                    hint: "sign in with `gcloud auth application-default login`, or set VERTEX_ACCESS_TOKEN".to_owned(),
                });
            }
            tokio::time::sleep(self.patience.wait(attempt, trouble.asked_wait(), salt)).await;
            attempt += 1;
        }
    }
}

impl TokenMinter for GoogleCredentials {
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<SecretString, Error>> + Send + '_>> {
        Box::pin(async move {
            match self.at_hand() {
                Some(token) => Ok(token),
                None => self.fresh().await,
            }
        })
    }

    fn identity(&self) -> String {
        match &self.source {
            CredentialSource::Account(account) => account.identity(),
            CredentialSource::Machine(host) => format!("machine {}", host.as_deref().unwrap_or_default()),
        }
    }

    fn redact(&self, text: String) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text = match kept {
            Some(kept) => kept.token.redact(text),
            None => text,
        };
        match &self.source {
            CredentialSource::Account(account) => account.redact(text),
            CredentialSource::Machine(_) => text,
        }
    }
}

impl fmt::Debug for GoogleCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GoogleCredentials").field("source", &self.source).finish_non_exhaustive()
    }
}

/// The error for a credentials file that cannot be used.
fn unusable(path: &Path, why: &str) -> Error {
    Error::Config {
        what: format!("the Google credentials in `{}` cannot be used: {why}", path.display()),
        hint:
            "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the key file of a \
               service account"
                .to_owned(),
    }
}
