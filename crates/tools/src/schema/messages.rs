//! Describes a violation of a schema so that a model can fix it: the place, what was expected, what was found.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

/// Values longer than this are shortened: the sender knows them.
const SHOWN: usize = 60;

/// One problem, with its place unless it concerns the arguments as a whole.
pub(super) fn of(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().as_str();
    let problem = problem(error);
    if place.is_empty() { problem } else { format!("`{}`: {problem}", crate::truncate::line(place, 200)) }
}

fn problem(error: &ValidationError<'_>) -> String {
    let found = || found(error.instance());
    match error.kind() {
        ValidationErrorKind::Type { kind } => format!("expected {}, found {}", types(kind), found()),
        ValidationErrorKind::Required { property } => format!("{} is missing", name(property)),
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let mut names: Vec<_> =
                unexpected.iter().map(|name| format!("`{}`", crate::truncate::line(name, SHOWN))).collect();
            names.truncate(10);
            format!("{} is not known here", names.join(", "))
        }
        ValidationErrorKind::Enum { options } => format!("expected one of {}, found {}", shown(options, 300), found()),
        ValidationErrorKind::Constant { expected_value } => {
            format!("expected {}, found {}", shown(expected_value, SHOWN), found())
        }
        ValidationErrorKind::Minimum { limit } => format!("expected at least {limit}, found {}", found()),
        ValidationErrorKind::Maximum { limit } => format!("expected at most {limit}, found {}", found()),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("expected more than {limit}, found {}", found()),
        ValidationErrorKind::ExclusiveMaximum { limit } => format!("expected less than {limit}, found {}", found()),
        ValidationErrorKind::MinLength { limit } => format!("expected at least {limit} characters, found {}", found()),
        ValidationErrorKind::MaxLength { limit } => format!("expected at most {limit} characters"),
        ValidationErrorKind::MinItems { limit } => format!("expected at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("expected at most {limit} items"),
        ValidationErrorKind::Pattern { pattern } => {
            format!("expected text matching `{}`, found {}", crate::truncate::line(pattern, 200), found())
        }
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            format!("{} fits none of the forms allowed here", found())
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            format!("{} fits more than one of the forms of which exactly one is wanted", found())
        }
        ValidationErrorKind::FalseSchema => "nothing is allowed here".into(),
        // The rest is rare in tools. The library's own message is used, without the value, which could be of any
        // size.
        _ => crate::truncate::line(&error.masked_with("the value").to_string(), 300),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => with_article(&one.to_string()),
        TypeKind::Multiple(several) => {
            let names: Vec<_> = several.iter().map(|one| with_article(&one.to_string())).collect();
            names.join(" or ")
        }
    }
}

fn with_article(name: &str) -> String {
    match name {
        "null" => "null".into(),
        "array" | "integer" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

fn found(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) | Value::Number(_) => shown(value, SHOWN),
        Value::String(_) => format!("the string {}", shown(value, SHOWN)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => format!("the object {}", shown(value, SHOWN)),
    }
}

fn name(value: &Value) -> String {
    value.as_str().map_or_else(|| shown(value, SHOWN), |name| format!("`{}`", crate::truncate::line(name, SHOWN)))
}

fn shown(value: &Value, limit: usize) -> String {
    crate::truncate::line(&value.to_string(), limit)
}
