//! `search_files`: finds the lines that match a regular expression.

mod best_first;
mod hits;

use std::io::Read;
use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, FailureKind, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::{
    HiddenFiles, LinkPolicy, Place, Walk, WalkEntry, WorkspacePath,
    text::{self, Encoding},
};

use super::{parse, reply, spec, whole, write_plan};
use crate::limits::ToolLimits;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};
use crate::truncate;
use crate::workspace_index::WorkspaceIndex;
use hits::LineMatches;

/// Most bytes of a compiled expression. Search time grows with this size times the text, so it is well below the
/// library's default.
const PATTERN: usize = 2 << 20;
/// Most bytes of a pattern as written.
const WRITTEN: usize = 4 << 10;
/// Bytes looked at to tell text from binary files.
const SNIFFED: usize = 8 << 10;

pub(super) struct SearchFiles {
    spec: ToolSpec,
    limits: ToolLimits,
    /// Says which files come first if there are more matches than may be returned.
    index: Option<Arc<WorkspaceIndex>>,
}

#[derive(Deserialize)]
struct Args {
    pattern: String,
    path: Option<String>,
    ignore_case: Option<bool>,
    #[serde(default, deserialize_with = "whole")]
    limit: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    context: Option<u64>,
}

impl SearchFiles {
    pub(super) fn new(limits: &ToolLimits, index: Option<Arc<WorkspaceIndex>>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "minLength": 1, "description": "A regular expression, matched line by line. No look-around, no back-references." },
                "path": { "type": "string", "description": "A folder or file relative to the workspace; default: the whole workspace." },
                "ignore_case": { "type": "boolean" },
                "limit": { "type": "integer", "minimum": 1, "description": "The most matching lines to return." },
                "context": { "type": "integer", "minimum": 0, "maximum": 10, "description": "Lines shown before and after each match." }
            },
            "required": ["pattern"],
            "additionalProperties": false
        });
        let description = "Search the files of the workspace for a regular expression. Returns `path:line: text` for each matching line. If there are more matches than the limit, the most relevant files come first. Hidden files, binary files and files that git ignores are left out; files that are too large are named.";
        Self { spec: spec("search_files", description, parameters), limits: limits.clone(), index }
    }

    fn search(&self, args: &Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let (place, cancel) = (&cx.place, &cx.cancel);
        let args: Args = parse(args)?;
        let regex = compile(&args.pattern, args.ignore_case.unwrap_or(false))?;
        let start = args.path.map_or(Ok(WorkspacePath::root()), |path| place.workspace.locate(&path))?;
        let limit = args.limit.map_or(self.limits.matches, |limit| self.limits.matches.min(limit as usize));
        let hits = || LineMatches::new(limit, args.context.unwrap_or(0).min(10) as usize);

        if !place.workspace.about(&start, LinkPolicy::Inside)?.is_folder() {
            let bytes = self.read(&start, place).map_err(|unread| unread.failure(&start))?;
            let mut hits = hits();
            hits.search(&start, &bytes, &regex, cancel);
            return Ok(hits.output());
        }
        let walk = || Walk::new(&place.workspace, &start, true, HiddenFiles::LeftOut, self.limits.walked);
        let found = self.search_all(&mut walk()?, &[], hits(), (&regex, cx));
        if !found.is_full() {
            return Ok(found.output());
        }
        let index = self.index.as_deref();
        let best = index.map(|index| best_first::files(index, &args.pattern, &start, cx)).unwrap_or_default();
        if best.is_empty() {
            return Ok(found.output());
        }
        Ok(self.search_all(&mut walk()?, &best, hits(), (&regex, cx)).output())
    }

    /// Searches some files first, and then the other files of a walk, until there are enough matches.
    fn search_all(
        &self,
        walk: &mut Walk<'_>,
        first: &[(WorkspacePath, u64)],
        mut hits: LineMatches,
        (regex, cx): (&Regex, &CallContext),
    ) -> LineMatches {
        let mut left = self.limits.searched;
        let mut search = |hits: &mut LineMatches, path: &WorkspacePath, bytes: u64| {
            // Smaller files may still fit.
            if bytes > left && bytes <= self.limits.file as u64 {
                hits.cut_short();
                return;
            }
            match self.read(path, &cx.place) {
                Ok(content) => {
                    left -= (content.len() as u64).min(left);
                    hits.search(path, &content, regex, &cx.cancel);
                }
                Err(FileSkipReason::TooLarge { .. }) => hits.leave_out(path),
                // The file is unreadable, binary, or was removed meanwhile: there is nothing to find.
                Err(FileSkipReason::Other(_)) => {}
            }
        };
        for (path, bytes) in first {
            search(&mut hits, path, *bytes);
        }
        while !cx.cancel.is_cancelled() && !hits.is_full() {
            match walk.next() {
                // A link's content is found under the path of its target.
                Some(WalkEntry::File { path, bytes, is_link: false }) => {
                    if !first.iter().any(|(other, _)| *other == path) {
                        search(&mut hits, &path, bytes);
                    }
                }
                Some(_) => {}
                None => break,
            }
        }
        if walk.is_cut() {
            hits.cut_short();
        }
        hits
    }

    /// Reads a file as UTF-8, or nearly so, unless it is too large or not text.
    fn read(&self, path: &WorkspacePath, place: &Place) -> Result<Vec<u8>, FileSkipReason> {
        let failed = |why: String| FileSkipReason::Other(Failure::new(FailureKind::Tool, format!("`{path}` {why}")));
        let (mut file, about) = place.workspace.open_file(path, LinkPolicy::Inside).map_err(FileSkipReason::Other)?;
        let most = self.limits.file as u64;
        let mut bytes = Vec::with_capacity(about.len.min(most) as usize + 1);
        let not_text = || failed("is not text: expected UTF-8, or UTF-16 with a byte order mark".into());
        let io = |error: std::io::Error| failed(format!("could not be read: {error}"));
        file.by_ref().take(SNIFFED as u64).read_to_end(&mut bytes).map_err(io)?;
        let encoding = Encoding::of(&bytes);
        let is_wide = matches!(encoding, Encoding::Utf16Little | Encoding::Utf16Big);
        if !is_wide && bytes.contains(&0) {
            return Err(not_text());
        }
        if about.len > most {
            return Err(FileSkipReason::TooLarge { most });
        }
        file.take(most.saturating_sub(bytes.len() as u64)).read_to_end(&mut bytes).map_err(io)?;
        if is_wide {
            return text::decode(&bytes).map(|(text, _)| text.into_bytes()).ok_or_else(not_text);
        }
        bytes.drain(..encoding.mark().len());
        Ok(bytes)
    }
}

/// Why a file was not searched.
enum FileSkipReason {
    /// It seems to be text, but is larger than what is held in memory.
    TooLarge { most: u64 },
    /// It is not text, or cannot be read.
    Other(Failure),
}

impl FileSkipReason {
    fn failure(self, path: &WorkspacePath) -> Failure {
        match self {
            FileSkipReason::Other(failure) => failure,
            FileSkipReason::TooLarge { most } => {
                let why = format!("`{path}` is larger than {most} bytes, too large to be searched");
                Failure::new(FailureKind::Tool, why)
            }
        }
    }
}

impl Tool for SearchFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            class: EffectClass::Pure,
            group: "files",
            time: self.limits.time,
            blocking: true,
            ..ToolTraits::default()
        }
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        write_plan::reading(args, place)
    }

    fn call<'a>(&'a self, args: Value, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.search(&args, cx)) })
    }
}

fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, Failure> {
    let refused = |why: String| Failure::new(FailureKind::Validation, why);
    if pattern.len() > WRITTEN {
        return Err(refused(format!("the pattern has {} bytes; expected at most {WRITTEN}", pattern.len())));
    }
    let mut builder = RegexBuilder::new(pattern);
    builder.case_insensitive(ignore_case).size_limit(PATTERN).dfa_size_limit(4 << 20).nest_limit(50);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => refused("the pattern repeats too much; use smaller counts".into()),
        other => {
            refused(format!("the pattern is not a regular expression: {}", truncate::line(&other.to_string(), 600)))
        }
    })
}
