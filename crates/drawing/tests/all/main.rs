//! The drawings of this crate, seen from outside.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![allow(clippy::float_cmp, reason = "places are rounded, and nodes of one column have the very same")]

mod arrange;
mod graph;
mod timeline;
