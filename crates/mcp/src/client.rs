//! Using other people's servers.

mod absence;
mod admit;
mod asking;
mod changed;
mod clock;
mod connect;
mod connection;
mod content;
mod door;
mod events;
mod handler;
mod hear;
mod helpers;
mod host;
mod http;
mod ledger;
mod lines;
mod login;
mod manifest;
mod mend;
mod names;
mod process;
mod rest;
mod rounds;
mod server;
mod servers;
mod shelf;
mod sse;
mod task;
mod tool;

pub use host::{Answer, Doorman, Host, Keys, Later, People, Proxy, Question, Sampler, Wanted};
pub use ledger::Misdeeds;
pub use manifest::{Hints, Listed, Manifest};
pub use names::Names;
pub use server::{Health, Server};
pub use servers::{Held, SHOWN, Servers};
