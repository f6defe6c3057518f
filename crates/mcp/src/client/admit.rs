//! Requests of the older forms, behind a login where one is wanted.

use std::sync::Arc;

use reqwest::header::WWW_AUTHENTICATE;
use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::transport::streamable_http_client::AuthRequiredError;

use super::login::{AuthDenial, ServerLogin};

/// How often one request is repeated after a login or a wider one.
const LOGINS: usize = 3;

/// Why a request got no answer, or none that counts.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdmissionError {
    /// It could not be made.
    #[error("could not be reached")]
    Http(#[from] reqwest::Error),
    /// Nobody has signed in.
    #[error("it wants a login")]
    Login(#[from] AuthRequiredError),
    /// Signing in failed.
    #[error("{0}")]
    Failed(String),
}

/// Makes a request, signs in where that is wanted, and makes it again.
pub(super) async fn admitted(
    desk: &Arc<ServerLogin>,
    request: impl Fn() -> RequestBuilder + Send,
) -> Result<Response, AdmissionError> {
    for _ in 0..LOGINS {
        let token = desk.token().await;
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
                desk.let_in().await;
                return Ok(response);
            }
        };
        if !desk.sign_in(&denied).await.map_err(AdmissionError::Failed)? {
            let challenge = match denied {
                AuthDenial::Unknown { challenge, .. } => challenge.unwrap_or_default(),
                AuthDenial::Narrow { challenge, .. } => challenge,
            };
            return Err(AuthRequiredError::new(challenge).into());
        }
    }
    Err(AdmissionError::Failed("it wants a login again and again".to_owned()))
}
