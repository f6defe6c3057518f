//! The recipes of a workspace: one file each, `recipes/NAME.md` or `recipes/NAME.yaml`, the user's own and those of a trusted
//! workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use updraft_engine::{ParameterKind, RecipeFile};
use updraft_run::{Goal, Graph, Requirement, RunMode};

use crate::fault::Fault;
use crate::folders::AppFolders;
use crate::goal_pictures::pictures_among;
use crate::settings::WorkspaceSettings;
use crate::start::NewGoal;

/// How the files of recipes end.
const ENDINGS: [&str; 3] = ["md", "yaml", "yml"];
/// The folder of a workspace's recipes.
pub const RECIPE_FOLDER: &str = ".updraft/recipes";

/// A file in a folder of recipes.
#[derive(Clone, Debug)]
pub struct FoundRecipe {
    /// The file.
    pub file: PathBuf,
    /// What it says, or why it cannot be used.
    pub recipe: Result<RecipeFile, String>,
}

/// What a recipe asks for, with the values of its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecipeOrder {
    /// The goal.
    pub goal: String,
    /// The plan, in the form that `--plan` reads.
    pub plan: Option<Value>,
    /// The files that are values of its parameters, relative to the workspace.
    pub files: Vec<String>,
    /// The agent that works alone.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// What must hold at the end.
    pub require: Vec<String>,
}

/// All recipes by name. If a name occurs twice, the workspace's recipe counts.
pub fn all(folders: &AppFolders, workspace: &Path, settings: &WorkspaceSettings) -> Vec<FoundRecipe> {
    let mut places = vec![folders.config.join("recipes")];
    if settings.is_still_trusted(folders, workspace) {
        places.push(workspace.join(RECIPE_FOLDER));
    }
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for folder in places.iter().filter_map(|folder| std::fs::read_dir(folder).ok()) {
        let mut here: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        let is_named = |file: &PathBuf| is_recipe(file) && !stem(file).is_empty();
        for file in folder.flatten().map(|entry| entry.path()).filter(is_named) {
            here.entry(stem(&file).to_owned()).or_default().push(file);
        }
        found.extend(here);
    }
    found.into_values().filter_map(found_among).collect()
}

/// The recipe in the files of one name in one folder. If there are several, nobody knows which is meant.
fn found_among(mut files: Vec<PathBuf>) -> Option<FoundRecipe> {
    files.sort();
    let recipe = match files.as_slice() {
        [] => return None,
        [one] => RecipeFile::read(one),
        [_, other, ..] => Err(format!("`{}` has the same name; remove or rename one of them", other.display())),
    };
    files.into_iter().next().map(|file| FoundRecipe { file, recipe })
}

/// Finds a recipe by its name, or by the path of its file.
pub fn find(
    folders: &AppFolders,
    workspace: &Path,
    settings: &WorkspaceSettings,
    name: &str,
) -> Result<(PathBuf, RecipeFile), Fault> {
    let path = Path::new(name);
    if name.contains(['/', '\\']) || is_recipe(path) {
        return Ok((path.to_owned(), read(path)?));
    }
    let known = all(folders, workspace, settings);
    let names: Vec<String> = known.iter().map(|one| stem(&one.file).to_owned()).collect();
    let Some(one) = known.into_iter().find(|one| stem(&one.file) == name) else {
        let hint = match names.as_slice() {
            [] => format!("put `{name}.md` into `{RECIPE_FOLDER}`, or give the path of a file (docs/recipes.md)"),
            names => format!("known are {}; or give the path of a file", names.join(", ")),
        };
        let fault = Fault::usage(format!("there is no recipe `{name}`")).hint(hint);
        let is_ignored = workspace.join(RECIPE_FOLDER).is_dir() && !settings.is_still_trusted(folders, workspace);
        let why = "this folder's own recipes count once you trust it: `updraft trust`";
        return Err(if is_ignored { fault.hint(why) } else { fault });
    };
    let recipe = one.recipe.map_err(|why| unusable(&one.file, &why))?;
    Ok((one.file, recipe))
}

/// Reads the recipe in a file.
pub fn read(file: &Path) -> Result<RecipeFile, Fault> {
    if !is_recipe(file) {
        return Err(unusable(file, "its name must end in .md, .yaml or .yml"));
    }
    RecipeFile::read(file).map_err(|why| unusable(file, &why))
}

/// What a recipe asks for with these parameters. Everything that is wrong with them is said at once.
pub fn order(recipe: &RecipeFile, given: &[(String, String)], workspace: &Path) -> Result<RecipeOrder, Fault> {
    let refused = |faults: &[String]| {
        let name = &recipe.name;
        Fault::usage(format!("the recipe `{name}` was not run: {}", faults.join("; ")))
            .hint("`updraft recipes` shows the parameters; give them with --param NAME=VALUE")
    };
    let mut values = recipe.values(given).map_err(|faults| refused(&faults))?;
    let (mut files, mut faults) = (Vec::new(), Vec::new());
    for own in recipe.parameters.iter().filter(|own| own.kind == ParameterKind::File) {
        let written = values.get(&own.name).and_then(Value::as_str).unwrap_or_default();
        match inside(written, workspace) {
            Ok(file) => {
                values.insert(own.name.clone(), Value::String(file.clone()));
                files.push(file);
            }
            Err(why) => faults.push(format!("the parameter `{}` is {written:?}; {why}", own.name)),
        }
    }
    if faults.is_empty() { Ok(filled(recipe, &values, files)) } else { Err(refused(&faults)) }
}

/// What a recipe would ask for, with values that fit: to check it before any are given.
pub fn example(recipe: &RecipeFile) -> RecipeOrder {
    let values = recipe.parameters.iter().map(|own| (own.name.clone(), own.example())).collect();
    filled(recipe, &values, Vec::new())
}

fn filled(recipe: &RecipeFile, values: &BTreeMap<String, Value>, files: Vec<String>) -> RecipeOrder {
    let RecipeFile { agent, model, require, .. } = recipe.clone();
    let with_values = recipe.fill(values);
    RecipeOrder { goal: with_values.goal, plan: with_values.plan, files, agent, model, require }
}

impl RecipeOrder {
    /// The goal of a run, and what is wrong with its plan as far as it could not be read.
    pub fn new_goal(&self, workspace: &Path) -> Result<(NewGoal, Vec<String>), Fault> {
        let (pictures, bytes) = pictures_among(&self.files, workspace)?;
        let mut requirements: Vec<Requirement> = self.require.iter().map(|text| Requirement::parse(text)).collect();
        let (mut plan, mut faults) = (None, Vec::new());
        if let Some(written) = &self.plan {
            let (graph, unread) = Graph::read_what_can_be(written);
            requirements.extend(Requirement::all_in(written));
            (plan, faults) = (Some(graph), unread);
        }
        let mode = match (&plan, &self.agent) {
            (Some(_), _) => RunMode::Given,
            (None, Some(agent)) => RunMode::Agent(agent.clone()),
            (None, None) => RunMode::Plan,
        };
        let (text, files) = (self.goal.clone(), self.files.clone());
        let goal = Goal { text, files, pictures, mode, requirements, ..Goal::default() };
        Ok((NewGoal { goal, pictures: bytes, plan, ..NewGoal::default() }, faults))
    }
}

fn is_recipe(file: &Path) -> bool {
    file.extension().and_then(|end| end.to_str()).is_some_and(|end| ENDINGS.contains(&end))
}

fn stem(file: &Path) -> &str {
    file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

fn unusable(file: &Path, why: &str) -> Fault {
    Fault::usage(format!("the recipe `{}` cannot be used: {why}", file.display()))
}

/// The path of a file relative to the workspace.
fn inside(written: &str, workspace: &Path) -> Result<String, String> {
    let real = workspace.join(written).canonicalize().map_err(|error| format!("it cannot be used: {error}"))?;
    let root = workspace.canonicalize().map_err(|error| error.to_string())?;
    let path = real.strip_prefix(&root).ok().and_then(Path::to_str);
    let path = path.ok_or("it is not in the workspace, where agents can read")?;
    if real.is_file() { Ok(path.to_owned()) } else { Err("it is not a file".to_owned()) }
}
