//! The dialects against servers on loopback that send exact bytes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod anthropic;
mod anthropic_body;
mod auto;
mod body;
mod chat;
mod embeddings;
mod fallback;
mod faults;
mod gemini;
mod gemini_body;
mod gemini_credentials;
mod gemini_trouble;
mod houses;
mod lenient;
mod ollama;
mod responses;
mod responses_body;
mod retries;
mod server;
mod talk;
mod written_calls;
