//! Why a model gave no answer.

use std::time::Duration;

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
    /// The stream broke off or stalled.
    #[error("`{model}` sent nothing for {limit:?}")]
    Stalled {
        /// The model.
        model: String,
        /// The limit.
        limit: Duration,
    },
    /// It answered with something that is not an answer.
    #[error("`{model}` sent an answer that cannot be read: {message}")]
    Garbled {
        /// The model.
        model: String,
        /// What is wrong with it.
        message: String,
    },
    /// A scripted model has no line left, or none that fits.
    #[error("the script has no answer: {message}")]
    Script {
        /// What was asked.
        message: String,
    },
}
