//! The registry of tools by name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use updraft_run::{EffectClass, ToolSpec};

use crate::browser::{self, BrowserOptions};
use crate::builtin::{self, NapMode};
use crate::confinement::Confinement;
use crate::dispatch::EditCheck;
use crate::document_reader::DocumentReader;
use crate::error::Error;
use crate::guardrails::Guardrails;
use crate::hooks::Hook;
use crate::limits::ToolLimits;
use crate::memory_access::MemoryAccess;
use crate::offer::FINDERS;
use crate::remote_agent::{self, RemoteAgentConfig};
use crate::schema::Schema;
use crate::tool::{Tool, ToolSource};
use crate::web::WebConfig;
use crate::worker::PythonConfig;
use crate::workspace_index::WorkspaceIndex;

/// Most bytes of a description: all descriptions are sent with every request to a model.
const DESCRIPTION: usize = 16 << 10;

/// Tools by name, each with its schema. Always sorted by name, so that prompts stay the same.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<String, RegistryEntry>,
    /// Short names, each for one of the tools.
    short: BTreeMap<String, String>,
    /// The tools that may change or be removed during a run.
    changing: BTreeSet<String>,
    /// What every call, goal and answer is checked by.
    guardrails: Guardrails,
    /// Commands that are run after an agent has edited files.
    checks: Arc<[EditCheck]>,
    /// Programs that are told about calls that have ended.
    hooks: Arc<Vec<Hook>>,
}

#[derive(Clone)]
pub(crate) struct RegistryEntry {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) schema: Arc<Schema>,
    /// The schema of its data, if it has one.
    pub(crate) output: Option<Arc<Schema>>,
}

impl Registry {
    /// A registry of the built-in tools for files and questions to the user.
    ///
    /// Schemas are compiled when they are first used, so this costs microseconds.
    pub fn standard(limits: &ToolLimits) -> Self {
        let mut registry = Self::default();
        for tool in builtin::standard(limits) {
            registry.insert_own(tool);
        }
        for tool in builtin::finders() {
            registry.insert_own(tool);
        }
        // Its name when it was for servers only.
        registry.shorten("call_mcp_tool", updraft_run::CALL_TOOL);
        // Models that were trained with `apply_patch` call it even if they were not given it.
        registry.shorten(builtin::APPLY_PATCH, "edit_file");
        registry
    }

    /// Lets `read_file` read documents: PDF, Office files, books, mail.
    #[must_use]
    pub fn with_documents(mut self, limits: &ToolLimits, documents: DocumentReader) -> Self {
        self.insert_own(builtin::reading(limits, documents));
        self
    }

    /// Adds `run_command`, which runs commands in the sandbox, and `background` for those that keep running.
    #[must_use]
    pub fn with_commands(mut self, confinement: Confinement) -> Self {
        for tool in builtin::commands(confinement) {
            self.insert_own(tool);
        }
        self
    }

    /// Adds `run_python`, which runs code in the sandbox. Python is looked for on the first call.
    #[must_use]
    pub fn with_python(mut self, confinement: Confinement, python: PythonConfig) -> Self {
        self.insert_own(builtin::python(confinement, python));
        self
    }

    /// Adds `web_fetch` and `web_search`, which read web pages and search for them.
    #[must_use]
    pub fn with_web(mut self, web: WebConfig) -> Self {
        for tool in builtin::web(web) {
            self.insert_own(tool);
        }
        self
    }

    /// Adds `retrieve`, `list_documents` and `ingest_document`, which use the workspace's index. `search_files` asks it
    /// which of too many matches matter most.
    #[must_use]
    pub fn with_index(mut self, index: &Arc<WorkspaceIndex>, limits: &ToolLimits) -> Self {
        for tool in builtin::knowledge(index, limits) {
            self.insert_own(tool);
        }
        self
    }

    /// Adds `memory`, and `remember` and `recall`, which it stands for: they use the long-term memory.
    #[must_use]
    pub fn with_memory(mut self, memory: &Arc<MemoryAccess>) -> Self {
        for tool in builtin::memory(memory) {
            self.insert_own(tool);
        }
        self
    }

    /// Adds `use_skill`, which reads skills; the folder of each by its name. Without skills there is no such tool.
    #[must_use]
    pub fn with_skills(mut self, skills: BTreeMap<String, PathBuf>) -> Self {
        if !skills.is_empty() {
            self.insert_own(builtin::skills(skills));
        }
        self
    }

    /// Adds the tools that use pages in a browser. It is looked for and started when the first page is opened.
    #[must_use]
    pub fn with_browser(
        mut self,
        options: BrowserOptions,
        web: WebConfig,
        confinement: Confinement,
        limits: &ToolLimits,
    ) -> Self {
        for tool in browser::tools(options, web, confinement, limits) {
            self.insert_own(tool);
        }
        self
    }

    /// Adds the tools that compare, test and keep candidates, whose copies of the workspace are below `copies`.
    #[must_use]
    pub fn with_candidates(mut self, copies: PathBuf, confinement: Confinement, limits: &ToolLimits) -> Self {
        for tool in builtin::candidates(copies, confinement, limits) {
            self.insert_own(tool);
        }
        self
    }

    /// Adds a tool for each agent on another server.
    #[must_use]
    pub fn with_remote_agents(mut self, agents: Vec<RemoteAgentConfig>) -> Self {
        for tool in remote_agent::tools(agents) {
            self.insert_own(tool);
        }
        self
    }

    /// Adds the tools `echo` and `nap`, which only serve benchmarks.
    #[must_use]
    pub fn with_bench(mut self, nap: NapMode) -> Self {
        for tool in builtin::bench(nap) {
            self.insert_own(tool);
        }
        self
    }

    /// Sets the guardrails, and adds `check_guardrails`, by which the run checks goals and answers.
    #[must_use]
    pub fn with_guardrails(mut self, guardrails: Guardrails) -> Self {
        self.insert_own(Arc::new(builtin::check_guardrails::CheckGuardrails::new(guardrails.clone())));
        self.guardrails = guardrails;
        self
    }

    /// Sets the commands that are run after an agent has edited files, each for all files or for some: `*.py: ruff check {files}`.
    /// Fails if a pattern cannot be read.
    pub fn with_checks(self, checks: &[String]) -> Result<Self, String> {
        let checks = checks.iter().map(|check| EditCheck::parse(check)).collect::<Result<_, _>>()?;
        Ok(Self { checks, ..self })
    }

    /// Sets the programs that are told about calls that have ended.
    #[must_use]
    pub fn with_hooks(self, hooks: Vec<Hook>) -> Self {
        Self { hooks: Arc::new(hooks), ..self }
    }

    pub(crate) fn hooks(&self) -> &[Hook] {
        &self.hooks
    }

    pub(crate) fn checks(&self) -> &[EditCheck] {
        &self.checks
    }

    /// What every call, goal and answer is checked by.
    pub fn guardrails(&self) -> &Guardrails {
        &self.guardrails
    }

    /// Adds a tool from any source: its name, description and schema are checked, and the schema compiled.
    pub fn insert(&mut self, tool: Arc<dyn Tool>) -> Result<(), Error> {
        let entry = RegistryEntry::checked(tool, Schema::new)?;
        let name = entry.tool.spec().name.clone();
        let in_schema = |why| Error::Schema { tool: name.clone(), why };
        entry.schema.check().map_err(in_schema)?;
        entry.output.as_ref().map_or(Ok(()), |output| output.check()).map_err(in_schema)?;
        self.take(entry)
    }

    /// Adds a tool that may change or be removed during a run, as a server's tools may.
    pub fn insert_changing(&mut self, tool: Arc<dyn Tool>) -> Result<(), Error> {
        let name = tool.spec().name.clone();
        self.insert(tool)?;
        self.changing.insert(name);
        Ok(())
    }

    /// Adds a tool whose schemas were already compiled when it was found: they are compiled again on first use.
    pub(crate) fn insert_later(&mut self, tool: Arc<dyn Tool>) -> Result<(), Error> {
        self.take(RegistryEntry::checked(tool, Schema::new)?)
    }

    fn take(&mut self, entry: RegistryEntry) -> Result<(), Error> {
        let name = entry.tool.spec().name.clone();
        if self.tools.contains_key(&name) {
            return Err(Error::Taken(name));
        }
        self.tools.insert(name, entry);
        Ok(())
    }

    /// Adds a built-in tool. The tests check that each one is valid; an invalid one would be missing.
    fn insert_own(&mut self, tool: Arc<dyn Tool>) {
        match RegistryEntry::checked(tool, Schema::own) {
            Ok(entry) => {
                self.tools.insert(entry.tool.spec().name.clone(), entry);
            }
            Err(error) => tracing::error!(%error, "a built-in tool is faulty"),
        }
    }

    /// The tool with that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|entry| &entry.tool)
    }

    /// Adds a short name for a tool. If a tool has that name itself, that tool is used.
    pub fn shorten(&mut self, short: &str, name: &str) {
        self.short.insert(short.to_owned(), name.to_owned());
    }

    /// The name of the tool that is meant: the name itself, or the one that it is short for.
    pub fn full_name<'a>(&'a self, called: &'a str) -> Option<&'a str> {
        if self.tools.contains_key(called) {
            return Some(called);
        }
        self.stand_in(called)
    }

    /// The tool that does what is asked for by a name, for agents that may not use the tool of that name.
    pub fn stand_in(&self, called: &str) -> Option<&str> {
        self.short.get(called).map(String::as_str).filter(|name| self.tools.contains_key(*name))
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&RegistryEntry> {
        self.tools.get(name)
    }

    /// Up to three names that are close to an unknown one, the nearest first.
    pub fn close_names(&self, name: &str) -> Vec<&str> {
        let name = crate::truncate::line(name, 64);
        let names: Vec<&str> = self.tools.keys().map(String::as_str).collect();
        similar::get_close_matches(&name, &names, 3, 0.6)
    }

    /// The tools that an agent may use, requested by name, group or MCP server, sorted by name and without
    /// duplicates. Unknown names are ignored.
    pub fn specs_for<S: AsRef<str>>(&self, wanted: &[S]) -> Vec<ToolSpec> {
        let is_wanted = |tool: &dyn Tool| {
            let (name, traits) = (&tool.spec().name, tool.traits());
            let is_of = |group: &str| group == traits.group && !traits.only_by_name;
            let source = tool.source();
            let is_by = |server: &str| matches!(&source, ToolSource::Server(name) if name == server);
            let is_named = |want: &str| {
                let meant = self.full_name(want);
                meant == Some(name) || (meant.is_some() && meant == tool.comes_with())
            };
            let finds = |group: &str| group == "mcp" && FINDERS.contains(&name.as_str());
            let is_it = |want: &str| is_of(want) || is_named(want) || is_by(want) || finds(want);
            wanted.iter().any(|want| is_it(want.as_ref()))
        };
        self.iter().filter(|tool| is_wanted(tool.as_ref())).map(|tool| tool.spec().clone()).collect()
    }

    /// The tools whose definitions are text from outside, each with the source of that text.
    pub fn strange(&self) -> BTreeMap<String, String> {
        self.iter().filter_map(|tool| Some((tool.spec().name.clone(), tool.words_from()?))).collect()
    }

    /// Whether this tool exists and cannot change during a run.
    pub fn is_fixed(&self, name: &str) -> bool {
        self.tools.contains_key(name) && !self.changing.contains(name)
    }

    /// Whether this tool exists and only reads.
    pub fn only_reads(&self, name: &str) -> bool {
        self.get(name).is_some_and(|tool| tool.traits().class == EffectClass::Pure)
    }

    /// Every tool, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values().map(|entry| &entry.tool)
    }
}

impl RegistryEntry {
    fn checked(tool: Arc<dyn Tool>, read: fn(&Value) -> Result<Schema, String>) -> Result<Self, Error> {
        let ToolSpec { name, description, parameters, .. } = tool.spec();
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || name.len() > 64 || !name.bytes().all(is_fine) {
            return Err(Error::Name(crate::truncate::line(name, 64)));
        }
        if description.len() > DESCRIPTION {
            return Err(Error::Description { tool: name.clone(), len: description.len(), limit: DESCRIPTION });
        }
        let in_schema = |why| Error::Schema { tool: name.clone(), why };
        let schema = Arc::new(read(parameters).map_err(in_schema)?);
        schema.takes_arguments().map_err(in_schema)?;
        let output = tool.output().map(read).transpose().map_err(|why| in_schema(format!("of its output: {why}")))?;
        Ok(Self { schema, output: output.map(Arc::new), tool })
    }
}
