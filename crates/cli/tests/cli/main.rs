//! The real binary, as people and scripts meet it: standard output, standard error and exit code.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on ends, and the binary is a process"
)]

mod always;
mod background;
mod bench;
mod browser;
mod candidates;
mod changed;
mod chat;
mod confined;
mod console;
mod console_asking;
mod console_commands;
mod console_fullscreen;
mod console_hostile;
mod consult;
mod control;
mod damage;
mod documentation;
mod drop_ins;
mod endings;
mod export;
mod folder_context;
mod full;
mod guardrails;
mod handover;
mod hook_kills;
mod hooks;
mod import;
mod injection;
mod input;
mod knowledge;
mod lack;
mod manage;
mod marks;
mod mcp;
mod mcp_asking;
mod mcp_chaos;
mod mcp_lists;
mod mcp_login;
mod mcp_many;
mod mcp_shelf;
mod mcp_trust;
mod mcp_words;
mod memory;
mod money;
mod networkx;
mod offer;
mod other_tools;
mod outage;
mod permissions;
mod plans;
mod planted;
mod proof;
mod pty;
mod python;
mod race;
mod recipes;
mod rerun;
mod run;
mod sandbox;
mod schedules;
mod settings;
mod shell_server;
mod sight;
mod sources;
mod swarm;
mod terminal;
mod together;
mod tools;
mod traces;
mod unattended;
mod undo;
mod undo_git;
mod undo_moved;
mod undo_unlisted;
mod usage;
mod vectors;
mod world;
