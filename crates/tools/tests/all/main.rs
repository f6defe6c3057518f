//! All integration tests of this crate in one program, which is built and linked once.
//! `workers` measures its process and stands apart.

mod attacks;
mod background;
mod browser;
mod browser_hostile;
#[path = "../common/mod.rs"]
mod common;
mod confinement;
mod dispatch;
mod documents;
mod dropin_calls;
mod dropin_listing;
mod patching;
mod python;
mod reading;
mod retrieving;
mod schemas;
mod searching;
mod touching;
mod web_hostile;
mod web_manners;
mod web_pages;
mod web_search;
mod witness;
mod writing;
