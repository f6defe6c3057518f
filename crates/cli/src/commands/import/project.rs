//! `updraft import FOLDER`: takes over the agents, prompts, models and servers of a project that configures them by
//! `agent_config.yaml`, `models.json`, `profiles.yaml` and `mcp_server_config.yaml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use updraft_engine::read_yaml;
use updraft_mcp::config::WrittenServer;
use updraft_run::StepId;

use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out;
use crate::servers::{ServerListFile, own_file};

/// The servers whose tools are built in here, as groups of the same names.
const BUILT_IN: [&str; 3] = ["browser", "rag", "sandbox"];

/// A project's configuration, as it was read.
struct Project {
    folder: PathBuf,
    agents: Map<String, Value>,
    /// Our names of models, by the names that the project gives them.
    models: BTreeMap<String, String>,
    /// The model that the project uses unless something else is said.
    usual: Option<String>,
    servers: Map<String, Value>,
}

pub(super) fn import(app: &AppFolders, folder: &Path) -> CliResult {
    let project = Project::read(folder)?;
    project.write_agents(app)?;
    project.write_models(app)?;
    project.write_servers(app)?;
    Ok(CliExitCode::Done)
}

impl Project {
    fn read(folder: &Path) -> Result<Self, CliError> {
        let folder = folder.canonicalize().map_err(|error| CliError::file("open", folder, &error))?;
        let Some(agents) = config(&folder, "agent_config.yaml")? else {
            return Err(CliError::usage(format!("there is no `agent_config.yaml` in `{}`", folder.display()))
                .hint("a file that `updraft export` wrote is imported by its own name")
                .hint("`updraft import --workspace DIR` takes over what other coding agents have in a folder"));
        };
        let models = config(&folder, "models.json")?.unwrap_or_default();
        let profiles = config(&folder, "profiles.yaml")?.unwrap_or_default();
        let servers = config(&folder, "mcp_server_config.yaml")?.unwrap_or_default();
        let usual = profiles["llm"]["text_generation"].as_str().or(models["defaults"]["text_generation"].as_str());
        let named = inner(&models, &["models"]);
        Ok(Self {
            usual: usual.map(str::to_owned),
            agents: inner(&agents, &["agents"]),
            models: named.iter().filter_map(|(name, model)| Some((name.clone(), model_name(name, model)?))).collect(),
            servers: by_name(&servers),
            folder,
        })
    }

    fn write_agents(&self, app: &AppFolders) -> Result<(), CliError> {
        let into = app.config.join("agents");
        std::fs::create_dir_all(&into).map_err(|error| CliError::file("make", &into, &error))?;
        let mut taken = Vec::new();
        for (title, agent) in &self.agents {
            let name = title.strip_suffix("Agent").unwrap_or(title).to_lowercase();
            let file = into.join(format!("{name}.md"));
            if StepId::parse(&name).is_err() {
                out::note(&out::harmless(&format!("`{name}` was left out: it is not a name for an agent")));
                continue;
            }
            if file.exists() {
                out::note(&format!("`{name}` was left out: {} exists", file.display()));
                continue;
            }
            let prompt = match self.prompt(agent["prompt_file"].as_str().unwrap_or_default()) {
                Ok(prompt) => prompt,
                Err(why) => {
                    out::note(&out::harmless(&format!("`{name}` was left out: {why}")));
                    continue;
                }
            };
            let text = self.agent_file(&name, agent, &prompt);
            std::fs::write(&file, text).map_err(|error| CliError::file("write", &file, &error))?;
            taken.push(name);
        }
        out::note(&format!("imported {} into {}", listed(&taken, "agents"), into.display()));
        Ok(())
    }

    /// An agent's file. Text in quotes of JSON is text in quotes of YAML.
    fn agent_file(&self, name: &str, agent: &Value, prompt: &str) -> String {
        let purpose = agent["description"].as_str().unwrap_or(name);
        let mut text = format!("---\nname: {name}\npurpose: {}\n", json!(purpose));
        let tools: Vec<&str> =
            agent["mcp_servers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let _ = writeln!(text, "tools: {}", json!(tools));
        if let Some(model) = agent["model"].as_str().filter(|model| self.models.contains_key(*model)) {
            let _ = writeln!(text, "model: {}", json!(model));
        }
        text + "---\n" + prompt.trim() + "\n"
    }

    /// A prompt of the project. Its path may begin with folders above the project.
    fn prompt(&self, file: &str) -> Result<String, String> {
        let parts: Vec<&str> = file.split('/').filter(|part| !part.is_empty()).collect();
        let candidates = (0..parts.len()).map(|from| self.folder.join(parts[from..].join("/")));
        let found = candidates.filter_map(|path| path.canonicalize().ok()).find(|path| path.starts_with(&self.folder));
        let found = found.ok_or_else(|| format!("its prompt `{file}` is not in the folder"))?;
        std::fs::read_to_string(found).map_err(|error| format!("its prompt `{file}` cannot be read: {error}"))
    }

    /// Models become profiles. An existing `config.toml` is the user's: what to add to it is printed.
    fn write_models(&self, app: &AppFolders) -> Result<(), CliError> {
        if self.models.is_empty() {
            return Ok(());
        }
        let mut text = String::new();
        if let Some(usual) = self.usual.as_ref().filter(|usual| self.models.contains_key(*usual)) {
            let _ = writeln!(text, "model = {}\n", json!(usual));
        }
        for (name, model) in &self.models {
            let _ = writeln!(text, "[profiles.{}]\nmodel = {}\n", json!(name), json!(model));
        }
        let file = app.config.join("config.toml");
        if file.exists() {
            out::note(&format!("{} exists; to use the project's models, add:", file.display()));
            out::note(&out::harmless(text.trim_end()));
            return Ok(());
        }
        folders::replace_private(&file, text.as_bytes())?;
        let names: Vec<String> = self.models.keys().cloned().collect();
        out::note(&format!("imported {} into {}", listed(&names, "models"), file.display()));
        Ok(())
    }

    fn write_servers(&self, app: &AppFolders) -> Result<(), CliError> {
        let file = own_file(app);
        let mut own = ServerListFile::read(&file)?;
        let mut taken = Vec::new();
        for (name, entry) in &self.servers {
            if BUILT_IN.contains(&name.as_str()) {
                out::note(&format!("the server `{name}` was left out: its tools are built in"));
                continue;
            }
            let server = self.server(entry);
            if let Some((field, what)) = server.fault(name) {
                out::note(&out::harmless(&format!("the server `{name}` was left out: `{field}`: {what}")));
            } else if own.has(name) {
                out::note(&format!("the server `{name}` was left out: there is one of that name"));
            } else {
                own.insert(name, &server);
                taken.push(name.clone());
            }
        }
        if !taken.is_empty() {
            own.save(&file)?;
            let names = listed(&taken, "servers");
            out::note(&format!("imported {names} into {}\n  hint: `updraft mcp check` tests them", file.display()));
        }
        Ok(())
    }

    /// A server's entry: a command with arguments, or a Python script of the project.
    fn server(&self, entry: &Value) -> WrittenServer {
        let text = |key: &str| entry[key].as_str().map(str::to_owned);
        let mut args: Vec<String> =
            entry["args"].as_array().into_iter().flatten().filter_map(|arg| arg.as_str().map(str::to_owned)).collect();
        let script = text("script").map(|script| self.folder.join(script).display().to_string());
        let command = text("command").or_else(|| script.is_some().then(|| "python3".to_owned()));
        args.extend(script);
        WrittenServer { command, args, cwd: text("cwd"), url: text("url"), enabled: true, ..WrittenServer::default() }
    }
}

/// A file of the project's configuration, in `config/` or beside it.
fn config(folder: &Path, name: &str) -> Result<Option<Value>, CliError> {
    let Some(file) = [folder.join("config").join(name), folder.join(name)].into_iter().find(|file| file.is_file())
    else {
        return Ok(None);
    };
    let text = std::fs::read_to_string(&file).map_err(|error| CliError::file("read", &file, &error))?;
    let value = if std::path::Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json")) {
        serde_json::from_str(&text).map_err(|error| error.to_string())
    } else {
        read_yaml(&text)
    };
    value.map(Some).map_err(|why| CliError::config(format!("{}: {why}", file.display())))
}

/// The table under one of these names, or the whole value if it is the table itself.
fn inner(value: &Value, names: &[&str]) -> Map<String, Value> {
    let table = names.iter().find_map(|name| value.get(name)?.as_object()).or_else(|| value.as_object());
    table.cloned().unwrap_or_default().into_iter().filter(|(_, entry)| entry.is_object()).collect()
}

/// Servers by name: a table, or a list whose entries have an `id`.
fn by_name(value: &Value) -> Map<String, Value> {
    let list = value["mcp_servers"].as_array().or(value["servers"].as_array()).or(value.as_array());
    let Some(list) = list else { return inner(value, &["mcp_servers", "servers", "mcpServers"]) };
    let name = |entry: &Value| entry["id"].as_str().or(entry["name"].as_str()).map(str::to_owned);
    list.iter().filter_map(|entry| Some((name(entry)?, entry.clone()))).collect()
}

/// Our name of a model: `provider/name`.
fn model_name(name: &str, model: &Value) -> Option<String> {
    let kind = model["type"].as_str().or(model["provider"].as_str()).unwrap_or_default();
    let provider = match kind {
        "gemini" | "google" => "gemini",
        "ollama" | "openai" | "anthropic" => kind,
        other => {
            out::note(&out::harmless(&format!("the model `{name}` was left out: its type is `{other}`")));
            return None;
        }
    };
    model["model"].as_str().map(|model| format!("{provider}/{model}"))
}

fn listed(names: &[String], what: &str) -> String {
    if names.is_empty() { format!("no {what}") } else { names.join(", ") }
}
