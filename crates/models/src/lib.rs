//! Turn a `Prompt` into an answer, whichever provider answers.

mod error;
mod model;

pub use error::Error;
pub use model::{Asking, Brief, Delta, Draft, Hear, Model, Price, Prompt};
