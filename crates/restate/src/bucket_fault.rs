//! What can be wrong with a bucket, and what to do about it.

use thiserror::Error;

/// Why a bucket cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BucketFault {
    /// It is not said well enough which one, or who asks.
    #[error("{what}")]
    Setting {
        /// What is wrong.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// The store does not answer, or says that it cannot just now.
    #[error("{place} cannot be reached: {why}")]
    Unreachable {
        /// The bucket and its address.
        place: String,
        /// What happened at the last attempt.
        why: String,
    },
    /// The store refuses.
    #[error("{place} refuses to {deed}: {refusal}")]
    Refused {
        /// The bucket and its address.
        place: String,
        /// What was asked for.
        deed: &'static str,
        /// Its words.
        refusal: Box<StoreRefusal>,
    },
    /// What was read is not what was written.
    #[error("{place} does not keep what is written to it: {what}")]
    Unreliable {
        /// The bucket and its address.
        place: String,
        /// What is different.
        what: &'static str,
    },
}

/// A refusal of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreRefusal {
    /// The status of HTTP.
    pub status: u16,
    /// The store's name for it: `AccessDenied`.
    pub code: String,
    /// Its explanation.
    pub message: String,
    /// The region that the bucket is in, if the store says so.
    pub region: Option<String>,
    /// How far the store's clock is ahead of the one here, in seconds, if it says the time.
    pub ahead: Option<i64>,
}

impl std::fmt::Display for StoreRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, code, message, .. } = self;
        match code.as_str() {
            "NoSuchBucket" => write!(f, "there is no such bucket"),
            "InvalidAccessKeyId" => write!(f, "it does not know the access key"),
            "SignatureDoesNotMatch" => write!(f, "the secret key is not the one of the access key"),
            "RequestTimeTooSkewed" => write!(f, "the clocks differ too much{}", self.clocks()),
            "" => write!(f, "it answers {status}"),
            _ if message.is_empty() => write!(f, "{code}"),
            _ => write!(f, "{code}, {message}"),
        }
    }
}

impl StoreRefusal {
    /// Reads a refusal: an XML document with the elements `Code` and `Message`. Nothing else of it is used, since stores also
    /// repeat there what was signed and by whom.
    pub(crate) fn read(status: u16, body: &[u8]) -> Self {
        /// Longer explanations are cut.
        const LONGEST: usize = 200;
        let text = String::from_utf8_lossy(body);
        let element = |name: &str| {
            let (_, rest) = text.split_once(&format!("<{name}>"))?;
            let (value, _) = rest.split_once(&format!("</{name}>"))?;
            Some(value.chars().filter(|c| !c.is_control()).take(LONGEST).collect::<String>())
        };
        let (code, message) = (element("Code").unwrap_or_default(), element("Message").unwrap_or_default());
        Self { status, code, message: message.trim_end_matches('.').to_owned(), region: element("Region"), ahead: None }
    }

    fn clocks(&self) -> String {
        match self.ahead {
            Some(ahead) if ahead > 0 => format!(": the one here is {ahead} s behind"),
            Some(ahead) if ahead < 0 => format!(": the one here is {} s ahead", -ahead),
            _ => String::new(),
        }
    }

    fn hint(&self) -> String {
        let hint = match (self.code.as_str(), self.status) {
            ("NoSuchBucket", _) => "make the bucket, or name another one with --blobs s3://BUCKET/PREFIX",
            ("InvalidAccessKeyId", _) => {
                "set AWS_ACCESS_KEY_ID to a key of this store; AWS_ENDPOINT_URL says which store it is"
            }
            ("SignatureDoesNotMatch", _) => "set AWS_SECRET_ACCESS_KEY to the secret that belongs to AWS_ACCESS_KEY_ID",
            ("RequestTimeTooSkewed", _) => "keep this machine's clock by NTP",
            ("ExpiredToken" | "InvalidToken" | "TokenRefreshRequired", _) => {
                "the credentials are over: set new ones (AWS_SESSION_TOKEN belongs to temporary ones) and start again"
            }
            ("PermanentRedirect" | "AuthorizationHeaderMalformed" | "TemporaryRedirect", _) | (_, 301 | 307) => {
                return match &self.region {
                    Some(region) => format!("the bucket is in another region: set AWS_REGION={region}"),
                    None => "the bucket is in another region: set AWS_REGION".to_owned(),
                };
            }
            (_, 401 | 403) => {
                "allow this key s3:GetObject, s3:PutObject and s3:DeleteObject on the objects, and s3:ListBucket on the bucket"
            }
            (_, 404) => "make the bucket, or set AWS_ENDPOINT_URL to the address of an S3-compatible store",
            _ => "see whether AWS_ENDPOINT_URL is the address of an S3-compatible store",
        };
        hint.to_owned()
    }
}

impl BucketFault {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Setting { hint, .. } => (*hint).to_owned(),
            Self::Unreachable { why, .. } if why.contains("certificate") => {
                "let this machine trust the certificate of the store: SSL_CERT_FILE names a file with those to trust"
                    .to_owned()
            }
            Self::Unreachable { .. } => "start the store, or set AWS_ENDPOINT_URL to its address".to_owned(),
            Self::Refused { refusal, .. } => refusal.hint(),
            Self::Unreliable { .. } => {
                "use a store in which an object that was written can be read at once, and a deleted one is gone"
                    .to_owned()
            }
        }
    }

    /// Whether it is worth while to try again.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Whether the store does not know what was asked for.
    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(self, Self::Refused { refusal, .. } if refusal.status == 501)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16, code: &str, more: &str) -> (String, String) {
        let body =
            format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>So it is.</Message>{more}</Error>");
        let refusal = StoreRefusal { ahead: Some(-1200), ..StoreRefusal::read(status, body.as_bytes()) };
        let fault = BucketFault::Refused { place: "s3://b".into(), deed: "write", refusal: Box::new(refusal) };
        (fault.to_string(), fault.hint())
    }

    #[test]
    fn every_refusal_says_what_to_do() {
        let cases = [
            (404, "NoSuchBucket", "", "there is no such bucket", "make the bucket"),
            (403, "InvalidAccessKeyId", "", "does not know the access key", "AWS_ACCESS_KEY_ID"),
            (403, "SignatureDoesNotMatch", "", "the secret key is not", "AWS_SECRET_ACCESS_KEY"),
            (403, "RequestTimeTooSkewed", "", "the one here is 1200 s ahead", "NTP"),
            (400, "ExpiredToken", "", "ExpiredToken, So it is", "set new ones"),
            (400, "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>", "Malformed", "AWS_REGION=eu-west-1"),
            (403, "AccessDenied", "", "AccessDenied, So it is", "s3:PutObject"),
            (400, "Odd", "", "Odd, So it is", "AWS_ENDPOINT_URL"),
        ];
        for (status, code, more, what, hint) in cases {
            let (told, hinted) = told(status, code, more);
            assert!(told.starts_with("s3://b refuses to write: ") && told.contains(what), "{told}");
            assert!(hinted.contains(hint), "{code}: {hinted}");
        }
    }

    #[test]
    fn an_answer_of_something_else_is_not_shown() {
        let refusal = StoreRefusal::read(403, b"<html>secret</html>");
        assert_eq!(refusal.to_string(), "it answers 403");
        assert!(refusal.hint().contains("s3:GetObject"));
    }
}
