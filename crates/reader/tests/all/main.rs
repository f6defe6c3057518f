//! All integration tests of this crate in one program, which is built and linked once.

mod hostile;
mod mail;
mod mutations;
mod office;
mod packed;
mod pages;
mod pdf;
mod tables;
mod text;
