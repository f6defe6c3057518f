//! What a child process may do, as plain data: the same kind of policy for commands, Python, drop-in tools and MCP
//! servers.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::address::{HostPattern, NotAHost};
use crate::error::Error;
use crate::git_identity::GitSetting;

/// What a child process may read, write, reach and consume.
///
/// Everything is an allow list: paths that are not named do not exist for the child.
///
/// ```
/// use updraft_sandbox::{Network, Policy};
///
/// let policy = Policy { read: vec!["/srv/reference".into()], ..Policy::strict("/srv/project") };
/// assert_eq!(policy.network, Network::None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The folder to work in: readable and writable, except for guarded names.
    pub workspace: PathBuf,
    /// Further folders and files that may be read, such as toolchains. Those that do not exist are left out.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    /// Further folders that may be written. They must exist.
    #[serde(default)]
    pub write: Vec<PathBuf>,
    /// Which part of the network can be reached.
    #[serde(default)]
    pub network: Network,
    /// Names of the variables that the child gets; `LC_*` stands for all that begin with `LC_`.
    pub environment: Vec<String>,
    /// The resource limits.
    #[serde(default)]
    pub limits: ResourceLimits,
    /// Whether it ends with one command or serves for a whole session.
    #[serde(default)]
    pub lifetime: ChildLifetime,
    /// Where the private, empty home folder appears. Use the user's own path to have granted parts of it at their
    /// usual places.
    pub home: PathBuf,
    /// Where private folders are created at levels without their own root. Preferably a folder that only the user can
    /// write, because leftovers of a killed launcher are removed from it.
    #[serde(default = "shared_temporary")]
    pub scratch: PathBuf,
    /// Where new guarded files are moved. Without one, a new temporary folder is created when needed.
    #[serde(default)]
    pub aside: Option<PathBuf>,
    /// Files and folders that are guarded regardless of their names, if a command may write there. These must be real
    /// paths.
    #[serde(default)]
    pub guarded: Vec<PathBuf>,
    /// Those of the writable folders that belong to this child alone: nobody else opens them, so nothing in them is
    /// guarded.
    #[serde(default)]
    pub unguarded: Vec<PathBuf>,
    /// A folder of ours, preferably on the workspace's disk, where the changes that a command makes in the workspace
    /// are staged until it ends. Only at the full level and for one command. If staging is not possible,
    /// [`ChildResult::staged`](crate::ChildResult::staged) is empty and the command wrote to the workspace directly.
    /// See [`Sandbox::run`](crate::Sandbox::run) for concurrent commands.
    #[serde(default)]
    pub staged: Option<PathBuf>,
    /// The git settings in the private home: the author of commits, and little more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub git: Vec<GitSetting>,
}

impl Policy {
    /// The workspace and the system's own folders, no network, moderate limits.
    pub fn strict(workspace: impl Into<PathBuf>) -> Self {
        Policy {
            workspace: workspace.into(),
            read: Vec::new(),
            write: Vec::new(),
            network: Network::None,
            environment: ENVIRONMENT.iter().chain(SYSTEM_ENVIRONMENT).map(|&name| name.to_owned()).collect(),
            limits: ResourceLimits::default(),
            lifetime: ChildLifetime::Call,
            home: "/home/agent".into(),
            scratch: shared_temporary(),
            aside: None,
            guarded: Vec::new(),
            unguarded: Vec::new(),
            staged: None,
            git: Vec::new(),
        }
    }

    /// Whether the child gets a variable with this name.
    pub fn passes(&self, name: &str) -> bool {
        self.environment.iter().any(|allowed| match allowed.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            // Names of variables are case-insensitive on Windows.
            None => allowed == name || (cfg!(windows) && allowed.eq_ignore_ascii_case(name)),
        })
    }

    /// Returns the first problem that would make the sandbox wider than, or different from, what the policy says.
    pub fn check(&self) -> Result<(), Error> {
        self.check_folders()?;
        self.read.iter().chain([&self.home, &self.scratch]).try_for_each(|path| check_path("path", path))
    }

    /// Checks only the writable folders, which is all that matters if no sandbox is set up.
    pub(crate) fn check_folders(&self) -> Result<(), Error> {
        check_folder("workspace", &self.workspace)?;
        self.write.iter().try_for_each(|folder| check_folder("write", folder))?;
        if self.workspace == self.home {
            return Err(refused("workspace", &self.workspace, "is the home folder; name a folder in it"));
        }
        Ok(())
    }
}

fn shared_temporary() -> PathBuf {
    "/tmp".into()
}

/// Variables that contain no secret and load no code.
const ENVIRONMENT: [&str; 12] = [
    "PATH",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "USER",
    "LOGNAME",
    "SOURCE_DATE_EPOCH",
    "RUST_BACKTRACE",
];

/// Without these no program starts on Windows.
const SYSTEM_ENVIRONMENT: &[&str] =
    if cfg!(windows) { &["SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT"] } else { &[] };

/// Folders that hold more than one project or the system itself: never writable as a whole. The last ones are those
/// of macOS.
const TOO_WIDE: [&str; 28] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/media",
    "/mnt",
    "/nix",
    "/opt",
    "/proc",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/var",
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
    "/private",
    "/private/tmp",
    "/private/var",
];

fn check_folder(what: &'static str, path: &Path) -> Result<(), Error> {
    check_path(what, path)?;
    if path.parent().is_none() || TOO_WIDE.iter().any(|wide| path == Path::new(wide)) {
        return Err(refused(what, path, "contains more than one project; name a folder in it"));
    }
    let inner = ["/proc", "/sys", "/dev", "/usr", "/etc", "/boot", "/System", "/private/etc"];
    // Toolchains are in /usr/src and /usr/local, but nothing there is a project that an agent should change.
    if inner.iter().any(|system| path.starts_with(system)) && !path.starts_with("/dev/shm") {
        return Err(refused(what, path, "belongs to the system"));
    }
    Ok(())
}

/// Whether a folder can be granted for writing.
pub(crate) fn may_be_written(path: &Path) -> bool {
    check_folder("write", path).is_ok()
}

fn check_path(what: &'static str, path: &Path) -> Result<(), Error> {
    if path.to_str().is_none() {
        return Err(refused(what, path, "is not UTF-8"));
    }
    let plain = path.components().collect::<PathBuf>();
    if !path.is_absolute() || plain.as_os_str() != path.as_os_str() {
        return Err(refused(what, path, "is not a plain absolute path"));
    }
    if path.components().any(|part| part == std::path::Component::ParentDir) {
        return Err(refused(what, path, "goes up"));
    }
    Ok(())
}

fn refused(what: &'static str, path: &Path, why: &'static str) -> Error {
    Error::Policy { what, path: path.to_owned(), why }
}

/// Which part of the network a child can reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Only its own loopback.
    #[default]
    None,
    /// Its own loopback, and these hosts through our proxy. Without any host the caller is the proxy
    /// ([`Child::listener`](crate::Child::listener)).
    Allow(Vec<HostPattern>),
    /// Everything that the user can reach.
    Host,
}

/// Why a text is not a network.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotANetwork {
    /// It is none of the keywords.
    #[error("`{0}` is not a network; expected `none`, `allow:HOST,…` or `host`")]
    Word(String),
    /// One of the hosts is invalid.
    #[error(transparent)]
    Host(#[from] NotAHost),
}

/// Parses the form used on the command line: `none` (or `loopback`, which is the same), `allow:HOST,…`, `host`.
impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        match (text, text.strip_prefix("allow:")) {
            ("none" | "loopback", _) => Ok(Network::None),
            ("host", _) => Ok(Network::Host),
            (_, Some(hosts)) => Ok(Network::Allow(hosts.split(',').map(str::parse).collect::<Result<_, _>>()?)),
            (_, None) => Err(NotANetwork::Word(text.to_owned())),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Network::None => f.write_str("none"),
            Network::Host => f.write_str("host"),
            Network::Allow(hosts) => {
                let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
                write!(f, "allow:{}", hosts.join(","))
            }
        }
    }
}

/// What a child and all its descendants together may consume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResourceLimits {
    /// Wall-clock time from start to end.
    pub time: Option<Duration>,
    /// CPU time of each process.
    pub cpu: Option<Duration>,
    /// Bytes of memory of all processes together.
    pub memory: u64,
    /// Processes and threads at the same time.
    pub processes: u64,
    /// Bytes by which the disk may fill up, and the largest size of a file.
    pub disk: u64,
    /// Bytes of the private temporary folders together.
    pub temporary: u64,
    /// Open files of each process.
    pub files: u64,
    /// Bytes on stdout and stderr together, kept or not.
    pub output: u64,
}

const MIB: u64 = 1 << 20;

impl Default for ResourceLimits {
    fn default() -> Self {
        ResourceLimits {
            time: Some(Duration::from_mins(2)),
            cpu: None,
            memory: 4096 * MIB,
            processes: 512,
            disk: 4096 * MIB,
            temporary: 1024 * MIB,
            files: 4096,
            output: 256 * MIB,
        }
    }
}

/// How long a child runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChildLifetime {
    /// Until the command ends.
    #[default]
    Call,
    /// Until its user closes it: a server on pipes. `ResourceLimits::time` does not apply.
    Session,
}

/// How much of the sandbox is in force. Ordered: more is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxLevel {
    /// Limits are enforced and descendants are ended, but nothing is confined. Even so, privileges cannot be raised.
    None,
    /// Landlock, seccomp and limits, with the host's own view of files and processes.
    ///
    /// It does not prevent a child from changing modes, times and attributes of the user's own files outside, nor
    /// from seeing other processes. A network limited to named hosts is not possible. Guarded files are restored
    /// afterwards instead of being read-only. Temporary files are in a private folder instead of a private `/tmp`.
    Landlock,
    /// Namespaces with their own root, Landlock, seccomp and limits.
    Full,
}

impl fmt::Display for SandboxLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SandboxLevel::None => "none",
            SandboxLevel::Landlock => "landlock",
            SandboxLevel::Full => "full",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(workspace: &str) -> String {
        Policy::strict(workspace).check().unwrap_err().to_string()
    }

    #[test]
    fn a_folder_that_is_wider_than_a_project_is_refused() {
        assert_eq!(fault("/"), "workspace `/` contains more than one project; name a folder in it");
        assert_eq!(fault("/tmp"), "workspace `/tmp` contains more than one project; name a folder in it");
        assert_eq!(fault("/etc/cron.d"), "workspace `/etc/cron.d` belongs to the system");
        assert_eq!(fault("/home/agent"), "workspace `/home/agent` is the home folder; name a folder in it");
    }

    #[test]
    fn a_path_that_means_something_else_than_it_reads_is_refused() {
        for path in ["project", "/srv/a/../b", "/srv//a", "/srv/a/", "/srv/./a", ""] {
            assert!(Policy::strict(path).check().is_err(), "{path}");
        }
        assert!(Policy::strict("/srv/a b\nc").check().is_ok());
    }

    #[test]
    fn only_named_variables_pass() {
        let policy = Policy::strict("/srv/project");
        let names = ["PATH", "LC_ALL", "LD_PRELOAD", "BASH_ENV", "GIT_DIR", "OPENAI_API_KEY", "PATHOLOGY"];
        let passing: Vec<&str> = names.into_iter().filter(|name| policy.passes(name)).collect();
        assert_eq!(passing, ["PATH", "LC_ALL"]);
    }

    #[test]
    fn a_network_is_written_as_on_the_command_line() {
        for text in ["none", "host", "allow:example.com,*.example.org:8443"] {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
        }
        assert_eq!("loopback".parse(), Ok(Network::None));
        for text in ["", "all", "allow:", "allow:a,,b", "allow:127.0.0.1", "hosts"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_policy_reads_back_as_it_was_written() {
        let mut policy = Policy::strict("/srv/project");
        policy.network = Network::Allow(vec!["*.example.com:443".parse().unwrap()]);
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
    }
}
