//! All integration tests of this crate in one program, which is built and linked once.

mod protocol;
mod repair;
mod repair_corpus;
mod repair_properties;
