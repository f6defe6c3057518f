//! What the `path` of a tool that reads can name: a file or folder of the workspace, one outside that the person lets
//! agents read, or the output of an earlier call.

use std::fmt;
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use updraft_run::{Failure, FailureKind, PreparedCall, output_number};
use updraft_workspace::{HiddenFiles, LinkPolicy, Place, Stamp, Walk, Workspace, WorkspacePath, on_one_line};

use super::failed;
use crate::limits::ToolLimits;
use crate::tool::CallContext;

/// What a path names.
pub(super) enum ReadTarget {
    /// The whole output of an earlier call.
    Output {
        /// `@out/3`.
        name: String,
        text: String,
    },
    /// A file or folder.
    Path(ReadPath),
}

/// A file or folder that may be read.
pub(super) struct ReadPath {
    /// The workspace, or a folder outside that is opened like one.
    pub(super) workspace: Workspace,
    pub(super) path: WorkspacePath,
    is_outside: bool,
}

/// The paths outside the workspace that may be read. Cheap to clone.
#[derive(Clone)]
pub(super) struct PathOutside(Arc<[PathBuf]>);

impl PathOutside {
    pub(super) fn of(limits: &ToolLimits) -> Self {
        Self(limits.readable.clone().into())
    }

    /// What a path names, as a model wrote it.
    pub(super) fn target(&self, path: &str, cx: &CallContext) -> Result<ReadTarget, Failure> {
        let Some(number) = output_number(path) else { return self.path(path, &cx.place).map(ReadTarget::Path) };
        let outputs = cx.around.outputs.as_ref();
        match outputs.and_then(|outputs| outputs(number)) {
            Some(text) => Ok(ReadTarget::Output { name: path.to_owned(), text }),
            None => failed(format!("this step has no output `{path}`")),
        }
    }

    /// Prepares a call that reads `path`, or the whole workspace if there is none.
    pub(super) fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        let named = args["path"].as_str();
        if named.is_some_and(|path| output_number(path).is_some()) {
            return PreparedCall::default();
        }
        // A path that leads nowhere makes the call fail later, not here.
        let reads = match self.path(named.unwrap_or("."), place) {
            Ok(target) if target.is_outside => vec![target.to_string()],
            Ok(target) => place.workspace.with_its_target(&target.path),
            Err(_) => Vec::new(),
        };
        PreparedCall { reads, ..PreparedCall::default() }
    }

    fn path(&self, path: &str, place: &Place) -> Result<ReadPath, Failure> {
        let refused = match place.workspace.locate(path) {
            Ok(path) => return Ok(ReadPath { workspace: place.workspace.clone(), path, is_outside: false }),
            Err(failure) if failure.kind != FailureKind::Security => return Err(failure),
            Err(failure) => failure,
        };
        let Some(meant) = absolute(place.workspace.root(), path) else { return Err(refused) };
        // A path may also lead there by links on the way to the folder that is allowed.
        let found = self.outside(&meant).or_else(|| self.outside(&meant.canonicalize().ok()?));
        found.ok_or_else(|| {
            let meant = meant.display();
            let why = "is outside the workspace, and may not be read; only the person can allow it, by";
            Failure::new(FailureKind::Security, format!("`{path}` {why} `--read {meant}`"))
        })
    }

    /// A path that is or is below one of these, in the folder that it may be reached from. Links out of that folder
    /// are not followed.
    fn outside(&self, meant: &Path) -> Option<ReadPath> {
        self.0.iter().find_map(|allowed| {
            let below = meant.strip_prefix(allowed).ok()?;
            let is_itself = below.as_os_str().is_empty();
            let (folder, within) = match (allowed.is_dir(), is_itself) {
                (true, true) => (allowed.as_path(), "."),
                (true, false) => (allowed.as_path(), below.to_str()?),
                (false, true) => (allowed.parent()?, allowed.file_name()?.to_str()?),
                (false, false) => return None,
            };
            let workspace = Workspace::open(folder).ok()?;
            let path = workspace.locate(within).ok()?;
            Some(ReadPath { workspace, path, is_outside: true })
        })
    }
}

/// The path without `.` and `..`, from the root.
fn absolute(folder: &Path, path: &str) -> Option<PathBuf> {
    let mut absolute = PathBuf::new();
    for component in folder.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                absolute.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => absolute.push(component),
        }
    }
    (!path.contains('\0')).then_some(absolute)
}

impl ReadPath {
    /// Opens a regular file.
    pub(super) fn open_file(&self) -> Result<(File, Stamp), Failure> {
        self.workspace.open_file(&self.path, LinkPolicy::Inside).map_err(|failure| self.said(failure))
    }

    /// Its stamp.
    pub(super) fn about(&self) -> Result<Stamp, Failure> {
        self.workspace.about(&self.path, LinkPolicy::Inside).map_err(|failure| self.said(failure))
    }

    /// Walks through the folder that it is.
    pub(super) fn walk(&self, recursive: bool, budget: usize) -> Result<Walk<'_>, Failure> {
        let walk = Walk::new(&self.workspace, &self.path, recursive, HiddenFiles::LeftOut, budget);
        walk.map_err(|failure| self.said(failure))
    }

    /// The file or folder at another path below the same folder.
    pub(super) fn at(&self, path: WorkspacePath) -> Self {
        Self { workspace: self.workspace.clone(), path, is_outside: self.is_outside }
    }

    /// Whether it is outside the workspace.
    pub(super) fn is_outside(&self) -> bool {
        self.is_outside
    }

    /// The path as text, by whose ending the kind of a file is known.
    pub(super) fn name(&self) -> &str {
        self.path.as_str()
    }

    /// What its path is shown as, on one line.
    pub(super) fn on_one_line(&self) -> String {
        self.name_of(self.path.as_str())
    }

    /// What another path below the same folder is shown as, on one line: a line break in a name must not make it look
    /// like two.
    pub(super) fn name_of(&self, path: &str) -> String {
        let path = on_one_line(path);
        if self.is_outside { self.workspace.root().join(&*path).display().to_string() } else { path.into_owned() }
    }

    /// The failure in words that are true outside the workspace too.
    fn said(&self, failure: Failure) -> Failure {
        if !self.is_outside {
            return failure;
        }
        let folder = format!("`{}`", self.workspace.root().display());
        Failure { message: failure.message.replace("the workspace", &folder), ..failure }
    }
}

impl fmt::Display for ReadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_outside {
            return self.path.fmt(f);
        }
        self.workspace.root().join(self.path.as_str()).display().fmt(f)
    }
}
