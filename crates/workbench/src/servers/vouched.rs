//! Which servers' descriptions the user has looked at and takes as their own words.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::fault::Fault;
use crate::places::{self, Places};

fn file(places: &Places) -> PathBuf {
    places.state.join("mcp").join("vouched.json")
}

fn all(places: &Places) -> BTreeMap<String, String> {
    std::fs::read(file(places)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// The seals of the descriptions that count.
pub fn seals(places: &Places) -> BTreeSet<String> {
    all(places).into_values().collect()
}

/// Keeps the seal of a server's descriptions in place of an older one, or takes it back. False if nothing changes.
pub fn keep(places: &Places, server: &str, seal: Option<&str>) -> Result<bool, Fault> {
    let mut all = all(places);
    let before = match seal {
        Some(seal) => all.insert(server.to_owned(), seal.to_owned()),
        None => all.remove(server),
    };
    places::replace_private(&file(places), &serde_json::to_vec_pretty(&all).unwrap_or_default())?;
    Ok(before.as_deref() != seal)
}
