//! Why a model gave no answer.

use crate::hint;

/// Why a model gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name in the settings is not one we know.
    #[error("no model named `{name}`")]
    Unknown {
        /// As it was written.
        name: String,
        /// Names that are close, or all there are.
        close: Vec<String>,
    },
    /// Something needed to reach it is missing or wrong.
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
        /// The provider's words, cut to size.
        message: String,
    },
    /// It did not answer, also after all attempts.
    #[error("`{model}` gave no answer after {attempts} attempts: {message}")]
    Unreachable {
        /// The model.
        model: String,
        /// How often it was asked.
        attempts: u32,
        /// What went wrong last.
        message: String,
    },
    /// Its server failed at the request itself, also after all attempts; another request may do.
    #[error("`{model}` failed {attempts} times: {message}")]
    Failing {
        /// The model.
        model: String,
        /// How often it was asked.
        attempts: u32,
        /// What it said last.
        message: String,
    },
    /// The answer broke off when it may have begun: it may be billed, so whoever keeps the account decides whether to
    /// ask again.
    #[error("`{model}` broke off: {message}")]
    Broken {
        /// The model.
        model: String,
        /// What happened.
        message: String,
        /// Whether asking again may help.
        again: bool,
    },
    /// It was asked, and said nothing within the limit: it may be billed all the same.
    #[error("`{model}` said nothing for {} s", .limit.as_secs_f64())]
    Silent {
        /// The model.
        model: String,
        /// How long it was waited for.
        limit: std::time::Duration,
    },
    /// It answered with something that is not an answer.
    #[error("`{model}` sent an answer that cannot be read: {message}")]
    Garbled {
        /// The model.
        model: String,
        /// What is wrong with it.
        message: String,
    },
    /// The earlier run heard nothing at this place.
    #[error("`{model}` has no answer for {place}: {message}")]
    Unheard {
        /// The model that repeats the run.
        model: String,
        /// What was asked for.
        place: String,
        /// What there is instead.
        message: String,
    },
    /// A scripted model has no line left, none that fits, or one that says to fail.
    #[error("the script has no answer: {message}")]
    Script {
        /// What was asked.
        message: String,
    },
}

/// Why a model is not available for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// It may be back by itself: no connection, an overload, a limit.
    Passing,
    /// Its server fails at this request (500), which waiting longer hardly changes.
    Failing,
    /// Somebody must do something about it: a key, a bill, a setting.
    Lasting,
}

impl Error {
    /// Whether another key could help.
    pub fn is_about_key(&self) -> bool {
        matches!(self, Error::Refused { status: 401 | 403, .. })
            || matches!(self, Error::Refused { message, .. } if hint::is_about_key(message))
    }

    /// Whether the model is not available for now.
    pub fn outage(&self) -> Option<Outage> {
        match self {
            Error::Unreachable { .. } => Some(Outage::Passing),
            Error::Failing { .. } => Some(Outage::Failing),
            Error::Unknown { .. } | Error::Config { .. } => Some(Outage::Lasting),
            // 429 is here where the wait that is asked for is too long.
            Error::Refused { status: 401..=403 | 429, .. } => Some(Outage::Lasting),
            Error::Refused { message, .. } if hint::is_about_account(message) => Some(Outage::Lasting),
            Error::Refused { .. }
            | Error::Broken { .. }
            | Error::Silent { .. }
            | Error::Garbled { .. }
            | Error::Unheard { .. }
            | Error::Script { .. } => None,
        }
    }

    /// How often the model was asked.
    pub fn attempts(&self) -> u32 {
        match self {
            Error::Unreachable { attempts, .. } | Error::Failing { attempts, .. } => *attempts,
            _ => 1,
        }
    }

    /// What to do about it, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Unknown { close, .. } if close.is_empty() => None,
            Error::Unknown { close, .. } => Some(format!("write one of: {}", close.join(", "))),
            Error::Config { hint, .. } => Some(hint.clone()).filter(|hint| !hint.is_empty()),
            Error::Refused { model, status: 401 | 403, .. } => Some(hint::about_key(model)),
            Error::Refused { model, status: 404, .. } => Some(hint::about_name(model)),
            Error::Refused { model, message, .. } => hint::about_refusal(model, message),
            Error::Unreachable { model, message, .. } => hint::about_reach(model, message),
            Error::Garbled { model, .. } => hint::about_address(model),
            Error::Unheard { .. } => {
                Some("this run went another way than the earlier one; go on from there with a real model".to_owned())
            }
            Error::Failing { .. } => None,
            Error::Silent { .. } => {
                Some("a longer `silence` in the settings waits longer for its first word".to_owned())
            }
            Error::Broken { .. } | Error::Script { .. } => None,
        }
    }
}
