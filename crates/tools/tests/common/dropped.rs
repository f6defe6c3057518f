//! A workspace with tools dropped into it.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use updraft_run::{Failure, Reply, ToolOutput};
use updraft_tools::{CacheUse, CallContext, Dispatcher, DropInListing, DropIns, Registry, ToolFolder, ToolLimits};

use super::confined::{self, PYTHON};
use super::{World, call};

pub(crate) struct Dropped {
    pub(crate) world: World,
    pub(crate) listing: DropInListing,
    pub(crate) settings: DropIns,
}

impl Dropped {
    /// These files in the folder `tools`; those that begin with `#!` can be executed.
    pub(crate) async fn new(files: &[(&str, &str)]) -> Option<Self> {
        Self::within(Duration::from_mins(2), files).await
    }

    /// The same, with a time limit for each call.
    pub(crate) async fn within(time: Duration, files: &[(&str, &str)]) -> Option<Self> {
        let world = World::new();
        let path = world.place.workspace.root().join("tools");
        let settings = DropIns {
            folders: vec![ToolFolder { path, shown: "tools".into(), is_trusted: true }],
            cache: world.folder.path().join("cache"),
            python: PYTHON.into(),
            confinement: confined::confinement().await?,
            time,
            marked: Vec::new(),
        };
        let mut dropped = Self { world, listing: DropInListing::default(), settings };
        for (name, text) in files {
            dropped.put(name, text);
        }
        dropped.list().await;
        Some(dropped)
    }

    pub(crate) fn put(&self, name: &str, text: &str) -> PathBuf {
        self.world.put(&format!("tools/{name}"), text);
        let path = self.world.path(&format!("tools/{name}"));
        let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    /// Looks into the folder again, as the next run does.
    pub(crate) async fn list(&mut self) {
        let mut registry = Registry::standard(&ToolLimits::default());
        self.listing = self.settings.clone().register(&mut registry, CacheUse::Kept).await;
        self.world.dispatcher = Dispatcher::new(registry, ToolLimits::default());
    }

    /// `file: tool` for every tool.
    pub(crate) fn tools(&self) -> Vec<String> {
        let files = self.listing.files.iter();
        files.flat_map(|file| file.tools.iter().map(|tool| format!("{}: {tool}", file.file))).collect()
    }

    /// `file:line: text` for every problem.
    pub(crate) fn problems(&self) -> Vec<String> {
        let files = self.listing.files.iter();
        let line = |file: &updraft_tools::ListedFile| {
            let name = file.file.clone();
            file.problems.iter().map(move |one| format!("{name}:{}: {}", one.line, one.text)).collect::<Vec<_>>()
        };
        files.flat_map(line).collect()
    }

    pub(crate) async fn output(&self, name: &str, args: Value) -> ToolOutput {
        match self.world.call(name, args).await {
            Reply::Output(output) => (*output).clone(),
            other => panic!("expected an output, found {other:?}"),
        }
    }

    pub(crate) async fn value(&self, name: &str, args: Value) -> Value {
        self.output(name, args).await.value.unwrap_or_default()
    }

    pub(crate) async fn failure(&self, name: &str, args: Value) -> Failure {
        self.world.failure(name, args).await
    }

    pub(crate) async fn with(&self, name: &str, args: Value, cx: &CallContext) -> Reply {
        self.world.dispatcher.call(&call(name, args), cx).await.reply
    }
}
