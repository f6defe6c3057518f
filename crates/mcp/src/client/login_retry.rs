//! Requests over the older transports, with a login where the server requires one.

use std::sync::Arc;

use reqwest::header::WWW_AUTHENTICATE;
use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::transport::streamable_http_client::AuthRequiredError;

use super::login::{AuthDenial, ServerLogin};

/// How many times one request is repeated after a login, or after a login with more scopes.
const LOGINS: usize = 3;

/// Why a request got no usable answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdmissionError {
    /// The request could not be sent.
    #[error("could not be reached")]
    Http(#[from] reqwest::Error),
    /// The server requires a login, and nobody has signed in.
    #[error("it requires a login")]
    Login(#[from] AuthRequiredError),
    /// Signing in failed.
    #[error("{0}")]
    Failed(String),
}

/// Sends a request; if the server requires a login, signs in and sends the request again.
pub(super) async fn admitted(
    login: &Arc<ServerLogin>,
    request: impl Fn() -> RequestBuilder + Send,
) -> Result<Response, AdmissionError> {
    for _ in 0..LOGINS {
        let token = login.token().await;
        let made = match &token {
            Some(token) => request().bearer_auth(token),
            None => request(),
        };
        let response = made.send().await?;
        let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        let challenge = challenge.map(str::to_owned);
        let denied = match (response.status(), challenge) {
            (StatusCode::UNAUTHORIZED, challenge) => AuthDenial::Unknown { challenge, token },
            (StatusCode::FORBIDDEN, Some(challenge)) => AuthDenial::Narrow { challenge, token },
            _ => {
                login.let_in().await;
                return Ok(response);
            }
        };
        if !login.sign_in(&denied).await.map_err(AdmissionError::Failed)? {
            let challenge = match denied {
                AuthDenial::Unknown { challenge, .. } => challenge.unwrap_or_default(),
                AuthDenial::Narrow { challenge, .. } => challenge,
            };
            return Err(AuthRequiredError::new(challenge).into());
        }
    }
    Err(AdmissionError::Failed("it asks for a login again and again".to_owned()))
}
