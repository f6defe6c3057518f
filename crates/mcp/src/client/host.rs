//! What the embedding program provides for all servers: a sandbox, folders, and ways to ask people.

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

/// A boxed future.
pub type HostFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the embedding program provides for all servers.
#[derive(Clone)]
pub struct McpHost {
    /// Confines server processes; or the reason why none of them is started.
    pub sandbox: Result<Sandbox, String>,
    /// What every process may do; each server's own grants are added.
    pub policy: Policy,
    /// Where processes may write instead of in the workspace, each in a folder of its own. If it is set, the workspace
    /// and the folders that contain it are read-only, whatever was granted.
    pub instead: Option<PathBuf>,
    /// The parent of private folders, one for each process: nobody else can change what a process creates there.
    pub private: Option<PathBuf>,
    /// The parent of permanent folders, one for each process that fetches packages. Without it, they are fetched at
    /// every start.
    pub fetched: Option<PathBuf>,
    /// Whether the files of the workspace are untrusted. Then a process whose entry names no folder is started in its
    /// private folder, because many programs load code from the folder they are started in.
    pub is_apart: bool,
    /// The environment variables; the policy says which of them are passed on.
    pub environment: Vec<(String, String)>,
    /// The workspace. Servers are told that it is the only root.
    pub workspace: PathBuf,
    /// A folder for what is learned about servers: their tools and their revision. Without it, nothing is remembered.
    pub memory: Option<PathBuf>,
    /// The [seals](super::Manifest::seal) of definitions that the user has reviewed and vouches for. Other definitions
    /// are untrusted text.
    pub vouched: BTreeSet<String>,
    /// A folder for the error output of processes.
    pub logs: PathBuf,
    /// The proxy for remote servers; servers on this machine are reached directly.
    pub proxy: Option<ProxySettings>,
    /// The prefix of every tool's name.
    pub prefix: String,
    /// Whether calls come from runs that can put servers' questions to their user.
    pub inquires: bool,
    /// Answers servers' questions outside of runs. Without it, they are declined.
    pub people: Option<Arc<dyn ElicitationHandler>>,
    /// Answers servers' sampling requests. Without it, they are refused.
    pub sampler: Option<Arc<dyn Sampler>>,
    /// Lets a person sign in where a server requires it. Without it, such a server cannot be used.
    pub login_handler: Option<Arc<dyn LoginBrowser>>,
    /// Stores the credentials of logins. Without it, they are forgotten when the process ends.
    pub keys: Option<Arc<dyn SecretStore>>,
    /// Where servers' log messages go while no call is in progress; otherwise they go to the calls.
    pub log: CallLog,
}

/// A proxy for remote servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxySettings {
    /// Its address.
    pub address: String,
    /// Hosts that are reached without the proxy, in the form of `NO_PROXY`.
    pub except: Option<String>,
}

impl McpHost {
    /// A host that starts nothing, remembers nothing and asks nobody. Set the fields to change that.
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
            login_handler: None,
            keys: None,
            log: CallLog::default(),
        }
    }

    /// The file with a server's error output.
    pub fn log_of(&self, server: &str) -> PathBuf {
        self.logs.join(file_name(server, "log"))
    }

    /// The last line of a server's error output.
    pub(super) fn last_words_of(&self, server: &str) -> Option<String> {
        let text = std::fs::read(self.log_of(server)).ok()?;
        let text = String::from_utf8_lossy(&text[text.len().saturating_sub(4 << 10)..]).into_owned();
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(|line| cut(line, 120))
    }

    /// The folder in which a process may write instead of in the workspace, where it may not write there.
    pub(super) fn instead_for(&self, server: &str) -> Option<PathBuf> {
        self.instead.as_deref().map(|folder| folder.join(file_name(server, "d")))
    }

    /// A private folder of one process, for the given purpose.
    pub(super) fn private_for(&self, server: &str, what: &str) -> Option<PathBuf> {
        self.private.as_deref().map(|folder| folder.join(file_name(server, what)))
    }

    /// The folder with the packages that a server fetched before. A server named by a workspace does not share it with
    /// the user's own server of the same name.
    pub(super) fn fetched_for(&self, server: &ServerConfig) -> Option<PathBuf> {
        if !server.of_workspace {
            return self.fetched_by_own(&server.name);
        }
        self.fetched.as_deref().map(|folder| folder.join(file_name(&server.name, &self.workspace_hash())))
    }

    /// The same folder for the user's own server of that name.
    pub fn fetched_by_own(&self, server: &str) -> Option<PathBuf> {
        self.fetched.as_deref().map(|folder| folder.join(file_name(server, "own")))
    }

    /// The file that remembers what a server offers. For a process, it depends on the folder it is started in.
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

/// A server's name as a file name: characters other than plain letters are written as numbers, so that no two servers
/// share a file.
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

/// A question from a server to a person.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitationRequest {
    /// The server that asks.
    pub server: String,
    /// The question, in the server's words.
    pub message: String,
    /// The kind of answer that is wanted.
    pub wanted: ElicitationKind,
}

/// The kind of answer that a server wants from a person.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationKind {
    /// Values that fit a JSON Schema of an object with plain fields.
    Form(Value),
    /// A URL that the person opens; what happens there does not pass through us.
    Url(String),
}

/// The answer of a person.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationAnswer {
    /// Accepted, with values. Fields that are missing take the schema's defaults.
    Accept(Value),
    /// Declined.
    Decline,
    /// Dismissed without an answer.
    Cancel,
}

/// Answers servers' questions.
pub trait ElicitationHandler: Send + Sync {
    /// Asks a person, and waits.
    fn ask(&self, question: ElicitationRequest) -> HostFuture<'_, ElicitationAnswer>;
}

/// Asks a model on behalf of a server.
pub trait Sampler: Send + Sync {
    /// Takes the parameters of `sampling/createMessage` and returns its result, or the reason for a refusal.
    fn sample(&self, server: &str, request: Value) -> HostFuture<'_, Result<Value, String>>;
}

/// Sends a person to a login page and receives the redirect.
pub trait LoginBrowser: Send + Sync {
    /// The redirect address of the login.
    fn comes_back_to(&self) -> String;

    /// The address of our own client metadata document, if there is one.
    fn describes_itself_at(&self) -> Option<String> {
        None
    }

    /// Lets a person visit the page, and returns the address they were redirected to.
    fn visit(&self, server: &str, page: &str) -> HostFuture<'_, Result<String, String>>;
}

/// Stores the credentials of logins, by the name and the address of the server, so that credentials for one server are
/// never given to another server of the same name. They are secret.
pub trait SecretStore: Send + Sync {
    /// The stored secret.
    fn load(&self, server: &str, address: &str) -> Option<Vec<u8>>;
    /// Stores the secret, or removes it.
    fn save(&self, server: &str, address: &str, secret: Option<Vec<u8>>) -> std::io::Result<()>;
    /// Waits for an exclusive lock across processes for renewing the credentials, and holds it until the returned guard
    /// is dropped: a refresh token can often be used only once. The lock must also end with the process.
    fn alone(&self, server: &str, address: &str) -> HostFuture<'_, Option<Box<dyn Any + Send>>> {
        let _ = (server, address);
        Box::pin(std::future::ready(None))
    }
}
