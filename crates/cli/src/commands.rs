//! One file for each command.

pub(crate) mod agents;
pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod control;
mod detach;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod fork;
mod goal;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod json;
pub(crate) mod man;
mod markdown;
pub(crate) mod models;
pub(crate) mod replay;
pub(crate) mod resume;
pub(crate) mod rm;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod sandbox;
pub(crate) mod show;
pub(crate) mod tools;
pub(crate) mod trust;
