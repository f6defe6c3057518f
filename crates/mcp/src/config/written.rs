//! Server entries as written in a file: every field is optional, variables are not filled in, and any supported dialect
//! is accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ConfigFault;
use super::dialects::{ServerSwitches, translate};

/// Maximum number of servers in one file. Nobody has a hundredth of that.
const MOST: usize = 1_000;

/// A server entry as written. It is serialised in the `mcpServers` format, without the values of variables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WrittenServer {
    /// `stdio`, `http`, `streamable-http` or `sse`; derived from the other fields if it is missing.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The program of a stdio server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables to set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// A file with more variables. It is never read; the field is kept so that a fault can name it.
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
    /// Whether it is enabled.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub enabled: bool,
    /// Time limit of a start, in seconds.
    #[serde(rename = "startSeconds", default, skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    /// Time limit of silence during a call, in seconds.
    #[serde(rename = "callSeconds", default, skip_serializing_if = "Option::is_none")]
    pub call: Option<f64>,
    /// Time limit of a whole call, in seconds.
    #[serde(rename = "longestSeconds", default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<f64>,
    /// The tools that are offered; by default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools that are left out.
    #[serde(rename = "exceptTools", default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Whether its hints about its own tools are trusted.
    #[serde(rename = "trustHints", default, skip_serializing_if = "is_not")]
    pub trust: bool,
    /// What its process may do beyond the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<WrittenGrants>,
    /// How to sign in, if that cannot be discovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<WrittenLogin>,
    /// Whether it may ask models during runs: `true`, or the model to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<WrittenSampling>,
    /// The only revision of the protocol to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Other fields of the entry that are not used here. They are not written back.
    #[serde(skip)]
    pub unused: Vec<String>,
}

/// The `sampling` field as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WrittenSampling {
    /// Whether it may ask the agent's own model.
    Switch(bool),
    /// It may ask this model.
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

/// How to sign in, as written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WrittenLogin {
    /// The id of a client that was registered manually.
    #[serde(rename = "clientId", default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Its secret.
    #[serde(rename = "clientSecret", default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The scopes to request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// `authorization_code` if a person signs in, or `client_credentials` if the client's own credentials are
    /// sufficient.
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

/// The content of a file of servers.
#[derive(Default)]
pub struct ServerFile {
    /// The servers, each parsed by itself: a faulty one does not hide the others.
    pub servers: Vec<(String, WrittenServer)>,
    /// The faults of other servers.
    pub faults: Vec<ConfigFault>,
    /// By server: the fields that belong to other programs and are not used here.
    pub left: Vec<(String, Vec<String>)>,
}

/// The servers of one file.
pub(super) fn all_in(document: &Value, file: &str) -> ServerFile {
    let mut read = ServerFile::default();
    let Some(mut entries) = entries(document) else {
        read.faults.push(ConfigFault::of_file(file, "expected `mcpServers`, `servers` or a list of servers"));
        return read;
    };
    if entries.len() > MOST {
        let what = format!("it names {} servers, of which only the first {MOST} are used; remove some", entries.len());
        read.faults.push(ConfigFault::of_file(file, what));
        entries.truncate(MOST);
    }
    let off = ServerSwitches::of(document);
    let mut named: BTreeSet<String> = BTreeSet::new();
    for (name, entry) in entries {
        if document["projects"].is_object() && named.contains(&name) {
            read.left.push((name, vec!["another of the same name, for another project".to_owned()]));
            continue;
        }
        let mut left = Vec::new();
        match written(entry, &mut left) {
            Ok(mut server) => {
                server.enabled &= !off.is_off(&name);
                server.unused.clone_from(&left);
                named.insert(name.clone());
                read.servers.push((name.clone(), server));
            }
            Err((field, what)) => {
                read.faults.push(ConfigFault { file: file.to_owned(), server: Some(name.clone()), field, what });
            }
        }
        if !left.is_empty() {
            read.left.push((name, left));
        }
    }
    read
}

/// The table of servers, in any dialect: Claude, Cursor and Gemini have it in `mcpServers`, VS Code in `servers` (or
/// below `mcp`), Codex in `mcp_servers`; or it is a list of servers with names.
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
    // Claude has more of them for each project.
    let projects = document["projects"].as_object().into_iter().flat_map(Map::values);
    let mut known: BTreeSet<(String, String)> =
        entries.iter().map(|(name, entry)| (name.clone(), entry.to_string())).collect();
    for (name, entry) in projects.filter_map(|project| project["mcpServers"].as_object()).flatten() {
        if known.insert((name.clone(), entry.to_string())) {
            entries.push((name.clone(), entry));
        }
    }
    is_there.then_some(entries)
}

pub(super) type EntryFault = (Option<String>, String);

pub(super) fn wrong<T>(field: &str, what: impl Into<String>) -> Result<T, EntryFault> {
    Err((Some(field.to_owned()), what.into()))
}

/// Parses one entry of any dialect.
fn written(entry: &Value, left: &mut Vec<String>) -> Result<WrittenServer, EntryFault> {
    let Some(entry) = entry.as_object() else {
        return Err((None, "expected an object".to_owned()));
    };
    let mut fields = entry.clone();
    translate(&mut fields, left)?;
    let mut server = Map::new();
    for (name, value) in fields {
        if FIELDS.get(&name).is_none() {
            // Editors keep fields of their own in these files.
            left.extend((name != "name").then(|| format!("`{name}`")));
            continue;
        }
        let mut alone = Map::new();
        alone.insert(name.clone(), value.clone());
        if let Err(error) = serde_json::from_value::<WrittenServer>(Value::Object(alone)) {
            return wrong(&name, expectation(&error));
        }
        server.insert(name, value);
    }
    serde_json::from_value(Value::Object(server)).map_err(|error| (None, expectation(&error)))
}

/// What was expected, without what was found: that may be a key.
fn expectation(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(", expected ") {
        Some((found, expected)) if found.starts_with("invalid ") => format!("expected {expected}"),
        _ => text,
    }
}

/// The names of all fields.
static FIELDS: LazyLock<Value> = LazyLock::new(|| serde_json::to_value(every_field()).unwrap_or_default());

/// A server with every field set, to know their names.
fn every_field() -> WrittenServer {
    let text = || Some("x".to_owned());
    let one = || vec!["x".to_owned()];
    let table = || BTreeMap::from([("x".to_owned(), "x".to_owned())]);
    WrittenServer {
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
        revision: text(),
        unused: Vec::new(),
    }
}
