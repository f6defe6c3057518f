//! Lists that people may read and mend: a file of JSON each, in the state folder, changed by one process at a time.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fault::Fault;
use crate::{places, plain};

/// What is in a file; nothing if it cannot be read.
pub(crate) fn load<T: DeserializeOwned + Default>(file: &Path) -> T {
    let bytes = plain::read(file, plain::LARGEST_SETTINGS).ok();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Changes what is in a file, beside whatever another process has changed meanwhile, and gives what the change gives.
pub(crate) fn change<T: DeserializeOwned + Default + Serialize, R>(
    file: &Path,
    change: impl FnOnce(&mut T) -> R,
) -> Result<R, Fault> {
    let _alone = places::alone_with(file)?;
    let mut list: T = load(file);
    let given = change(&mut list);
    places::replace_private(file, &serde_json::to_vec_pretty(&list).unwrap_or_default())?;
    Ok(given)
}
