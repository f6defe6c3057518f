//! All integration tests of this crate in one program, which is built and linked once.

mod agents;
mod answers;
mod at_home;
mod budget;
mod changing;
mod clock;
mod compact;
mod crash;
mod drive;
mod fork;
mod holding;
mod injection;
mod marking;
mod power_cut;
mod processes;
mod recollection;
#[path = "../recorder/mod.rs"]
mod recorder;
mod replay;
mod small_planner;
mod steer;
#[path = "../support/mod.rs"]
mod support;
#[path = "../../../journal/tests/support/tape.rs"]
mod tape;
mod told;
mod worfbench;
