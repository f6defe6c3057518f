//! Loads agents from files with front matter and a prompt. If several folders have a file of the same name, the nearest
//! folder wins.

mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use updraft_run::{AgentRole, NarrowedRights, ThinkingEffort};

use crate::{Error, read_untrusted};

/// The largest file of an agent or a prompt, in bytes; about ten times the longest that people write.
const LARGEST: u64 = 1 << 20;

macro_rules! compiled_in {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../agents/", $name, ".md")))),*]
    };
}

const COMPILED_IN: &[(&str, &str)] = compiled_in![
    "browser",
    "chooser",
    "clarification",
    "coder",
    "distiller",
    "formatter",
    "planner",
    "qa",
    "researcher",
    "retriever",
    "reviewer",
    "router",
    "summarizer",
    "thinker",
];

/// One agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// A sentence for the planner that says what the agent is for.
    pub purpose: String,
    /// Names of tools and of tool groups.
    pub tools: Vec<String>,
    /// Its model as `provider/name`, or the kind of model it needs (`fast`, `strong`, a profile), if it is not the
    /// run's.
    pub model: Option<String>,
    /// How much its model thinks.
    pub think: ThinkingEffort,
    /// How many turns it may take.
    pub turns: Option<u32>,
    /// Its role. If the file does not say, it has the role of the agent it replaces, or otherwise `work`.
    pub role: Option<AgentRole>,
    /// Whether a model judges its results.
    pub reflect_by_model: bool,
    /// It may not change anything.
    pub read_only: bool,
    /// How its rights are narrower than the run's.
    pub narrowed: NarrowedRights,
    /// JSON Schema of its results.
    pub schema: Option<Value>,
    /// A shorter prompt for models with a small context window.
    pub small: Option<String>,
    /// Words in a goal that ask for it, for a swarm whose router makes no plan.
    pub keywords: Vec<String>,
    /// Where it is, if it works on another server.
    pub remote: Option<RemoteAddress>,
    /// Fields of its file that only other tools use.
    pub ignored: Vec<String>,
    /// Its prompt.
    pub prompt: String,
    /// The file it was read from; `None` for a built-in agent.
    pub file: Option<PathBuf>,
    /// How near the folder of its file is: 0 for a built-in agent, higher is nearer.
    pub layer: u32,
}

/// Where an agent is that works on another server, which speaks A2A.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteAddress {
    /// The address of the server, or of its agent card.
    pub url: String,
    /// The environment variable that holds the token for it.
    pub token_env: Option<String>,
    /// The agent's name there, if the server has several.
    pub tenant: Option<String>,
}

/// Whether the files of a folder may widen what an agent may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderTrust {
    /// The files are used as they are.
    Full,
    /// The files can only narrow the rights of an agent that exists; their prompts and models are ignored.
    NarrowOnly,
}

/// The agent among these that has a role.
pub(crate) fn in_role<'a>(agents: impl Iterator<Item = &'a Agent>, role: AgentRole) -> Option<&'a Agent> {
    let mut holder: Option<&Agent> = None;
    for agent in agents.filter(|agent| agent.role == Some(role)) {
        if holder.is_none_or(|known| known.layer < agent.layer) {
            holder = Some(agent);
        }
    }
    holder
}

/// All agents, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agents {
    known: BTreeMap<String, Agent>,
    /// Agents whose files cannot be used, and why.
    left_out: BTreeMap<String, String>,
    /// Agents that only files of a folder without trust describe: they are not used.
    distrusted: BTreeSet<String>,
    /// How many folders have been read on top of the built-in agents.
    layers: u32,
}

impl Agents {
    /// Lets the caller change the rules in the agents' files.
    pub fn change_rules(&mut self, mut reword: impl FnMut(&mut updraft_run::Rules)) {
        self.known.values_mut().for_each(|agent| reword(&mut agent.narrowed.rules));
    }

    /// Has an agent give results of another form.
    pub fn set_schema(&mut self, name: &str, schema: Value) {
        if let Some(agent) = self.known.get_mut(name) {
            agent.schema = Some(schema);
        }
    }

    /// Gives an agent that has tools one more.
    pub fn add_tool(&mut self, name: &str, tool: &str) {
        let agent = self.known.get_mut(name).filter(|agent| !agent.tools.is_empty());
        if let Some(agent) = agent.filter(|agent| !agent.tools.iter().any(|own| own == tool)) {
            agent.tools.push(tool.to_owned());
        }
    }

    /// The built-in agents.
    pub fn compiled_in() -> Result<Self, Error> {
        let parsed = COMPILED_IN.iter().map(|(name, text)| {
            let agent = Agent::parse(name, text, Path::new(name))?;
            Ok((agent.name.clone(), Agent { file: None, ..agent }))
        });
        Ok(Self { known: parsed.collect::<Result<_, Error>>()?, ..Self::default() })
    }

    /// Adds the `*.md` files of a folder, replacing agents of the same name. A missing folder changes nothing. A file
    /// that cannot be read is reported and changes nothing either: a built-in agent stays as it is.
    pub fn override_from(&mut self, folder: &Path, trust: FolderTrust) -> Result<(), Error> {
        self.layers += 1;
        for (stem, text) in markdown_in(folder)? {
            let file = folder.join(format!("{stem}.md"));
            match text.and_then(|text| Agent::parse(&stem, &text, &file)) {
                Ok(agent) => self.take(Agent { layer: self.layers, ..agent }, trust),
                Err(error) => self.name_faulty(&stem, in_full(&error)),
            }
        }
        Ok(())
    }

    fn take(&mut self, agent: Agent, trust: FolderTrust) {
        match trust {
            FolderTrust::Full => self.insert(agent),
            FolderTrust::NarrowOnly => {
                if let Some(known) = self.known.get_mut(&agent.name) {
                    known.tools.retain(|tool| agent.tools.contains(tool));
                    known.read_only |= agent.read_only;
                    known.narrowed.mode = known.narrowed.mode.or(agent.narrowed.mode);
                    known.narrowed.rules.ask.extend(agent.narrowed.rules.ask);
                    known.narrowed.rules.deny.extend(agent.narrowed.rules.deny);
                    known.turns = [known.turns, agent.turns].into_iter().flatten().min();
                } else {
                    self.distrusted.insert(agent.name);
                }
            }
        }
    }

    /// Removes an agent, with the reason for the user. A built-in agent of the same name takes its place.
    pub fn leave_out(&mut self, name: &str, why: String) {
        self.known.remove(name);
        let built_in = COMPILED_IN.iter().find(|(known, _)| *known == name);
        if let Some(agent) = built_in.and_then(|(name, text)| Agent::parse(name, text, Path::new(name)).ok()) {
            self.known.insert(name.to_owned(), Agent { file: None, ..agent });
        }
        self.name_faulty(name, why);
    }

    /// Records why a file is not used, and which agent is used instead.
    fn name_faulty(&mut self, name: &str, why: String) {
        let instead = self.known.get(name).map(|known| match &known.file {
            None => format!("; the built-in `{name}` is used instead"),
            Some(file) => format!("; `{}` is used instead", file.display()),
        });
        self.left_out.insert(name.to_owned(), why + &instead.unwrap_or_default());
    }

    /// Agents whose files cannot be used: each name, and why. Another agent of the same name may still exist.
    pub fn left_out(&self) -> impl Iterator<Item = (&str, &str)> {
        self.left_out.iter().map(|(name, why)| (name.as_str(), why.as_str()))
    }

    /// Whether an agent of this name would exist if the workspace were trusted.
    pub fn is_distrusted(&self, name: &str) -> bool {
        self.distrusted.contains(name) && self.get(name).is_none()
    }

    /// An agent by its name.
    pub fn get(&self, name: &str) -> Option<&Agent> {
        self.known.get(name)
    }

    /// The agent that has a role. If there are several, the one whose file is nearest; then the first in name order.
    pub fn in_role(&self, role: AgentRole) -> Option<&Agent> {
        in_role(self.iter(), role)
    }

    /// All agents, in name order.
    pub fn iter(&self) -> impl Iterator<Item = &Agent> {
        self.known.values()
    }

    /// Adds an agent, or replaces the one with the same name.
    pub fn insert(&mut self, mut agent: Agent) {
        self.left_out.remove(&agent.name);
        agent.role = agent.role.or_else(|| self.known.get(&agent.name).and_then(|known| known.role));
        self.known.insert(agent.name.clone(), agent);
    }
}

/// An error and its causes, on one line.
fn in_full(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(reason) = source {
        text.push_str(": ");
        text.push_str(&reason.to_string());
        source = reason.source();
    }
    text
}

/// A file's stem and its text, or why the file cannot be read.
type MarkdownFile = (String, Result<String, Error>);

/// The Markdown files of a folder, in name order.
pub(crate) fn markdown_in(folder: &Path) -> Result<Vec<MarkdownFile>, Error> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(missing) if missing.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Error::File { file: folder.to_owned(), source }),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|source| Error::File { file: folder.to_owned(), source })?.path();
        if path.extension().is_some_and(|extension| extension == "md")
            && let Some(stem) = path.file_stem().and_then(|stem| stem.to_str())
        {
            let text =
                read_untrusted::read_text(&path, LARGEST).map_err(|source| Error::File { file: path.clone(), source });
            found.push((stem.to_owned(), text));
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}
