//! Why a tool cannot be registered. Errors that a model should read are a `Reply` instead.

/// Why a tool cannot be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name breaks the rule that every provider keeps to.
    #[error("`{0}` is not a tool name; expected 1 to 64 letters, digits, `_` or `-`")]
    Name(String),

    /// Another tool already has this name.
    #[error("there is already a tool named `{0}`")]
    Taken(String),

    /// The description is too long to show a model.
    #[error("the description of `{tool}` has {len} bytes; expected at most {limit}")]
    Description {
        /// The name of the tool.
        tool: String,
        /// The length of the description.
        len: usize,
        /// The longest allowed length.
        limit: usize,
    },

    /// The schema is malformed, or goes beyond the limits for schemas.
    #[error("the schema of `{tool}` cannot be used: {why}")]
    Schema {
        /// The name of the tool.
        tool: String,
        /// What is wrong with it.
        why: String,
    },
}
