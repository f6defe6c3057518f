//! Checks that a request comes from our Restate: it signs each with an Ed25519 key whose public half the worker knows.
//!
//! The signature is a JSON Web Token in a header. It names the path and a time of two minutes, and not the body, so
//! networks that others can listen to need encryption as well.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::Deserialize;
use thiserror::Error;

/// How Restate writes a public key: this, and the key in base 58.
const PREFIX: &str = "publickeyv1_";
const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const KEY_LENGTH: usize = 32;
/// The header that says how a request is signed, and the one that holds the token.
const SCHEME: &str = "x-restate-signature-scheme";
const TOKEN: &str = "x-restate-jwt-v1";

/// A text that is no public key of Restate.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a public key of Restate: it begins with `{PREFIX}`, as Restate writes it to its log")]
pub struct IdentityKeyFault(String);

/// The public keys of the Restate servers that may call a worker. Without any, everybody may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdentityKeys(Vec<[u8; KEY_LENGTH]>);

/// What a token says.
#[derive(Debug, Deserialize)]
struct TokenClaims {
    aud: String,
    nbf: u64,
    exp: u64,
}

#[derive(Debug, Deserialize)]
struct TokenHeader {
    alg: String,
}

impl IdentityKeys {
    /// Reads keys as Restate writes them.
    pub fn parse(texts: &[String]) -> Result<Self, IdentityKeyFault> {
        let key = |text: &String| {
            let digits = text.trim().strip_prefix(PREFIX);
            digits.and_then(from_base58).ok_or_else(|| IdentityKeyFault(text.clone()))
        };
        texts.iter().map(key).collect::<Result<_, _>>().map(Self)
    }

    /// Whether everybody may call.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a request for this path, at this time in seconds, comes from one of the servers; if not, why.
    pub(crate) fn check(&self, headers: &HeaderMap, path: &str, now: u64) -> Result<(), &'static str> {
        if self.0.is_empty() {
            return Ok(());
        }
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
        if header(SCHEME) != Some("v1") {
            return Err("the request is not signed; give Restate a key with `request-identity-private-key-pem-file`");
        }
        let token = header(TOKEN).ok_or("the request has no token")?;
        let claims = self.verified(token).ok_or("the signature is not made by a key that this worker knows")?;
        if claims.aud != path {
            return Err("the signature is made for another path");
        }
        if now < claims.nbf || now >= claims.exp {
            return Err("the signature is too old, or the clocks of Restate and this machine differ by over a minute");
        }
        Ok(())
    }

    /// What a token says, if one of the keys has signed it.
    fn verified(&self, token: &str) -> Option<TokenClaims> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let header: TokenHeader = serde_json::from_slice(&decode(header)?).ok()?;
        let signature = decode(signature)?;
        let is_signed = |key: &[u8; KEY_LENGTH]| {
            UnparsedPublicKey::new(&ED25519, key).verify(signed.as_bytes(), &signature).is_ok()
        };
        let is_ours = header.alg == "EdDSA" && self.0.iter().any(is_signed);
        serde_json::from_slice(&decode(claims)?).ok().filter(|_| is_ours)
    }
}

/// A key in base 58: the digits of one large number, and a `1` for each zero byte in front of it.
fn from_base58(text: &str) -> Option<[u8; KEY_LENGTH]> {
    let mut key = [0_u8; KEY_LENGTH];
    for digit in text.bytes() {
        let mut carry = DIGITS.iter().position(|known| *known == digit)?;
        for byte in key.iter_mut().rev() {
            carry += usize::from(*byte) * DIGITS.len();
            *byte = (carry & 0xff) as u8;
            carry >>= 8;
        }
        if carry > 0 {
            return None;
        }
    }
    let zeros = key.iter().take_while(|byte| **byte == 0).count();
    let ones = text.bytes().take_while(|digit| *digit == DIGITS[0]).count();
    (zeros == ones).then_some(key)
}

#[cfg(test)]
mod tests {
    use ring::signature::{Ed25519KeyPair, KeyPair};

    use super::*;

    /// A pair of keys that Restate's own tests use, and the public one as it writes it.
    const SEED: &str = "9777hlM9AMXzWi2mhT-Y4YcLa84BWn1ZuIJuW-fedc4";
    const PUBLIC: &str = "publickeyv1_AfQwmwfgEZhrWpvv8N52SHpRtZqGGaFr4AZN6qtYWSiY";

    fn pair() -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&URL_SAFE_NO_PAD.decode(SEED).unwrap()).unwrap()
    }

    fn token(header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = pair().sign(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }

    fn signed(token: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(SCHEME, "v1".parse().unwrap());
        headers.insert(TOKEN, token.parse().unwrap());
        headers
    }

    const HEADER: &str = r#"{"typ":"JWT","alg":"EdDSA"}"#;
    const CLAIMS: &str = r#"{"aud":"/invoke/Runs/advance","nbf":1000,"iat":1060,"exp":1120}"#;

    #[test]
    fn keys_are_read_as_restate_writes_them() {
        let keys = IdentityKeys::parse(&[PUBLIC.to_owned()]).unwrap();
        assert_eq!(keys.0[0], pair().public_key().as_ref());
        let long = format!("{PUBLIC}z");
        for wrong in ["AfQwmwfg", "publickeyv1_", "publickeyv1_0OIl", long.as_str(), &PUBLIC[..PUBLIC.len() - 10]] {
            assert!(IdentityKeys::parse(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_request_is_accepted_with_a_signature_for_its_path_in_its_time_only() {
        let keys = IdentityKeys::parse(&[PUBLIC.to_owned()]).unwrap();
        let good = signed(&token(HEADER, CLAIMS));
        let path = "/invoke/Runs/advance";
        assert_eq!(keys.check(&good, path, 1060), Ok(()));
        for (when, other) in [(999, path), (1120, path), (1060, "/invoke/Runs/tell")] {
            assert!(keys.check(&good, other, when).is_err(), "{when} {other}");
        }
        assert!(keys.check(&HeaderMap::new(), path, 1060).is_err(), "not signed");
        assert_eq!(IdentityKeys::default().check(&HeaderMap::new(), path, 1060), Ok(()), "everybody may");
    }

    #[test]
    fn a_token_that_was_changed_or_signed_otherwise_is_refused() {
        let keys = IdentityKeys::parse(&[PUBLIC.to_owned()]).unwrap();
        let good = token(HEADER, CLAIMS);
        let (signed_part, _) = good.rsplit_once('.').unwrap();
        let unsigned = token(r#"{"alg":"none"}"#, CLAIMS);
        let later = URL_SAFE_NO_PAD.encode(CLAIMS.replace("1120", "9999"));
        let mut parts: Vec<&str> = good.split('.').collect();
        parts[1] = &later;
        let changed = parts.join(".");
        for wrong in [signed_part, unsigned.as_str(), changed.as_str(), "", "..", "a.b.c"] {
            assert!(keys.check(&signed(wrong), "/invoke/Runs/advance", 1060).is_err(), "{wrong}");
        }
    }
}
