//! Reports which parts of the sandbox this machine supports, found by trying them.

use serde::{Deserialize, Serialize};

use crate::policy::SandboxLevel;

/// What the sandbox can do here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSupport {
    /// The highest level that works here.
    pub level: SandboxLevel,
    /// The version of Landlock's interface, 0 if there is none.
    pub landlock_abi: u32,
    /// What is not enforced here, each with a way to get it.
    pub missing: Vec<MissingFeature>,
}

/// A feature that this kernel does not provide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingFeature {
    /// What is not enforced.
    pub what: String,
    /// Why not, as the kernel reported it.
    pub cause: String,
    /// How to get it.
    pub remedy: String,
}

impl MissingFeature {
    pub(crate) fn new(what: &str, cause: impl Into<String>, remedy: &str) -> Self {
        MissingFeature { what: what.to_owned(), cause: cause.into(), remedy: remedy.to_owned() }
    }
}

/// What each version of Landlock added, and the kernel with that version.
const LANDLOCK_SINCE: [(u32, &str, &str); 4] = [
    (2, "moving files between granted folders", "Linux 5.19"),
    (3, "refusing to truncate files outside", "Linux 6.2"),
    (5, "refusing commands to devices", "Linux 6.10"),
    (6, "refusing signals and abstract sockets to programs outside", "Linux 6.12"),
];

/// What a kernel with this Landlock version does not enforce.
pub(crate) fn missing_in_landlock(abi: u32) -> Vec<MissingFeature> {
    if abi == 0 {
        let remedy = "use Linux 5.13 or newer, and boot with `landlock` in the list `lsm=`";
        return vec![MissingFeature::new("Landlock", "the kernel does not offer it", remedy)];
    }
    let lacking = LANDLOCK_SINCE.iter().filter(|(since, _, _)| abi < *since);
    lacking
        .map(|(_, what, kernel)| {
            MissingFeature::new(what, format!("Landlock is at version {abi}"), &format!("use {kernel} or newer"))
        })
        .collect()
}

/// What is not available without namespaces.
pub(crate) fn missing_without_namespaces(cause: &str, is_apparmor: bool) -> Vec<MissingFeature> {
    let remedy = if is_apparmor {
        "allow user namespaces to this program with an AppArmor profile, or set kernel.apparmor_restrict_unprivileged_userns=0"
    } else {
        "allow user namespaces: user.max_user_namespaces above 0, and a container that permits them"
    };
    let what = [
        "namespaces: a root folder, processes and a network of its own",
        "changing modes, times and attributes of your own files outside is not refused",
        "a network limited to named hosts cannot be given, only none or the host's",
    ];
    what.iter().map(|what| MissingFeature::new(what, cause, remedy)).collect()
}
