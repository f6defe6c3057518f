//! What the journal promises when nothing goes wrong.

#![allow(clippy::unwrap_used, reason = "the helpers of tests fail by panicking, as tests do")]

#[path = "support/world.rs"]
mod world;

#[path = "journal/append.rs"]
mod append;
#[path = "journal/blobs.rs"]
mod blobs;
#[path = "journal/delete.rs"]
mod delete;
#[path = "journal/export.rs"]
mod export;
#[path = "journal/fork.rs"]
mod fork;
#[path = "journal/inbox.rs"]
mod inbox;
#[path = "journal/lease.rs"]
mod lease;
#[path = "journal/list.rs"]
mod list;
#[path = "journal/tail.rs"]
mod tail;
