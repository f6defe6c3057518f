//! What commands of a run are granted beyond its workspace, and how two grants compare.

use serde::{Deserialize, Serialize};

use crate::confinement::Level;

/// What commands are granted beyond the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandGrants {
    /// The network: `none`, `host`, or `allow:` and hosts.
    pub network: String,
    /// More paths that commands may read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// More paths that commands may write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// The part that was given on the command line. It is kept when the run is continued, until the user says
    /// otherwise.
    #[serde(skip_serializing_if = "GrantFlags::is_empty")]
    pub flags: GrantFlags,
}

/// What the command line said about commands' rights.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrantFlags {
    /// `--network`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// `--read`, as real paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// `--write`, as real paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// `--level`, or `none` for `--no-sandbox`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
}

impl CommandGrants {
    /// What is granted here but not in `there`.
    #[must_use]
    pub fn beyond(&self, there: &CommandGrants) -> CommandGrants {
        let more = |ours: &[String], theirs: &[String]| -> Vec<String> {
            ours.iter().filter(|path| !theirs.contains(path)).cloned().collect()
        };
        let network = if reaches_more(&self.network, &there.network) { self.network.clone() } else { String::new() };
        let (read, write) = (more(&self.read, &there.read), more(&self.write, &there.write));
        CommandGrants { network, read, write, flags: GrantFlags::default() }
    }
}

/// Whether one network setting reaches a host that the other does not.
fn reaches_more(one: &str, other: &str) -> bool {
    let hosts = |network: &str| -> Vec<String> {
        network.strip_prefix("allow:").into_iter().flat_map(|hosts| hosts.split(',')).map(str::to_owned).collect()
    };
    match (one, other) {
        ("none" | "", _) | (_, "host") => false,
        ("host", _) => true,
        (one, other) => hosts(one).iter().any(|host| !hosts(other).contains(host)),
    }
}

impl GrantFlags {
    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
