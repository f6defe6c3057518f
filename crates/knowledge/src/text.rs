//! What the index sees of a text: words, stems, and the parts of identifiers.

mod identifiers;
mod stem;
mod stop_words;
mod words;

pub(crate) use identifiers::parts;
pub(crate) use stem::stem;
pub(crate) use stop_words::is_stop_word;
#[cfg(feature = "minilm")]
pub(crate) use words::fold;
pub(crate) use words::{Word, each_word, words};
