//! Where a server's process is started, and what keeps it from taking code that others put there.

use std::io;
use std::path::{Path, PathBuf};

use updraft_sandbox::Policy;

use super::host::Host;
use crate::config::{Link, Secret, ServerConfig};

/// Python leaves the folder that it is started in out of where it looks for modules.
const SAFE_PATH: &str = "PYTHONSAFEPATH";

/// Where a process is started, and with what.
pub(super) struct Whence {
    pub(super) folder: PathBuf,
    /// That folder belongs to it alone.
    is_apart: bool,
    /// Modules that lie where it is started are not its own.
    is_safe_path: bool,
}

impl Whence {
    /// What an entry says about the folder counts. Else a server of the user's own takes nothing from the workspace of a
    /// stranger, and as little as can be from any other.
    pub(super) fn of(host: &Host, config: &ServerConfig) -> Self {
        let workspace = || host.workspace.clone();
        let Link::Stdio { command, args, env, cwd } = &config.link else {
            return Self { folder: workspace(), is_apart: false, is_safe_path: false };
        };
        let apart = host.private_for(&config.name, "d").filter(|_| host.is_apart && cwd.is_none());
        let is_apart = apart.is_some();
        let named = || cwd.as_ref().map_or_else(workspace, |cwd| host.workspace.join(cwd));
        Self {
            folder: apart.unwrap_or_else(named),
            is_apart,
            is_safe_path: !config.of_workspace
                && cwd.is_none()
                && !env.contains_key(SAFE_PATH)
                && looks_where_it_is(command, args),
        }
    }

    /// Makes its folders, and lets it use them.
    pub(super) fn prepare(&self, policy: &mut Policy, variables: &mut Vec<(String, String)>) -> io::Result<()> {
        if self.is_apart {
            std::fs::create_dir_all(&self.folder)?;
            policy.write.push(self.folder.clone());
        }
        if self.is_safe_path {
            variables.retain(|(known, _)| known != SAFE_PATH);
            variables.push((SAFE_PATH.to_owned(), "1".to_owned()));
            policy.environment.push(SAFE_PATH.to_owned());
        }
        Ok(())
    }

    /// What may help one that failed here with these last words.
    pub(super) fn hint(&self, complaint: &str) -> &'static str {
        if self.is_apart {
            "; it was started in a folder of its own, since this workspace is not trusted: `updraft trust` changes that, \
             and so does \"cwd\": \"${workspaceFolder}\" in its entry"
        } else if self.is_safe_path && complaint.contains("No module named") {
            "; modules in the workspace are not looked for, unless its entry has \"cwd\": \"${workspaceFolder}\""
        } else {
            ""
        }
    }
}

/// Whether this starts Python in a way that takes modules from the folder it is started in: `-m` and `-c`.
fn looks_where_it_is(command: &str, args: &[Secret]) -> bool {
    let program = Path::new(command).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !program.starts_with("python") && !program.starts_with("pypy") {
        return false;
    }
    let mut args = args.iter().map(Secret::reveal);
    while let Some(arg) = args.next() {
        let Some(letters) = arg.strip_prefix('-').filter(|letters| !letters.is_empty()) else { return arg == "-" };
        // A long option, or one with a value of its own.
        let own = letters.find(['X', 'W', '-']);
        if letters[..own.unwrap_or(letters.len())].contains(['m', 'c']) {
            return true;
        }
        if own.is_some_and(|at| at + 1 == letters.len()) && !letters.starts_with('-') {
            args.next();
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_takes_modules_from_where_it_is_unless_it_is_given_a_file() {
        let judge = |words: &str| {
            let mut words = words.split(' ');
            let command = words.next().unwrap();
            looks_where_it_is(command, &words.map(Secret::new).collect::<Vec<_>>())
        };
        for words in ["python -m x", "/usr/bin/python3.12 -u -X dev -m x", "python -um x", "python3 -c x", "python -"] {
            assert!(judge(words), "{words}");
        }
        for words in ["python x.py", "python3 -u x.py -m", "python -W ignore x.py", "node -m x", "uvx -m"] {
            assert!(!judge(words), "{words}");
        }
    }
}
