//! Speak MCP, the protocol by which programs lend each other tools.

pub mod server;
