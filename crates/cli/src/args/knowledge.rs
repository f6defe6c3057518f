//! Arguments of `updraft ingest` and `updraft search`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::args::shared::WorkspaceFlags;
use crate::time_format;

#[derive(Debug, Args)]
pub(crate) struct IngestArgs {
    /// Files and folders, also outside the workspace or ignored by git (default: the workspace's files)
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Stay, and follow changes until interrupted
    #[arg(long)]
    pub(crate) watch: bool,
    /// Remove these paths from the index instead
    #[arg(long, requires = "paths", conflicts_with = "watch")]
    pub(crate) remove: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// A question, or the words to look for
    #[arg(value_name = "QUERY", required_unless_present = "eval")]
    pub(crate) query: Vec<String>,
    /// The most passages to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) limit: u64,
    /// Only documents at this path: a file, a folder, or a pattern such as 'docs/*.md'
    #[arg(long, value_name = "GLOB")]
    pub(crate) path: Option<String>,
    /// Only this kind of document, such as markdown, code or pdf (repeatable)
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Vec<String>,
    /// Only documents that changed since then: 2d, yesterday, 2026-01-31
    #[arg(long, value_name = "DATE", value_parser = time_format::ago)]
    pub(crate) since: Option<updraft_run::Timestamp>,
    /// Compare words only
    #[arg(long, conflicts_with = "vectors")]
    pub(crate) words: bool,
    /// Compare vectors only
    #[arg(long)]
    pub(crate) vectors: bool,
    /// Measure searching on folders with documents.jsonl, questions.jsonl and judgements.tsv
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with = "query", value_hint = ValueHint::DirPath)]
    pub(crate) eval: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}
