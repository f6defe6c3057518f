//! All integration tests of this crate in one program, which is built and linked once.
