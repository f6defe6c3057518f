//! `updraft mcp resources`, `read`, `prompts` and `prompt`: shows resources and prompts of servers.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use updraft_mcp::{Error, Server, Servers};

use super::chosen_servers;
use crate::args::{McpCheck, McpPrompt, McpRead, WorkspaceFlags};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::out;

pub(super) async fn resources(folders: &AppFolders, args: &McpCheck) -> CliResult {
    let servers = open(folders, &args.place).await?;
    let mut worst = CliExitCode::Done;
    for server in named(&servers, args.name.as_deref())? {
        let name = &server.config().name;
        match server.resources().await {
            Ok(all) => {
                for one in all {
                    if args.place.json {
                        out::json(&json!({"server": name, "uri": one.uri, "name": one.name, "about": one.about}));
                    } else {
                        say(&[name, &one.uri, &one.name, &one.about]);
                    }
                }
            }
            Err(error) => worst = complain(name, &error, args.name.is_some()).unwrap_or(worst),
        }
    }
    servers.close().await;
    Ok(worst)
}

pub(super) async fn prompts(folders: &AppFolders, args: &McpCheck) -> CliResult {
    let servers = open(folders, &args.place).await?;
    let mut worst = CliExitCode::Done;
    for server in named(&servers, args.name.as_deref())? {
        let name = &server.config().name;
        match server.prompts().await {
            Ok(all) => {
                for (prompt, about) in all {
                    if args.place.json {
                        out::json(&json!({"server": name, "name": prompt, "about": about}));
                    } else {
                        say(&[name, &prompt, &about]);
                    }
                }
            }
            Err(error) => worst = complain(name, &error, args.name.is_some()).unwrap_or(worst),
        }
    }
    servers.close().await;
    Ok(worst)
}

pub(super) async fn read(folders: &AppFolders, args: &McpRead) -> CliResult {
    let servers = open(folders, &args.place).await?;
    let read = one(&servers, &args.server)?.read(&args.uri).await;
    servers.close().await;
    let text = read.map_err(|error| failed(&args.server, &error))?;
    if args.place.json {
        out::json(&json!({"server": args.server, "uri": args.uri, "text": text}));
    } else {
        out::answer(&out::harmless(&text));
    }
    Ok(CliExitCode::Done)
}

pub(super) async fn prompt(folders: &AppFolders, args: &McpPrompt) -> CliResult {
    let pair = |text: &String| {
        let (name, value) =
            text.split_once('=').ok_or_else(|| CliError::usage(format!("`{text}`: expected NAME=VALUE")))?;
        Ok((name.to_owned(), Value::from(value)))
    };
    let arguments: Map<String, Value> = args.arguments.iter().map(pair).collect::<Result<_, CliError>>()?;
    let servers = open(folders, &args.place).await?;
    let filled = one(&servers, &args.server)?.prompt(&args.name, arguments).await;
    servers.close().await;
    for (role, words) in filled.map_err(|error| failed(&args.server, &error))? {
        if args.place.json {
            out::json(&json!({"role": role, "text": words}));
        } else {
            out::line(&out::harmless(&format!("{role}: {words}")));
        }
    }
    Ok(CliExitCode::Done)
}

async fn open(folders: &AppFolders, place: &WorkspaceFlags) -> Result<Servers, CliError> {
    let (found, settings, workspace) = chosen_servers(folders, place)?;
    Ok(found.servers(folders, &settings, &workspace).await?)
}

fn one<'a>(servers: &'a Servers, name: &str) -> Result<&'a Arc<Server>, CliError> {
    servers.get(name).map_err(|error| CliError::usage(error.to_string()))
}

fn named<'a>(servers: &'a Servers, name: Option<&str>) -> Result<Vec<&'a Arc<Server>>, CliError> {
    match name {
        Some(name) => Ok(vec![one(servers, name)?]),
        None => Ok(servers.iter().collect()),
    }
}

fn say(parts: &[&str]) {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    out::line(&out::harmless(&parts.join("  ")));
}

fn failed(server: &str, error: &Error) -> CliError {
    CliError::failed(out::harmless(&format!("MCP server `{server}`: {error}")))
}

/// Reports an error of a server. A server without resources or prompts is not an error, unless it was named.
fn complain(name: &str, error: &Error, is_meant: bool) -> Option<CliExitCode> {
    if matches!(error, Error::Refused { .. }) && !is_meant {
        return None;
    }
    out::note(&out::harmless(&format!("{name}: {error}")));
    Some(CliExitCode::Failed)
}
