//! Small JSON files in the state folder that people may read and edit, changed by one process at a time.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fault::Fault;
use crate::{folders, untrusted};

/// Reads a file. Returns the default if it cannot be read.
pub(crate) fn load<T: DeserializeOwned + Default>(file: &Path) -> T {
    let bytes = untrusted::read(file, untrusted::LARGEST_SETTINGS).ok();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Changes a file under a lock, so that changes of other processes are kept, and returns what `change` returns.
pub(crate) fn change<T: DeserializeOwned + Default + Serialize, R>(
    file: &Path,
    change: impl FnOnce(&mut T) -> R,
) -> Result<R, Fault> {
    let _alone = folders::alone_with(file)?;
    let mut list: T = load(file);
    let given = change(&mut list);
    folders::replace_private(file, &serde_json::to_vec_pretty(&list).unwrap_or_default())?;
    Ok(given)
}
