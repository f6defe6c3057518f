//! All integration tests of this crate in one program, which is built and linked once.

mod bills;
mod budgets;
mod citations;
mod code;
mod compaction;
mod control;
mod crash;
mod cut_off;
mod going_on;
mod graph;
mod inquiries;
mod journals;
mod marks;
mod origins;
mod outage;
mod own;
mod permissions;
mod plain_text;
mod planning;
mod properties;
mod recovery;
mod results;
mod review;
mod rights;
mod roles;
mod scheduling;
#[path = "../support/mod.rs"]
mod support;
mod swarm;
mod tries;
mod turns;
