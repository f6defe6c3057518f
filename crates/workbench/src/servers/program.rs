//! The files that a workspace's MCP server is started from. Whoever trusts the workspace trusts these as they are; what
//! they import or start is not looked at.

use std::path::{Path, PathBuf};

use updraft_mcp::config::{Secret, ServerConfig, TransportConfig, program_of};

use crate::places;

/// Programs that run a file they are given.
const INTERPRETERS: [&str; 20] = [
    "sh", "bash", "zsh", "dash", "env", "python", "pypy", "uv", "node", "npx", "bun", "deno", "tsx", "ts-node", "ruby",
    "perl", "php", "lua", "java", "Rscript",
];

/// The program that the command names, and for an interpreter the files among its arguments.
pub(crate) fn program_files(server: &ServerConfig, workspace: &Path) -> Vec<PathBuf> {
    let TransportConfig::Stdio { command, args, cwd, .. } = &server.link else { return Vec::new() };
    let folder = cwd.as_ref().map_or_else(|| workspace.to_owned(), |cwd| workspace.join(cwd));
    let program = if command.contains('/') { Some(folder.join(command)) } else { places::on_path(command) };
    let takes_files = INTERPRETERS.contains(&program_of(command));
    let given = args.iter().filter(|_| takes_files).map(|arg| folder.join(Secret::reveal(arg)));
    // By where they really lie: a virtual environment's Python is the system's.
    let real = program.into_iter().chain(given).filter_map(|file| file.canonicalize().ok());
    real.filter(|file| file.is_file()).collect()
}
