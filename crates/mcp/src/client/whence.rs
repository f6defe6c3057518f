//! Where a server's process is started, and what keeps it from taking code that others put there.

use std::io;
use std::path::PathBuf;

use updraft_sandbox::Policy;

use super::host::McpHost;
use crate::config::{Secret, ServerConfig, TransportConfig, program_of};

/// Python leaves the folder that it is started in out of where it looks for modules.
const SAFE_PATH: &str = "PYTHONSAFEPATH";

/// Where a process is started, and with what.
pub(super) struct LaunchLocation {
    pub(super) folder: PathBuf,
    /// That folder belongs to it alone.
    is_apart: bool,
    /// Modules that lie where it is started are not its own.
    is_safe_path: bool,
}

impl LaunchLocation {
    /// What an entry says about the folder counts. Else a server of the user's own takes nothing from the workspace of a
    /// stranger, and as little as can be from any other.
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
