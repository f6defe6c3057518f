//! Why a tool could not be taken on. What a model should read is a `Reply` instead.

/// Why a tool cannot be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name breaks the rule that every provider keeps to.
    #[error("`{0}` is not a tool name; expected 1 to 64 letters, digits, `_` or `-`")]
    Name(String),

    /// Two tools want one name.
    #[error("there is already a tool named `{0}`")]
    Taken(String),

    /// The description is too long to show a model.
    #[error("the description of `{tool}` has {len} bytes; expected at most {limit}")]
    Description {
        /// Whose.
        tool: String,
        /// How long it is.
        len: usize,
        /// How long it may be.
        limit: usize,
    },

    /// The schema is malformed, or asks for more than a schema may.
    #[error("the schema of `{tool}` cannot be used: {why}")]
    Schema {
        /// Whose.
        tool: String,
        /// What is wrong with it.
        why: String,
    },
}
