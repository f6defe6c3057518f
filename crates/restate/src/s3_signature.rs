//! Signs requests to an S3-compatible store: AWS Signature Version 4, with the payload in one piece.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use ring::hmac;
use updraft_journal::hash_of;
use updraft_run::Timestamp;

/// The name of the method.
const METHOD: &str = "AWS4-HMAC-SHA256";
/// What the key is for, besides the day and the region.
const SERVICE: &str = "s3";
const PURPOSE: &str = "aws4_request";
/// The header with the hash of the payload.
pub(crate) const PAYLOAD: &str = "x-amz-content-sha256";
/// The header with the time of the request.
pub(crate) const DATE: &str = "x-amz-date";
/// The header with the token of temporary credentials.
pub(crate) const TOKEN: &str = "x-amz-security-token";

/// Who asks. Only signatures made with the secret are ever sent.
#[derive(Clone)]
pub(crate) struct S3Credentials {
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    /// Belongs to temporary credentials.
    pub(crate) session_token: Option<String>,
}

/// What is signed of a request.
pub(crate) struct SignableRequest<'a> {
    pub(crate) method: &'a str,
    /// Percent-encoded, as it is sent.
    pub(crate) path: &'a str,
    /// By their names in lower case; the host, the time and the hash of the payload are among them.
    pub(crate) headers: BTreeMap<&'static str, String>,
}

impl S3Credentials {
    /// The header `Authorization` for a request.
    pub(crate) fn authorization(&self, region: &str, request: &SignableRequest<'_>) -> String {
        let SignableRequest { method, path, headers } = request;
        let header = |name: &str| headers.get(name).map(String::as_str).unwrap_or_default();
        let (time, payload) = (header(DATE), header(PAYLOAD));
        let day = time.split('T').next().unwrap_or_default();
        let names = headers.keys().copied().collect::<Vec<_>>().join(";");
        let mut canonical = format!("{method}\n{path}\n\n");
        for (name, value) in headers {
            let _ = writeln!(canonical, "{name}:{}", value.trim());
        }
        let _ = write!(canonical, "\n{names}\n{payload}");
        let scope = format!("{day}/{region}/{SERVICE}/{PURPOSE}");
        let text = format!("{METHOD}\n{time}\n{scope}\n{}", hash_of(canonical.as_bytes()));
        let secret = format!("AWS4{}", self.secret_key).into_bytes();
        let key = [day, region, SERVICE, PURPOSE].iter().fold(secret, |key, part| code(&key, part));
        let signature = digits(&code(&key, &text));
        format!("{METHOD} Credential={}/{scope},SignedHeaders={names},Signature={signature}", self.access_key)
    }
}

impl fmt::Debug for S3Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S3Credentials")
    }
}

/// A time as it is signed: `20130524T000000Z`.
pub(crate) fn signing_time(now: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(now.0).unwrap_or_default();
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// A path as it is signed: everything but letters, digits, `-._~` and slashes as `%XX`.
pub(crate) fn encoded_path(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

fn code(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The credentials of the examples that AWS publishes for signatures in one piece.
    fn published() -> S3Credentials {
        S3Credentials {
            access_key: "AKIAIOSFODNN7EXAMPLE".into(),
            secret_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            session_token: None,
        }
    }

    fn signed<const N: usize>(method: &str, path: &str, payload: &[u8], more: [(&'static str, &str); N]) -> String {
        let mut headers = BTreeMap::from([
            ("host", "examplebucket.s3.amazonaws.com".to_owned()),
            (DATE, signing_time(Timestamp(1_369_353_600_000))),
            (PAYLOAD, hash_of(payload).to_string()),
        ]);
        headers.extend(more.map(|(name, value)| (name, value.to_owned())));
        let path = encoded_path(path);
        published().authorization("us-east-1", &SignableRequest { method, path: &path, headers })
    }

    #[test]
    fn reading_an_object_is_signed_as_aws_says() {
        assert_eq!(
            signed("GET", "/test.txt", b"", [("range", "bytes=0-9")]),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,\
             SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,\
             Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
    }

    #[test]
    fn writing_an_object_is_signed_as_aws_says() {
        let more = [("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")];
        assert_eq!(
            signed("PUT", "/test$file.text", b"Welcome to Amazon S3.", more),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,\
             SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,\
             Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
        );
    }

    #[test]
    fn secrets_are_not_shown() {
        assert_eq!(format!("{:?}", published()), "S3Credentials");
    }
}
