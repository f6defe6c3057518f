//! Authentication at a provider: a key in a header, or a token that is fetched and expires.

use std::fmt::{self, Write as _};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

use crate::retry::AttemptError;
use crate::{Error, SecretString};

/// How to authenticate.
#[derive(Clone, Debug, Default)]
pub enum Auth {
    /// Without authentication.
    #[default]
    Open,
    /// `Authorization: Bearer`.
    Bearer(SecretString),
    /// A header that is specific to the provider.
    Header(&'static str, SecretString),
    /// `Authorization: Bearer` with a token that is fetched when needed.
    Minted(Arc<dyn TokenMinter>),
}

/// Fetches tokens that expire, and keeps them while they are valid.
pub trait TokenMinter: Send + Sync + fmt::Debug {
    /// A token that is valid now.
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<SecretString, Error>> + Send + '_>>;

    /// The identity for rate limits: the same for every token it returns.
    fn identity(&self) -> String;

    /// The text without any secret of this identity.
    fn redact(&self, text: String) -> String;
}

impl Auth {
    /// Writes the headers that do not change between requests.
    pub(crate) fn write_fixed(&self, headers: &mut HeaderMap) -> Result<(), Error> {
        match self {
            Auth::Bearer(key) if !key.is_empty() => {
                headers.insert(AUTHORIZATION, key.header("Bearer ")?);
            }
            Auth::Header(name, key) if !key.is_empty() => {
                headers.insert(HeaderName::from_static(name), key.header("")?);
            }
            Auth::Open | Auth::Bearer(_) | Auth::Header(..) | Auth::Minted(_) => {}
        }
        Ok(())
    }

    /// Writes the headers that must be fetched.
    pub(crate) async fn write_fresh(&self, headers: &mut HeaderMap) -> Result<(), AttemptError> {
        let Auth::Minted(mint) = self else { return Ok(()) };
        let header = mint.token().await.and_then(|token| token.header("Bearer "));
        let header = header.map_err(|error| AttemptError::Refused { status: 401, message: error.to_string() })?;
        headers.insert(AUTHORIZATION, header);
        Ok(())
    }

    /// The text without the key, in case a server has echoed it.
    pub(crate) fn redact(&self, text: String) -> String {
        match self {
            Auth::Open => text,
            Auth::Bearer(key) | Auth::Header(_, key) => key.redact(text),
            Auth::Minted(mint) => mint.redact(text),
        }
    }

    /// A short text that distinguishes keys without revealing them.
    pub(crate) fn fingerprint(&self) -> String {
        let identity = match self {
            Auth::Open => return "-".to_owned(),
            Auth::Bearer(key) | Auth::Header(_, key) => key.reveal().to_owned(),
            Auth::Minted(mint) => mint.identity(),
        };
        let hash = Sha256::digest(format!("updraft {identity}"));
        hash.iter().take(6).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}
