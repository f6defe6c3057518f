//! `updraft trust`: trusts a workspace's files, after showing them.

use std::path::Path;

use updraft_mcp::config::WrittenServer;
use updraft_run::DOCUMENTS;

use crate::args::TrustArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::settings::{TrustedWorkspaces, too_much};
use crate::{folders, out, servers, view};

/// Most files that are listed.
const MOST_SHOWN: usize = 5_000;

pub(crate) fn run(folders: &AppFolders, args: &TrustArgs) -> CliResult {
    let workspace = folders::workspace(args.dir.as_deref())?;
    let shown = workspace.display();
    let trusted = TrustedWorkspaces::load(folders);
    if args.remove {
        let was = trusted.remove(&workspace)?;
        out::note(&if was { format!("{shown} is no longer trusted") } else { format!("{shown} was not trusted") });
        return Ok(CliExitCode::Done);
    }
    let counted = trusted.what_counts(&workspace);
    if trusted.is_as_trusted(&workspace, &counted) {
        out::note(&format!("{shown} is trusted already, and has not changed"));
        return Ok(CliExitCode::Done);
    }
    if let Err(folder) = &counted.hash {
        return Err(too_much(folder).into());
    }
    out::line(&format!("If you trust {shown}, agents follow these files as your own:"));
    for file in counted.files.iter().take(MOST_SHOWN) {
        out::line(&format!("  {}", out::harmless(&file.to_string_lossy())));
    }
    // What a run writes to them is tracked, so that they may change.
    let documents: Vec<&str> = DOCUMENTS.into_iter().filter(|name| workspace.join(name).exists()).collect();
    for name in &documents {
        out::line(&format!("  {name}, also after it changes"));
    }
    match counted.files.len() {
        0 if documents.is_empty() => out::line("  nothing yet"),
        number if number > MOST_SHOWN => {
            let last = counted.files.last().map(|file| file.to_string_lossy().into_owned()).unwrap_or_default();
            out::line(&format!("  and {} more, up to {}", number - MOST_SHOWN, out::harmless(&last)));
        }
        _ => {}
    }
    for line in servers_of(&workspace) {
        out::line(&out::harmless(&line));
    }
    if !args.yes {
        if !out::can_ask() {
            return Err(CliError::new(CliExitCode::NeedsPerson, "confirmation needed, but there is no terminal")
                .hint("look at the files, then `updraft trust --yes`"));
        }
        if !view::confirm("Trust this workspace as it is now?") {
            out::note("nothing changed");
            return Ok(CliExitCode::Failed);
        }
    }
    trusted.add(&workspace, &counted)?;
    out::note(&format!("{shown} is trusted until one of these files changes"));
    Ok(CliExitCode::Done)
}

/// The MCP servers that the workspace names: what is started, and what it is given.
fn servers_of(workspace: &Path) -> Vec<String> {
    let sources = servers::of_workspace(workspace).0;
    let named = sources.iter().flat_map(|source| source.written().into_iter().map(move |one| (source, one)));
    let mut lines: Vec<String> = Vec::new();
    for (source, (name, server)) in named {
        let place = source.file.as_ref().and_then(|file| file.strip_prefix(workspace).ok());
        let place = place.map_or_else(|| source.shown.clone(), |file| file.display().to_string());
        lines.push(format!("  MCP server `{name}` ({place}): {}", reached(&server)));
        lines.extend(given(&server).map(|given| format!("    with {given}")));
    }
    if !lines.is_empty() {
        lines.insert(0, "These would be started or reached for runs in it:".to_owned());
    }
    lines
}

/// What is started, or the address.
pub(super) fn reached(server: &WrittenServer) -> String {
    match (&server.command, &server.url) {
        (Some(command), _) => std::iter::once(command).chain(&server.args).cloned().collect::<Vec<_>>().join(" "),
        (None, Some(url)) => url.clone(),
        (None, None) => "nothing".to_owned(),
    }
}

/// What a server gets beyond the default sandbox.
pub(super) fn given(server: &WrittenServer) -> Option<String> {
    let mut parts = Vec::new();
    let mut add = |what: &str, names: Vec<String>| {
        if !names.is_empty() {
            parts.push(format!("{what} {}", names.join(", ")));
        }
    };
    add("the variables", server.env.keys().cloned().collect());
    add("the headers", server.headers.keys().cloned().collect());
    let grants = server.sandbox.clone().unwrap_or_default();
    add("network", grants.network.into_iter().collect());
    add("reading", grants.read);
    add("writing", grants.write);
    if server.trust {
        parts.push("its hints believed".to_owned());
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
