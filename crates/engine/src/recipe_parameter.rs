//! The parameters of a recipe: their types, and reading their values from text.

use serde_json::{Number, Value};

use crate::front_matter::{Field, Node};
use crate::recipe_template::is_name;

/// Most bytes of a value.
const LONGEST: usize = 64 << 10;

/// One parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct RecipeParameter {
    /// Its name.
    pub name: String,
    /// The values that it can have.
    pub kind: ParameterKind,
    /// What it means.
    pub description: String,
    /// Its value if none is given; without one, a value must be given.
    pub default: Option<Value>,
}

/// The values that a parameter can have.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterKind {
    /// Any text.
    Text,
    /// A number within bounds.
    Number {
        /// The least.
        least: Option<f64>,
        /// The most.
        most: Option<f64>,
    },
    /// `true` or `false`.
    Boolean,
    /// One of these words.
    Choice(Vec<String>),
    /// A file of the workspace.
    File,
}

impl RecipeParameter {
    /// Reads `name: {type: …, …}`; `name: text` stands for a text with this default.
    pub(crate) fn parse(field: &Field) -> Result<Self, String> {
        let name = field.key.clone();
        if !is_name(&name) {
            return Err(format!("`{name}` cannot be the name of a parameter; use small letters, digits and `_`"));
        }
        let Node::Map(about) = &field.value else {
            return Err(format!("the parameter `{name}` says nothing about itself; write `{name}: {{type: string}}`"));
        };
        let (mut word, mut description, mut default, mut choices) = ("string".to_owned(), String::new(), None, None);
        let (mut least, mut most) = (None, None);
        for own in about {
            let text = || own.value.text().map(str::to_owned).ok_or_else(|| format!("`{}` must be a text", own.key));
            let number = || text()?.parse::<f64>().map_err(|_| format!("`{}` must be a number", own.key));
            match own.key.as_str() {
                "type" => word = text()?,
                "description" => description = text()?,
                "default" => default = Some(text()?),
                "choices" => choices = own.value.words(),
                "min" => least = Some(number()?),
                "max" => most = Some(number()?),
                other => {
                    let known = "type, description, default, choices, min, max";
                    return Err(format!("unknown field `{other}` of the parameter `{name}`; known: {known}"));
                }
            }
        }
        let kind = match (word.as_str(), choices) {
            ("choice", Some(choices)) if !choices.is_empty() => ParameterKind::Choice(choices),
            ("choice", _) => return Err(format!("the parameter `{name}` is a choice without `choices`")),
            (_, Some(_)) => return Err(format!("the parameter `{name}` has `choices`; its type is then `choice`")),
            ("number", None) => ParameterKind::Number { least, most },
            (_, None) if least.is_some() || most.is_some() => {
                return Err(format!("the parameter `{name}` has `min` or `max`; its type is then `number`"));
            }
            ("string", None) => ParameterKind::Text,
            ("boolean", None) => ParameterKind::Boolean,
            ("file", None) => ParameterKind::File,
            (other, None) => {
                let known = "string, number, boolean, choice, file";
                return Err(format!("the parameter `{name}` has the unknown type `{other}`; known: {known}"));
            }
        };
        let mut own = Self { name, kind, description, default: None };
        own.default = default
            .map(|text| own.read(&text).map_err(|why| format!("its default does not fit: {why}")))
            .transpose()?;
        Ok(own)
    }

    /// Reads a value. Whether a file is there is not looked at.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let name = &self.name;
        if text.len() > LONGEST || text.contains('\0') {
            return Err(format!("the parameter `{name}` is not a text of at most {LONGEST} bytes"));
        }
        let wrong = |expected: &str| {
            let shown: String = text.chars().take(80).collect();
            Err(format!("the parameter `{name}` is {}; expected {expected}", Value::String(shown)))
        };
        match &self.kind {
            ParameterKind::Text => Ok(Value::String(text.to_owned())),
            ParameterKind::File if text.trim().is_empty() => wrong("the path of a file"),
            ParameterKind::File => Ok(Value::String(text.to_owned())),
            ParameterKind::Boolean => match text.trim() {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                _ => wrong("`true` or `false`"),
            },
            ParameterKind::Choice(choices) if choices.iter().any(|one| one == text) => {
                Ok(Value::String(text.to_owned()))
            }
            ParameterKind::Choice(choices) => wrong(&format!("one of {}", choices.join(", "))),
            ParameterKind::Number { least, most } => {
                let Ok(number) = text.trim().parse::<Number>() else { return wrong("a number") };
                let value = number.as_f64().unwrap_or(f64::NAN);
                if least.is_some_and(|least| value < least) {
                    return wrong(&format!("a number from {}", least.unwrap_or_default()));
                }
                if most.is_some_and(|most| value > most) {
                    return wrong(&format!("a number up to {}", most.unwrap_or_default()));
                }
                if value.is_finite() { Ok(Value::Number(number)) } else { wrong("a number") }
            }
        }
    }

    /// The word for its type in a file.
    pub fn type_word(&self) -> &'static str {
        match self.kind {
            ParameterKind::Text => "string",
            ParameterKind::Number { .. } => "number",
            ParameterKind::Boolean => "boolean",
            ParameterKind::Choice(_) => "choice",
            ParameterKind::File => "file",
        }
    }

    /// A value that fits, to check a recipe with before any is given.
    pub fn example(&self) -> Value {
        let other = || match &self.kind {
            ParameterKind::Text | ParameterKind::File => Value::String(self.name.clone()),
            ParameterKind::Number { least, most } => {
                Number::from_f64(least.or(*most).unwrap_or(1.0)).map_or(Value::Null, Value::Number)
            }
            ParameterKind::Boolean => Value::Bool(true),
            ParameterKind::Choice(choices) => choices.first().cloned().map_or(Value::Null, Value::String),
        };
        self.default.clone().unwrap_or_else(other)
    }
}
