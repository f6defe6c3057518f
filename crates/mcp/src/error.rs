//! The errors of the MCP client. Callers turn them into messages for models.

use std::time::Duration;

/// Why a server could not be reached, or did not do what was requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such server, or it is disabled.
    #[error("there is no MCP server named `{0}`; `updraft mcp list` shows them")]
    Unknown(String),

    /// Its process could not be started, or ended before it answered.
    #[error("{0}")]
    Start(String),

    /// Its process had to fetch packages, and that failed.
    #[error("{0}")]
    Unfetched(String),

    /// It was not ready within the time limit.
    #[error("{0}")]
    Slow(String),

    /// Nothing that speaks MCP answers at its address.
    #[error("{0}")]
    Unreachable(String),

    /// It requires a login. Contains its name.
    #[error("it requires a login; run `updraft mcp login {0}`")]
    Login(String),

    /// It did not answer in time. The request was cancelled.
    #[error("no response for {0:?}")]
    Silent(Duration),

    /// The connection ended during a request: it is unknown whether the request had an effect.
    #[error("the connection ended: {0}")]
    Lost(String),

    /// It gave up the request, and it is unknown how far it had come. The connection stays open.
    #[error("the server aborted the request: {0}")]
    Abandoned(String),

    /// It failed too often, and is paused.
    #[error("it failed {times} times, most recently with: {last}; it is tried again in {wait:?}")]
    Resting {
        /// Failures in a row.
        times: u32,
        /// The last failure.
        last: String,
        /// The time until the next attempt.
        wait: Duration,
    },

    /// It answered with a protocol error.
    #[error("the server returned an error: {message} ({code})")]
    Refused {
        /// The JSON-RPC error code.
        code: i32,
        /// Its message, truncated.
        message: String,
    },

    /// A person has to open URLs first. Nothing was done.
    #[error("a person must open a URL first{}: {message}", in_brackets(.urls))]
    OpenUrls {
        /// The URLs.
        urls: Vec<UrlRequest>,
        /// Its message, truncated.
        message: String,
    },

    /// Its answer does not make sense.
    #[error("its answer cannot be used: {0}")]
    Nonsense(String),

    /// The caller has cancelled the request.
    #[error("the request was cancelled")]
    Cancelled,
}

/// A URL that a server wants a person to open first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlRequest {
    /// The server's id for it.
    pub id: String,
    /// The URL.
    pub url: String,
    /// Its purpose, in the server's words.
    pub message: String,
}

fn in_brackets(urls: &[UrlRequest]) -> String {
    let all: Vec<String> = urls.iter().map(|request| cut(&request.url, 500)).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
}

impl Error {
    /// Whether the request certainly had no effect: it was never sent, or was refused.
    pub fn had_no_effect(&self) -> bool {
        match self {
            Error::Unknown(_)
            | Error::Start(_)
            | Error::Unfetched(_)
            | Error::Slow(_)
            | Error::Unreachable(_)
            | Error::Login(_)
            | Error::Resting { .. }
            | Error::OpenUrls { .. }
            | Error::Refused { .. } => true,
            Error::Silent(_) | Error::Lost(_) | Error::Abandoned(_) | Error::Nonsense(_) | Error::Cancelled => false,
        }
    }
}

impl Error {
    /// The same error with its texts replaced.
    pub(crate) fn reworded(self, words: impl Fn(&str) -> String) -> Self {
        match self {
            Error::Start(text) => Error::Start(words(&text)),
            Error::Unfetched(text) => Error::Unfetched(words(&text)),
            Error::Slow(text) => Error::Slow(words(&text)),
            Error::Unreachable(text) => Error::Unreachable(words(&text)),
            Error::Lost(text) => Error::Lost(words(&text)),
            Error::Abandoned(text) => Error::Abandoned(words(&text)),
            Error::Resting { times, last, wait } => Error::Resting { times, last: words(&last), wait },
            Error::Refused { code, message } => Error::Refused { code, message: words(&message) },
            Error::OpenUrls { urls, message } => Error::OpenUrls { urls, message: words(&message) },
            Error::Nonsense(text) => Error::Nonsense(words(&text)),
            same @ (Error::Unknown(_) | Error::Login(_) | Error::Silent(_) | Error::Cancelled) => same,
        }
    }
}

/// At most `limit` bytes of a text on one line, with an ellipsis where it was truncated.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    let text = text.trim().replace(['\n', '\r'], " ");
    if text.len() <= limit {
        return text;
    }
    format!("{}…", &text[..text.floor_char_boundary(limit)])
}

/// The innermost cause of an error, which is what people can act on.
pub(crate) fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cut(&cause.to_string(), 500)
}

/// An error and its causes in one line, cut to a readable length.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    cut(&updraft_run::error_chain(error), 500)
}
