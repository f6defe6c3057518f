//! What was refused and which grant would allow it, read from what a program says when it fails.
//!
//! The kernel tells only the program. So this looks for the usual complaints, takes the path in them, and compares it
//! with the policy: a path that was granted is not reported, whatever the complaint.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::order::Killed;
use crate::policy::{Limits, Network, Policy, may_be_written};

/// Something the sandbox did not allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What was tried.
    pub denied: Denied,
    /// On which path or host.
    pub subject: String,
    /// Which rule says no.
    pub rule: String,
    /// What the user can grant to allow it, if anything.
    pub grant: Option<Grant>,
}

/// Kinds of things that are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Denied {
    /// Reading a file or folder.
    Read,
    /// Writing one.
    Write,
    /// Reaching a host.
    Network,
    /// Using up more.
    Limit,
}

/// What a user can grant for one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grant {
    /// A path may be read.
    Read(PathBuf),
    /// A path may be written.
    Write(PathBuf),
    /// A host may be reached.
    Host(String),
    /// The host's network may be used.
    Network,
    /// A setting of this name says otherwise.
    Setting(String),
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Grant::Read(path) => write!(f, "--read {}", path.display()),
            Grant::Write(path) => write!(f, "--write {}", path.display()),
            Grant::Host(host) => write!(f, "--network allow:{host}"),
            Grant::Network => f.write_str("--network host"),
            Grant::Setting(name) => write!(f, "sandbox.{name}"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.denied {
            Denied::Read => "reading",
            Denied::Write => "writing",
            Denied::Network => "reaching",
            Denied::Limit => "more",
        };
        match self.denied {
            Denied::Limit => write!(f, "the sandbox refused more {}: {}", self.subject, self.rule)?,
            Denied::Read | Denied::Write | Denied::Network => {
                write!(f, "the sandbox refused {verb} `{}`: {}", self.subject, self.rule)?;
            }
        }
        match &self.grant {
            Some(grant @ Grant::Setting(_)) => write!(f, "; `{grant}` in the settings allows more"),
            Some(grant) => write!(f, "; allowed by `{grant}`"),
            None => Ok(()),
        }
    }
}

/// More than this many tell nothing new.
const MOST: usize = 8;

const WRITE_COMPLAINTS: [&str; 3] = ["read-only file system", "erofs", "directory nonexistent"];
const MEMORY_COMPLAINTS: [&str; 5] =
    ["memoryerror", "cannot allocate memory", "memory allocation of", "bad_alloc", "javascript heap out of memory"];
const FILE_COMPLAINTS: [&str; 6] =
    ["permission denied", "no such file or directory", "operation not permitted", "eacces", "enoent", "eperm"];
const NETWORK_COMPLAINTS: [&str; 9] = [
    "network is unreachable",
    "could not resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "eai_again",
    "enetunreach",
    "getaddrinfo",
    "failed to lookup address",
    "dns error",
];

/// Finds the refusals in what a program said that failed under a policy: what was refused, and what would allow it.
pub fn read_from(text: &str, policy: &Policy) -> Vec<Refusal> {
    let mut found: Vec<Refusal> = Vec::new();
    for line in text.lines().take(2000) {
        let Some(refusal) = in_line(line, policy) else { continue };
        if !found.contains(&refusal) {
            found.push(refusal);
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

fn in_line(line: &str, policy: &Policy) -> Option<Refusal> {
    let lower = line.to_lowercase();
    let says = |complaints: &[&str]| complaints.iter().any(|complaint| lower.contains(complaint));
    if says(&NETWORK_COMPLAINTS) {
        return network(line, &policy.network);
    }
    if let Some(refusal) = at_limit(&lower, &policy.limits) {
        return Some(refusal);
    }
    let is_about_writing = says(&WRITE_COMPLAINTS);
    if !is_about_writing && !says(&FILE_COMPLAINTS) {
        return None;
    }
    let mut paths = paths_in(line);
    if is_about_writing {
        // In the workspace only what runs later is read-only, and it is mostly named from there.
        let words = line.split(|c: char| c.is_whitespace() || "'\"`‘’“”:".contains(c));
        let relative = words.filter(|word| word.starts_with('.') || (word.contains('/') && !word.starts_with('/')));
        let relative = relative.map(|word| policy.workspace.join(word.trim_start_matches("./")));
        paths.extend(relative.filter(|path| std::fs::symlink_metadata(path.parent().unwrap_or(path)).is_ok()));
    }
    paths.into_iter().find_map(|path| about_path(&path, is_about_writing, policy))
}

fn network(line: &str, granted: &Network) -> Option<Refusal> {
    let host =
        line.split(|c: char| !(c.is_ascii_alphanumeric() || ".-".contains(c))).find(|word| looks_like_host(word));
    let rule = match granted {
        Network::Host => return None,
        Network::None => "the command has no network",
        // A host on the list that does not answer was not refused.
        Network::Allow(hosts) if hosts.iter().any(|one| host.is_some_and(|host| one.admits(host, 443))) => return None,
        Network::Allow(_) => "it is not among the hosts that may be reached",
    };
    let (subject, grant) = match host {
        Some(host) => (host.to_owned(), Grant::Host(host.to_owned())),
        None => ("the network".to_owned(), Grant::Network),
    };
    Some(Refusal { denied: Denied::Network, subject, rule: rule.to_owned(), grant: Some(grant) })
}

fn looks_like_host(word: &str) -> bool {
    let ends_like_a_name =
        word.rsplit('.').next().is_some_and(|end| end.len() > 1 && end.chars().all(|c| c.is_ascii_alphabetic()));
    word.contains('.') && ends_like_a_name && word.parse::<crate::address::Host>().is_ok() && !is_file_name(word)
}

fn is_file_name(word: &str) -> bool {
    let endings = ["py", "js", "rs", "sh", "json", "toml", "txt", "md", "lock", "cjs", "mjs", "ts", "go", "rb"];
    word.rsplit('.').next().is_some_and(|end| endings.contains(&end))
}

/// Absolute paths in a line, without the quotes and colons around them.
fn paths_in(line: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find('/') {
        let before = rest[..at].chars().next_back();
        let starts = before.is_none_or(|c| c.is_whitespace() || "'\"`‘“(=:[".contains(c));
        let quote = before.filter(|c| "'\"`‘“".contains(*c)).map(|c| match c {
            '‘' => '’',
            '“' => '”',
            same => same,
        });
        let text = &rest[at..];
        let end =
            text.find(|c: char| quote.map_or_else(|| c.is_whitespace() || ":,;'\"`)]".contains(c), |quote| c == quote));
        let path = &text[..end.unwrap_or(text.len())];
        if starts && path.len() > 1 && !path.starts_with("//") {
            paths.push(PathBuf::from(path));
        }
        rest = &text[path.len().max(1)..];
    }
    paths
}

fn about_path(path: &Path, is_about_writing: bool, policy: &Policy) -> Option<Refusal> {
    let below = |folders: &[&PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
    let written: Vec<&PathBuf> = policy.write.iter().chain([&policy.workspace]).collect();
    let subject = path.display().to_string();
    if below(&written) {
        let rule = "it would run later, so commands only read it; `write_file` changes it after asking".to_owned();
        return is_about_writing.then_some(Refusal { denied: Denied::Write, subject, rule, grant: None });
    }
    let within = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let is_private = within(&["/tmp", "/var/tmp"]) || path.starts_with(&policy.home);
    if within(&["/dev", "/proc"]) || (is_private && is_about_writing) {
        return None;
    }
    let is_readable = below(&policy.read.iter().collect::<Vec<_>>())
        || ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix"].iter().any(|folder| path.starts_with(folder));
    if is_about_writing || is_readable {
        let rule = "only the workspace and private temporary folders are writable".to_owned();
        // Not what would be refused in turn: the system's own folders.
        let grant = existing_folder(path).filter(|folder| may_be_written(folder)).map(Grant::Write);
        return (is_about_writing).then_some(Refusal { denied: Denied::Write, subject, rule, grant });
    }
    // What is not there without the sandbox either was not refused by it.
    if std::fs::symlink_metadata(path).is_err() {
        return None;
    }
    let rule = "it is not among the folders that may be read".to_owned();
    Some(Refusal { denied: Denied::Read, subject, rule, grant: Some(Grant::Read(path.to_owned())) })
}

/// The folder to grant: the nearest one that exists.
fn existing_folder(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).find(|above| above.is_dir()).map(Path::to_owned)
}

/// A limit that ended a command, and the setting that raises it.
pub(crate) fn of_limit(killed: Killed, limits: &Limits) -> Option<Refusal> {
    let mebibytes = |bytes: u64| format!("at most {} MiB", bytes.div_ceil(1 << 20));
    let (subject, rule, setting) = match killed {
        Killed::Memory => ("memory", mebibytes(limits.memory), Some("memory")),
        Killed::Processes => ("processes", format!("at most {} at a time", limits.processes), Some("processes")),
        Killed::Disk => ("disk", mebibytes(limits.disk), Some("disk")),
        Killed::Output => ("output", format!("{}; write it to a file", mebibytes(limits.output)), None),
        // Whoever set the time knows best how to get more.
        Killed::Time => return None,
    };
    let grant = setting.map(|name| Grant::Setting(name.to_owned()));
    Some(Refusal { denied: Denied::Limit, subject: subject.to_owned(), rule, grant })
}

/// What a program says at a limit that does not end it.
fn at_limit(lower: &str, limits: &Limits) -> Option<Refusal> {
    let says = |complaints: &[&str]| complaints.iter().any(|complaint| lower.contains(complaint));
    let is_about_processes = says(&["fork", "thread", "spawn"]);
    if says(&["resource temporarily unavailable", "can't start new thread"]) && is_about_processes {
        of_limit(Killed::Processes, limits)
    } else if says(&["file too large", "file size limit exceeded", "efbig"]) {
        of_limit(Killed::Disk, limits)
    } else if says(&MEMORY_COMPLAINTS) {
        of_limit(Killed::Memory, limits)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        read_from(text, &Policy::strict("/srv/project")).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_write_into_the_system_cannot_be_granted() {
        assert_eq!(
            found("touch: cannot touch '/etc/motd': Read-only file system"),
            ["the sandbox refused writing `/etc/motd`: only the workspace and private temporary folders are writable"]
        );
    }

    #[test]
    fn a_write_outside_names_the_folder_to_grant() {
        let folder = tempfile::tempdir_in("/var").unwrap();
        let shown = folder.path().display();
        let refused = found(&format!("touch: cannot touch '{shown}/x/y': Read-only file system"));
        assert!(refused[0].ends_with(&format!("; allowed by `--write {shown}`")), "{refused:?}");
    }

    #[test]
    fn what_is_there_outside_and_not_in_private_folders_names_the_path() {
        let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
        let shown = file.path().display();
        let refused = found(&format!("cat: {shown}: No such file or directory"));
        assert!(refused[0].ends_with(&format!("; allowed by `--read {shown}`")), "{refused:?}");
        assert_eq!(found(&format!("sh: cannot create {shown}: Read-only file system")), [""; 0]);
    }

    #[test]
    fn a_limit_names_its_setting() {
        let limits = Limits { memory: 64 << 20, ..Limits::default() };
        assert_eq!(
            of_limit(Killed::Memory, &limits).unwrap().to_string(),
            "the sandbox refused more memory: at most 64 MiB; `sandbox.memory` in the settings allows more"
        );
        let more = "; `sandbox.processes` in the settings allows more";
        assert!(found("sh: 1: Cannot fork: Resource temporarily unavailable")[0].ends_with(more));
        let more = "; `sandbox.memory` in the settings allows more";
        assert!(found("Traceback (most recent call last):\n  File \"x.py\"\nMemoryError")[0].ends_with(more));
        let more = "; `sandbox.disk` in the settings allows more";
        assert!(found("dd: error writing 'big': File too large")[0].ends_with(more));
        assert_eq!(of_limit(Killed::Time, &limits), None);
    }

    #[test]
    fn a_guarded_file_is_known_by_its_place_in_the_workspace() {
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(project.path().join(".git/hooks")).unwrap();
        let policy = Policy::strict(project.path());
        let told = read_from("sh: 1: cannot create .git/hooks/pre-commit: Read-only file system", &policy);
        assert_eq!(told[0].subject, project.path().join(".git/hooks/pre-commit").display().to_string());
        assert!(told[0].rule.starts_with("it would run later"), "{told:?}");
        assert_eq!(read_from("x/y.c: error: No such file or directory", &policy), []);
    }

    #[test]
    fn a_read_of_something_that_exists_outside_names_the_path() {
        assert_eq!(
            found("cat: /etc/shadow: No such file or directory"),
            ["the sandbox refused reading `/etc/shadow`: it is not among the folders that may be read; \
              allowed by `--read /etc/shadow`"]
        );
        assert_eq!(found("cat: /srv/never/was: No such file or directory"), [""; 0]);
    }

    #[test]
    fn a_host_that_was_not_found_names_the_host() {
        assert_eq!(
            found("curl: (6) Could not resolve host: crates.example.org"),
            ["the sandbox refused reaching `crates.example.org`: the command has no network; \
              allowed by `--network allow:crates.example.org`"]
        );
    }

    #[test]
    fn a_guarded_file_is_named_without_a_grant() {
        assert_eq!(
            found("sh: 1: cannot create /srv/project/.git/config: Read-only file system"),
            ["the sandbox refused writing `/srv/project/.git/config`: it would run later, so commands only read it; \
                 `write_file` changes it after asking"]
        );
    }

    #[test]
    fn ordinary_failures_are_not_refusals() {
        assert_eq!(
            found("error: test failed\ncat: notes.txt: No such file or directory\n/usr/bin/x: not found"),
            [""; 0]
        );
    }
}
