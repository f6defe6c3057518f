//! Why a model gave no answer.

use crate::hint;
use crate::too_long;

/// Why a model gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is unknown.
    #[error("no model named `{name}`")]
    Unknown {
        /// The name as written.
        name: String,
        /// Similar names, or all names.
        close: Vec<String>,
    },
    /// A setting that is needed to reach it is missing or wrong.
    #[error("{what}")]
    Config {
        /// What is missing.
        what: String,
        /// What to do about it.
        hint: String,
    },
    /// The provider refused the request; asking again would not help.
    #[error("`{model}` refused the request with status {status}: {message}")]
    Refused {
        /// The model.
        model: String,
        /// HTTP status.
        status: u16,
        /// The provider's message, truncated.
        message: String,
    },
    /// It did not answer, even after all attempts.
    #[error("`{model}` gave no answer after {attempts} attempts: {message}")]
    Unreachable {
        /// The model.
        model: String,
        /// The number of attempts.
        attempts: u32,
        /// The last error.
        message: String,
    },
    /// The name of its host cannot be resolved, even after all attempts: a wrong address, or no network.
    #[error("`{model}` cannot be reached: the host `{host}` cannot be found ({why})")]
    NoHost {
        /// The model.
        model: String,
        /// The host of its address.
        host: String,
        /// The number of attempts.
        attempts: u32,
        /// What the resolver says.
        why: String,
    },
    /// Its server failed on the request itself, even after all attempts; another request may succeed.
    #[error("`{model}` failed {attempts} times: {message}")]
    Failing {
        /// The model.
        model: String,
        /// The number of attempts.
        attempts: u32,
        /// Its last message.
        message: String,
    },
    /// The answer broke off after it may have begun: it may be billed, so the caller that keeps the account decides
    /// whether to ask again.
    #[error("the answer of `{model}` was interrupted: {message}")]
    Broken {
        /// The model.
        model: String,
        /// What happened.
        message: String,
        /// Whether asking again may help.
        again: bool,
    },
    /// It sent nothing within the time limit after the request: it may still be billed.
    #[error("no response from `{model}` for {} s", .limit.as_secs_f64())]
    Silent {
        /// The model.
        model: String,
        /// The time limit.
        limit: std::time::Duration,
    },
    /// Its answer cannot be parsed.
    #[error("`{model}` sent an answer that cannot be read: {message}")]
    Garbled {
        /// The model.
        model: String,
        /// What is wrong with it.
        message: String,
    },
    /// The earlier run got no answer at this place.
    #[error("`{model}` has no answer for {place}: {message}")]
    Unheard {
        /// The model that repeats the run.
        model: String,
        /// The place.
        place: String,
        /// What exists instead.
        message: String,
    },
    /// A scripted model has no line left, no matching line, or a line that says to fail.
    #[error("the script has no answer: {message}")]
    Script {
        /// What is missing.
        message: String,
    },
}

/// Why a model is not available at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// It may recover by itself: no connection, an overload, a rate limit.
    Passing,
    /// Its host cannot be found: a wrong address, or no network.
    NoHost,
    /// Its server fails on this request (500), and waiting longer hardly helps.
    Failing,
    /// Somebody must act: a key, a bill, a setting.
    Lasting,
}

impl Error {
    /// Whether another key could help.
    pub fn is_about_key(&self) -> bool {
        matches!(self, Error::Refused { status: 401 | 403, .. })
            || matches!(self, Error::Refused { message, .. } if hint::is_about_key(message))
    }

    /// Whether the request was refused because it is longer than the model's context window.
    pub fn is_too_long(&self) -> bool {
        match self {
            Error::Refused { status: 413, .. } => true,
            Error::Refused { message, .. } | Error::Failing { message, .. } | Error::Broken { message, .. } => {
                too_long::is_said_in(message)
            }
            Error::Unknown { .. }
            | Error::Config { .. }
            | Error::Unreachable { .. }
            | Error::NoHost { .. }
            | Error::Silent { .. }
            | Error::Garbled { .. }
            | Error::Unheard { .. }
            | Error::Script { .. } => false,
        }
    }

    /// Whether, and why, the model is not available at the moment.
    pub fn outage(&self) -> Option<Outage> {
        match self {
            Error::Unreachable { .. } => Some(Outage::Passing),
            Error::NoHost { .. } => Some(Outage::NoHost),
            Error::Failing { .. } => Some(Outage::Failing),
            Error::Unknown { .. } | Error::Config { .. } => Some(Outage::Lasting),
            // 429 is returned here if the requested wait is too long.
            Error::Refused { status: 401..=403 | 429, .. } => Some(Outage::Lasting),
            Error::Refused { message, .. } if hint::is_about_account(message) => Some(Outage::Lasting),
            // The server has no such model, and will not have it in a moment.
            Error::Refused { status: 404, .. } => Some(Outage::Failing),
            Error::Refused { .. }
            | Error::Broken { .. }
            | Error::Silent { .. }
            | Error::Garbled { .. }
            | Error::Unheard { .. }
            | Error::Script { .. } => None,
        }
    }

    /// The number of attempts.
    pub fn attempts(&self) -> u32 {
        match self {
            Error::Unreachable { attempts, .. } | Error::NoHost { attempts, .. } | Error::Failing { attempts, .. } => {
                *attempts
            }
            _ => 1,
        }
    }

    /// What to do about it, if that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Unknown { close, .. } if close.is_empty() => None,
            Error::Unknown { close, .. } => Some(format!("write one of: {}", close.join(", "))),
            Error::Config { hint, .. } => Some(hint.clone()).filter(|hint| !hint.is_empty()),
            Error::Refused { model, status: 401 | 403, .. } => Some(hint::about_key(model)),
            Error::Refused { model, status: 404, .. } => Some(hint::about_name(model)),
            Error::Refused { model, message, .. } => hint::about_refusal(model, message),
            Error::Unreachable { model, message, .. } => hint::about_reach(model, message),
            Error::NoHost { model, .. } => Some(hint::about_host(model)),
            Error::Garbled { model, .. } => hint::about_address(model),
            Error::Unheard { .. } => Some(
                "this run took another path than the recorded one; continue from there with a real model".to_owned(),
            ),
            Error::Failing { .. } => None,
            Error::Silent { .. } => {
                Some("set a longer `silence` in the settings to wait longer for its first word".to_owned())
            }
            Error::Broken { .. } | Error::Script { .. } => None,
        }
    }
}
