//! All integration tests of this crate in one program, which is built and linked once.

mod assumptions;
mod bills;
mod broken_plans;
mod budgets;
mod citations;
mod code;
mod compaction;
mod control;
mod crash;
mod cut_off;
mod going_on;
mod graph;
mod guardrails;
mod inquiries;
mod journals;
mod marks;
mod origins;
mod outage;
mod own;
mod permissions;
mod plain_text;
mod plan_first;
mod planning;
mod proof;
mod properties;
mod recovery;
mod repeated;
mod results;
mod review;
mod rights;
mod roles;
mod scheduling;
#[path = "../support/mod.rs"]
mod support;
mod turns;
