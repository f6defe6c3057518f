//! Tools by name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use updraft_run::{EffectClass, ToolSpec};

use crate::builtin::{self, NapMode};
use crate::confinement::Confinement;
use crate::error::Error;
use crate::limits::ToolLimits;
use crate::schema::Schema;
use crate::tool::{Tool, ToolSource};
use crate::web::WebConfig;
use crate::worker::PythonConfig;

/// Bytes of a description: every one is sent with every question to a model.
const DESCRIPTION: usize = 16 << 10;

/// Tools by name, each with its schema. Always in the order of their names, so that prompts stay the same.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<String, RegistryEntry>,
    /// Shorter names that stand for one of them.
    short: BTreeMap<String, String>,
    /// Those that may change or vanish while runs go on.
    changing: BTreeSet<String>,
}

#[derive(Clone)]
pub(crate) struct RegistryEntry {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) schema: Arc<Schema>,
    /// What its data must fit, where it promises something.
    pub(crate) output: Option<Arc<Schema>>,
}

impl Registry {
    /// A registry of the tools that are always there: files and questions to the user.
    ///
    /// Schemas are compiled when they are first used, so this costs microseconds.
    pub fn standard(limits: &ToolLimits) -> Self {
        let mut registry = Self::default();
        for tool in builtin::standard(limits) {
            registry.insert_own(tool);
        }
        registry
    }

    /// Adds `run_command`, which runs what it is told in the sandbox.
    #[must_use]
    pub fn with_commands(mut self, confinement: Confinement) -> Self {
        self.insert_own(builtin::commands(confinement));
        self
    }

    /// Adds `run_python`, which runs code in the sandbox. Python is looked for with the first call.
    #[must_use]
    pub fn with_python(mut self, confinement: Confinement, python: PythonConfig) -> Self {
        self.insert_own(builtin::python(confinement, python));
        self
    }

    /// Adds `web_fetch`, which reads pages of the web.
    #[must_use]
    pub fn with_web(mut self, web: WebConfig) -> Self {
        self.insert_own(builtin::web(web));
        self
    }

    /// Adds the tools `echo` and `nap`, which measure us and do nothing else.
    #[must_use]
    pub fn with_bench(mut self, nap: NapMode) -> Self {
        for tool in builtin::bench(nap) {
            self.insert_own(tool);
        }
        self
    }

    /// Takes on a tool, whoever made it: its name, description and schema are checked, and the schema compiled.
    pub fn insert(&mut self, tool: Arc<dyn Tool>) -> Result<(), Error> {
        let entry = RegistryEntry::checked(tool, Schema::new)?;
        let name = entry.tool.spec().name.clone();
        let in_schema = |why| Error::Schema { tool: name.clone(), why };
        entry.schema.check().map_err(in_schema)?;
        entry.output.as_ref().map_or(Ok(()), |output| output.check()).map_err(in_schema)?;
        self.take(entry)
    }

    /// The same for one that may change or vanish while runs go on, as a server's may.
    pub fn insert_changing(&mut self, tool: Arc<dyn Tool>) -> Result<(), Error> {
        let name = tool.spec().name.clone();
        self.insert(tool)?;
        self.changing.insert(name);
        Ok(())
    }

    /// Takes on a tool whose schemas have been compiled before, when it was found: they are compiled again when used.
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

    /// A tool of ours. The tests check that each passes; one that did not would be missing, not broken.
    fn insert_own(&mut self, tool: Arc<dyn Tool>) {
        match RegistryEntry::checked(tool, Schema::own) {
            Ok(entry) => {
                self.tools.insert(entry.tool.spec().name.clone(), entry);
            }
            Err(error) => tracing::error!(%error, "a built-in tool is faulty"),
        }
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|entry| &entry.tool)
    }

    /// Lets a shorter name stand for a tool. A tool that has the name itself goes before.
    pub fn shorten(&mut self, short: &str, name: &str) {
        self.short.insert(short.to_owned(), name.to_owned());
    }

    /// The name of the tool that is meant: that name itself, or the one that it is short for.
    pub fn full_name<'a>(&'a self, called: &'a str) -> Option<&'a str> {
        if self.tools.contains_key(called) {
            return Some(called);
        }
        self.short.get(called).map(String::as_str).filter(|name| self.tools.contains_key(*name))
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&RegistryEntry> {
        self.tools.get(name)
    }

    /// Up to three names that one that is not there may have been meant for, the nearest first.
    pub fn close_names(&self, name: &str) -> Vec<&str> {
        let name = crate::cut::line(name, 64);
        let names: Vec<&str> = self.tools.keys().map(String::as_str).collect();
        similar::get_close_matches(&name, &names, 3, 0.6)
    }

    /// The tools that an agent may use, by name, group or MCP server, in the order of their names. Each stands there once; names
    /// that nobody has are left out.
    pub fn specs_for<S: AsRef<str>>(&self, wanted: &[S]) -> Vec<ToolSpec> {
        let is_wanted = |tool: &dyn Tool| {
            let (name, traits) = (&tool.spec().name, tool.traits());
            let is_of = |group: &str| group == traits.group && !traits.only_by_name;
            let source = tool.source();
            let is_by = |server: &str| matches!(&source, ToolSource::Server(name) if name == server);
            let is_it = |want: &str| is_of(want) || self.full_name(want) == Some(name) || is_by(want);
            wanted.iter().any(|want| is_it(want.as_ref()))
        };
        self.iter().filter(|tool| is_wanted(tool.as_ref())).map(|tool| tool.spec().clone()).collect()
    }

    /// The tools whose definitions are words from outside, each with the place they come from.
    pub fn strange(&self) -> BTreeMap<String, String> {
        self.iter().filter_map(|tool| Some((tool.spec().name.clone(), tool.words_from()?))).collect()
    }

    /// Whether this tool is there, and stays as it is.
    pub fn is_fixed(&self, name: &str) -> bool {
        self.tools.contains_key(name) && !self.changing.contains(name)
    }

    /// Whether this tool is there, and only reads.
    pub fn only_reads(&self, name: &str) -> bool {
        self.get(name).is_some_and(|tool| tool.traits().class == EffectClass::Pure)
    }

    /// Every tool, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values().map(|entry| &entry.tool)
    }
}

impl RegistryEntry {
    fn checked(tool: Arc<dyn Tool>, read: fn(&Value) -> Result<Schema, String>) -> Result<Self, Error> {
        let ToolSpec { name, description, parameters, .. } = tool.spec();
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || name.len() > 64 || !name.bytes().all(is_fine) {
            return Err(Error::Name(crate::cut::line(name, 64)));
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
