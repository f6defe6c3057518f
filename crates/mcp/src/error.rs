//! Why a server could not be used. What a model should read is made of it by whoever calls.

use std::time::Duration;

/// Why a server could not be reached, or did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such server, or it is switched off.
    #[error("there is no MCP server named `{0}`; `updraft mcp list` shows them")]
    Unknown(String),

    /// Its process could not be started, or ended before it answered.
    #[error("{0}")]
    Start(String),

    /// Its process fetches what it runs, and that failed.
    #[error("{0}")]
    Unfetched(String),

    /// It was not ready when nobody could wait any longer.
    #[error("{0}")]
    Slow(String),

    /// Nothing that speaks MCP answers at its address.
    #[error("{0}")]
    Unreachable(String),

    /// It, by its name, wants to know who asks.
    #[error("it wants a login; run `updraft mcp login {0}`")]
    Login(String),

    /// It did not answer in time. It was told that nobody waits any longer.
    #[error("it said nothing for {0:?}")]
    Silent(Duration),

    /// The connection ended while something was asked of it: nobody knows whether it was done.
    #[error("the connection ended: {0}")]
    Lost(String),

    /// It gave up what it was asked, and nobody knows how far it had come. The connection goes on.
    #[error("it gave up: {0}")]
    Abandoned(String),

    /// It failed too often, and is left alone for a while.
    #[error("it failed {times} times, at last with: {last}; it is tried again in {wait:?}")]
    Resting {
        /// How often in a row.
        times: u32,
        /// The last failure.
        last: String,
        /// Until the next attempt.
        wait: Duration,
    },

    /// It answered with an error of the protocol.
    #[error("it refused: {message} ({code})")]
    Refused {
        /// JSON-RPC's number.
        code: i32,
        /// Its words, cut to size.
        message: String,
    },

    /// Nothing was done: a person has to visit addresses first.
    #[error("it wants a person to visit an address first{}: {message}", addresses(.visits))]
    Visits {
        /// Where to.
        visits: Vec<VisitRequest>,
        /// Its words, cut to size.
        message: String,
    },

    /// It answered something that makes no sense.
    #[error("it answered what nobody can use: {0}")]
    Nonsense(String),

    /// Whoever asked does not want it any longer.
    #[error("nobody waits for it any longer")]
    Cancelled,
}

/// An address that a server wants a person to visit before it does what it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisitRequest {
    /// What the server calls it.
    pub id: String,
    /// Where to.
    pub address: String,
    /// What for, in its words.
    pub message: String,
}

fn addresses(visits: &[VisitRequest]) -> String {
    let all: Vec<String> = visits.iter().map(|visit| cut(&visit.address, 500)).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
}

impl Error {
    /// Whether the request certainly had no effect: it was never sent, or refused.
    pub fn had_no_effect(&self) -> bool {
        match self {
            Error::Unknown(_)
            | Error::Start(_)
            | Error::Unfetched(_)
            | Error::Slow(_)
            | Error::Unreachable(_)
            | Error::Login(_)
            | Error::Resting { .. }
            | Error::Visits { .. }
            | Error::Refused { .. } => true,
            Error::Silent(_) | Error::Lost(_) | Error::Abandoned(_) | Error::Nonsense(_) | Error::Cancelled => false,
        }
    }
}

impl Error {
    /// The same with other words.
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
            Error::Visits { visits, message } => Error::Visits { visits, message: words(&message) },
            Error::Nonsense(text) => Error::Nonsense(words(&text)),
            same @ (Error::Unknown(_) | Error::Login(_) | Error::Silent(_) | Error::Cancelled) => same,
        }
    }
}

/// At most `limit` bytes of a text on one line, with an ellipsis where it was cut.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    let text = text.trim().replace(['\n', '\r'], " ");
    if text.len() <= limit {
        return text;
    }
    format!("{}…", &text[..text.floor_char_boundary(limit)])
}

/// The innermost cause of an error: what people can do something about.
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
