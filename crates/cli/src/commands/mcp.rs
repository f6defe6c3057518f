//! `updraft mcp`: lists, checks, adds, removes and imports MCP servers; or runs as one.

mod edit;
mod login;
mod resources;
mod serve;
mod trust;

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;
use updraft_mcp::config::{Secret, ServerConfig, TransportConfig};
use updraft_mcp::{Error, Manifest, Server};
use updraft_sandbox::Network;
use updraft_workbench::Flags;

use crate::args::{McpArgs, McpCheck, McpCommand, WorkspaceFlags};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::runtime;
use crate::servers::{ConfiguredServers, configured, cut_off, slow_start, trusted_descriptions};
use crate::settings::WorkspaceSettings;

pub(crate) fn run(folders: &AppFolders, args: McpArgs) -> CliResult {
    match args.command {
        McpCommand::List(args) => runtime::block_on(list(folders, &args)),
        McpCommand::Check(args) => runtime::block_on(check(folders, &args)),
        McpCommand::Add(args) => edit::add(folders, *args),
        McpCommand::Remove(args) => edit::remove(folders, &args.name),
        McpCommand::Import(args) => edit::import(folders, &args.file),
        McpCommand::Logout(args) => login::logout(folders, &args.name),
        McpCommand::Login(args) => runtime::block_on(login::login(folders, &args)),
        McpCommand::Trust(args) => runtime::block_on(trust::vouch(folders, &args)),
        McpCommand::Resources(args) => runtime::block_on(resources::resources(folders, &args)),
        McpCommand::Read(args) => runtime::block_on(resources::read(folders, &args)),
        McpCommand::Prompts(args) => runtime::block_on(resources::prompts(folders, &args)),
        McpCommand::Prompt(args) => runtime::block_on(resources::prompt(folders, &args)),
        McpCommand::Serve(args) => runtime::block_on(serve::begin(folders, *args)),
    }
}

/// The servers configured for the workspace, and what is ignored there.
fn chosen_servers(
    folders: &AppFolders,
    place: &WorkspaceFlags,
) -> Result<(ConfiguredServers, WorkspaceSettings, std::path::PathBuf), CliError> {
    let workspace = folders::workspace(place.workspace.as_deref())?;
    let settings = WorkspaceSettings::load(folders, &workspace, &Flags::default())?;
    let found = configured(folders, &settings, &workspace);
    for fault in &found.faults {
        out::note(&format!("warning: {fault}"));
    }
    for remark in &found.apart {
        out::note(&out::harmless(remark));
    }
    if let Some(remark) = settings.notice() {
        out::note(&remark);
    }
    Ok((found, settings, workspace))
}

async fn list(folders: &AppFolders, args: &WorkspaceFlags) -> CliResult {
    let (found, settings, workspace) = chosen_servers(folders, args)?;
    let servers = found.servers(folders, &settings, &workspace).await?;
    if found.servers.is_empty() && !args.json {
        out::note(
            "no MCP servers are configured\n  hint: `updraft mcp add NAME -- COMMAND` or `updraft mcp import FILE`",
        );
    }
    let paint = Paint::for_stdout();
    let mut text = String::new();
    for (config, file) in &found.servers {
        let known = servers.get(&config.name).ok().and_then(|server| server.manifest());
        if args.json {
            let line = json!({"name": config.name, "enabled": config.enabled, "link": config.shown, "file": file,
                              "revision": known.as_ref().map(|known| known.revision.clone()),
                              "tools": known.as_ref().map(|known| known.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>())});
            let _ = writeln!(text, "{line}");
        } else {
            let state = if config.enabled { words(known.as_deref()) } else { "switched off".to_owned() };
            let _ = writeln!(text, "{}  {}", paint.bold(&config.name), out::harmless(&config.shown));
            let _ = writeln!(text, "  {}", paint.dim(&format!("{state}; {file}")));
        }
    }
    out::print(&text);
    servers.close().await;
    Ok(CliExitCode::Done)
}

fn words(known: Option<&Manifest>) -> String {
    match known {
        Some(known) => format!("{} tools, MCP {}", known.tools.len(), known.revision),
        None => "not started yet".to_owned(),
    }
}

async fn check(folders: &AppFolders, args: &McpCheck) -> CliResult {
    let (found, settings, workspace) = chosen_servers(folders, &args.place)?;
    let servers = found.servers(folders, &settings, &workspace).await?;
    if let Some(name) = &args.name {
        servers.get(name).map_err(|error| CliError::usage(error.to_string()))?;
    }
    let mut worst = if found.faults.is_empty() { CliExitCode::Done } else { CliExitCode::Config };
    for (server, checked) in slow_start::aloud(&servers, &out::tell(), servers.check(args.name.as_deref())).await {
        worst = if say(&server, &checked, args.place.json) { worst } else { CliExitCode::Failed };
        if let (Ok(known), false) = (&checked, args.place.json) {
            tell_trust(folders, server.config(), known);
        }
    }
    servers.close().await;
    Ok(worst)
}

/// Prints the result of checking one server. Returns false if it does not work.
fn say(server: &Server, checked: &Result<Arc<Manifest>, Error>, as_json: bool) -> bool {
    let name = &server.config().name;
    let misdeeds = server.health().misdeeds.words();
    let unused = &server.config().unused;
    if as_json {
        out::json(&match checked {
            Ok(known) => {
                json!({"name": name, "ok": true, "title": known.title, "revision": known.revision, "instructions": known.instructions,
                "tools": known.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>(),
                "left_out": known.faults(), "misdeeds": misdeeds, "unused": unused})
            }
            Err(error) => {
                json!({"name": name, "ok": false, "error": error.to_string(), "hint": advice(server.config(), error), "misdeeds": misdeeds,
                "unused": unused})
            }
        });
        return checked.is_ok();
    }
    match checked {
        Ok(known) => out::line(&format!("{name}: well; {}, {}", out::harmless(&known.title), words(Some(known)))),
        Err(error) => {
            out::line(&format!("{name}: {}", out::harmless(&error.to_string())));
            if let Some(advice) = advice(server.config(), error) {
                out::line(&format!("  hint: {}", out::harmless(&advice)));
            }
        }
    }
    let left_out = checked.iter().flat_map(|known| known.faults()).map(|what| format!("left out: {what}"));
    let unused = unused.iter().map(|what| format!("ignored in its entry: {what}"));
    for remark in misdeeds.into_iter().chain(left_out).chain(unused) {
        out::line(&format!("  {}", out::harmless(&remark)));
    }
    checked.is_ok()
}

/// Prints a hint about trust, if the user has not reviewed the server's descriptions of its tools.
fn tell_trust(folders: &AppFolders, server: &ServerConfig, known: &Manifest) {
    let name = &server.name;
    if !server.trusts_hints && !trusted_descriptions::seals(folders).contains(&known.seal(name)) {
        out::note(&format!(
            "  hint: `updraft mcp trust {name}` shows its tool descriptions and lets you trust them; until then, \
             calls that could send something are asked about"
        ));
    }
}

/// Advice for a server that does not work, if the error itself has none.
fn advice(server: &ServerConfig, error: &Error) -> Option<String> {
    if matches!(error, Error::Unfetched(_)) {
        return None;
    }
    let TransportConfig::Stdio { command, args, .. } = &server.link else { return None };
    let line = std::iter::once(command.as_str()).chain(args.iter().map(Secret::reveal));
    cut_off(line).filter(|_| server.grants.network == Network::None)
}
