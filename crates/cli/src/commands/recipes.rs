//! `updraft recipes`: lists goals and plans with parameters, and checks them.

use std::path::Path;

use serde_json::json;
use updraft_engine::{ParameterKind, RecipeFile, RecipeParameter};
use updraft_workbench::recipes::{self, FoundRecipe, RECIPE_FOLDER, RecipeOrder};
use updraft_workbench::{Flags, RunCallbacks, Workbench};

use super::goal;
use crate::args::{RecipesArgs, RecipesCommand, RunArgs};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::settings::WorkspaceSettings;

pub(crate) fn run(folders: &AppFolders, args: &RecipesArgs) -> CliResult {
    let (files, place) = match &args.command {
        Some(RecipesCommand::Check { files, place }) => (Some(files), place),
        None => (None, &args.place),
    };
    let workspace = folders::workspace(place.workspace.as_deref().or(args.place.workspace.as_deref()))?;
    let bench = Workbench::open(folders, &workspace, Flags::default(), RunCallbacks::default())?;
    let found = match files {
        Some(files) => files.iter().map(|file| from_file(file)).collect(),
        None => recipes::all(folders, &workspace, &bench.settings),
    };
    let found: Vec<FoundRecipe> = found.into_iter().map(|one| with_plan_checked(one, &bench)).collect();
    let is_json = place.json || args.place.json;
    for one in &found {
        print(one, is_json);
    }
    if files.is_none() {
        if workspace.join(RECIPE_FOLDER).is_dir() && !bench.settings.trust_state.is_trusted() {
            out::note("the recipes of this folder are not used: it is not trusted (`updraft trust`)");
        }
        if found.is_empty() && !is_json {
            out::note(&format!("no recipes\n  hint: put a file into {RECIPE_FOLDER} (docs/recipes.md)"));
        }
    }
    let is_faulty = files.is_some() && found.iter().any(|one| one.recipe.is_err());
    Ok(if is_faulty { CliExitCode::Failed } else { CliExitCode::Done })
}

/// Puts a recipe with its parameters into the arguments of a run, and returns the goal. Nothing has begun if it fails.
pub(super) fn prepare(folders: &AppFolders, workspace: &Path, args: &mut RunArgs) -> Result<String, CliError> {
    let name = args.recipe.clone().unwrap_or_default();
    let settings = WorkspaceSettings::load(folders, workspace, &Flags::default())?;
    let (_, recipe) = recipes::find(folders, workspace, &settings, &name)?;
    let RecipeOrder { goal, plan, files, agent, model, require } =
        recipes::order(&recipe, &args.parameters, workspace)?;
    let (has_plan, has_agent) = (plan.is_some(), agent.is_some());
    let clashes = [
        ("--plan-first", args.plan_first && (has_plan || has_agent)),
        ("--plan-only", args.plan_only && has_agent),
        ("--continue", args.continues && has_plan),
    ];
    if let Some((flag, _)) = clashes.into_iter().find(|(_, clashes)| *clashes) {
        let what = if has_plan { "has a plan of its own" } else { "names an agent that works alone" };
        return Err(CliError::usage(format!("{flag} cannot be used: the recipe `{name}` {what}")));
    }
    args.given_plan = plan;
    args.file.extend(files.iter().map(|file| workspace.join(file)));
    args.agent = agent;
    args.model = args.model.take().or(model);
    args.require.splice(0..0, require);
    goal::sensible(goal)
}

fn from_file(file: &Path) -> FoundRecipe {
    FoundRecipe { recipe: recipes::read(file).map_err(|fault| fault.message), file: file.to_owned() }
}

/// The same recipe, or what is wrong with its plan or its agent: they are checked as those of a run are.
fn with_plan_checked(found: FoundRecipe, bench: &Workbench) -> FoundRecipe {
    let recipe = found.recipe.and_then(|recipe| {
        let (new, unread) = recipes::example(&recipe).new_goal(&bench.folder).map_err(|fault| fault.in_one_line())?;
        bench.check(&new, unread).map_err(|fault| fault.in_one_line())?;
        Ok(recipe)
    });
    FoundRecipe { recipe, ..found }
}

fn print(FoundRecipe { file, recipe }: &FoundRecipe, is_json: bool) {
    let shown = file.display().to_string();
    if is_json {
        return out::json(&match recipe {
            Ok(recipe) => as_json(recipe, &shown),
            Err(fault) => json!({ "file": shown, "fault": fault }),
        });
    }
    let paint = Paint::for_stdout();
    match recipe {
        Ok(recipe) => {
            out::line(&format!("{}  {}", paint.bold(&recipe.name), out::short(&recipe.description, 200)));
            for own in &recipe.parameters {
                out::line(&format!("  {}", out::on_one_line(&in_words(own))));
            }
            out::line(&format!("  {}", paint.dim(&out::on_one_line(&shown))));
        }
        Err(fault) => {
            out::line(&format!("{}: {}", out::on_one_line(&shown), paint.red("not usable")));
            out::line(&format!("  {}", out::on_one_line(fault)));
        }
    }
}

fn in_words(own: &RecipeParameter) -> String {
    let values = match &own.kind {
        ParameterKind::Choice(choices) => choices.join("|"),
        ParameterKind::Number { least, most } if least.is_some() || most.is_some() => {
            let end = |bound: Option<f64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
            format!("number {}..{}", end(*least), end(*most))
        }
        _ => own.type_word().to_owned(),
    };
    let default = match &own.default {
        Some(default) => format!(" (default {default})"),
        None => " (required)".to_owned(),
    };
    let about = if own.description.is_empty() { String::new() } else { format!(": {}", own.description) };
    format!("{}={values}{default}{about}", own.name)
}

fn as_json(recipe: &RecipeFile, file: &str) -> serde_json::Value {
    let parameter = |own: &RecipeParameter| {
        let choices = if let ParameterKind::Choice(choices) = &own.kind { json!(choices) } else { json!(null) };
        json!({ "name": own.name, "type": own.type_word(), "description": own.description, "default": own.default,
                "required": own.default.is_none(), "choices": choices })
    };
    let parameters: Vec<_> = recipe.parameters.iter().map(parameter).collect();
    json!({ "name": recipe.name, "file": file, "description": recipe.description, "parameters": parameters,
            "agent": recipe.agent, "model": recipe.model, "require": recipe.require, "plan": recipe.has_plan() })
}
