//! Placeholder until the table arrives.
use updraft_run::{Price, Usage};
pub(crate) fn price_of(_provider: &str, _model: &str) -> Option<Price> {
    None
}
pub(crate) fn price_for(_provider: &str, _model: &str, _usage: &Usage) -> Option<Price> {
    None
}
