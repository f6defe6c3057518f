//! A workspace in a temporary folder, and short ways to call tools in it.
#![allow(dead_code, reason = "each test file uses what it needs")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of tests fails by panicking")]

pub(crate) mod confined;
pub(crate) mod dropped;
pub(crate) mod names;
#[path = "../../../reader/tests/all/packed.rs"]
pub(crate) mod packed;
pub(crate) mod pages;
pub(crate) mod scripted;
pub(crate) mod site;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use updraft_run::{Failure, Reply, ToolCall, ToolOutput};
use updraft_tools::{CallContext, Dispatcher, Place, Registry, ToolLimits, Workspace};

pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) place: Place,
    pub(crate) dispatcher: Dispatcher,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(ToolLimits::default())
    }

    pub(crate) fn with(limits: ToolLimits) -> Self {
        Self::of(Registry::standard(&limits), limits)
    }

    pub(crate) fn of(registry: Registry, limits: ToolLimits) -> Self {
        Self::within(tempfile::tempdir().unwrap(), registry, limits)
    }

    /// With the workspace in `work` of this folder.
    pub(crate) fn within(folder: tempfile::TempDir, registry: Registry, limits: ToolLimits) -> Self {
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let place = Place { workspace: Workspace::open(&folder.path().join("work")).unwrap() };
        Self { folder, place, dispatcher: Dispatcher::new(registry, limits) }
    }

    /// A path in the workspace; `../x` is a path beside it.
    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("work").join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn content(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    pub(crate) fn cx(&self) -> CallContext {
        CallContext::new(self.place.clone(), "run/step/0/0/call.0")
    }

    /// Prepares a call and makes it, as a run does.
    pub(crate) async fn call(&self, name: &str, args: Value) -> Reply {
        let call = call(name, args);
        self.dispatcher.prepare(&call, &self.place);
        self.dispatcher.call(&call, &self.cx()).await.reply
    }

    pub(crate) async fn output(&self, name: &str, args: Value) -> Arc<ToolOutput> {
        match self.call(name, args).await {
            Reply::Output(output) => output,
            other => panic!("expected an output, found {other:?}"),
        }
    }

    pub(crate) async fn text(&self, name: &str, args: Value) -> String {
        self.output(name, args).await.text.clone()
    }

    pub(crate) async fn failure(&self, name: &str, args: Value) -> Failure {
        match self.call(name, args).await {
            Reply::Failed(failure) => failure,
            other => panic!("expected a failure, found {other:?}"),
        }
    }

    pub(crate) fn fault(&self, name: &str, args: Value) -> Option<String> {
        self.dispatcher.prepare(&call(name, args), &self.place).fault.map(|fault| fault.message)
    }

    /// The names in the workspace's root, hidden ones too.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub(crate) fn call(name: &str, args: Value) -> ToolCall {
    ToolCall { id: "c1".into(), name: name.into(), args, fault: None }
}

/// A file of a real program, from the reader's tests.
pub(crate) fn sample(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../reader/tests/files");
    std::fs::read(Path::new(folder).join(name)).unwrap()
}

/// The names of what was moved aside and written down below this folder.
pub(crate) fn written_down(aside: &std::path::Path) -> Vec<String> {
    let folders = std::fs::read_dir(aside).unwrap().flatten();
    let texts = folders.filter_map(|folder| std::fs::read(folder.path().join(updraft_tools::MOVED)).ok());
    let moved = texts.flat_map(|text| serde_json::from_slice::<Vec<updraft_tools::MovedFileRecord>>(&text).unwrap());
    moved.map(|moved| moved.path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}
