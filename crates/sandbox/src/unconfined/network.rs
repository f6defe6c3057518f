//! Private networks on systems without a sandbox: there are none.

use std::collections::BTreeSet;

/// A private network that several children share. Without a sandbox there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSharedNetwork(());

impl NoSharedNetwork {
    /// Not known on this system.
    #[expect(clippy::unused_async, reason = "the same signature as on Linux")]
    pub async fn open_ports(&self) -> BTreeSet<u16> {
        BTreeSet::new()
    }
}
