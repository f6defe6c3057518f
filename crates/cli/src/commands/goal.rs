//! Builds the goal of a run from the arguments: text, files, variables and plan.

use std::io::Read;
use std::path::{Path, PathBuf};

use updraft_engine::LONGEST_GOAL;
use updraft_run::{Goal, Graph, Requirement, RunMode, StepId, StepSpec, Tries};
use updraft_workbench::{NewGoal, pictures_among};

use crate::args;
use crate::fault::CliError;

/// A plan with more bytes is refused; a hundred thousand steps with prompts fit.
const LONGEST_PLAN: u64 = 256 << 20;

/// The goal's text, from the command line or standard input.
pub(super) fn text(given: &str) -> Result<String, CliError> {
    if given != "-" {
        return sensible(given.to_owned());
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST_GOAL as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| CliError::usage(format!("could not read the goal from standard input: {error}")))?;
    if bytes.len() > LONGEST_GOAL {
        return Err(CliError::usage(format!("the goal on standard input is longer than {LONGEST_GOAL} bytes"))
            .hint("put the text into a file and pass it with --file"));
    }
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or_else(|| {
        CliError::usage("standard input is not text (UTF-8 was expected)")
            .hint("put the data into a file and pass it with --file")
    })?;
    sensible(text)
}

/// The text of a goal, unless it cannot be one.
pub(super) fn sensible(text: String) -> Result<String, CliError> {
    if text.trim().is_empty() {
        return Err(CliError::usage("the goal is empty; say what you want done")
            .hint("updraft run \"What does this project do?\""));
    }
    if text.contains('\0') {
        return Err(CliError::usage("the goal contains a NUL character; expected text"));
    }
    Ok(text)
}

/// The goal with its files, variables and mode. Pictures among the files are read now, and their bytes returned with
/// it.
pub(super) fn goal(args: &args::RunArgs, text: String, workspace: &Path) -> Result<NewGoal, CliError> {
    let files: Vec<String> = args.file.iter().map(|file| inside(file, workspace)).collect::<Result<_, _>>()?;
    let shown = args.pictures.iter().filter_map(|path| path.to_str().map(str::to_owned));
    let among: Vec<String> = files.iter().cloned().chain(shown).collect();
    let (pictures, bytes) = pictures_among(&among, workspace)?;
    let plan = several_tries(args, &text);
    let mode = match &args.agent {
        Some(_) if plan.is_some() => RunMode::Given,
        Some(agent) => RunMode::Agent(agent.clone()),
        None if args.swarm => RunMode::Swarm,
        None if args.plan.is_some() || args.given_plan.is_some() => RunMode::Given,
        None => RunMode::Plan,
    };
    let variables = args.variables.iter().cloned().collect();
    let requirements = args.require.iter().filter(|text| !text.trim().is_empty());
    let requirements = requirements.map(|text| Requirement::parse(text)).collect();
    let goal = Goal { text, files, pictures, variables, mode, requirements, ..Goal::default() };
    let models = args.models.clone();
    Ok(NewGoal { goal, pictures: bytes, plan, models, plan_first: args.plan_first, ..NewGoal::default() })
}

/// The plan for `--candidates` and `--models`: one step that is done several times.
fn several_tries(args: &args::RunArgs, goal: &str) -> Option<Graph> {
    let agent = args.agent.as_ref().filter(|_| args.candidates.is_some() || !args.models.is_empty())?;
    let id = StepId::parse(agent).ok()?;
    let tries = Tries::Wanted {
        count: args.candidates.unwrap_or_default(),
        models: args.models.clone(),
        tests: args.tests.clone(),
    };
    let step = StepSpec { prompt: goal.to_owned(), tries: Some(Box::new(tries)), ..StepSpec::new(id, agent) };
    Some(Graph { steps: vec![step] })
}

/// The path of a file relative to the workspace. Agents cannot read files outside it.
fn inside(file: &PathBuf, workspace: &Path) -> Result<String, CliError> {
    let shown = file.display();
    // Relative to the current folder first, then to the workspace.
    let real = file.canonicalize().or_else(|_| workspace.join(file).canonicalize());
    let real = real.map_err(|error| CliError::usage(format!("the file `{shown}` cannot be used: {error}")))?;
    if !real.is_file() {
        return Err(
            CliError::usage(format!("`{shown}` is not a file")).hint("pass files; agents can list folders themselves")
        );
    }
    let relative = real.strip_prefix(workspace).ok().and_then(Path::to_str).map(str::to_owned);
    relative.ok_or_else(|| {
        CliError::usage(format!(
            "the file `{shown}` is outside the workspace `{}`, where agents cannot read",
            workspace.display()
        ))
        .hint("copy it into the workspace, or choose a folder that contains it with --workspace")
    })
}

/// A plan in a file, not checked yet.
#[derive(Default)]
pub(super) struct PlanFile {
    /// Its steps.
    pub(super) graph: Graph,
    /// What it requires.
    pub(super) requirements: Vec<Requirement>,
    /// What could not be read.
    pub(super) faults: Vec<String>,
}

/// Reads the plan in a file without checking it.
pub(super) fn plan(file: &Path) -> Result<PlanFile, CliError> {
    let shown = file.display();
    let cannot = |error: &dyn std::fmt::Display| CliError::usage(format!("the plan `{shown}` cannot be read: {error}"));
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(|error| cannot(&error))?;
    opened.take(LONGEST_PLAN).read_to_string(&mut text).map_err(|error| cannot(&error))?;
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| cannot(&error).hint(format!("`updraft json repair < {shown}` may repair it")))?;
    Ok(plan_in(&value))
}

/// The plan in a value.
pub(super) fn plan_in(value: &serde_json::Value) -> PlanFile {
    let (graph, faults) = Graph::read_what_can_be(value);
    PlanFile { graph, requirements: Requirement::all_in(value), faults }
}
