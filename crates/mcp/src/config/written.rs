//! A server as it stands in a file: every field optional, variables not filled in, in any of the dialects in use.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Fault;

/// A server as it is written. What is written back is in the `mcpServers` shape, and holds no value of a variable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Written {
    /// `stdio`, `http`, `streamable-http` or `sse`; told by the other fields where it is missing.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The program of a server on pipes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables it is given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// A file of more variables. Nobody reads it: it is kept so that its absence can be named.
    #[serde(rename = "envFile", default, skip_serializing_if = "Option::is_none")]
    pub env_file: Option<String>,
    /// Where it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The address of a remote server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers that are sent to it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Whether it is used.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub enabled: bool,
    /// Seconds a start may take.
    #[serde(rename = "startSeconds", default, skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    /// Seconds a call may be silent.
    #[serde(rename = "callSeconds", default, skip_serializing_if = "Option::is_none")]
    pub call: Option<f64>,
    /// Seconds a call may take in all.
    #[serde(rename = "longestSeconds", default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<f64>,
    /// The tools that are offered; all of them where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools that are left out.
    #[serde(rename = "exceptTools", default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Whether its hints about its own tools are believed.
    #[serde(rename = "trustHints", default, skip_serializing_if = "is_not")]
    pub trust: bool,
    /// What its process may do beyond the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<WrittenGrants>,
    /// How one signs in there, where that is not found out by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<WrittenLogin>,
    /// Whether it may have models asked during runs: `true`, or the model that is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<WrittenSampling>,
}

/// Whether a server may have models asked, as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WrittenSampling {
    /// Yes, the agent's own; or no.
    Switch(bool),
    /// This model.
    Model(String),
}

/// What a server's process may do, as written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenGrants {
    /// `none`, `host`, or `allow:HOST,…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Folders and files it may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Folders it may write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
}

/// How one signs in, as written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WrittenLogin {
    /// The id of a client that was registered by hand.
    #[serde(rename = "clientId", default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Its secret.
    #[serde(rename = "clientSecret", default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// What is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// `authorization_code`, where a person signs in, or `client_credentials`, where the client is known by itself.
    #[serde(rename = "grantType", default, skip_serializing_if = "Option::is_none")]
    pub grant_type: Option<String>,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_true(flag: &bool) -> bool {
    *flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_not(flag: &bool) -> bool {
    !*flag
}

/// The servers of one file, each read by itself: one that is faulty does not hide the others.
pub(super) fn all_in(document: &Value, file: &str) -> (Vec<(String, Written)>, Vec<Fault>) {
    let mut read = (Vec::new(), Vec::new());
    let Some(entries) = entries(document) else {
        read.1.push(Fault::of_file(file, "expected `mcpServers`, `servers` or a list of servers"));
        return read;
    };
    for (name, entry) in entries {
        match written(entry) {
            Ok(server) => read.0.push((name, server)),
            Err((field, what)) => {
                read.1.push(Fault { file: file.to_owned(), server: Some(name), field, what });
            }
        }
    }
    read
}

/// The table of servers, wherever the dialect keeps it: Claude, Cursor and Gemini in `mcpServers`, VS Code in
/// `servers` (or below `mcp`), Codex in `mcp_servers`; or a list of servers that carry their names.
fn entries(document: &Value) -> Option<Vec<(String, &Value)>> {
    if let Some(list) = document.as_array() {
        let named = |(at, entry): (usize, &'_ Value)| {
            entry["name"].as_str().map_or_else(|| format!("number {}", at + 1), str::to_owned)
        };
        return Some(list.iter().enumerate().map(|(at, entry)| (named((at, entry)), entry)).collect());
    }
    let tables = [
        &document["mcpServers"],
        &document["mcp_servers"],
        &document["servers"],
        &document["mcp"]["servers"],
        &document["mcp"],
    ];
    if let Some(list) = tables.iter().find(|table| table.is_array()) {
        return entries(list);
    }
    let table = tables.into_iter().find_map(Value::as_object);
    let is_there = table.is_some() || document["projects"].is_object();
    let mut entries: Vec<_> = table.into_iter().flatten().map(|(name, entry)| (name.clone(), entry)).collect();
    // Claude keeps more of them for each project.
    let projects = document["projects"].as_object().into_iter().flat_map(Map::values);
    for (name, entry) in projects.filter_map(|project| project["mcpServers"].as_object()).flatten() {
        if !entries.iter().any(|(known, _)| known == name) {
            entries.push((name.clone(), entry));
        }
    }
    is_there.then_some(entries)
}

type Wrong = (Option<String>, String);

fn wrong<T>(field: &str, what: impl Into<String>) -> Result<T, Wrong> {
    Err((Some(field.to_owned()), what.into()))
}

/// One entry of any dialect.
fn written(entry: &Value) -> Result<Written, Wrong> {
    let Some(entry) = entry.as_object() else {
        return Err((None, "expected an object".to_owned()));
    };
    let mut fields = entry.clone();
    translate(&mut fields)?;
    let known = |name: &str| serde_json::to_value(every_field()).is_ok_and(|all| all.get(name).is_some());
    let mut server = Map::new();
    for (name, value) in fields {
        if !known(&name) {
            continue; // editors keep remarks of their own in these files
        }
        let mut alone = Map::new();
        alone.insert(name.clone(), value.clone());
        if let Err(error) = serde_json::from_value::<Written>(Value::Object(alone)) {
            return wrong(&name, error.to_string());
        }
        server.insert(name, value);
    }
    serde_json::from_value(Value::Object(server)).map_err(|error| (None, error.to_string()))
}

/// Other programs' names for the same things, turned into ours.
fn translate(fields: &mut Map<String, Value>) -> Result<(), Wrong> {
    let renamed = [
        ("transport", "type"),
        ("transportType", "type"),
        ("bearer_token_env_var", "bearer"),
        ("http_headers", "headers"),
        ("httpUrl", "url"),
        ("serverUrl", "url"),
        ("environment", "env"),
        ("workingDirectory", "cwd"),
        ("allowedTools", "tools"),
        ("includeTools", "tools"),
        ("enabled_tools", "tools"),
        ("allowed_tools", "tools"),
        ("excludeTools", "exceptTools"),
        ("disabled_tools", "exceptTools"),
        ("disabledTools", "exceptTools"),
        ("trust", "trustHints"),
        ("startup_timeout_sec", "startSeconds"),
        ("tool_timeout_sec", "callSeconds"),
    ];
    if fields.contains_key("httpUrl") {
        fields.entry("type").or_insert_with(|| "http".into());
    }
    for (theirs, ours) in renamed {
        if let Some(value) = fields.remove(theirs) {
            fields.entry(ours).or_insert(value);
        }
    }
    if let Some(disabled) = fields.remove("disabled") {
        let Some(disabled) = disabled.as_bool() else { return wrong("disabled", "expected true or false") };
        fields.entry("enabled").or_insert((!disabled).into());
    }
    if let Some(timeout) = fields.remove("timeout") {
        // Gemini and Claude count milliseconds here, Cline seconds; nobody means less than a second or half a day.
        let Some(number) = timeout.as_f64() else { return wrong("timeout", "expected a number") };
        fields.entry("callSeconds").or_insert((if number >= 1_000.0 { number / 1_000.0 } else { number }).into());
    }
    if let Some(variable) = fields.remove("bearer").as_ref().and_then(Value::as_str) {
        let headers = fields.entry("headers").or_insert_with(|| Value::Object(Map::new()));
        if let Some(headers) = headers.as_object_mut() {
            headers.entry("Authorization").or_insert_with(|| format!("Bearer ${{{variable}}}").into());
        }
    }
    forwarded(fields);
    split_command(fields);
    for table in ["env", "headers"] {
        text_values(fields.get_mut(table));
        for value in fields.get_mut(table).and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
            if let Value::String(text) = value {
                *text = gemini_variables(&opencode_variables(text));
            }
        }
    }
    if let Some(Value::String(url)) = fields.get_mut("url") {
        *url = opencode_variables(url);
    }
    Ok(())
}

/// Codex names variables of the environment whose values are passed on, under their own names or as headers.
fn forwarded(fields: &mut Map<String, Value>) {
    let headers = fields.remove("env_http_headers");
    let headers = headers.as_ref().and_then(Value::as_object).into_iter().flatten();
    let headers = headers.filter_map(|(name, variable)| Some((name.clone(), format!("${{{}}}", variable.as_str()?))));
    add_to(fields, "headers", headers.collect());
    let names = fields.remove("env_vars");
    let names = names.as_ref().and_then(Value::as_array).into_iter().flatten();
    let names = names.filter_map(|name| name.as_str().or_else(|| name["name"].as_str()));
    add_to(fields, "env", names.map(|name| (name.to_owned(), format!("${{{name}:-}}"))).collect());
}

fn add_to(fields: &mut Map<String, Value>, table: &str, entries: Vec<(String, String)>) {
    if entries.is_empty() {
        return;
    }
    let table = fields.entry(table).or_insert_with(|| Value::Object(Map::new()));
    for (name, text) in entries {
        if let Some(table) = table.as_object_mut() {
            table.entry(name).or_insert_with(|| text.into());
        }
    }
}

/// `{env:NAME}` is `${NAME}`.
fn opencode_variables(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("{env:").filter(|at| !rest[..*at].ends_with('$')) {
        let Some(length) = rest[at..].find('}') else { break };
        out.push_str(&rest[..at]);
        let _ = write!(out, "${{{}}}", &rest[at + 5..at + length]);
        rest = &rest[at + length + 1..];
    }
    out + rest
}

/// `$NAME` as a word of its own is `${NAME}`.
fn gemini_variables(text: &str) -> String {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let word = |word: &str| match word.strip_prefix('$') {
        Some(name) if is_name(name) => format!("${{{name}}}"),
        _ => word.to_owned(),
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// opencode writes the command and its arguments as one list.
fn split_command(fields: &mut Map<String, Value>) {
    if let Some(words) = fields.get("command").and_then(Value::as_array).cloned() {
        let mut words = words.into_iter();
        if let Some(program) = words.next() {
            fields.insert("command".into(), program);
            fields.insert("args".into(), words.collect());
        }
    }
}

/// Numbers and truths in a table of texts, as many people write them.
fn text_values(table: Option<&mut Value>) {
    for value in table.and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if value.is_number() || value.is_boolean() {
            *value = value.to_string().into();
        }
    }
}

/// A server with every field set, to know their names.
fn every_field() -> Written {
    let text = || Some("x".to_owned());
    let one = || vec!["x".to_owned()];
    let table = || BTreeMap::from([("x".to_owned(), "x".to_owned())]);
    Written {
        kind: text(),
        command: text(),
        args: one(),
        env: table(),
        env_file: text(),
        cwd: text(),
        url: text(),
        headers: table(),
        enabled: false,
        start: Some(1.0),
        call: Some(1.0),
        longest: Some(1.0),
        tools: Some(one()),
        except: one(),
        trust: true,
        sandbox: Some(WrittenGrants::default()),
        oauth: Some(WrittenLogin::default()),
        sampling: Some(WrittenSampling::Switch(true)),
    }
}
