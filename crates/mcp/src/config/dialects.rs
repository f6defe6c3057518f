//! Translates other programs' names for fields into ours, and reports fields that are not imported.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::written::{EntryFault, wrong};

/// Our fields for logins.
const LOGIN: [&str; 4] = ["clientId", "clientSecret", "scopes", "grantType"];
/// Other programs' names for them.
const LOGIN_ELSEWHERE: [(&str, &str); 5] = [
    ("CLIENT_ID", "clientId"),
    ("CLIENT_SECRET", "clientSecret"),
    ("client_id", "clientId"),
    ("client_secret", "clientSecret"),
    ("grant_type", "grantType"),
];

/// Translates other programs' names for fields into ours.
pub(super) fn translate(fields: &mut Map<String, Value>, left: &mut Vec<String>) -> Result<(), EntryFault> {
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
    loosened_or_narrowed(fields, left);
    sign_in(fields, left);
    if let Some(milliseconds) = fields.remove("startup_timeout_ms") {
        let Some(number) = milliseconds.as_f64() else { return wrong("startup_timeout_ms", "expected a number") };
        fields.entry("startSeconds").or_insert((number / 1_000.0).into());
    }
    if let Some(disabled) = fields.remove("disabled") {
        let Some(disabled) = disabled.as_bool() else { return wrong("disabled", "expected true or false") };
        fields.entry("enabled").or_insert((!disabled).into());
    }
    if let Some(timeout) = fields.remove("timeout") {
        // Gemini and Claude use milliseconds here, Cline seconds; nobody means less than a second or half a day.
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

/// Codex lists environment variables whose values are passed on, under their own names or as headers.
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

/// Turns `{env:NAME}` into `${NAME}`.
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

/// Turns `$NAME`, as a word of its own, into `${NAME}`.
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

/// Turns numbers and booleans in a table of strings into strings, because many people write them.
fn text_values(table: Option<&mut Value>) {
    for value in table.and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if value.is_number() || value.is_boolean() {
            *value = value.to_string().into();
        }
    }
}

/// Removes fields that grant or restrict rights in another program's terms: ours differ, and must not grant more.
fn loosened_or_narrowed(fields: &mut Map<String, Value>, left: &mut Vec<String>) {
    if fields.remove("trust").is_some_and(|trust| trust == true) {
        left.push("`trust` (its calls are asked about; `trustHints` is ours, and believes what a server says)".into());
    }
    if fields.get("tools").is_some_and(Value::is_object) {
        fields.remove("tools");
        left.push("`tools` (what each tool may do; write rules instead)".into());
    }
    let is_theirs = |sandbox: &Value| sandbox["filesystem"].is_object() || sandbox["network"].is_object();
    if fields.get("sandbox").is_some_and(is_theirs) {
        fields.remove("sandbox");
        left.push("`sandbox` (write ours: `network`, `read`, `write`)".into());
    }
}

/// Translates login settings: Cursor has them in `auth`, Codex has the scopes beside it.
fn sign_in(fields: &mut Map<String, Value>, left: &mut Vec<String>) {
    let theirs = fields.remove("auth");
    let is_table = theirs.as_ref().is_some_and(Value::is_object);
    if theirs.is_some() && !is_table {
        left.push("`auth`".into());
    }
    if let Some(auth) = theirs.filter(|_| is_table) {
        fields.entry("oauth").or_insert(auth);
    }
    if let Some(scopes) = fields.remove("scopes") {
        let oauth = fields.entry("oauth").or_insert_with(|| json!({}));
        if let Some(oauth) = oauth.as_object_mut() {
            oauth.entry("scopes").or_insert(scopes);
        }
    }
    let Some(oauth) = fields.get_mut("oauth") else { return };
    if oauth.is_boolean() {
        fields.remove("oauth");
        left.push("`oauth`".into());
        return;
    }
    let Some(oauth) = oauth.as_object_mut() else { return };
    for (theirs, ours) in LOGIN_ELSEWHERE {
        if let Some(value) = oauth.remove(theirs) {
            oauth.entry(ours).or_insert(value);
        }
    }
    if let Some(Value::String(scopes)) = oauth.get("scopes") {
        let scopes: Vec<&str> = scopes.split([' ', ',']).filter(|scope| !scope.is_empty()).collect();
        oauth.insert("scopes".into(), json!(scopes));
    }
    left.extend(oauth.keys().filter(|name| !LOGIN.contains(&name.as_str())).map(|name| format!("`oauth.{name}`")));
    oauth.retain(|name, _| LOGIN.contains(&name.as_str()));
    for value in oauth.values_mut() {
        if let Value::String(text) = value {
            *text = gemini_variables(&opencode_variables(text));
        }
    }
}

/// The servers that a file disables outside of their entries: Gemini below `mcp`, Claude for each project.
pub(super) struct ServerSwitches<'a> {
    disabled: BTreeSet<&'a str>,
    allowed: Option<BTreeSet<&'a str>>,
}

impl<'a> ServerSwitches<'a> {
    pub(super) fn of(document: &'a Value) -> Self {
        let names = |list: &'a Value| list.as_array().into_iter().flatten().filter_map(Value::as_str);
        let projects = document["projects"].as_object().into_iter().flat_map(Map::values);
        let lists = std::iter::once(document)
            .chain(projects)
            .flat_map(|part| [&part["disabledMcpServers"], &part["disabledMcpjsonServers"]]);
        let disabled = lists.chain([&document["mcp"]["excluded"]]).flat_map(names).collect();
        let allowed = &document["mcp"]["allowed"];
        Self { disabled, allowed: allowed.is_array().then(|| names(allowed).collect()) }
    }

    pub(super) fn is_off(&self, name: &str) -> bool {
        self.disabled.contains(name) || self.allowed.as_ref().is_some_and(|allowed| !allowed.contains(name))
    }
}
