//! MCP servers of other tools. Keys become variables, and what a file grants its servers is not taken over.

use std::path::Path;

use serde_json::{Map, Value, json};
use updraft_engine::read_yaml;
use updraft_mcp::config::{ConfigFormat, ServerFile, WrittenServer, document, read_theirs};

use super::collector::ImportCollector;
use super::{ImportContent, ImportFate, ImportKind};
use crate::servers::{ServerListFile, cut_off, format_of, is_list};

pub(super) fn collect(found: &mut ImportCollector, path: &str) {
    let Some(mut whole) = read(found, path) else { return };
    // Claude keeps servers for single folders, too.
    if let Some(fields) = whole.as_object_mut() {
        fields.remove("projects");
    }
    if !names_servers(&whole) {
        return;
    }
    collect_from(found, path, &whole, &[]);
}

/// The servers that Claude has for this workspace alone.
pub(super) fn collect_of_project(found: &mut ImportCollector, path: &str) {
    let known = found.items.len();
    let read = read(found, path);
    // A file that cannot be read is said where its servers for all folders are looked for.
    found.items.truncate(known);
    let Some(whole) = read else { return };
    let project = &whole["projects"][found.place.workspace.display().to_string()];
    if !project["mcpServers"].is_object() {
        return;
    }
    let mut elsewhere: Vec<String> = whole["mcpServers"].as_object().into_iter().flat_map(Map::keys).cloned().collect();
    if let Ok(own) = ServerListFile::read(&found.place.own_servers) {
        let names = project["mcpServers"].as_object().into_iter().flat_map(Map::keys);
        elsewhere.extend(names.filter(|name| own.has(name)).cloned());
    }
    let whole = json!({"mcpServers": project["mcpServers"], "disabledMcpServers": project["disabledMcpServers"]});
    collect_from(found, path, &whole, &elsewhere);
}

/// The content of a file; `None` if there is none, or if it is left out.
fn read(found: &mut ImportCollector, path: &str) -> Option<Value> {
    let (from, kind) = (found.place.root.join(path), ImportKind::Server);
    let text = found.text(kind, &from)?;
    match whole(&text, &from) {
        Ok(whole) => Some(whole),
        Err(why) => {
            found.leave_out(kind, path, &from, why);
            None
        }
    }
}

/// Takes the servers of a file, except those whose names others have that count instead.
fn collect_from(found: &mut ImportCollector, path: &str, whole: &Value, elsewhere: &[String]) {
    let (from, kind) = (found.place.root.join(path), ImportKind::Server);
    let shown = from.display().to_string();
    let ServerFile { servers, faults, left } = read_theirs(&whole.to_string(), ConfigFormat::Json, &shown);
    for fault in faults {
        let field = fault.field.map(|field| format!("`{field}`: ")).unwrap_or_default();
        found.leave_out(kind, fault.server.as_deref().unwrap_or(path), &from, format!("{field}{}", fault.what));
    }
    let is_used = found.place.documents.is_some() && is_list(path);
    for (name, server) in servers {
        if is_used {
            let fate = ImportFate::Used("it is used where it is named, once the workspace is trusted".to_owned());
            found.add(kind, &name, &from, fate);
            continue;
        }
        if elsewhere.contains(&name) {
            let why = "a server of this name for all folders counts instead; rename one of them";
            found.leave_out(kind, &name, &from, why);
            continue;
        }
        let fields = left.iter().filter(|(of, _)| *of == name).flat_map(|(_, fields)| fields.clone()).collect();
        take(found, &name, &from, server.without_inputs(), fields);
    }
}

fn take(found: &mut ImportCollector, name: &str, from: &Path, server: WrittenServer, mut unused: Vec<String>) {
    let kind = ImportKind::Server;
    if let Some((field, what)) = server.fault(name) {
        found.leave_out(kind, name, from, format!("`{field}`: {what}"));
        return;
    }
    let (mut server, keys) = server.without_keys(name);
    let mut remarks = Vec::new();
    if !keys.is_empty() {
        remarks.push(format!("its keys are not copied; they are read from the environment: {}", keys.join(", ")));
    }
    if let Some(file) = server.env_file.take() {
        remarks.push(format!("its `envFile` {file} is not read; write its variables into `env`"));
    }
    // Whoever wrote the file cannot grant anything here.
    unused.extend(std::mem::take(&mut server.trust).then(|| "`trustHints`".to_owned()));
    unused.extend(server.sandbox.take().map(|_| "`sandbox`".to_owned()));
    unused.extend(server.sampling.take().map(|_| "`sampling`".to_owned()));
    server.unused = Vec::new();
    if !unused.is_empty() {
        remarks.push(format!("not imported: {}", unused.join(", ")));
    }
    if !server.enabled {
        remarks.push("it is disabled, as in that file".to_owned());
    }
    remarks.extend(cut_off(server.command.iter().chain(&server.args).map(String::as_str)));
    let to = found.place.servers.clone();
    let fate = match ServerListFile::read(&to) {
        Err(fault) => Some(ImportFate::LeftOut(fault.message)),
        Ok(list) => list.entry(name).map(|entry| {
            if plain(entry) == plain(&json!(server)) {
                return ImportFate::Present(to.clone());
            }
            ImportFate::LeftOut(format!("`{}` has another server of this name", to.display()))
        }),
    };
    let content = ImportContent::Server(Box::new(server));
    found.take(kind, name, from, to, content, fate).remarks = remarks;
}

/// An entry without its name, which a list of servers has inside.
fn plain(entry: &Value) -> Value {
    let mut entry = entry.clone();
    if let Some(fields) = entry.as_object_mut() {
        fields.remove("name");
    }
    entry
}

/// A file as it is written, in the form of JSON.
fn whole(text: &str, file: &Path) -> Result<Value, String> {
    if file.extension().is_some_and(|end| end == "yaml") {
        read_yaml(text).map(|whole| goose_servers(&whole))
    } else {
        document(text, format_of(file))
    }
}

fn names_servers(whole: &Value) -> bool {
    let is_table = |value: &Value| value.is_object() || value.is_array();
    // Gemini has settings for all servers under `mcp`, opencode the servers themselves.
    let has_entries = |value: &Value| value.as_object().is_some_and(|table| table.values().any(Value::is_object));
    let is_named = ["mcpServers", "mcp_servers", "servers"].iter().any(|name| is_table(&whole[*name]));
    whole.is_array() || is_named || has_entries(&whole["mcp"])
}

/// Goose calls servers extensions, and has some built in.
fn goose_servers(whole: &Value) -> Value {
    let extensions = whole["extensions"].as_object().cloned().unwrap_or_default();
    let mut servers = Map::new();
    for (name, extension) in extensions {
        let text = |key: &str| extension[key].as_str().map(str::to_owned);
        if !matches!(extension["type"].as_str(), Some("stdio" | "sse" | "streamable_http")) {
            continue;
        }
        let mut env = extension["envs"].as_object().cloned().unwrap_or_default();
        for key in extension["env_keys"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            env.entry(key).or_insert_with(|| format!("${{{key}}}").into());
        }
        let mut server = Map::new();
        let enabled = extension["enabled"].as_bool().or_else(|| Some(extension["enabled"].as_str()? != "false"));
        server.insert("enabled".into(), enabled.unwrap_or(true).into());
        if let Some(command) = text("cmd") {
            server.insert("command".into(), command.into());
            let args = extension["args"].as_array().into_iter().flatten();
            let args = args.map(|arg| arg.as_str().map_or_else(|| arg.to_string(), str::to_owned));
            server.insert("args".into(), args.collect::<Vec<_>>().into());
        }
        if let Some(url) = text("uri") {
            server.insert("url".into(), url.into());
            server.insert("type".into(), if extension["type"] == "sse" { "sse" } else { "http" }.into());
            server.insert("headers".into(), extension["headers"].as_object().cloned().unwrap_or_default().into());
        }
        if !env.is_empty() {
            server.insert("env".into(), env.into());
        }
        servers.insert(name, server.into());
    }
    json!({ "mcpServers": servers })
}
