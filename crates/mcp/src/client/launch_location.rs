//! The folder in which a server's process is started, and the protection against code that others put there.

use std::io;
use std::path::PathBuf;

use updraft_sandbox::Policy;

use super::host::McpHost;
use crate::config::{Secret, ServerConfig, TransportConfig, program_of};

/// With this variable, Python does not load modules from the folder it is started in.
const SAFE_PATH: &str = "PYTHONSAFEPATH";

/// The folder in which a process is started, and how it is protected.
pub(super) struct LaunchLocation {
    pub(super) folder: PathBuf,
    /// Whether the folder is private to the process.
    is_apart: bool,
    /// Whether modules in that folder must not be loaded.
    is_safe_path: bool,
}

impl LaunchLocation {
    /// If the entry names a folder, that is used. Otherwise a server of the user's own loads no code from an untrusted
    /// workspace, and as little as possible from any other.
    pub(super) fn of(host: &McpHost, config: &ServerConfig) -> Self {
        let workspace = || host.workspace.clone();
        let TransportConfig::Stdio { command, args, env, cwd } = &config.link else {
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

    /// Creates the folder, and allows the process to use it.
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

    /// A hint for a server that failed here with this error output.
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

/// Whether this starts Python with `-m` or `-c`, so that it loads modules from the folder it is started in.
fn looks_where_it_is(command: &str, args: &[Secret]) -> bool {
    let is_python = matches!(program_of(command), "python" | "pypy");
    let mut options = args.iter().map(Secret::reveal).take_while(|arg| arg.starts_with('-'));
    is_python && options.any(|option| matches!(option, "-m" | "-c"))
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
        for words in ["python -m x", "/usr/bin/python3.12 -u -m x", "python3 -c x"] {
            assert!(judge(words), "{words}");
        }
        for words in ["python x.py", "python3 -u x.py -m", "node -m x", "uvx -m"] {
            assert!(!judge(words), "{words}");
        }
    }
}
