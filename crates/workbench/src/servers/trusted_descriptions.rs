//! Which servers' tool descriptions the user has reviewed and trusts like their own words.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::fault::Fault;
use crate::folders::AppFolders;
use crate::list_file;

fn file(folders: &AppFolders) -> PathBuf {
    folders.state.join("mcp").join("vouched.json")
}

/// The hashes of the descriptions that are trusted.
pub fn seals(folders: &AppFolders) -> BTreeSet<String> {
    list_file::load::<BTreeMap<String, String>>(&file(folders)).into_values().collect()
}

/// Stores the hash of a server's descriptions in place of an older one, or removes it. Returns false if nothing
/// changes.
pub fn keep(folders: &AppFolders, server: &str, seal: Option<&str>) -> Result<bool, Fault> {
    let before = list_file::change(&file(folders), |all: &mut BTreeMap<String, String>| match seal {
        Some(seal) => all.insert(server.to_owned(), seal.to_owned()),
        None => all.remove(server),
    })?;
    Ok(before.as_deref() != seal)
}
