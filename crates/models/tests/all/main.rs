//! All integration tests of this crate in one program, which is built and linked once.
//! `endless` measures its process and stands apart.

mod builtin;
mod cache;
mod limits;
mod recorded;
mod scripted;
mod wire;
