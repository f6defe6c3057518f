//! The contract of docs/contract.md, held against the real binary: it is cut off at chosen places and at random ones, raced
//! and damaged, and what it did is counted outside of it.
//!
//! `the_contract_is_kept` prints how many cells of each property were tried and which were violated. `UPDRAFT_CONTRACT=all`
//! tries every cell; without it each kind of effect is tried in each place with one way of starting.
//! `UPDRAFT_CONTRACT_SEED` says which.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test starts processes, reads its environment, says what it counted, and stops when something is broken"
)]

mod cell;
mod consume;
mod crash;
mod dice;
mod fork;
mod journal;
mod kills;
mod losers;
mod model;
mod outside;
#[path = "../together/server.rs"]
mod server;
#[path = "../cli/shell_server.rs"]
#[allow(dead_code, reason = "only the server is needed here, and none of its ready-made tools")]
mod shell_server;
mod stage;
mod table;
mod validity;
#[path = "../cli/world.rs"]
#[allow(dead_code, reason = "shared with the tests of commands, which need more of it")]
mod world;

use crate::cell::{Cut, Kind, Way};
use crate::dice::{Dice, environment, seed};
use crate::table::{Property, Table};

/// Cells that are tried at the same time: they mostly wait for processes and the disk.
const AT_ONCE: usize = 4;

/// A cell that is yet to be tried.
type Trial = Box<dyn FnOnce(&Table) + Send>;

#[test]
fn the_contract_is_kept() {
    let seed = seed("UPDRAFT_CONTRACT_SEED");
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let all = environment("UPDRAFT_CONTRACT").is_some_and(|word| word == "all");
    let mut trials: Vec<Trial> = Vec::new();
    for kind in Kind::ALL {
        for cut in Cut::ALL.into_iter().filter(|&cut| kind.can_be_cut(cut)) {
            for way in chosen(&mut dice, all) {
                let dice = Dice(dice.next());
                trials.push(Box::new(move |table| crash::try_cell(table, way, kind, cut, dice)));
            }
        }
        for way in chosen(&mut dice, all).into_iter().filter(|_| !kind.needs_a_person()) {
            trials.push(Box::new(move |table| fork::try_cell(table, way, kind)));
        }
    }
    for way in if all { Way::ALL.to_vec() } else { vec![Way::Agent, Way::Plan] } {
        trials.extend(consume::trials(way));
        trials.extend(losers::trials(way));
        trials.extend(validity::trials(way));
    }
    let table = Table::default();
    try_all(trials, &table);
    println!("{table}");
    assert_eq!(table.violations(), Vec::<String>::new(), "seed {seed}");
}

/// Every way of starting, or one.
fn chosen(dice: &mut Dice, all: bool) -> Vec<Way> {
    if all { Way::ALL.to_vec() } else { vec![Way::ALL[dice.below(4)]] }
}

fn try_all(trials: Vec<Trial>, table: &Table) {
    let queue = std::sync::Mutex::new(trials.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some(trial) = next else { return };
                    trial(table);
                }
            });
        }
    });
}

#[test]
fn every_property_has_a_line_in_the_documentation() {
    let page = include_str!("../../../../docs/contract.md");
    for property in Property::ALL {
        assert!(page.contains(&format!("**{property}**")), "docs/contract.md does not name `{property}`");
    }
}
