//! What the caller lends to all servers: a sandbox, folders, and people who can be asked.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};
use updraft_run::ContentHash;
use updraft_sandbox::{Policy, Sandbox};
use updraft_tools::CallLog;

use crate::config::{ServerConfig, TransportConfig};
use crate::error::cut;

/// Something that takes a while.
pub type HostFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the caller lends to all servers.
#[derive(Clone)]
pub struct McpHost {
    /// Confines servers that are programs; or why none of them is started.
    pub sandbox: Result<Sandbox, String>,
    /// What every process may do; each server's own grants are added.
    pub policy: Policy,
    /// Where processes may write in place of the workspace, each in a folder of its own: then the workspace and what
    /// holds it can only be read, whatever was granted.
    pub instead: Option<PathBuf>,
    /// Folders that belong to processes alone, one for each: what they make there nobody else can change.
    pub private: Option<PathBuf>,
    /// Folders that stay, one for each process that fetches what it runs. Without one, it is fetched at every start.
    pub fetched: Option<PathBuf>,
    /// Whether the workspace's files are a stranger's. Then a process whose entry names no folder is started in its private
    /// one: much that starts programs takes code from where it is.
    pub is_apart: bool,
    /// The variables there are; the policy says which of them pass.
    pub environment: Vec<(String, String)>,
    /// The folder the work is about. Servers are told that it is the one root.
    pub workspace: PathBuf,
    /// A folder for what is learned about servers: their tools and their revision. Without one, nothing is remembered.
    pub memory: Option<PathBuf>,
    /// The [seals](super::Manifest::seal) of definitions that the user has looked at and vouches for. Those of others are a
    /// stranger's words.
    pub vouched: BTreeSet<String>,
    /// A folder for the complaints of processes.
    pub logs: PathBuf,
    /// Through which remote servers are reached; this machine is reached without.
    pub proxy: Option<ProxySettings>,
    /// What every tool's name begins with.
    pub prefix: String,
    /// Whether calls come from runs that can put servers' questions to their person.
    pub inquires: bool,
    /// Who answers servers' questions outside of runs. Without anybody, they are declined.
    pub people: Option<Arc<dyn ElicitationHandler>>,
    /// Who answers servers that want a model asked. Without anybody, they are refused.
    pub sampler: Option<Arc<dyn Sampler>>,
    /// Who signs in where that is wanted. Without anybody, such a server cannot be used.
    pub doorman: Option<Arc<dyn LoginBrowser>>,
    /// Keeps what was signed in with. Without one, it is forgotten at the end.
    pub keys: Option<Arc<dyn SecretStore>>,
    /// Where servers' own log messages go while nobody calls them; else those who call are told.
    pub log: CallLog,
}

/// A proxy for remote servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxySettings {
    /// Its address.
    pub address: String,
    /// Hosts that are reached without it, as `NO_PROXY` lists them.
    pub except: Option<String>,
}

impl McpHost {
    /// A host that starts nothing, remembers nothing and knows nobody. Set the fields to change that.
    pub fn new(workspace: impl Into<PathBuf>, logs: impl Into<PathBuf>) -> Self {
        let workspace = workspace.into();
        Self {
            sandbox: Err("no sandbox was set up; see `updraft sandbox probe`".to_owned()),
            policy: Policy::strict(&workspace),
            instead: None,
            private: None,
            fetched: None,
            is_apart: false,
            environment: Vec::new(),
            workspace,
            memory: None,
            vouched: BTreeSet::new(),
            logs: logs.into(),
            proxy: None,
            prefix: "mcp".to_owned(),
            inquires: false,
            people: None,
            sampler: None,
            doorman: None,
            keys: None,
            log: CallLog::default(),
        }
    }

    /// The file with a server's complaints.
    pub fn log_of(&self, server: &str) -> PathBuf {
        self.logs.join(file_name(server, "log"))
    }

    /// The last line that a server's process complained with.
    pub(super) fn last_words_of(&self, server: &str) -> Option<String> {
        let text = std::fs::read(self.log_of(server)).ok()?;
        let text = String::from_utf8_lossy(&text[text.len().saturating_sub(4 << 10)..]).into_owned();
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(|line| cut(line, 120))
    }

    /// The folder that a process may write in place of the workspace, where it may not write that.
    pub(super) fn instead_for(&self, server: &str) -> Option<PathBuf> {
        self.instead.as_deref().map(|folder| folder.join(file_name(server, "d")))
    }

    /// A folder that belongs to one process alone, for something.
    pub(super) fn private_for(&self, server: &str, what: &str) -> Option<PathBuf> {
        self.private.as_deref().map(|folder| folder.join(file_name(server, what)))
    }

    /// The folder in which a server finds what it fetched before. One that a workspace names does not share it with the
    /// user's own of the same name.
    pub(super) fn fetched_for(&self, server: &ServerConfig) -> Option<PathBuf> {
        if !server.of_workspace {
            return self.fetched_by_own(&server.name);
        }
        self.fetched.as_deref().map(|folder| folder.join(file_name(&server.name, &self.workspace_hash())))
    }

    /// The same of the user's own server of that name.
    pub fn fetched_by_own(&self, server: &str) -> Option<PathBuf> {
        self.fetched.as_deref().map(|folder| folder.join(file_name(server, "own")))
    }

    /// Where it is kept what a server is known to have. What a program has can depend on the folder it is started in.
    pub(super) fn memory_of(&self, server: &ServerConfig) -> Option<PathBuf> {
        let ending = match &server.link {
            TransportConfig::Remote { .. } => "json".to_owned(),
            TransportConfig::Stdio { .. } => format!("{}.json", self.workspace_hash()),
        };
        self.memory.as_deref().map(|folder: &Path| folder.join(file_name(&server.name, &ending)))
    }

    fn workspace_hash(&self) -> String {
        let folder = Sha256::digest(self.workspace.as_os_str().as_encoded_bytes());
        ContentHash(folder.into()).to_string()[..16].to_owned()
    }
}

/// A server's name as the name of a file: what is no plain letter is written as a number, so that no two share one.
fn file_name(server: &str, ending: &str) -> String {
    let mut name = String::new();
    for letter in server.chars() {
        if letter.is_ascii_alphanumeric() || letter == '-' || letter == '_' {
            name.push(letter);
        } else {
            let _ = write!(name, "%{:x}", u32::from(letter));
        }
    }
    format!("{name}.{ending}")
}

/// A question that a server has for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitationRequest {
    /// Who asks.
    pub server: String,
    /// In its words.
    pub message: String,
    /// What is wanted.
    pub wanted: ElicitationKind,
}

/// What a server wants of a person.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationKind {
    /// Values that fit a JSON Schema of an object with plain fields.
    Form(Value),
    /// A visit to an address; nothing of it comes by us.
    Visit(String),
}

/// What a person said.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationAnswer {
    /// Here it is. Fields that are left out take the schema's defaults.
    Accept(Value),
    /// No.
    Decline,
    /// Nothing.
    Cancel,
}

/// Who answers servers' questions.
pub trait ElicitationHandler: Send + Sync {
    /// Asks a person, and waits.
    fn ask(&self, question: ElicitationRequest) -> HostFuture<'_, ElicitationAnswer>;
}

/// Who asks a model on a server's behalf.
pub trait Sampler: Send + Sync {
    /// Takes the parameters of `sampling/createMessage` and gives its result, or says why not.
    fn sample(&self, server: &str, request: Value) -> HostFuture<'_, Result<Value, String>>;
}

/// Who takes a person to a login page and comes back.
pub trait LoginBrowser: Send + Sync {
    /// Where the login page sends the person back to.
    fn comes_back_to(&self) -> String;

    /// An address at which our own description as a client can be read, if there is one.
    fn describes_itself_at(&self) -> Option<String> {
        None
    }

    /// Has a person visit the page, and gives the address they were sent back to.
    fn visit(&self, server: &str, page: &str) -> HostFuture<'_, Result<String, String>>;
}

/// Keeps what was signed in with, by the name of the server and its address: what one server was given is never shown to
/// another of the same name. It is secret.
pub trait SecretStore: Send + Sync {
    /// What was kept.
    fn load(&self, server: &str, address: &str) -> Option<Vec<u8>>;
    /// Keeps it, or forgets it.
    fn save(&self, server: &str, address: &str, secret: Option<Vec<u8>>) -> std::io::Result<()>;
    /// Waits until no other process renews it, and keeps them waiting until what it gives is dropped: what it is renewed
    /// with often counts only once. The end of the process must end that too.
    fn alone(&self, server: &str, address: &str) -> HostFuture<'_, Option<Box<dyn Any + Send>>> {
        let _ = (server, address);
        Box::pin(std::future::ready(None))
    }
}
