//! How many cells of each property were tried, and which were violated.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;

/// What is promised; docs/contract.md says it in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Property {
    Prefix,
    ExactlyOnce,
    Fork,
    Validity,
    ConsumeOnce,
    Recovery,
    Losers,
    Liveness,
}

impl Property {
    pub(crate) const ALL: [Self; 8] = [
        Self::Prefix,
        Self::ExactlyOnce,
        Self::Fork,
        Self::Validity,
        Self::ConsumeOnce,
        Self::Recovery,
        Self::Losers,
        Self::Liveness,
    ];
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Prefix => "prefix continuation",
            Self::ExactlyOnce => "effect exactly-once",
            Self::Fork => "fork determinism",
            Self::Validity => "checkpoint validity",
            Self::ConsumeOnce => "consume-once",
            Self::Recovery => "recovery determinism",
            Self::Losers => "losers are told",
            Self::Liveness => "liveness",
        })
    }
}

#[derive(Default)]
struct Row {
    tried: usize,
    violated: Vec<String>,
}

#[derive(Default)]
pub(crate) struct Table(Mutex<BTreeMap<Property, Row>>);

impl Table {
    /// Notes what came of one cell: nothing, or what was wrong.
    pub(crate) fn note(&self, property: Property, cell: &str, came: Result<(), String>) {
        let mut rows = self.0.lock().unwrap();
        let row = rows.entry(property).or_default();
        row.tried += 1;
        if let Err(why) = came {
            println!("violated: {property}: {cell}: {why}");
            row.violated.push(format!("{property}: {cell}: {why}"));
        }
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.0.lock().unwrap().values().flat_map(|row| row.violated.clone()).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| {:<20} | cells tried | violated |\n|---|---|---|", "property")?;
        let rows = self.0.lock().unwrap();
        for property in Property::ALL {
            let (tried, violated) = rows.get(&property).map_or((0, 0), |row| (row.tried, row.violated.len()));
            writeln!(f, "| {property:<20} | {tried:>11} | {violated:>8} |")?;
        }
        Ok(())
    }
}

/// What is wrong unless something holds.
pub(crate) fn must(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
