//! The guardrails of a workspace: one file each, `guardrails/NAME.md` or `guardrails/NAME.py`, the user's own and those of a
//! trusted workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use updraft_engine::GuardrailFile;
use updraft_run::GuardedPoints;
use updraft_tools::{
    CacheUse, Confinement, DropIns, GuardAction, GuardCheck, GuardPoint, Guardrail, Guardrails, ListedFile, Problem,
    Registry, Schema, Severity, ToolFolder, ToolSource,
};

use crate::dropins;
use crate::folders::AppFolders;
use crate::settings::WorkspaceSettings;

/// How the name of a function ends that is a check, and where it stands.
const FUNCTIONS: [(&str, GuardPoint); 3] =
    [("_input", GuardPoint::Input), ("_call", GuardPoint::Call), ("_output", GuardPoint::Output)];

/// The points at which guardrails stand, as far as the run must know.
pub(crate) fn points(guardrails: &Guardrails) -> GuardedPoints {
    GuardedPoints { input: guardrails.stand_at(GuardPoint::Input), output: guardrails.stand_at(GuardPoint::Output) }
}

/// Loads the guardrails, and lists the files that cannot be used.
pub(crate) async fn load(
    folders: &AppFolders,
    workspace: &Path,
    settings: &WorkspaceSettings,
    confinement: Confinement,
    look: CacheUse,
) -> (Vec<Guardrail>, Vec<ListedFile>) {
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    let mut places = vec![folders.config.join("guardrails")];
    if settings.trust_state.is_trusted() {
        places.push(workspace.join(".updraft/guardrails"));
    }
    for folder in places.iter().filter(|folder| folder.is_dir()) {
        let mut fault = |file: String, why: String| faults.push(faulty(&folder.join(file), why));
        match GuardrailFile::in_folder(folder) {
            Err(error) => fault(String::new(), error.to_string()),
            Ok(files) => {
                for file in files {
                    match file.and_then(|file| guardrail(file, folder)) {
                        Ok(one) => found.push(one),
                        Err((name, why)) => fault(name, why),
                    }
                }
            }
        }
        let (functions, more) =
            functions(folder, dropins::of(folders, workspace, settings, confinement.clone()), look).await;
        found.extend(functions);
        faults.extend(more);
    }
    found.extend(faults.iter().filter_map(unusable));
    (found, faults)
}

/// A guardrail whose file cannot be used lets nothing pass: nobody knows what it would have found.
fn unusable(file: &ListedFile) -> Option<Guardrail> {
    let fault = file.problems.iter().find(|problem| problem.severity == Severity::Error)?;
    let name = Path::new(&file.file).file_name()?.to_str()?.to_owned();
    let points = vec![GuardPoint::Input, GuardPoint::Call, GuardPoint::Output];
    let check = GuardCheck::Unusable(fault.text.clone());
    Some(Guardrail { name, points, action: GuardAction::Stop, check, tools: Vec::new() })
}

fn guardrail(file: GuardrailFile, folder: &Path) -> Result<Guardrail, (String, String)> {
    let GuardrailFile { name, when, action, check, most, words, schema, tools, rule } = file;
    let check = match check.as_str() {
        "secrets" => GuardCheck::Secrets,
        "citations" => GuardCheck::Citations,
        "length" => GuardCheck::Length(most.unwrap_or(usize::MAX)),
        "words" => GuardCheck::Words(words),
        "schema" => {
            let path = folder.join(schema.unwrap_or_default());
            let schema = read_schema(&path).map_err(|why| (format!("{name}.md"), why))?;
            GuardCheck::Schema(Arc::new(schema))
        }
        _ => GuardCheck::Rule(rule),
    };
    let points = when.iter().filter_map(|word| GuardPoint::parse(word)).collect();
    Ok(Guardrail { name, points, action: GuardAction::parse(&action).unwrap_or(GuardAction::Stop), check, tools })
}

fn read_schema(path: &Path) -> Result<Schema, String> {
    let cannot = |why: String| format!("the schema `{}` cannot be used: {why}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| cannot(error.to_string()))?;
    let source = serde_json::from_str(&text).map_err(|error| cannot(error.to_string()))?;
    let schema = Schema::new(&source).map_err(cannot)?;
    schema.check().map_err(cannot)?;
    Ok(schema)
}

/// The checks in a folder's Python files: functions such as `check_input`, `check_call` and `check_output`.
async fn functions(folder: &Path, like: DropIns, look: CacheUse) -> (Vec<Guardrail>, Vec<ListedFile>) {
    let has_python = std::fs::read_dir(folder).is_ok_and(|mut entries| {
        entries.any(|entry| entry.is_ok_and(|entry| entry.path().extension().is_some_and(|end| end == "py")))
    });
    if !has_python {
        return (Vec::new(), Vec::new());
    }
    let (path, shown) = (folder.to_owned(), folder.display().to_string());
    let own = ToolFolder { path, shown, is_trusted: true };
    // Their names need only be unique among each other, so they are not added to the tools.
    let mut registry = Registry::default();
    let listing = DropIns { folders: vec![own], ..like }.register(&mut registry, look).await;
    let found: Vec<Guardrail> = registry
        .iter()
        .filter_map(|tool| {
            let (_, point) = FUNCTIONS.iter().find(|(end, _)| tool.spec().name.ends_with(end))?;
            let ToolSource::File(file) = tool.source() else { return None };
            let name = PathBuf::from(file).file_stem()?.to_str()?.to_owned();
            let (check, action) = (GuardCheck::Function(Arc::clone(tool)), GuardAction::Correct);
            Some(Guardrail { name, points: vec![*point], action, check, tools: Vec::new() })
        })
        .collect();
    let has_check = |file: &ListedFile| {
        let stem = Path::new(&file.file).file_stem().and_then(|stem| stem.to_str());
        found.iter().any(|one| Some(one.name.as_str()) == stem)
    };
    let no_check = "no function in it ends in `_input`, `_call` or `_output`, so it checks nothing";
    let faults = listing.files.into_iter().filter_map(|file| match file.problems.is_empty() {
        true if has_check(&file) => None,
        true => Some(faulty(Path::new(&file.file), no_check.to_owned())),
        false => Some(file),
    });
    let faults = faults.collect();
    (found, faults)
}

fn faulty(file: &Path, why: String) -> ListedFile {
    let problem = Problem { severity: Severity::Error, line: 1, tool: None, text: why };
    ListedFile { file: file.display().to_string(), tools: Vec::new(), problems: vec![problem] }
}
