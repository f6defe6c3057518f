//! Finds out what the sandbox refused by reading the error output of a program that failed.
//!
//! The kernel reports a refusal only to the program itself. So this looks for common error messages, takes the path
//! from them, and compares it with the policy: a path that was granted is never reported.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use updraft_workspace::guarded_names;

use crate::policy::{Network, Policy, ResourceLimits, may_be_written};
use crate::protocol::KillReason;
use crate::refusal::{Grant, RefusalKind, SandboxRefusal, of_limit};

/// Most refusals that are reported; more would say nothing new.
const MOST: usize = 8;

const WRITE_COMPLAINTS: [&str; 3] = ["read-only file system", "erofs", "directory nonexistent"];
const MEMORY_COMPLAINTS: [&str; 5] =
    ["memoryerror", "cannot allocate memory", "memory allocation of", "bad_alloc", "javascript heap out of memory"];
/// The error for replacing or removing a file that is mounted over itself.
const BUSY_COMPLAINTS: [&str; 3] = ["device or resource busy", "resource busy or locked", "ebusy"];
/// Words of programs that tried to create the file that they could not find.
const MAKING: [&str; 10] = [
    "cannot touch",
    "cannot create",
    "cannot make",
    "can't create",
    "could not create",
    "failed to create",
    "unable to create",
    "for writing",
    "mkdir",
    "tee: ",
];
/// Words of programs that do not say whether they wanted to read or write.
const OPENING: [&str; 6] = ["filenotfounderror", "permissionerror", "sh: ", "open '", "open /", "copyfile"];
/// Words of programs that only read.
const READING: [&str; 5] = ["for reading", "cannot open", "can't open", "could not open", "failed to open"];
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

/// What an error message says about a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ComplaintKind {
    /// It cannot be written.
    ReadOnly,
    /// It cannot be replaced or removed.
    Busy,
    /// It cannot be created.
    NotMade,
    /// It does not exist or cannot be opened, for an unknown purpose.
    NotOpened,
    /// It does not exist or cannot be opened, for reading.
    NotRead,
}

impl ComplaintKind {
    fn of(lower: &str) -> Option<ComplaintKind> {
        let says = |complaints: &[&str]| complaints.iter().any(|complaint| lower.contains(complaint));
        if says(&WRITE_COMPLAINTS) {
            return Some(ComplaintKind::ReadOnly);
        }
        if says(&BUSY_COMPLAINTS) {
            return Some(ComplaintKind::Busy);
        }
        says(&FILE_COMPLAINTS).then(|| match (says(&MAKING), says(&OPENING) && !says(&READING)) {
            (true, _) => ComplaintKind::NotMade,
            (false, true) => ComplaintKind::NotOpened,
            (false, false) => ComplaintKind::NotRead,
        })
    }
}

/// Finds the refusals in the output of a program that failed under a policy: what was refused, and what would allow
/// it.
pub fn read_from(text: &str, policy: &Policy) -> Vec<SandboxRefusal> {
    all(text, |line| in_line(line, policy))
}

/// Finds refusals in the output of a program that succeeded: git reports that it could not write its settings, and
/// continues. Other messages are ignored, as they may be quotes from anywhere.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing is refused there"))]
pub(crate) fn read_in_passing(text: &str, policy: &Policy) -> Vec<SandboxRefusal> {
    let below = |subject: &str| Path::new(subject).strip_prefix(&policy.workspace).unwrap_or(Path::new("")).to_owned();
    all(text, |line| {
        let is_busy = ComplaintKind::of(&line.to_lowercase()) == Some(ComplaintKind::Busy);
        in_line(line, policy).filter(|refusal| is_busy && is_guarded(&below(&refusal.subject)))
    })
}

fn all(text: &str, in_line: impl Fn(&str) -> Option<SandboxRefusal>) -> Vec<SandboxRefusal> {
    let mut found: Vec<SandboxRefusal> = Vec::new();
    for line in text.lines().take(2000) {
        let Some(refusal) = in_line(line) else { continue };
        if !found.contains(&refusal) {
            found.push(refusal);
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

/// Whether a path has a guarded name, or leads into a repository's own folder.
fn is_guarded(path: &Path) -> bool {
    path.ancestors().any(|one| {
        let name = one.file_name().unwrap_or_default().to_string_lossy();
        let folder = one.parent().unwrap_or(Path::new("")).to_string_lossy();
        guarded_names::is_repository_name(&name) || guarded_names::why_guarded(&folder, &name).is_some()
    })
}

fn in_line(line: &str, policy: &Policy) -> Option<SandboxRefusal> {
    let lower = line.to_lowercase();
    let says = |complaints: &[&str]| complaints.iter().any(|complaint| lower.contains(complaint));
    if says(&NETWORK_COMPLAINTS) {
        return network(line, &policy.network);
    }
    if let Some(refusal) = at_limit(&lower, &policy.limits) {
        return Some(refusal);
    }
    let said = ComplaintKind::of(&lower)?;
    let mut paths = paths_in(line);
    if matches!(said, ComplaintKind::ReadOnly | ComplaintKind::Busy) {
        // In the workspace only files that would run later are read-only, and programs mostly name them by relative
        // paths.
        let words = line.split(|c: char| c.is_whitespace() || "'\"`‘’“”:,".contains(c));
        let relative = words.filter(|word| word.starts_with('.') || (word.contains('/') && !word.starts_with('/')));
        let relative = relative.map(|word| policy.workspace.join(word.trim_start_matches("./")));
        // Git names its own files relative to its working folder, which may be a subfolder.
        let is_likely = |path: &PathBuf| {
            let is_there = std::fs::symlink_metadata(path.parent().unwrap_or(path)).is_ok();
            is_there
                || (said == ComplaintKind::Busy && is_guarded(path.strip_prefix(&policy.workspace).unwrap_or(path)))
        };
        paths.extend(relative.filter(is_likely));
    }
    paths.into_iter().find_map(|path| about_path(&path, said, policy))
}

fn network(line: &str, granted: &Network) -> Option<SandboxRefusal> {
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
    Some(SandboxRefusal { denied: RefusalKind::Network, subject, rule: rule.to_owned(), grant: Some(grant) })
}

fn looks_like_host(word: &str) -> bool {
    let ends_like_a_name =
        word.rsplit('.').next().is_some_and(|end| end.len() > 1 && end.chars().all(|c| c.is_ascii_alphabetic()));
    word.contains('.') && ends_like_a_name && word.parse::<crate::address::HostPattern>().is_ok() && !is_file_name(word)
}

fn is_file_name(word: &str) -> bool {
    let endings = ["py", "js", "rs", "sh", "json", "toml", "txt", "md", "lock", "cjs", "mjs", "ts", "go", "rb"];
    word.rsplit('.').next().is_some_and(|end| endings.contains(&end))
}

/// Absolute paths in a line, without surrounding quotes and colons.
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

fn about_path(path: &Path, said: ComplaintKind, policy: &Policy) -> Option<SandboxRefusal> {
    let below = |folders: &[&PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
    let written: Vec<&PathBuf> = policy.write.iter().chain([&policy.workspace]).collect();
    let subject = path.display().to_string();
    if below(&written) {
        let is_about_writing = matches!(said, ComplaintKind::ReadOnly | ComplaintKind::Busy);
        let rule =
            "it would run later, outside the sandbox, so commands may only read it; `write_file` can change it, \
                    after asking the user"
                .to_owned();
        return is_about_writing.then_some(SandboxRefusal { denied: RefusalKind::Write, subject, rule, grant: None });
    }
    let within = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let is_private = within(&["/tmp", "/var/tmp"]) || path.starts_with(&policy.home);
    if within(&["/dev", "/proc"]) || said == ComplaintKind::Busy || (is_private && said == ComplaintKind::ReadOnly) {
        return None;
    }
    let not_writable = || {
        let rule = "only the workspace and private temporary folders are writable".to_owned();
        // The system's own folders are left out: granting them would be refused.
        let grant = existing_folder(path).filter(|folder| may_be_written(folder)).map(Grant::Write);
        SandboxRefusal { denied: RefusalKind::Write, subject: subject.clone(), rule, grant }
    };
    if said == ComplaintKind::ReadOnly {
        return Some(not_writable());
    }
    let is_readable = below(&policy.read.iter().collect::<Vec<_>>())
        || ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix"].iter().any(|folder| path.starts_with(folder));
    if is_readable {
        return None;
    }
    match std::fs::symlink_metadata(path) {
        Ok(_) if said == ComplaintKind::NotMade => Some(not_writable()),
        Ok(_) => {
            let rule = "it is not among the folders that may be read".to_owned();
            Some(SandboxRefusal { denied: RefusalKind::Read, subject, rule, grant: Some(Grant::Read(path.to_owned())) })
        }
        // A file that does not exist outside the sandbox either was not refused by it, unless it was to be created:
        // then the command cannot see its folder, or may not write to it.
        Err(error) => {
            let was_to_be_made = matches!(said, ComplaintKind::NotMade | ComplaintKind::NotOpened);
            let folder = path.parent().filter(|_| was_to_be_made && error.kind() == ErrorKind::NotFound)?;
            let is_seen =
                ["/", "/tmp", "/var/tmp"].iter().any(|seen| folder == Path::new(seen)) || folder == policy.home;
            (folder.is_dir() && !is_seen).then(not_writable)
        }
    }
}

/// The folder to grant: the nearest one that exists.
fn existing_folder(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).find(|above| above.is_dir()).map(Path::to_owned)
}

/// The message of a program at a limit that does not end it.
fn at_limit(lower: &str, limits: &ResourceLimits) -> Option<SandboxRefusal> {
    let says = |complaints: &[&str]| complaints.iter().any(|complaint| lower.contains(complaint));
    let is_about_processes = says(&["fork", "thread", "spawn"]);
    if says(&["resource temporarily unavailable", "can't start new thread"]) && is_about_processes {
        of_limit(KillReason::Processes, limits)
    } else if says(&["file too large", "file size limit exceeded", "efbig"]) {
        of_limit(KillReason::Disk, limits)
    } else if says(&MEMORY_COMPLAINTS) {
        of_limit(KillReason::Memory, limits)
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
        let limits = ResourceLimits { memory: 64 << 20, ..ResourceLimits::default() };
        assert_eq!(
            of_limit(KillReason::Memory, &limits).unwrap().to_string(),
            "the sandbox refused more memory: at most 64 MiB; `sandbox.memory` in the settings allows more"
        );
        let more = "; `sandbox.processes` in the settings allows more";
        assert!(found("sh: 1: Cannot fork: Resource temporarily unavailable")[0].ends_with(more));
        let more = "; `sandbox.memory` in the settings allows more";
        assert!(found("Traceback (most recent call last):\n  File \"x.py\"\nMemoryError")[0].ends_with(more));
        let more = "; `sandbox.disk` in the settings allows more";
        assert!(found("dd: error writing 'big': File too large")[0].ends_with(more));
        assert_eq!(of_limit(KillReason::Time, &limits), None);
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
    fn a_guarded_file_that_is_busy_is_told_also_by_a_program_that_goes_on() {
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(project.path().join(".git")).unwrap();
        let policy = Policy::strict(project.path());
        for line in [
            "error: could not write config file .git/config: Device or resource busy",
            "error: unable to unlink old '.envrc': Device or resource busy",
            "mv: cannot move '.git' to 'x': Device or resource busy",
            "error: could not write config file further/down/.git/config: Device or resource busy",
            "Error: EBUSY: resource busy or locked, rename 'x' -> '.envrc'",
        ] {
            let told = read_from(line, &policy);
            assert!(told.len() == 1 && told[0].rule.starts_with("it would run later"), "{line}: {told:?}");
            assert_eq!(read_in_passing(line, &policy), told, "{line}");
        }
        for line in [
            "docs/notes.md:3: it says \"Device or resource busy\"",
            "sh: 1: cannot create .git/hooks/x: Read-only file system",
            "umount: /mnt: Device or resource busy",
            "cat: /etc/shadow: No such file or directory",
        ] {
            assert_eq!(read_in_passing(line, &policy), [], "{line}");
        }
        assert_eq!(read_from("umount: /mnt: Device or resource busy", &policy), []);
    }

    #[test]
    fn a_new_file_in_a_folder_outside_names_the_folder_whatever_program_wanted_to_make_it() {
        let (folder, home) = (tempfile::tempdir_in("/var").unwrap(), tempfile::tempdir().unwrap());
        let policy = Policy { home: home.path().to_owned(), ..Policy::strict("/srv/project") };
        std::fs::create_dir(home.path().join("other")).unwrap();
        std::fs::write(folder.path().join("there"), "").unwrap();
        for folder in [folder.path().to_owned(), home.path().join("other")] {
            let new = format!("{}/new", folder.display());
            for line in [
                format!("touch: cannot touch '{new}': No such file or directory"),
                format!("cp: cannot create regular file '{new}': No such file or directory"),
                format!("tee: {new}: No such file or directory"),
                format!("mkdir: cannot create directory ‘{new}’: No such file or directory"),
                format!("FileNotFoundError: [Errno 2] No such file or directory: '{new}'"),
                format!("PermissionError: [Errno 13] Permission denied: '{new}'"),
                format!("bash: line 1: {new}: No such file or directory"),
                format!("Error: ENOENT: no such file or directory, open '{new}'"),
                format!("open {new}: no such file or directory"),
            ] {
                let told: Vec<_> = read_from(&line, &policy).into_iter().map(|one| one.grant).collect();
                assert_eq!(told, [Some(Grant::Write(folder.clone()))], "{line}");
            }
            for line in [
                format!("cat: {new}: No such file or directory"),
                format!("head: cannot open '{new}' for reading: No such file or directory"),
                format!("python3: can't open file '{new}': [Errno 2] No such file or directory"),
                format!("ls: cannot access '{new}': No such file or directory"),
                format!("touch: cannot touch '{new}/x': No such file or directory"),
                format!("bash: line 1: {new}/x: No such file or directory"),
            ] {
                assert_eq!(read_from(&line, &policy), [], "{line}");
            }
        }
        // The file exists and can be read or written; the message says which was tried.
        let there = folder.path().join("there");
        let touch = format!("touch: cannot touch '{}': No such file or directory", there.display());
        assert_eq!(read_from(&touch, &policy)[0].denied, RefusalKind::Write);
        let open = format!("FileNotFoundError: [Errno 2] No such file or directory: '{}'", there.display());
        assert_eq!(read_from(&open, &policy)[0].grant, Some(Grant::Read(there)));
        // The private folders exist.
        let own = format!("bash: line 1: {}/new: No such file or directory", home.path().display());
        assert_eq!(read_from(&own, &policy), []);
        assert_eq!(read_from("bash: line 1: /srv/project/x/y: No such file or directory", &policy), []);
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
            ["the sandbox refused writing `/srv/project/.git/config`: it would run later, outside the sandbox, so \
                 commands may only read it; `write_file` can change it, after asking the user"]
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
