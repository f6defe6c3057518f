//! Which folders hold drop-in tools, and how those tools are run.

use std::path::Path;
use std::time::Duration;

use updraft_engine::MarkedFile;
use updraft_run::STRANGE_WORKSPACE;
use updraft_tools::{Confinement, DropInListing, DropIns, ListedFile, Severity, ToolFolder};

use crate::folders::AppFolders;
use crate::settings::WorkspaceSettings;
use crate::tools;

/// The drop-in tools. The user's own folder comes first, so that a tool of the workspace never replaces one of the
/// user's.
pub fn of(app: &AppFolders, workspace: &Path, settings: &WorkspaceSettings, confinement: Confinement) -> DropIns {
    let tools = &settings.effective.tools;
    let mut folders = Vec::new();
    if let Ok(own) = app.config.join("tools").canonicalize() {
        folders.push(ToolFolder { shown: own.display().to_string(), path: own, is_trusted: true });
    }
    for folder in &tools.folders.value {
        let (shown, path) = (folder.trim_end_matches('/').to_owned(), workspace.join(folder));
        let path = if Path::new(folder).is_absolute() { path.canonicalize().unwrap_or(path) } else { tidy(&path) };
        if folders.iter().all(|known| known.path != path) {
            folders.push(ToolFolder { path, shown, is_trusted: settings.trust_state.is_trusted() });
        }
    }
    // A bare name is looked up on `PATH`; anything else is a path relative to the workspace.
    let usual = if tools.python.value.is_empty() { &settings.effective.python_program } else { &tools.python };
    let python = match usual.value.as_str() {
        "" => "python3".to_owned(),
        path if path.contains('/') => tidy(&workspace.join(path)).display().to_string(),
        name => name.to_owned(),
    };
    let time = Duration::from_millis(tools.time.value.0);
    let marked = marked(app, workspace, settings.trust_state.is_trusted());
    DropIns { folders, cache: app.state.join("tools"), python, confinement, time, marked }
}

/// The files that runs wrote with text from outside. If the marks cannot be read, the whole workspace counts as marked.
fn marked(folders: &AppFolders, workspace: &Path, is_trusted: bool) -> Vec<(String, String)> {
    let marks = match tools::marks(folders).book(&workspace.display().to_string()).all() {
        Ok(marks) => marks,
        Err(error) => return vec![(".".into(), format!("files whose marks could not be read ({error})"))],
    };
    let place = |mark: MarkedFile| {
        let origins = if is_trusted { mark.origins.without(STRANGE_WORKSPACE) } else { mark.origins };
        (!origins.is_empty()).then(|| (mark.path, origins.in_words()))
    };
    marks.into_iter().filter_map(place).collect()
}

/// The path without `.` and doubled slashes.
fn tidy(path: &Path) -> std::path::PathBuf {
    path.components().filter(|part| *part != std::path::Component::CurDir).collect()
}

/// Files that cannot be used, one line each and only a few: for the start of a run, not for `updraft tools check`.
pub fn remarks(listing: &DropInListing) -> Vec<String> {
    const MOST: usize = 3;
    let faults = |file: &ListedFile| {
        let errors = file.problems.iter().filter(|problem| problem.severity == Severity::Error);
        errors.map(|problem| line(file, problem)).collect::<Vec<_>>()
    };
    let mut lines: Vec<String> = listing.files.iter().flat_map(faults).collect();
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        lines.truncate(MOST);
        lines.push(format!("and {more} more; `updraft tools check` names them all"));
    }
    lines
}

/// Why a tool of this name is missing: its own errors, and errors in files whose tools are unknown.
pub fn remarks_on(listing: &DropInListing, name: &str) -> Vec<String> {
    let concerns = |problem: &updraft_tools::Problem| {
        problem.severity == Severity::Error && problem.tool.as_ref().is_none_or(|tool| tool == name)
    };
    let lines = |file: &ListedFile| {
        file.problems.iter().filter(|problem| concerns(problem)).map(|problem| line(file, problem)).collect::<Vec<_>>()
    };
    listing.files.iter().flat_map(lines).collect()
}

/// A problem with its file and line.
pub fn line(file: &ListedFile, problem: &updraft_tools::Problem) -> String {
    let tool = problem.tool.as_ref().map(|tool| format!("`{tool}`: ")).unwrap_or_default();
    format!("{}:{}: {tool}{}", file.file, problem.line, problem.text)
}
