//! What is said about servers of the user's own that mean the workspace and are not started there, since it is a stranger's.

use std::path::Path;

use updraft_mcp::config::{Secret, ServerConfig, TransportConfig};

/// A remark about a server whose command line names something in the workspace without saying so; none about others.
pub(super) fn remark(server: &ServerConfig, workspace: &Path) -> Option<String> {
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

/// Whether a word means something in the folder that a program is started in.
fn means(word: &str, workspace: &Path) -> bool {
    let is_path = !word.is_empty() && !word.starts_with(['-', '/']);
    is_path && (matches!(word, "." | "..") || word.starts_with("./") || workspace.join(word).exists())
}
