//! Reads a recipe's file: a goal or a plan with named parameters, as Markdown with front matter or as YAML.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::front_matter::{self, Field, FrontMatter, Misread, Node};
use crate::read_untrusted;
use crate::recipe_parameter::RecipeParameter;
use crate::recipe_template::RecipeTemplate;

/// A file with more bytes is refused.
const LARGEST: u64 = 1 << 20;
/// The fields of a step that agents and people read as text. Everything else is the same whatever the parameters are.
const TEXTS: [&str; 2] = ["prompt", "description"];

/// A recipe as it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecipeFile {
    /// The name of the file, without its ending.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its parameters, in the order they were written.
    pub parameters: Vec<RecipeParameter>,
    /// The agent that works alone, without a plan.
    pub agent: Option<String>,
    /// The model, unless the user names another.
    pub model: Option<String>,
    /// What must hold at the end.
    pub require: Vec<String>,
    goal: RecipeTemplate,
    plan: Option<Value>,
}

/// A recipe with its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilledRecipe {
    /// The goal.
    pub goal: String,
    /// The plan, in the form that `--plan` reads.
    pub plan: Option<Value>,
}

impl RecipeFile {
    /// Reads a file that ends in `.md`, `.yaml` or `.yml`.
    pub fn read(file: &Path) -> Result<Self, String> {
        let text = read_untrusted::read_text(file, LARGEST).map_err(|error| error.to_string())?;
        let name = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        Self::parse(name, &text, file.extension().is_some_and(|end| end == "md"))
    }

    fn parse(name: &str, text: &str, is_markdown: bool) -> Result<Self, String> {
        let read = if is_markdown {
            front_matter::read(text)
        } else {
            // Its first line is the first of the mapping, not `---`.
            let fields = front_matter::fields(text).map_err(|own| Misread { line: own.line.saturating_sub(1), ..own });
            fields.map(|fields| FrontMatter { fields, body: String::new() })
        };
        let FrontMatter { fields, body } = read.map_err(|Misread { line, what }| format!("line {line}: {what}"))?;
        let mut own = Self { name: name.to_owned(), ..Self::default() };
        let mut goal = body;
        for field in &fields {
            let line = if is_markdown { field.line } else { field.line.saturating_sub(1) };
            own.set(field, &mut goal).map_err(|what| format!("line {line}: {what}"))?;
        }
        if goal.trim().is_empty() && own.plan.is_some() {
            goal.clone_from(&own.description);
        }
        if goal.trim().is_empty() {
            let where_to = if is_markdown { "below the front matter" } else { "under `goal`" };
            return Err(format!("the goal is missing: write it {where_to}"));
        }
        if own.agent.is_some() && own.plan.is_some() {
            return Err("it names an agent and a plan; a plan names the agent of each step itself".to_owned());
        }
        own.goal = RecipeTemplate::parse(goal.trim())?;
        own.check_places()?;
        Ok(own)
    }

    fn set(&mut self, field: &Field, goal: &mut String) -> Result<(), String> {
        let key = field.key.as_str();
        let text = || field.value.text().map(str::to_owned).ok_or_else(|| format!("`{key}` must be a text"));
        let fixed = || match text()? {
            own if own.contains("{{") => {
                Err(format!("`{key}` is the same for all values, so it has no place for a parameter"))
            }
            own => Ok(own),
        };
        match key {
            "name" | "title" | "version" | "author" => {}
            "description" => self.description = fixed()?,
            "goal" if goal.is_empty() => *goal = text()?,
            "goal" => return Err("the goal is given twice: under `goal` and below the front matter".to_owned()),
            "agent" => self.agent = Some(fixed()?).filter(|agent| !agent.is_empty()),
            "model" => match fixed()? {
                // A recipe comes from others; where everything is sent that agents read is the user's own choice.
                own if own.split(['?', '&']).any(|setting| setting.trim_start().starts_with("base=")) => {
                    return Err("`model` has an address; name a provider that is in your settings instead".to_owned());
                }
                own => self.model = Some(own).filter(|model| !model.is_empty()),
            },
            "require" => {
                let Node::List(items) = &field.value else {
                    self.require = vec![fixed()?];
                    return Ok(());
                };
                let all: Option<Vec<String>> = items.iter().map(|item| item.text().map(str::to_owned)).collect();
                self.require = all.ok_or("`require` must be a text or a list of texts")?;
                if self.require.iter().any(|one| one.contains("{{")) {
                    return Err("`require` names commands, so it has no place for a parameter".to_owned());
                }
            }
            "parameters" => {
                let Node::Map(all) = &field.value else {
                    return Err("`parameters` must be a mapping of names".to_owned());
                };
                self.parameters = all.iter().map(RecipeParameter::parse).collect::<Result<_, _>>()?;
            }
            "plan" => {
                let plan = field.value.json();
                check_fixed(&plan, None)?;
                self.plan = Some(plan);
            }
            other => {
                let known = "description, parameters, goal, plan, agent, model, require";
                return Err(format!("unknown field `{other}`; known: {known}"));
            }
        }
        Ok(())
    }

    /// Every place has its parameter, and every parameter a place.
    fn check_places(&self) -> Result<(), String> {
        let mut places: BTreeSet<String> = self.goal.places().into_iter().map(str::to_owned).collect();
        let in_plan = texts_of(self.plan.as_ref()).into_iter().map(RecipeTemplate::parse);
        for template in in_plan.collect::<Result<Vec<_>, _>>()? {
            places.extend(template.places().into_iter().map(str::to_owned));
        }
        let is_known = |name: &&String| self.parameters.iter().any(|own| own.name == **name);
        if let Some(name) = places.iter().find(|name| !is_known(name)) {
            return Err(format!("`{{{{{name}}}}}` has no parameter; list it under `parameters`"));
        }
        match self.parameters.iter().find(|own| !places.contains(&own.name)) {
            Some(own) => {
                Err(format!("the parameter `{}` is not used; write `{{{{{}}}}}` where it belongs", own.name, own.name))
            }
            None => Ok(()),
        }
    }

    /// The values of all parameters: given, or by default. Says everything that is wrong.
    pub fn values(&self, given: &[(String, String)]) -> Result<BTreeMap<String, Value>, Vec<String>> {
        let (mut values, mut faults) = (BTreeMap::new(), Vec::new());
        let names: Vec<&str> = self.parameters.iter().map(|own| own.name.as_str()).collect();
        for (at, (name, _)) in given.iter().enumerate() {
            if !names.contains(&name.as_str()) {
                let known =
                    if names.is_empty() { "it has none".to_owned() } else { format!("known: {}", names.join(", ")) };
                faults.push(format!("there is no parameter `{name}`; {known}"));
            } else if given[..at].iter().any(|(earlier, _)| earlier == name) {
                faults.push(format!("the parameter `{name}` is given twice"));
            }
        }
        for own in &self.parameters {
            let read = match given.iter().find(|(name, _)| *name == own.name) {
                Some((_, text)) => own.read(text),
                None => own.default.clone().ok_or_else(|| {
                    let about = Some(&own.description).filter(|text| !text.is_empty());
                    let about = about.map(|text| format!(": {text}")).unwrap_or_default();
                    format!("the parameter `{}` ({}) is missing{about}", own.name, own.type_word())
                }),
            };
            match read {
                Ok(value) => _ = values.insert(own.name.clone(), value),
                Err(why) => faults.push(why),
            }
        }
        if faults.is_empty() { Ok(values) } else { Err(faults) }
    }

    /// The goal and the plan with these values.
    pub fn fill(&self, values: &BTreeMap<String, Value>) -> FilledRecipe {
        let mut plan = self.plan.clone();
        if let Some(plan) = &mut plan {
            fill_texts(plan, values);
        }
        FilledRecipe { goal: self.goal.fill(values), plan }
    }

    /// Whether it has a plan.
    pub fn has_plan(&self) -> bool {
        self.plan.is_some()
    }
}

/// The texts of a plan that may have places.
fn texts_of<'a>(value: Option<&'a Value>) -> Vec<&'a str> {
    match value {
        Some(Value::Array(items)) => items.iter().flat_map(|item| texts_of(Some(item))).collect(),
        Some(Value::Object(fields)) => {
            let of_field = |(key, value): (&'a String, &'a Value)| match value {
                Value::String(text) if TEXTS.contains(&key.as_str()) => vec![text.as_str()],
                other => texts_of(Some(other)),
            };
            fields.iter().flat_map(of_field).collect()
        }
        _ => Vec::new(),
    }
}

fn fill_texts(value: &mut Value, values: &BTreeMap<String, Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| fill_texts(item, values)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if TEXTS.contains(&key.as_str()) => {
                        *text = RecipeTemplate::parse(text).unwrap_or_default().fill(values);
                    }
                    other => fill_texts(other, values),
                }
            }
        }
        _ => {}
    }
}

/// Refuses places in what decides who does a step and when.
fn check_fixed(value: &Value, key: Option<&str>) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| check_fixed(item, key)),
        Value::Object(fields) => fields.iter().try_for_each(|(key, value)| match value {
            Value::String(_) if TEXTS.contains(&key.as_str()) => Ok(()),
            other => check_fixed(other, Some(key)),
        }),
        Value::String(text) if text.contains("{{") => {
            let place = key.map_or_else(|| "text".to_owned(), |key| format!("`{key}`"));
            Err(format!(
                "the plan's {place} is the same for all values; parameters belong into `prompt` and `description`"
            ))
        }
        _ => Ok(()),
    }
}
