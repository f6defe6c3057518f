//! Checks arguments against a JSON Schema. The schema may be untrusted: nothing is fetched, and its cost is limited.

mod bounds;
mod messages;

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value};

use bounds::SchemaBounds;

/// Most steps of matching a pattern with look-around. Patterns without look-around take linear time anyway.
const BACKTRACKING: usize = 10_000;
/// Most bytes of one compiled pattern.
const PATTERN: usize = 1 << 20;
/// Most problems reported at once: a model fixes a few at a time, and a longer list would hide them.
const NAMED: usize = 5;

/// A JSON Schema for a tool's arguments, compiled when it is first used.
#[derive(Debug)]
pub struct Schema {
    source: Value,
    bounds: SchemaBounds,
    /// The dialect, if it is known. Otherwise `$schema` names it, or it is the newest.
    draft: Option<Draft>,
    compiled: OnceLock<Result<Validator, String>>,
}

/// What in the arguments does not fit, worded so that a model can fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Each names a place and the rule broken there. Never empty.
    pub problems: Vec<String>,
    /// How many further problems there are.
    pub more: usize,
}

impl Schema {
    /// Accepts a schema that is an object, refers to nothing outside itself and stays within the size limits. The
    /// error says what is wrong.
    pub fn new(source: &Value) -> Result<Self, String> {
        let bounds = SchemaBounds::of(source)?;
        Ok(Self { source: source.clone(), bounds, draft: None, compiled: OnceLock::new() })
    }

    /// A schema of a built-in tool, which uses only keywords that every dialect has. For the first schema of a
    /// dialect, the library also compiles the dialect's own schema, which takes half a millisecond for draft 7 and
    /// two or more for 2020-12.
    pub(crate) fn own(source: &Value) -> Result<Self, String> {
        Ok(Self { draft: Some(Draft::Draft7), ..Self::new(source)? })
    }

    /// Checks that this is a schema for arguments, which are always an object. A provider refuses a whole request if
    /// one tool's schema has another type.
    pub(crate) fn takes_arguments(&self) -> Result<(), String> {
        match self.source.get("type") {
            None => Ok(()),
            Some(Value::String(kind)) if kind == "object" => Ok(()),
            Some(kind) => Err(format!("its `type` is {kind}; expected \"object\", with the arguments as `properties`")),
        }
    }

    /// Compiles the schema now, to check that it is valid. The error says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.compiled().map(|_| ()).map_err(str::to_owned)
    }

    /// The arguments as the tool should get them. No arguments become an empty object. An optional argument that is
    /// `null` where the schema does not allow `null` is left out, since many models write `null` for arguments that
    /// they do not mean to give.
    pub fn accept<'a>(&self, args: &'a Value) -> Result<Cow<'a, Value>, Mismatch> {
        let args = match args {
            Value::Null => Cow::Owned(Value::Object(Map::new())),
            given => Cow::Borrowed(given),
        };
        self.bounds.admit(&args).map_err(Mismatch::one)?;
        let validator = self.compiled().map_err(|why| Mismatch::one(format!("its schema cannot be used: {why}")))?;
        if validator.is_valid(&args) {
            return Ok(args);
        }
        let args = match self.without_idle_nulls(&args) {
            Some(tidied) if validator.is_valid(&tidied) => return Ok(Cow::Owned(tidied)),
            Some(tidied) => Cow::Owned(tidied),
            None => args,
        };
        Err(Mismatch::of(validator, &args))
    }

    /// Checks a value without changing it.
    pub fn judge(&self, value: &Value) -> Result<(), Mismatch> {
        self.bounds.admit(value).map_err(Mismatch::one)?;
        let validator = self.compiled().map_err(|why| Mismatch::one(format!("the schema cannot be used: {why}")))?;
        if validator.is_valid(value) { Ok(()) } else { Err(Mismatch::of(validator, value)) }
    }

    fn compiled(&self) -> Result<&Validator, &str> {
        let compile = || {
            let patterns =
                PatternOptions::fancy_regex().backtrack_limit(BACKTRACKING).size_limit(PATTERN).dfa_size_limit(PATTERN);
            let mut options = jsonschema::options().offline().with_pattern_options(patterns);
            if let Some(draft) = self.draft {
                options = options.with_draft(draft);
            }
            options.build(&self.source).map_err(|error| crate::truncate::line(&messages::of(&error), 500))
        };
        self.compiled.get_or_init(compile).as_ref().map_err(String::as_str)
    }

    fn without_idle_nulls(&self, args: &Value) -> Option<Value> {
        let given = args.as_object()?;
        let required = self.source.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|n| n == name));
        let is_idle = |name: &str, value: &Value| value.is_null() && !is_required(name);
        if !given.iter().any(|(name, value)| is_idle(name, value)) {
            return None;
        }
        let kept = given.iter().filter(|(name, value)| !is_idle(name, value));
        Some(Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect()))
    }
}

impl Mismatch {
    fn one(problem: String) -> Self {
        Self { problems: vec![problem], more: 0 }
    }

    fn of(validator: &Validator, args: &Value) -> Self {
        let mut errors = validator.iter_errors(args);
        let mut problems: Vec<String> = errors.by_ref().take(NAMED).map(|error| messages::of(&error)).collect();
        if problems.is_empty() {
            problems.push("they do not fit the schema".into());
        }
        Self { problems, more: errors.count() }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("; "))?;
        if self.more > 0 { write!(f, "; and {} more", self.more) } else { Ok(()) }
    }
}
