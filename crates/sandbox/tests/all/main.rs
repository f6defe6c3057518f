//! All integration tests of this crate in one program, which is built and linked once.
//! Apart stand `crowd`, which measures its process, and `escape`.

mod killed;
mod levels;
mod network;
mod ordinary;
mod others;
mod room;
mod run;
mod scratch;
mod shared_network;
mod sockets;
mod staged;
#[path = "../support/mod.rs"]
mod support;
mod together;
