//! Messages about the user's own servers whose arguments refer to the workspace, but which are not started there
//! because it is not trusted.

use std::path::Path;

use updraft_mcp::config::{Secret, ServerConfig, TransportConfig};

/// A message about a server whose command line uses a relative path in the workspace; `None` for other servers.
pub(super) fn notice(server: &ServerConfig, workspace: &Path) -> Option<String> {
    let TransportConfig::Stdio { command, args, cwd: None, .. } = &server.link else { return None };
    let program = command.contains('/').then_some(command.as_str());
    let mut words = program.into_iter().chain(args.iter().map(Secret::reveal));
    let named = words.find_map(|word| {
        let parts = [word, word.rsplit('=').next().unwrap_or_default()];
        parts.into_iter().find(|part| means(part, workspace))
    })?;
    let name = &server.name;
    Some(format!(
        "MCP server `{name}` is not started in this workspace, which is not trusted, so its `{named}` is not the workspace's\n  \
         hint: write ${{workspaceFolder}} for the workspace or \"cwd\": \"${{workspaceFolder}}\" in its entry, or look at the \
         files and `updraft trust`"
    ))
}

/// Whether an argument is a path in the folder that the program is started in.
fn means(word: &str, workspace: &Path) -> bool {
    let is_path = !word.is_empty() && !word.starts_with(['-', '/']);
    is_path && (matches!(word, "." | "..") || word.starts_with("./") || workspace.join(word).exists())
}
