//! A service account's request for a token: claims in JSON, signed with its key (RFC 7523).

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::SigningKey;
use serde_json::{Value, json};

use super::file::ServiceAccount;

/// The scope of a token: everything that the account may do.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// The longest lifetime of a claim that Google accepts.
const LIFE: u64 = 3_600;

/// The private key of a service account.
pub(super) struct JwtSigner {
    key: Arc<dyn SigningKey>,
    id: Option<String>,
}

impl JwtSigner {
    /// Parses a key in PEM. Errors do not quote it.
    pub(super) fn new(pem: &str, id: Option<String>) -> Result<Self, String> {
        let der = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| "`private_key` is not a key in PEM")?;
        let key = any_supported_type(&der).map_err(|_| "`private_key` is not an RSA key of 2048 bits or more")?;
        let signer = Self { key, id };
        signer.sign(b"").map(|_| signer)
    }

    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        let signer = self.key.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256]);
        let signer = signer.ok_or("`private_key` is not an RSA key")?;
        signer.sign(text).map_err(|_| "`private_key` does not sign".to_owned())
    }
}

impl fmt::Debug for JwtSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(..)")
    }
}

/// The signed request of an account.
pub(super) fn assertion(service: &ServiceAccount) -> Result<String, String> {
    let now = now();
    let mut head = json!({ "alg": "RS256", "typ": "JWT" });
    if let Some(id) = &service.signer.id {
        head["kid"] = json!(id);
    }
    let claims = json!({
        "iss": service.email,
        "scope": SCOPE,
        "aud": service.token_uri,
        "iat": now,
        "exp": now + LIFE,
    });
    let text = format!("{}.{}", encoded(&head), encoded(&claims));
    let signature = service.signer.sign(text.as_bytes())?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[expect(clippy::disallowed_methods, reason = "a signed claim says when it was made; nothing is decided by it here")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
