//! What went wrong between this machine and a model's server.

use reqwest::Url;

use crate::access::is_local;
use crate::hint;
use crate::retry::AttemptError;

/// The error if the address cannot be reached.
pub(crate) fn unreached(url: &Url, why: &reqwest::Error) -> AttemptError {
    let place = url.host_str().unwrap_or_default();
    if is_unresolved(why) {
        return AttemptError::NoHost { host: place.to_owned(), why: innermost(why) };
    }
    let question = if is_local(url.as_str()) { "is the server running?" } else { hint::ONLINE };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    AttemptError::Cut(format!("{place}{port} can't be reached: {question} ({})", innermost(why)))
}

/// Whether the name of the host could not be resolved. The connector says so only in words.
fn is_unresolved(error: &dyn std::error::Error) -> bool {
    let causes = std::iter::successors(Some(error), |cause| cause.source());
    causes.into_iter().any(|cause| cause.to_string().starts_with("dns error"))
}

/// The innermost cause.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

pub(crate) fn cut(why: reqwest::Error) -> AttemptError {
    AttemptError::Cut(updraft_run::error_chain(&why.without_url()))
}
