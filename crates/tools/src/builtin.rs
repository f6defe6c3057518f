//! The built-in tools, one file each.

mod append_line;
mod apply_patch;
mod ask_model;
mod ask_user;
mod background;
mod bench;
mod candidates;
mod change_set;
pub(crate) mod changes;
pub(crate) mod check_guardrails;
mod check_result;
mod edit_file;
mod find_tools;
mod ingest_document;
mod list_documents;
mod list_files;
mod memory;
pub(crate) mod outside_text;
mod path_filter;
mod read_file;
mod read_target;
mod recall;
mod remember;
mod retrieve;
mod run_command;
mod run_python;
mod search_files;
mod use_skill;
mod web_fetch;
mod web_search;
mod write_file;
pub(crate) mod write_plan;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use updraft_run::{Failure, FailureKind, Reply, ToolOutput, ToolSpec};

use crate::background_commands::BackgroundCommands;
use crate::confinement::Confinement;
use crate::document_reader::DocumentReader;
use crate::limits::ToolLimits;
use crate::memory_access::MemoryAccess;
use crate::tool::Tool;
use crate::web::WebConfig;
use crate::worker::PythonConfig;
use crate::workspace_index::WorkspaceIndex;

pub(crate) use apply_patch::APPLY_PATCH;
pub use ask_model::ASK_MODEL;
pub use ask_user::ask_user_spec;
pub use bench::NapMode;
pub(crate) use path_filter::PathFilter;
pub use run_command::USUAL_TIME;
pub(crate) use run_command::{WAIT_FOR_OTHERS, aside_in_words, now};
pub use write_plan::changed_lines;

/// The tools for files, for questions to the user and to other models, and for the proof of a run.
pub(crate) fn standard(limits: &ToolLimits) -> [Arc<dyn Tool>; 10] {
    [
        Arc::new(append_line::AppendLine::new(limits)),
        Arc::new(apply_patch::ApplyPatch::new(limits)),
        Arc::new(edit_file::EditFile::new(limits)),
        Arc::new(write_file::WriteFile::new(limits)),
        Arc::new(ask_model::AskModel::new()),
        Arc::new(ask_user::AskUser::new()),
        Arc::new(check_result::CheckResult::new(limits)),
        Arc::new(list_files::ListFiles::new(limits)),
        Arc::new(read_file::ReadFile::new(limits, None)),
        Arc::new(search_files::SearchFiles::new(limits, None)),
    ]
}

/// `read_file`, which reads documents too.
pub(crate) fn reading(limits: &ToolLimits, documents: DocumentReader) -> Arc<dyn Tool> {
    Arc::new(read_file::ReadFile::new(limits, Some(documents)))
}

/// The tools that run commands in the sandbox, also in the background.
pub(crate) fn commands(confinement: Confinement) -> Vec<Arc<dyn Tool>> {
    let commands = BackgroundCommands::default();
    let run_command = run_command::tool(confinement.clone(), commands.clone());
    if confinement.only_reads() {
        return vec![run_command];
    }
    vec![run_command, background::tool(confinement, commands)]
}

/// The tool that runs Python code in the sandbox.
pub(crate) fn python(confinement: Confinement, python: PythonConfig) -> Arc<dyn Tool> {
    run_python::tool(confinement, python)
}

/// The tools that read web pages and search for them.
pub(crate) fn web(web: WebConfig) -> [Arc<dyn Tool>; 2] {
    [Arc::new(web_search::WebSearch::new(&web)), web_fetch::tool(web)]
}

/// The tools that search the workspace's documents by words and meaning, and `search_files`, which has the index rank
/// what it finds.
pub(crate) fn knowledge(index: &Arc<WorkspaceIndex>, limits: &ToolLimits) -> [Arc<dyn Tool>; 4] {
    [
        Arc::new(search_files::SearchFiles::new(limits, Some(Arc::clone(index)))),
        Arc::new(retrieve::Retrieve::new(Arc::clone(index))),
        Arc::new(list_documents::ListDocuments::new(Arc::clone(index))),
        Arc::new(ingest_document::IngestDocument::new(Arc::clone(index))),
    ]
}

/// The tools that keep things for later runs and find them again, and the one that stands for both.
pub(crate) fn memory(memory: &Arc<MemoryAccess>) -> [Arc<dyn Tool>; 3] {
    [
        Arc::new(memory::Memory::new()),
        Arc::new(remember::Remember::new(Arc::clone(memory))),
        Arc::new(recall::Recall::new(Arc::clone(memory))),
    ]
}

/// The tools that find and call what is not shown.
pub(crate) fn finders() -> [Arc<dyn Tool>; 2] {
    find_tools::tools()
}

/// The tool that reads skills: the folder of each by its name.
pub(crate) fn skills(skills: BTreeMap<String, PathBuf>) -> Arc<dyn Tool> {
    Arc::new(use_skill::UseSkill::new(skills))
}

/// The tools that compare, test and keep candidates, whose copies of the workspace are below `copies`.
pub(crate) fn candidates(copies: PathBuf, confinement: Confinement, limits: &ToolLimits) -> [Arc<dyn Tool>; 3] {
    candidates::tools(copies, run_command::tool(confinement, BackgroundCommands::default()), limits)
}

/// The tools that benchmarks call.
pub(crate) fn bench(nap: NapMode) -> [Arc<dyn Tool>; 2] {
    [Arc::new(bench::EchoTool::new()), Arc::new(bench::NapTool::new(nap))]
}

/// The description of a tool that the model gets.
pub(crate) fn spec(name: &str, description: &str, parameters: Value) -> ToolSpec {
    ToolSpec { name: name.into(), description: description.into(), parameters }
}

/// Deserializes the arguments. They have been validated, so a mismatch is a fault in the tool's schema.
pub(crate) fn parse<T: DeserializeOwned>(args: &Value) -> Result<T, Failure> {
    T::deserialize(args).map_err(|error| Failure::new(FailureKind::Validation, error.to_string()))
}

/// The diff of a file, if both versions are text and not too large.
pub(crate) fn unified(path: &str, old: &[u8], new: &[u8]) -> Option<String> {
    write_plan::unified(path, old, new).map(|diff| diff.text)
}

/// The arguments with our own names for those that a model knows by others.
pub(crate) fn in_own_words(args: &Value, names: &[(&str, &str)]) -> Value {
    let mut args = args.clone();
    if let Some(given) = args.as_object_mut() {
        for (theirs, own) in names {
            if !given.contains_key(*own)
                && let Some(value) = given.remove(*theirs)
            {
                given.insert((*own).to_owned(), value);
            }
        }
    }
    args
}

/// Turns the result of a tool's work into a reply.
pub(crate) fn reply(result: Result<ToolOutput, Failure>) -> Reply {
    match result {
        Ok(output) => Reply::Output(Arc::new(output)),
        Err(failure) => Reply::Failed(failure),
    }
}

pub(crate) fn failed<T>(message: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::new(FailureKind::Tool, message))
}

/// Deserializes a whole number. JSON Schema counts `5.0` as one, and some models write numbers that way.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<serde_json::Number>::deserialize(deserializer)?;
    let as_whole = |number: &serde_json::Number| number.as_u64().or_else(|| number.as_f64().map(|float| float as u64));
    Ok(number.as_ref().and_then(as_whole))
}
