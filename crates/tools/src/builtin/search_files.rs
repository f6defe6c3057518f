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
    Place, Walk, WalkEntry, WorkspacePath,
    text::{self, Encoding},
};

use super::PathFilter;
use super::read_target::{PathOutside, ReadPath, ReadTarget};
use super::{in_own_words, parse, reply, spec, whole};
use crate::limits::ToolLimits;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};
use crate::truncate;
use crate::workspace_index::WorkspaceIndex;
use hits::{MatchForm, SearchMatches, ShownMatches};

/// Most bytes of a compiled expression. Search time grows with this size times the text, so it is well below the
/// library's default.
const PATTERN: usize = 2 << 20;
/// Most bytes of a pattern as written.
const WRITTEN: usize = 4 << 10;
/// Bytes looked at before the rest of a file is read.
const SNIFFED: usize = 8 << 10;
/// Most lines shown around each match.
const MAX_CONTEXT: u64 = 10;
/// What documents begin with that look like text but hold it in an encoded form.
const DOCUMENTS: [&[u8]; 2] = [b"%PDF-", b"%!PS"];

pub(super) struct SearchFiles {
    spec: ToolSpec,
    limits: ToolLimits,
    outside: PathOutside,
    /// Says which files come first if there are more matches than may be returned.
    index: Option<Arc<WorkspaceIndex>>,
}

#[derive(Deserialize)]
struct Args {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    show: Option<ShownMatches>,
    ignore_case: Option<bool>,
    #[serde(default, deserialize_with = "whole")]
    limit: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    context: Option<u64>,
}

/// What is looked for, and where.
struct Search<'a> {
    start: &'a ReadPath,
    filter: Option<PathFilter>,
    regex: Regex,
    cx: &'a CallContext,
}

impl SearchFiles {
    pub(super) fn new(limits: &ToolLimits, index: Option<Arc<WorkspaceIndex>>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "minLength": 1 },
                "path": { "type": "string", "description": "A folder, file or @out/3; default: the workspace." },
                "glob": { "type": "string", "description": "Only these files: *.rs, src/**/*.{ts,tsx}, !*.lock" },
                "show": { "enum": ["lines", "files", "count"], "description": "Default: lines." },
                "context": { "type": "integer", "description": "Lines around each match, up to 10." },
                "ignore_case": { "type": "boolean" },
                "limit": { "type": "integer" }
            },
            "required": ["pattern"],
            "additionalProperties": false
        });
        let description = "Search files for a regular expression, line by line, without look-around and back-references. \
             Gives each path, and below it `12: text` for a match and `13- text` for context. Hidden and binary files \
             and those that git ignores are left out, unless `path` names their folder.";
        let (limits, outside) = (limits.clone(), PathOutside::of(limits));
        Self { spec: spec("search_files", description, parameters), limits, outside, index }
    }

    fn search(&self, args: &Value, cx: &CallContext) -> Result<ToolOutput, Failure> {
        let args: Args = parse(args)?;
        let regex = compile(&args.pattern, args.ignore_case.unwrap_or(false))?;
        let shown = args.show.unwrap_or_default();
        let most = if shown == ShownMatches::Lines { self.limits.matches } else { self.limits.listed };
        let form = MatchForm {
            shown,
            context: args.context.unwrap_or(0).min(MAX_CONTEXT) as usize,
            most: args.limit.map_or(most, |limit| most.min(limit.max(1) as usize)),
            bytes: self.limits.output,
        };
        let start = match self.outside.target(args.path.as_deref().unwrap_or("."), cx)? {
            ReadTarget::Path(path) => path,
            ReadTarget::Output { name, text } => {
                let mut found = SearchMatches::new(form);
                found.search(&name, text.as_bytes(), &regex, &cx.cancel);
                return Ok(found.output());
            }
        };
        if !start.about()?.is_folder() {
            let bytes = self.read(&start).map_err(|unread| unread.failure(&start))?;
            let mut found = SearchMatches::new(form);
            found.search(&start.on_one_line(), &bytes, &regex, &cx.cancel);
            return Ok(found.output());
        }
        let filter = PathFilter::parse(args.glob.as_deref())?;
        let search = Search { start: &start, filter, regex, cx };
        let walk = || start.walk(true, self.limits.walked);
        let found = self.search_all(&mut walk()?, &[], SearchMatches::new(form), &search);
        if !found.is_full() || start.is_outside() {
            return Ok(found.output());
        }
        let index = self.index.as_deref();
        let best = index.map(|index| best_first::files(index, &args.pattern, &start.path, cx)).unwrap_or_default();
        if best.is_empty() {
            return Ok(found.output());
        }
        Ok(self.search_all(&mut walk()?, &best, SearchMatches::new(form), &search).output())
    }

    /// Searches some files first, and then the other files of a walk, until there are enough matches.
    fn search_all(
        &self,
        walk: &mut Walk<'_>,
        first: &[(WorkspacePath, u64)],
        mut found: SearchMatches,
        wanted: &Search<'_>,
    ) -> SearchMatches {
        let Search { start, filter, regex, cx } = wanted;
        let mut left = self.limits.searched;
        let mut search = |found: &mut SearchMatches, path: &WorkspacePath, bytes: u64| {
            if !filter.as_ref().is_none_or(|filter| filter.takes(path, &start.path)) {
                return;
            }
            // Smaller files may still fit.
            if bytes > left && bytes <= self.limits.file as u64 {
                found.cut_short();
                return;
            }
            let path = start.at(path.clone());
            match self.read(&path) {
                Ok(content) => {
                    left -= (content.len() as u64).min(left);
                    found.search(&path.on_one_line(), &content, regex, &cx.cancel);
                }
                Err(FileSkipReason::TooLarge { .. }) => found.leave_out_large(path.on_one_line()),
                Err(FileSkipReason::Document) => found.leave_out_document(path.on_one_line()),
                // The file is unreadable, binary, or was removed meanwhile: there is nothing to find.
                Err(FileSkipReason::Other(_)) => {}
            }
        };
        for (path, bytes) in first {
            search(&mut found, path, *bytes);
        }
        while !cx.cancel.is_cancelled() && !found.is_full() {
            match walk.next() {
                // A link's content is found under the path of its target.
                Some(WalkEntry::File { path, bytes, is_link: false }) => {
                    if !first.iter().any(|(other, _)| *other == path) {
                        search(&mut found, &path, bytes);
                    }
                }
                Some(_) => {}
                None => break,
            }
        }
        if walk.is_cut() {
            found.cut_short();
        }
        found
    }

    /// Reads a file as UTF-8, or nearly so, unless it is too large or not text.
    fn read(&self, path: &ReadPath) -> Result<Vec<u8>, FileSkipReason> {
        let failed = |why: String| FileSkipReason::Other(Failure::new(FailureKind::Tool, format!("`{path}` {why}")));
        let (mut file, about) = path.open_file().map_err(FileSkipReason::Other)?;
        let most = self.limits.file as u64;
        let mut bytes = Vec::with_capacity(about.len.min(most) as usize + 1);
        let not_text = || failed("is not text: expected UTF-8, or UTF-16 with a byte order mark".into());
        let io = |error: std::io::Error| failed(format!("could not be read: {error}"));
        file.by_ref().take(SNIFFED as u64).read_to_end(&mut bytes).map_err(io)?;
        if DOCUMENTS.iter().any(|beginning| bytes.starts_with(beginning)) {
            return Err(FileSkipReason::Document);
        }
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
        if bytes.contains(&0) {
            return Err(not_text());
        }
        bytes.drain(..encoding.mark().len());
        Ok(bytes)
    }
}

/// Why a file was not searched.
enum FileSkipReason {
    /// It seems to be text, but is larger than what is held in memory.
    TooLarge { most: u64 },
    /// It is a document whose text is encoded.
    Document,
    /// It is not text, or cannot be read.
    Other(Failure),
}

impl FileSkipReason {
    fn failure(self, path: &ReadPath) -> Failure {
        let why = match self {
            FileSkipReason::Other(failure) => return failure,
            FileSkipReason::Document => format!("`{path}` is a document and not text; read_file shows it as text"),
            FileSkipReason::TooLarge { most } => {
                format!("`{path}` is larger than {most} bytes, too large to be searched")
            }
        };
        Failure::new(FailureKind::Tool, why)
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
        self.outside.prepare(args, place)
    }

    /// Other models were trained with other names.
    fn otherwise(&self, args: &Value) -> Option<(String, Value)> {
        let names = [("include", "glob"), ("file_path", "path"), ("output_mode", "show"), ("head_limit", "limit")];
        let mut args = in_own_words(args, &names);
        match args["show"].as_str() {
            Some("content") => args["show"] = json!("lines"),
            Some("files_with_matches") => args["show"] = json!("files"),
            Some(_) | None => {}
        }
        Some((self.spec.name.clone(), args))
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
