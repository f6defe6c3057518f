//! Settings of other tools. They are not taken over: what they allow means something else here. What was found is said.

use serde_json::Value;
use updraft_engine::read_yaml;
use updraft_mcp::config::document;

use super::ImportKind;
use super::collector::{ImportCollector, stem};
use crate::servers::format_of;

/// Most names that are listed.
const MOST: usize = 12;

pub(super) fn collect(found: &mut ImportCollector, path: &str, known: &[&str]) {
    let (from, kind) = (found.place.root.join(path), ImportKind::Settings);
    let Some(text) = found.text(kind, &from) else { return };
    let is_yaml = from.extension().is_some_and(|end| end == "yaml");
    let read = if is_yaml { read_yaml(&text) } else { document(&text, format_of(&from)) };
    // A file that cannot be read is said where its servers are looked for.
    let Ok(Value::Object(fields)) = read else { return };
    let names: Vec<&str> = fields.keys().map(String::as_str).filter(|name| !known.contains(name)).collect();
    if names.is_empty() {
        return;
    }
    let mut listed = names.iter().take(MOST).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        listed.push_str(" and more");
    }
    let why = format!("{listed}: they mean something else here (docs/import.md says what to do instead)");
    found.leave_out(kind, &stem(&from), &from, why);
}
