//! `list_files`: lists files, without ignored and hidden ones.

mod listing;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::{Place, WalkEntry};

use super::PathFilter;
use super::read_target::{PathOutside, ReadTarget};
use super::{failed, in_own_words, parse, reply, spec};
use crate::limits::ToolLimits;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};
use listing::{FileListing, ListingBounds};

pub(super) struct ListFiles {
    spec: ToolSpec,
    listed: usize,
    walked: usize,
    bytes: usize,
    time: Duration,
    outside: PathOutside,
}

#[derive(Deserialize)]
struct Args {
    path: Option<String>,
    glob: Option<String>,
    recursive: Option<bool>,
}

impl ListFiles {
    pub(super) fn new(limits: &ToolLimits) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "A folder; default: the workspace." },
                "glob": { "type": "string", "description": "Only these files: *.rs, src/**/*.{ts,tsx}, !*.lock" },
                "recursive": { "type": "boolean", "description": "Default: true." }
            },
            "additionalProperties": false
        });
        let description = "List files by path, with their size from 100 kB on. Folders that are not listed have a slash \
             and the number of their files. Hidden files and those that git ignores are left out.";
        Self {
            spec: spec("list_files", description, parameters),
            listed: limits.listed,
            walked: limits.walked,
            bytes: limits.output,
            time: limits.time,
            outside: PathOutside::of(limits),
        }
    }

    fn list(&self, args: &Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let args: Args = parse(args)?;
        let start = match self.outside.target(args.path.as_deref().unwrap_or("."), cx)? {
            ReadTarget::Path(path) => path,
            ReadTarget::Output { name, .. } => return failed(format!("`{name}` is not a folder; read_file reads it")),
        };
        let filter = PathFilter::parse(args.glob.as_deref())?;
        let bounds =
            ListingBounds { listed: self.listed, bytes: self.bytes, recursive: args.recursive.unwrap_or(true) };
        // The files of folders that are not listed are counted.
        let mut walk = start.walk(true, self.walked)?;
        let mut listing = FileListing::new(&start, bounds);
        for found in walk.by_ref() {
            if cx.cancel.is_cancelled() {
                break;
            }
            match found {
                WalkEntry::File { path, bytes, .. } => {
                    if filter.as_ref().is_none_or(|filter| filter.takes(&path, &start.path)) {
                        listing.add_file(path, bytes);
                    }
                }
                WalkEntry::Folder(path) if filter.is_none() => listing.add_folder(path),
                WalkEntry::Folder(_) => {}
            }
        }
        Ok(listing.output(walk.is_cut()))
    }
}

impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            class: EffectClass::Pure,
            group: "files",
            time: self.time,
            blocking: true,
            ..ToolTraits::default()
        }
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        self.outside.prepare(args, place)
    }

    /// Other models were trained with other names.
    fn otherwise(&self, args: &Value) -> Option<(String, Value)> {
        Some((self.spec.name.clone(), in_own_words(args, &[("pattern", "glob"), ("dir_path", "path")])))
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.list(&args, cx)) })
    }
}
