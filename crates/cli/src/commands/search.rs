//! `updraft search`: finds passages in the workspace's files and in ingested documents; or measures searching.

mod evaluate;

use std::fmt::Write as _;
use std::time::Duration;

use updraft_knowledge::{DocumentFilter, Passage, SearchMethod, SearchRequest};
use updraft_run::ReadRules;
use updraft_tools::{IndexAnswer, IndexState, IndexWork, address_of, path_pattern, reasons_for};
use updraft_workbench::{Flags, knowledge};

use super::ingest::IndexJob;
use crate::args::SearchArgs;
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::runtime;
use crate::settings::WorkspaceSettings;

/// How long bringing files in takes before anything is said about it.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long vectors are made before a search; `updraft ingest` makes the rest.
const VECTORS: Duration = Duration::from_secs(5);

pub(crate) fn run(folders: &AppFolders, args: &SearchArgs) -> CliResult {
    let workspace = folders::workspace(args.place.workspace.as_deref())?;
    let settings = WorkspaceSettings::load(folders, &workspace, &Flags::default())?;
    if !args.eval.is_empty() {
        return evaluate::run(folders, &workspace, &settings, args);
    }
    let job = IndexJob::new(knowledge::index(folders, &workspace, &settings), &workspace, args.place.json, PATIENCE)?;
    let path = args.path.as_deref().map(|path| path_pattern(path, &job.workspace));
    let request = SearchRequest {
        text: args.query.join(" "),
        limit: args.limit as usize,
        filter: DocumentFilter {
            path,
            kinds: args.kind.clone(),
            since: args.since.map(|since| since.0.div_euclid(1_000)),
            until: None,
        },
        method: match (args.words, args.vectors) {
            (true, _) => SearchMethod::Words,
            (false, true) => SearchMethod::Vectors,
            (false, false) => SearchMethod::Hybrid,
        },
    };
    let outcome = runtime::block_on(job.run(move |index, workspace, work| {
        let work = &mut IndexWork {
            cancel: work.cancel.clone(),
            vector_time: Some(VECTORS),
            tries_again: false,
            progress: work.progress,
        };
        index.find(workspace, &request, &ReadRules::default(), work)
    }))?;
    if outcome.code != CliExitCode::Done {
        return Ok(outcome.code);
    }
    show(&outcome.value, args)
}

fn show(found: &IndexAnswer, args: &SearchArgs) -> CliResult {
    if args.vectors && found.totals.vectors == 0 {
        return Err(no_vectors(&found.state));
    }
    if args.place.json {
        out::json(&found.to_json());
        return Ok(CliExitCode::Done);
    }
    let paint = Paint::for_stdout();
    let mut text = String::new();
    for passage in &found.answer.passages {
        text.push_str(&block(passage, paint));
    }
    out::print(&text);
    if found.answer.passages.is_empty() {
        out::note("nothing found");
    }
    for remark in found.remarks() {
        out::note(&out::harmless(&remark));
    }
    let (made, all) = (found.totals.vectors, found.totals.chunks);
    if made > 0 && made < all {
        out::note(&format!("{made} of {all} passages have vectors; `updraft ingest` makes the rest"));
    }
    Ok(CliExitCode::Done)
}

fn no_vectors(state: &IndexState) -> CliError {
    let why = state.vector_fault.clone().unwrap_or_else(|| "no model for them is set".to_owned());
    CliError::failed(format!("there are no vectors: {why}"))
        .hint("`updraft models pull minilm` gets a model that runs here, or set `[knowledge] embeddings`")
}

/// A passage: where it is, what it says, and why it was found.
fn block(passage: &Passage, paint: Paint) -> String {
    let mut text = paint.cyan(&out::on_one_line(&address_of(passage)));
    if !passage.trail.is_empty() {
        let _ = write!(text, "  {}", out::on_one_line(&passage.trail.join(" › ")));
    }
    let why = reasons_for(passage).join(", ");
    let _ = writeln!(text, "  {}", paint.dim(&format!("{:.2}  {}", passage.score, out::on_one_line(&why))));
    for line in marked(passage, paint).lines().filter(|line| !line.trim().is_empty()) {
        let _ = writeln!(text, "    {line}");
    }
    text.push('\n');
    text
}

/// The snippet with the words of the question in bold.
fn marked(passage: &Passage, paint: Paint) -> String {
    let snippet = &passage.snippet;
    let (mut text, mut from) = (String::new(), 0);
    let piece = |range: std::ops::Range<usize>| out::harmless(snippet.text.get(range).unwrap_or_default());
    for mark in &snippet.marks {
        text.push_str(&piece(from..mark.start));
        text.push_str(&paint.bold(&piece(mark.clone())));
        from = mark.end;
    }
    text.push_str(&piece(from..snippet.text.len()));
    text
}
