//! MCP servers of other tools. Keys become variables, and what a file grants its servers is not taken over.

use std::path::Path;

use serde_json::{Map, Value, json};
use updraft_engine::read_yaml;
use updraft_mcp::config::{ConfigFormat, ServerFile, WrittenServer, document, read_theirs};

use super::collector::ImportCollector;
use super::{ImportContent, ImportFate, ImportKind};
use crate::servers::{ServerListFile, cut_off, format_of, is_list};

pub(super) fn collect(found: &mut ImportCollector, path: &str) {
    let (from, kind) = (found.place.root.join(path), ImportKind::Server);
    let Some(text) = found.text(kind, &from) else { return };
    let whole = match whole(&text, &from) {
        Ok(whole) => whole,
        Err(why) => {
            found.leave_out(kind, path, &from, why);
            return;
        }
    };
    let whole = of_this_workspace(whole, &found.place.workspace);
    if !names_servers(&whole) {
        return;
    }
    let shown = from.display().to_string();
    let ServerFile { servers, faults, left } = read_theirs(&whole.to_string(), ConfigFormat::Json, &shown);
    for fault in faults {
        found.leave_out(kind, fault.server.as_deref().unwrap_or(path), &from, fault.what);
    }
    let is_used = found.place.documents.is_some() && is_list(path);
    for (name, server) in servers {
        if is_used {
            let fate = ImportFate::Used("it is used where it is named, once the workspace is trusted".to_owned());
            found.add(kind, &name, &from, fate);
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

/// Claude keeps servers for each project, too: those of this workspace count, others are for other folders.
fn of_this_workspace(mut whole: Value, workspace: &Path) -> Value {
    let project = whole["projects"][workspace.display().to_string()]["mcpServers"].as_object().cloned();
    if let Some(fields) = whole.as_object_mut()
        && fields.remove("projects").is_some()
    {
        let servers = fields.entry("mcpServers").or_insert_with(|| Value::Object(Map::new()));
        if let (Some(servers), Some(project)) = (servers.as_object_mut(), project) {
            servers.extend(project);
        }
    }
    whole
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
