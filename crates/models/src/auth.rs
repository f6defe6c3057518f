//! How we say who we are: a key in a header, or a token that is fetched and grows old.

use std::fmt::{self, Write as _};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

use crate::retry::AttemptError;
use crate::{Error, SecretString};

/// How we say who we are.
#[derive(Clone, Debug, Default)]
pub enum Auth {
    /// Not at all.
    #[default]
    Open,
    /// `Authorization: Bearer`.
    Bearer(SecretString),
    /// A header of the provider's own.
    Header(&'static str, SecretString),
    /// `Authorization: Bearer` with a token that is fetched when needed.
    Minted(Arc<dyn TokenMinter>),
}

/// Fetches tokens that grow old, and keeps them while they are good.
pub trait TokenMinter: Send + Sync + fmt::Debug {
    /// A token that is good now.
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<SecretString, Error>> + Send + '_>>;

    /// What stands for this identity where limits are kept: the same for every token it gives.
    fn identity(&self) -> String;

    /// The text without any secret it holds.
    fn redact(&self, text: String) -> String;
}

impl Auth {
    /// Writes what does not change from one request to the next.
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

    /// Writes what must be fetched.
    pub(crate) async fn write_fresh(&self, headers: &mut HeaderMap) -> Result<(), AttemptError> {
        let Auth::Minted(mint) = self else { return Ok(()) };
        let header = mint.token().await.and_then(|token| token.header("Bearer "));
        let header = header.map_err(|error| AttemptError::Refused { status: 401, message: error.to_string() })?;
        headers.insert(AUTHORIZATION, header);
        Ok(())
    }

    /// The text without the key, should a server have echoed it.
    pub(crate) fn redact(&self, text: String) -> String {
        match self {
            Auth::Open => text,
            Auth::Bearer(key) | Auth::Header(_, key) => key.redact(text),
            Auth::Minted(mint) => mint.redact(text),
        }
    }

    /// A few letters that tell keys apart and give none away.
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
