//! A file that names MCP servers, to be changed: the user's own, or a workspace's. Changes touch one entry; unknown or unreadable parts
//! stay as they are.

use std::path::Path;

use serde_json::{Map, Value, json};
use updraft_mcp::config::{ConfigFormat, WrittenServer, document};

use crate::fault::Fault;
use crate::{folders, untrusted};

/// The name of the table in a new file.
const TABLE: &str = "mcpServers";

/// The file's content.
pub struct ServerListFile(Value);

impl ServerListFile {
    /// Reads the file; a missing file has no servers.
    pub fn read(file: &Path) -> Result<Self, Fault> {
        let text = match untrusted::read_text(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self(json!({ TABLE: {} }))),
            Err(error) => return Err(Fault::file("read", file, &error)),
        };
        let whole = document(&text, ConfigFormat::Json);
        let whole = whole.map_err(|why| Fault::config(format!("{}: {why}", file.display())))?;
        if !whole.is_object() && !whole.is_array() {
            return Err(Fault::config(format!("{}: expected `{TABLE}` or a list of servers", file.display())));
        }
        Ok(Self(whole))
    }

    /// Whether it has a server of this name.
    pub fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// The entry of a server.
    pub fn entry(&self, name: &str) -> Option<&Value> {
        match self.table()? {
            Value::Object(table) => table.get(name),
            Value::Array(list) => list.iter().find(|entry| entry["name"] == name),
            _ => None,
        }
    }

    /// Adds a server, or replaces the one of this name.
    pub fn insert(&mut self, name: &str, server: &WrittenServer) {
        let mut entry = serde_json::to_value(server).unwrap_or_default();
        match self.table_mut() {
            Some(Value::Object(table)) => {
                table.insert(name.to_owned(), entry);
            }
            Some(Value::Array(list)) => {
                entry["name"] = name.into();
                list.push(entry);
            }
            _ => {}
        }
    }

    /// Removes a server. Returns false if there is none of this name.
    pub fn remove(&mut self, name: &str) -> bool {
        match self.table_mut() {
            Some(Value::Object(table)) => table.remove(name).is_some(),
            Some(Value::Array(list)) => {
                let before = list.len();
                list.retain(|entry| entry["name"] != name);
                list.len() < before
            }
            _ => false,
        }
    }

    /// Writes the file atomically.
    pub fn save(&self, file: &Path) -> Result<(), Fault> {
        let mut text = serde_json::to_string_pretty(&self.0).unwrap_or_default();
        text.push('\n');
        folders::replace_private(file, text.as_bytes())
    }

    /// Finds the servers: in a list, or under one of the known names.
    fn table(&self) -> Option<&Value> {
        if self.0.is_array() {
            return Some(&self.0);
        }
        [TABLE, "mcp_servers", "servers"].iter().find_map(|name| self.0.get(name))
    }

    fn table_mut(&mut self) -> Option<&mut Value> {
        if self.0.is_array() {
            return Some(&mut self.0);
        }
        let name = [TABLE, "mcp_servers", "servers"].into_iter().find(|name| self.0.get(name).is_some());
        let whole = self.0.as_object_mut()?;
        Some(whole.entry(name.unwrap_or(TABLE)).or_insert_with(|| Value::Object(Map::new())))
    }
}
