//! Which bucket is meant by `s3://BUCKET/PREFIX`, where it is, and whether it may be spoken to there.

use reqwest::Url;

use crate::bucket_fault::BucketFault;
use crate::link::is_here;
use crate::s3_signature::{S3Credentials, encoded_path};

/// How a bucket is written.
const SCHEME: &str = "s3://";
/// The region of those who name none.
const USUAL_REGION: &str = "us-east-1";

/// What is said about a bucket, most of it in the environment.
#[derive(Clone, Default)]
pub struct BucketSettings {
    /// `s3://BUCKET/PREFIX`
    pub place: String,
    /// The store's address; absent for AWS itself.
    pub endpoint: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// The name of the key.
    pub access_key: Option<String>,
    /// The key itself.
    pub secret_key: Option<String>,
    /// The token of temporary credentials.
    pub session_token: Option<String>,
    /// Whether an address beyond this machine may be without encryption.
    pub allows_plain: bool,
    /// The proxy for addresses with encryption, and the hosts that it is not for.
    pub proxy: Option<(String, Option<String>)>,
}

/// Where a bucket is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BucketAddress {
    /// `https://host:port`
    pub(crate) origin: String,
    pub(crate) host: String,
    /// What comes before the name of each object, percent-encoded and without a slash at its end.
    path: String,
    pub(crate) region: String,
    pub(crate) is_secure: bool,
    /// For people.
    pub(crate) shown: String,
}

impl std::fmt::Debug for BucketSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BucketSettings({})", self.place)
    }
}

/// Whether a place is a bucket, and not a folder.
pub fn is_bucket(place: &str) -> bool {
    place.starts_with(SCHEME)
}

impl BucketSettings {
    pub(crate) fn credentials(&self) -> Result<S3Credentials, BucketFault> {
        let is_word = |text: &String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let set = |value: &Option<String>| value.clone().map(|text| text.trim().to_owned()).filter(is_word);
        let (Some(access_key), Some(secret_key)) = (set(&self.access_key), set(&self.secret_key)) else {
            return Err(BucketFault::Setting {
                what: format!("there are no credentials for {}", self.place),
                hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN with temporary ones",
            });
        };
        Ok(S3Credentials { access_key, secret_key, session_token: set(&self.session_token) })
    }

    pub(crate) fn address(&self) -> Result<BucketAddress, BucketFault> {
        let (bucket, prefix) = self.parts().ok_or_else(|| BucketFault::Setting {
            what: format!("`{}` does not name a bucket", self.place),
            hint: "write s3://BUCKET or s3://BUCKET/PREFIX",
        })?;
        let region = self.region.as_deref().map_or(USUAL_REGION, str::trim);
        if region.is_empty() || !region.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
            return Err(BucketFault::Setting {
                what: format!("`{region}` is not a region"),
                hint: "set AWS_REGION to one such as eu-central-1",
            });
        }
        let endpoint = self.endpoint.clone().unwrap_or_else(|| usual_endpoint(bucket, region));
        let is_own_host = self.endpoint.is_none() && has_own_host(bucket);
        let url = parsed(&endpoint)?;
        let is_secure = url.scheme() == "https";
        if !is_secure && !is_here(&url) && !self.allows_plain {
            return Err(BucketFault::Setting {
                what: format!("`{endpoint}` is not encrypted, and not on this machine"),
                hint: "use https:// in AWS_ENDPOINT_URL; in a network of your own, AWS_ALLOW_HTTP=true allows it",
            });
        }
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let mut path = url.path().trim_end_matches('/').to_owned();
        for part in [Some(bucket).filter(|_| !is_own_host), Some(prefix).filter(|prefix| !prefix.is_empty())] {
            path.extend(part.map(|part| format!("/{}", encoded_path(part))));
        }
        let origin = format!("{}://{host}", url.scheme());
        let shown = format!("{} at {origin}", self.place);
        Ok(BucketAddress { origin, host, path, region: region.to_owned(), is_secure, shown })
    }

    /// The bucket and the prefix.
    fn parts(&self) -> Option<(&str, &str)> {
        let place = self.place.strip_prefix(SCHEME)?;
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let is_bucket = (3..=63).contains(&bucket.len()) && bucket.bytes().all(is_name) && !bucket.contains("..");
        let prefix = prefix.trim_end_matches('/');
        // Programs on the way would shorten such paths, and then the signature is wrong.
        let is_path = prefix.is_empty() || prefix.split('/').all(|part| !["", ".", ".."].contains(&part));
        (is_bucket && is_path).then_some((bucket, prefix))
    }
}

impl BucketAddress {
    /// The path of an object, percent-encoded.
    pub(crate) fn path_of(&self, name: &str) -> String {
        format!("{}/{}", self.path, encoded_path(name))
    }
}

/// Whether AWS has a host for a bucket: with a dot in it, its certificate would not fit.
fn has_own_host(bucket: &str) -> bool {
    bucket.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn usual_endpoint(bucket: &str, region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    if has_own_host(bucket) {
        format!("https://{bucket}.s3.{region}.{domain}")
    } else {
        format!("https://s3.{region}.{domain}")
    }
}

fn parsed(endpoint: &str) -> Result<Url, BucketFault> {
    let is_plain = |url: &Url| url.username().is_empty() && url.query().is_none() && url.fragment().is_none();
    let is_web = |url: &Url| ["http", "https"].contains(&url.scheme()) && url.host_str().is_some() && is_plain(url);
    Url::parse(endpoint.trim()).ok().filter(is_web).ok_or_else(|| BucketFault::Setting {
        // Not shown: somebody may have put a password into it.
        what: "AWS_ENDPOINT_URL is not the address of a store".to_owned(),
        hint: "set it to http://HOST:PORT or https://HOST, without a user or a query",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(place: &str, endpoint: Option<&str>) -> BucketSettings {
        BucketSettings {
            place: place.to_owned(),
            endpoint: endpoint.map(ToOwned::to_owned),
            region: Some("eu-central-1".to_owned()),
            ..BucketSettings::default()
        }
    }

    fn url(place: &str, endpoint: Option<&str>) -> String {
        let address = settings(place, endpoint).address().unwrap();
        format!("{}{}", address.origin, address.path_of("ab/abc"))
    }

    #[test]
    fn a_bucket_of_aws_has_its_own_host_and_others_are_in_the_path() {
        assert_eq!(url("s3://looms", None), "https://looms.s3.eu-central-1.amazonaws.com/ab/abc");
        assert_eq!(url("s3://my.looms/warp", None), "https://s3.eu-central-1.amazonaws.com/my.looms/warp/ab/abc");
        let here = Some("http://127.0.0.1:9000/");
        assert_eq!(url("s3://looms/a b/c/", here), "http://127.0.0.1:9000/looms/a%20b/c/ab/abc");
        let address = settings("s3://looms", here).address().unwrap();
        assert_eq!((address.host.as_str(), address.is_secure), ("127.0.0.1:9000", false));
        assert_eq!(address.shown, "s3://looms at http://127.0.0.1:9000");
        assert_eq!(url("s3://looms", Some("https://store.example/s3")), "https://store.example/s3/looms/ab/abc");
    }

    #[test]
    fn without_encryption_only_this_machine_is_spoken_to() {
        let mut there = settings("s3://looms", Some("http://10.0.0.1:9000"));
        let fault = there.address().unwrap_err();
        assert!(fault.to_string().contains("not encrypted") && fault.hint().contains("AWS_ALLOW_HTTP"), "{fault}");
        there.allows_plain = true;
        assert_eq!(there.address().unwrap().origin, "http://10.0.0.1:9000");
    }

    #[test]
    fn what_names_no_bucket_is_refused() {
        for place in ["s3://", "s3://ab", "s3://a b c", "s3://looms//x", "s3://looms/../x", "s3://lo..oms"] {
            assert!(settings(place, None).address().is_err(), "{place}");
        }
        let fault = settings("s3://looms", Some("http://ann:secret@127.0.0.1:9000")).address().unwrap_err();
        assert!(!fault.to_string().contains("secret"), "{fault}");
    }

    #[test]
    fn credentials_are_both_or_none() {
        let mut some = settings("s3://looms", None);
        some.access_key = Some("ann".into());
        assert!(some.credentials().unwrap_err().hint().contains("AWS_SECRET_ACCESS_KEY"));
        some.secret_key = Some("secret\n".into());
        assert_eq!(some.credentials().unwrap().secret_key, "secret");
        assert_eq!(format!("{some:?}"), "BucketSettings(s3://looms)");
    }
}
