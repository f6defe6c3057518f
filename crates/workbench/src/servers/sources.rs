//! Where MCP servers are named: in the user's own files and environment, or in the workspace, which must be trusted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use updraft_mcp::config::{ConfigFault as Wrong, ConfigFormat, ServerConfig, WrittenServer, read, read_written};

use super::{format_of, own_file};
use crate::flags::GivenServers;
use crate::folders::{self, AppFolders};
use crate::settings::read_dotenv;
use crate::untrusted::read_text;

/// The files of a workspace that name servers. They are used only if it is trusted.
const IN_WORKSPACE: [&str; 3] = [".updraft/mcp.json", ".mcp.json", "mcp_servers.json"];
/// Variables that hold a list of servers.
const LISTS: [&str; 2] = ["UPDRAFT_MCP_SERVERS", "GEMINI_MCP_SERVERS"];
/// The variable that names a file of servers.
const FILE: &str = "MCP_SERVERS_CONFIG";

/// One source of server configurations.
pub struct ServerSource {
    /// Its name for people.
    pub shown: String,
    /// The file, if it is one.
    pub file: Option<PathBuf>,
    text: String,
    format: ConfigFormat,
}

/// The user's own sources: the environment, and files outside of the workspace.
pub(crate) fn of_user(folders: &AppFolders, workspace: &Path) -> (Vec<ServerSource>, Vec<Wrong>) {
    let mut found = lists(&|name| folders::set(name), "");
    let mut faults = Vec::new();
    if let Some(file) = folders::set(FILE).filter(|file| !is_of_workspace(file, workspace)) {
        named_file(Path::new(&file), &mut found, &mut faults);
    }
    let files = [own_file(folders), folders.config.join("mcp_servers.json")];
    found.extend(files.iter().filter_map(|file| ServerSource::read(file)));
    (found, faults)
}

/// The workspace's sources: its files, even if the user's environment names them, and its `.env`.
pub fn of_workspace(workspace: &Path) -> (Vec<ServerSource>, Vec<Wrong>) {
    let dotenv = read_dotenv(&workspace.join(".env"));
    let of_dotenv = |name: &str| dotenv.get(name).filter(|value| !value.trim().is_empty()).cloned();
    let mut found = lists(&of_dotenv, " in .env");
    let mut faults = Vec::new();
    let named = folders::set(FILE).or_else(|| of_dotenv(FILE));
    if let Some(file) = named.filter(|file| folders::set(FILE).is_none() || is_of_workspace(file, workspace)) {
        named_file(&workspace.join(file), &mut found, &mut faults);
    }
    found.extend(IN_WORKSPACE.iter().filter_map(|file| ServerSource::read(&workspace.join(file))));
    (found, faults)
}

/// Whether a file named in the user's environment belongs to the workspace: the path is relative, or leads into it.
/// Such a file was written by the workspace's author, and agents can change it.
fn is_of_workspace(file: &str, workspace: &Path) -> bool {
    let path = Path::new(file);
    let real = path.canonicalize();
    !path.is_absolute() || path.starts_with(workspace) || real.is_ok_and(|real| real.starts_with(workspace))
}

/// Whether a file is a list of servers of the workspace, for messages about what is ignored.
pub fn is_list(file: &str) -> bool {
    IN_WORKSPACE.contains(&file) || folders::set(FILE).is_some_and(|named| Path::new(&named).ends_with(file))
}

fn lists(find: &dyn Fn(&str) -> Option<String>, place: &str) -> Vec<ServerSource> {
    let source = |name: &&str| {
        let text = find(name)?;
        Some(ServerSource { shown: format!("{name}{place}"), file: None, text, format: ConfigFormat::Json })
    };
    LISTS.iter().filter_map(source).collect()
}

/// Reads a file that is named explicitly: if it is missing, that is an error.
fn named_file(file: &Path, found: &mut Vec<ServerSource>, faults: &mut Vec<Wrong>) {
    match ServerSource::read(file) {
        Some(source) => found.push(source),
        None => faults.push(Wrong {
            file: FILE.to_owned(),
            server: None,
            field: None,
            what: format!("the file `{}` cannot be read; name an existing file, or unset the variable", file.display()),
        }),
    }
}

impl ServerSource {
    /// Servers that were given for this call.
    pub(super) fn given(given: &GivenServers) -> Self {
        let (text, format) = (given.text().to_owned(), ConfigFormat::Json);
        Self { shown: "the editor".to_owned(), file: None, text, format }
    }

    fn read(file: &Path) -> Option<Self> {
        let text = read_text(file).ok()?;
        let shown = file.display().to_string();
        Some(Self { shown, file: Some(file.to_owned()), text, format: format_of(file) })
    }

    /// The servers with variables filled in, and the invalid entries.
    pub fn servers(&self, variables: &Variables<'_>) -> (Vec<ServerConfig>, Vec<Wrong>) {
        read(&self.text, self.format, &self.shown, &|name| variables.find(name))
    }

    /// The servers as they are written.
    pub fn written(&self) -> Vec<(String, WrittenServer)> {
        read_written(&self.text, self.format, &self.shown).0
    }
}

/// The variables that configurations may use: the environment's, those of a trusted workspace's `.env`, and two
/// folders.
pub struct Variables<'a> {
    workspace: &'a Path,
    dotenv: BTreeMap<String, String>,
}

impl<'a> Variables<'a> {
    /// With the variables of the workspace's `.env`, if `counts`.
    pub fn of(workspace: &'a Path, counts: bool) -> Self {
        let dotenv = if counts { read_dotenv(&workspace.join(".env")) } else { BTreeMap::default() };
        Self { workspace, dotenv }
    }

    /// A variable, by its name in configuration files.
    pub fn find(&self, name: &str) -> Option<String> {
        match name {
            "workspaceFolder" => Some(self.workspace.display().to_string()),
            "userHome" => folders::home().map(|home| home.display().to_string()),
            other => folders::env(other).or_else(|| self.dotenv.get(other).cloned()),
        }
    }

    /// A variable that is not empty.
    pub fn set(&self, name: &str) -> Option<String> {
        self.find(name).filter(|value| !value.trim().is_empty())
    }
}
