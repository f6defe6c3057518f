//! All integration tests of this crate in one program, which is built and linked once.
//! `workers` measures its process and stands apart.

mod attacks;
#[path = "../common/mod.rs"]
mod common;
mod confinement;
mod dispatch;
mod dropin_calls;
mod dropin_listing;
mod python;
mod reading;
mod retrieving;
mod schemas;
mod touching;
mod web_hostile;
mod web_pages;
mod witness;
mod writing;
