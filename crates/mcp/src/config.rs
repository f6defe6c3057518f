//! The configuration of servers: reads the files of all common clients, and checks and resolves their entries.
//!
//! This module does not open files. A faulty server never hides the others.

mod dialects;
mod expand;
mod fault;
mod json_comments;
mod key_text;
mod keys;
mod package_runner;
mod revision;
mod secret;
mod written;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use sha2::{Digest, Sha256};
use updraft_run::ContentHash;
use updraft_sandbox::Network;
use url::Url;

pub use expand::Lookup;
pub use fault::ConfigFault;
pub use key_text::known_key_in;
pub use package_runner::{fetching, program_of};
pub use revision::Revision;
pub use secret::Secret;
pub use written::{ServerFile, WrittenGrants, WrittenLogin, WrittenSampling, WrittenServer};

use expand::expand;

/// Minimum bytes of a value that may be a key.
const SHORTEST_KEY: usize = 4;
/// Maximum bytes of the variables that are filled in for one server; no program needs a hundredth of that.
const LONGEST_FILLED: usize = 512 << 10;

/// A resolved server entry: every field is present and checked, and variables are filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    /// Its name for people.
    pub name: String,
    /// Whether it is enabled.
    pub enabled: bool,
    /// How it is reached.
    pub link: TransportConfig,
    /// Its time limits.
    pub patience: ServerTimeouts,
    /// The tools that are offered; `None` for all.
    pub tools: Option<Vec<String>>,
    /// Tools that are left out.
    pub except: Vec<String>,
    /// Whether its hints about its own tools may make a call less strict.
    pub trusts_hints: bool,
    /// What its process may do beyond the workspace.
    pub grants: ServerGrants,
    /// How to sign in, if that cannot be discovered.
    pub login: LoginConfig,
    /// Whether and how it may ask models during runs, which pay for it.
    pub sampling: Option<Sampling>,
    /// The only revision to use; if it is `None`, the revision is negotiated.
    pub revision: Option<Revision>,
    /// A hash of the entry and of the values filled in. What was learned with another configuration is not used.
    pub fingerprint: String,
    /// Whether it is configured by the workspace, so that its code may come from there; otherwise it is the user's own.
    pub of_workspace: bool,
    /// How it is reached, as written: for people, without values of variables and without possible keys.
    pub shown: String,
    /// The values of variables that were filled in, by name. They are never shown.
    pub filled: BTreeMap<String, Secret>,
    /// Fields of the entry that are not used here, for diagnostics.
    pub unused: Vec<String>,
}

impl ServerConfig {
    /// A text for people, models and journals, without the values that were filled in.
    pub fn hide(&self, text: &str) -> String {
        let mut hidden = text.to_owned();
        if let TransportConfig::Remote { url, .. } = &self.link {
            hidden = hidden.replace(url.as_str(), &self.shown);
        }
        for (name, value) in &self.filled {
            for form in forms_of(value.reveal()) {
                hidden = hidden.replace(&form, &format!("${{{name}}}"));
            }
        }
        hidden
    }
}

/// A value as it is, and in the forms it has in URLs.
fn forms_of(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    if let Ok(mut url) = Url::parse("http://x/") {
        url.set_path(value);
        url.set_query(Some(value));
        let _ = url.set_password(Some(value));
        forms.extend([url.path().trim_start_matches('/'), url.query().unwrap_or_default()].map(str::to_owned));
        forms.extend(url.password().map(str::to_owned));
    }
    forms.extend([url::form_urlencoded::byte_serialize(value.as_bytes()).collect()]);
    // Shorter values are not keys, and occur in many texts by chance.
    forms.retain(|form| form.len() >= SHORTEST_KEY);
    forms
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum TransportConfig {
    /// A process that we start, on pipes.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<Secret>,
        /// Environment variables to set.
        env: BTreeMap<String, Secret>,
        /// Where it starts, relative to the workspace. By default the workspace, or a private folder.
        cwd: Option<PathBuf>,
    },
    /// A server at an address.
    Remote {
        /// The address.
        url: Url,
        /// Headers that are sent to it.
        headers: BTreeMap<String, Secret>,
        /// Which transport it speaks.
        form: RemoteTransport,
    },
}

/// The transport of a remote server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteTransport {
    /// Streamable HTTP, with fallback to the older transport and the plain HTTP form.
    Http,
    /// HTTP with server-sent events, as before 2025.
    Sse,
}

/// How a server may ask models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampling {
    /// The model; by default that of the calling agent.
    pub model: Option<String>,
}

/// The time limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerTimeouts {
    /// From the start to the first list of tools.
    pub start: Duration,
    /// Silence during a call; progress restarts it.
    pub call: Duration,
    /// A whole call, regardless of progress.
    pub longest: Duration,
}

impl Default for ServerTimeouts {
    /// A cold start of a packaged server takes seconds, and a call that is silent for a minute has hung.
    fn default() -> Self {
        Self { start: Duration::from_secs(30), call: Duration::from_mins(1), longest: Duration::from_mins(10) }
    }
}

/// What a server's process may do beyond the workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerGrants {
    /// Its network access.
    pub network: Network,
    /// Folders and files it may read.
    pub read: Vec<PathBuf>,
    /// Folders it may write.
    pub write: Vec<PathBuf>,
}

/// How to sign in at a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoginConfig {
    /// The id of a client that was registered manually.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<Secret>,
    /// The scopes to request; by default those that the server names.
    pub scopes: Vec<String>,
    /// Whether id and secret are sufficient, so that no person has to sign in.
    pub is_for_machines: bool,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigFormat {
    /// JSON, with comments and trailing commas tolerated.
    Json,
    /// TOML, as Codex has it.
    Toml,
}

/// The content of a file of servers, including unknown fields. A fault names the line and shows nothing of it, because it may contain
/// a key.
pub fn document(text: &str, format: ConfigFormat) -> Result<serde_json::Value, String> {
    match format {
        ConfigFormat::Json => json_comments::parse(text).map_err(|error| error.to_string()),
        ConfigFormat::Toml => toml::from_str::<serde_json::Value>(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let place = before.map(|before| format!(" at line {}", before.matches('\n').count() + 1));
            format!("{}{}", error.message(), place.unwrap_or_default())
        }),
    }
}

/// The server entries in a text, unresolved. `file` is its name in faults.
pub fn read_written(text: &str, format: ConfigFormat, file: &str) -> (Vec<(String, WrittenServer)>, Vec<ConfigFault>) {
    let read = read_theirs(text, format, file);
    (read.servers, read.faults)
}

/// The same, and the fields that are not used here: for importing another program's file.
pub fn read_theirs(text: &str, format: ConfigFormat, file: &str) -> ServerFile {
    match document(text, format) {
        Ok(document) => written::all_in(&document, file),
        Err(what) => ServerFile { faults: vec![ConfigFault::of_file(file, what.trim_end())], ..ServerFile::default() },
    }
}

/// The resolved servers of a text, and the faults of the others.
///
/// Disabled servers are read as well, but for them missing variables are not faults.
pub fn read(text: &str, format: ConfigFormat, file: &str, lookup: Lookup<'_>) -> (Vec<ServerConfig>, Vec<ConfigFault>) {
    let ServerFile { servers: written, mut faults, .. } = read_theirs(text, format, file);
    let mut servers: Vec<ServerConfig> = Vec::new();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for (name, server) in written {
        match server.mean(&name, lookup) {
            Ok(meant) => {
                if names.insert(name.clone()) {
                    servers.push(ServerConfig { unused: server.unused, ..meant });
                    continue;
                }
                let what = "there is already a server of this name".to_owned();
                faults.push(ConfigFault {
                    file: file.to_owned(),
                    server: Some(name),
                    field: Some("name".into()),
                    what,
                });
            }
            Err(_) if !server.enabled => {}
            Err((field, what)) => {
                faults.push(ConfigFault { file: file.to_owned(), server: Some(name), field: Some(field), what });
            }
        }
    }
    (servers, faults)
}

/// Sample values for variables, to test whether a server could be reached once they are set: a port number, an address,
/// and the beginning of one.
const STANDINGS: [&str; 3] = ["1", "http://x.example", "http"];

/// Variables that name folders and are not secret.
const PLACES: [&str; 2] = ["workspaceFolder", "userHome"];

/// A field and what is wrong with it.
type FieldFault = (String, String);

impl WrittenServer {
    /// What is wrong with the entry whatever its variables are set to. An `envFile` is not a fault here, because it can
    /// be replaced.
    pub fn fault(&self, name: &str) -> Option<(String, String)> {
        let server = Self { env_file: None, ..self.clone() };
        let meant = STANDINGS.map(|value| server.mean(name, &|_| Some(value.to_owned())));
        if meant.iter().any(Result::is_ok) {
            return None;
        }
        meant.into_iter().find_map(Result::err)
    }

    /// Checks and resolves the entry, with variables filled in. The error names the field.
    pub fn mean(&self, name: &str, lookup: Lookup<'_>) -> Result<ServerConfig, (String, String)> {
        if name.trim().is_empty() || name.len() > 64 || name.chars().any(char::is_control) {
            return wrong("name", "expected 1 to 64 visible characters");
        }
        if let Some(file) = &self.env_file {
            let what = format!(
                "`{file}` is not read; write its variables into `env`, as \"NAME\": \"${{NAME}}\", and set them"
            );
            return wrong("envFile", what);
        }
        let used = RefCell::new(BTreeMap::new());
        let length = Cell::new(0_usize);
        let recording = |name: &str| {
            let value = lookup(name)?;
            length.set(length.get().saturating_add(value.len()));
            if length.get() > LONGEST_FILLED {
                return None;
            }
            used.borrow_mut().insert(name.to_owned(), Secret(value.clone()));
            Some(value)
        };
        let lookup: Lookup<'_> = &recording;
        let found = self.login(lookup).and_then(|login| Ok((login, self.link(lookup)?, self.grants(lookup)?)));
        if length.get() > LONGEST_FILLED {
            let field = found.err().map_or_else(|| "env".to_owned(), |(field, _)| field);
            return wrong(&field, "the values of its variables are too long; expected at most 512 KiB in all");
        }
        let (login, link, grants) = found?;
        let mut filled = used.take();
        let fingerprint = self.fingerprint(&filled);
        filled.retain(|name, _| !PLACES.contains(&name.as_str()));
        Ok(ServerConfig {
            name: name.to_owned(),
            enabled: self.enabled,
            link,
            patience: self.patience()?,
            tools: self.tools.clone(),
            except: self.except.clone(),
            trusts_hints: self.trust,
            grants,
            login,
            sampling: match &self.sampling {
                None | Some(WrittenSampling::Switch(false)) => None,
                Some(WrittenSampling::Switch(true)) => Some(Sampling::default()),
                Some(WrittenSampling::Model(model)) => Some(Sampling { model: Some(model.clone()) }),
            },
            revision: Revision::meant_by(self.revision.as_deref())?,
            fingerprint,
            of_workspace: false,
            shown: self.shown(),
            filled,
            unused: Vec::new(),
        })
    }

    fn login(&self, lookup: Lookup<'_>) -> Result<LoginConfig, FieldFault> {
        let written = self.oauth.clone().unwrap_or_default();
        let fill = |field, text: Option<String>| text.map(|text| filled(field, &text, lookup)).transpose();
        let client_id = fill("oauth.clientId", written.client_id)?;
        let client_secret = fill("oauth.clientSecret", written.client_secret)?.map(Secret);
        let is_for_machines = match written.grant_type.as_deref() {
            None | Some("authorization_code") => false,
            Some("client_credentials") => true,
            Some(other) => {
                let what = format!("expected `authorization_code` or `client_credentials`, found `{other}`");
                return wrong("oauth.grantType", what);
            }
        };
        if is_for_machines && (client_id.is_none() || client_secret.is_none()) {
            return wrong("oauth.grantType", "`client_credentials` needs `clientId` and `clientSecret`");
        }
        Ok(LoginConfig { client_id, client_secret, scopes: written.scopes, is_for_machines })
    }

    fn link(&self, lookup: Lookup<'_>) -> Result<TransportConfig, FieldFault> {
        let kind = match (self.kind.as_deref(), &self.command, &self.url) {
            (Some(kind), _, _) => kind,
            (None, Some(_), None) => "stdio",
            (None, None, Some(_)) => "http",
            (None, Some(_), Some(_)) => return wrong("type", "both `command` and `url` are given; keep one of them"),
            (None, None, None) => return wrong("command", "expected `command` or `url`"),
        };
        match kind {
            "stdio" | "local" => self.stdio(lookup),
            "http" | "streamable-http" | "streamableHttp" | "streamable_http" | "remote" => {
                self.remote(RemoteTransport::Http, lookup)
            }
            "sse" => self.remote(RemoteTransport::Sse, lookup),
            other => wrong("type", format!("`{other}` is not a transport; expected `stdio`, `http` or `sse`")),
        }
    }

    fn stdio(&self, lookup: Lookup<'_>) -> Result<TransportConfig, FieldFault> {
        let Some(command) = self.command.as_deref().filter(|command| !command.trim().is_empty()) else {
            return wrong("command", "expected a program to start");
        };
        let args = self.args.iter().map(|text| filled("args", text, lookup).map(Secret));
        let cwd = self.cwd.as_deref().map(|text| filled("cwd", text, lookup)).transpose()?;
        Ok(TransportConfig::Stdio {
            command: filled("command", command, lookup)?,
            args: args.collect::<Result<_, _>>()?,
            env: table("env", &self.env, lookup)?,
            cwd: cwd.map(PathBuf::from),
        })
    }

    fn remote(&self, form: RemoteTransport, lookup: Lookup<'_>) -> Result<TransportConfig, FieldFault> {
        let Some(text) = &self.url else { return wrong("url", "expected the server's address") };
        let unfit = |what: &str| wrong("url", format!("{what}; expected http:// or https://"));
        let Ok(url) = Url::parse(&filled("url", text, lookup)?) else { return unfit("it is no address") };
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return unfit("it cannot be reached");
        }
        let headers = table("headers", &self.headers, lookup)?;
        if let Some(name) = headers.keys().find(|name| reqwest::header::HeaderName::try_from(name.as_str()).is_err()) {
            let begin = name.split([':', ' ']).next().unwrap_or_default();
            return wrong("headers", format!("`{begin}…` is not a valid header name"));
        }
        Ok(TransportConfig::Remote { url, headers, form })
    }

    fn patience(&self) -> Result<ServerTimeouts, FieldFault> {
        let line = self.command.iter().chain(&self.args).map(String::as_str);
        let start = fetching(line).map_or(ServerTimeouts::default().start, |_| package_runner::START);
        let usual = ServerTimeouts { start, ..ServerTimeouts::default() };
        let seconds = |field: &str, given: Option<f64>, usual: Duration| match given {
            None => Ok(usual),
            Some(number) if (0.05..=86_400.0).contains(&number) => Ok(Duration::from_secs_f64(number)),
            Some(number) => wrong(field, format!("{number} seconds; expected at most a day")),
        };
        let call = seconds("callSeconds", self.call, usual.call)?;
        Ok(ServerTimeouts {
            start: seconds("startSeconds", self.start, usual.start)?,
            call,
            longest: seconds("longestSeconds", self.longest, usual.longest.max(call))?.max(call),
        })
    }

    fn grants(&self, lookup: Lookup<'_>) -> Result<ServerGrants, FieldFault> {
        let Some(written) = &self.sandbox else { return Ok(ServerGrants::default()) };
        let network = match &written.network {
            None => Network::None,
            Some(text) => match text.parse() {
                Ok(network) => network,
                Err(why) => return wrong("sandbox.network", format!("{why}")),
            },
        };
        let paths = |field: &str, list: &[String]| {
            let path = |text: &String| filled(field, text, lookup).map(PathBuf::from);
            list.iter().map(path).collect::<Result<Vec<_>, _>>()
        };
        Ok(ServerGrants {
            network,
            read: paths("sandbox.read", &written.read)?,
            write: paths("sandbox.write", &written.write)?,
        })
    }

    /// How it is reached, without possible keys: without arguments, and of an address only host and path.
    fn shown(&self) -> String {
        let Some(url) = self.url.as_deref().filter(|_| self.command.is_none()) else {
            let command = self.command.clone().unwrap_or_default();
            return if self.args.is_empty() { command } else { format!("{command} …") };
        };
        let plain = url.split(['?', '#']).next().unwrap_or_default();
        let (scheme, rest) = plain.split_once("://").unwrap_or(("http", plain));
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = host.rsplit('@').next().unwrap_or_default();
        format!("{scheme}://{host}{path}")
    }

    fn fingerprint(&self, filled: &BTreeMap<String, Secret>) -> String {
        // Whether it is enabled, and its time limits, do not change what it is.
        let same = Self { enabled: true, start: None, call: None, longest: None, ..self.clone() };
        let filled: BTreeMap<&String, &str> = filled.iter().map(|(name, value)| (name, value.reveal())).collect();
        let bytes = serde_json::to_vec(&(same, filled)).unwrap_or_default();
        ContentHash(Sha256::digest(&bytes).into()).to_string()
    }
}

fn wrong<T>(field: &str, what: impl Into<String>) -> Result<T, FieldFault> {
    Err((field.to_owned(), what.into()))
}

fn filled(field: &str, text: &str, lookup: Lookup<'_>) -> Result<String, FieldFault> {
    expand(text, lookup).map_err(|missing| (field.to_owned(), missing.words()))
}

fn table(
    field: &str,
    written: &BTreeMap<String, String>,
    lookup: Lookup<'_>,
) -> Result<BTreeMap<String, Secret>, FieldFault> {
    let entry = |(name, text): (&String, &String)| {
        Ok((name.clone(), Secret(filled(&format!("{field}.{name}"), text, lookup)?)))
    };
    written.iter().map(entry).collect()
}

#[cfg(test)]
mod tests;
