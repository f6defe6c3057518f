//! The HTTP API, from its OpenAPI description.

use std::fmt::Write as _;

use serde_json::{Map, Value};

const BEGINNING: &str = "\
# API reference

<!-- Written by `cargo xtask reference --write` from docs/openapi.json, which is what the server serves. -->

Every operation of `/api/v1`, as the server describes it at `/api/v1/openapi.json` and [openapi.json](../openapi.json). How to get in, follow a
run and get webhooks is in [api.md](../api.md), which also says what the numbers of problems mean: each is a `Problem` (RFC 9457).
";

/// The order of an operation among those of its path.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The page.
pub(super) fn page(openapi: &Value) -> String {
    let mut text = BEGINNING.to_owned();
    let mut tags: Vec<(String, String)> = Vec::new();
    for (path, item) in openapi["paths"].as_object().into_iter().flatten() {
        for method in METHODS.iter().filter(|method| item.get(**method).is_some()) {
            let operation = &item[*method];
            let tag = operation["tags"][0].as_str().unwrap_or("others").to_owned();
            let place = tags.iter().position(|(name, _)| *name == tag).unwrap_or_else(|| {
                tags.push((tag, String::new()));
                tags.len() - 1
            });
            tags[place].1 += &in_words(method, path, operation, openapi);
        }
    }
    for (tag, operations) in tags {
        let _ = write!(text, "\n## {tag}\n{operations}");
    }
    text += &schemas(openapi);
    text
}

fn in_words(method: &str, path: &str, operation: &Value, openapi: &Value) -> String {
    let mut text = format!("\n### `{} {path}`\n", method.to_uppercase());
    for about in ["summary", "description"] {
        if let Some(words) = operation[about].as_str().filter(|words| !words.is_empty()) {
            let _ = write!(text, "\n{words}\n");
        }
    }
    let parameters: Vec<&Value> = operation["parameters"].as_array().into_iter().flatten().collect();
    if !parameters.is_empty() {
        text += "\n| parameter | in | type | means |\n|---|---|---|---|\n";
        for one in parameters {
            let one = resolved(one, openapi);
            let word = |name: &str| cell(one[name].as_str().unwrap_or_default());
            let needed = if one["required"] == true { "needed" } else { "" };
            let words = word("description");
            let about: Vec<&str> = [needed, &words].into_iter().filter(|text| !text.is_empty()).collect();
            let type_name = type_name(&one["schema"], openapi);
            let _ = writeln!(text, "| `{}` | {} | {type_name} | {} |", word("name"), word("in"), about.join("; "));
        }
    }
    if let Some(content) = operation["requestBody"]["content"].as_object() {
        let _ = write!(text, "\nThe body: {}.\n", contents(content, openapi));
    }
    let answers: Vec<(&String, &Value)> = operation["responses"].as_object().into_iter().flatten().collect();
    let is_problem = |status: &str| status.starts_with('4') || status.starts_with('5');
    for (status, answer) in answers.iter().filter(|(status, _)| !is_problem(status)) {
        let answer = resolved(answer, openapi);
        let content = answer["content"].as_object().map(|content| contents(content, openapi)).unwrap_or_default();
        let about = cell(answer["description"].as_str().unwrap_or_default());
        let parts: Vec<String> = [about, content].into_iter().filter(|text| !text.is_empty()).collect();
        let _ = write!(text, "\n**{status}** {}\n", parts.join("; "));
    }
    let problems: Vec<&str> =
        answers.iter().map(|(status, _)| status.as_str()).filter(|status| is_problem(status)).collect();
    if !problems.is_empty() {
        let _ = write!(text, "\nProblems: {}.\n", problems.join(", "));
    }
    text
}

fn schemas(openapi: &Value) -> String {
    let Some(schemas) = openapi["components"]["schemas"].as_object() else { return String::new() };
    let mut text = "\n## Types\n".to_owned();
    for (name, schema) in schemas {
        let _ = write!(text, "\n### {name}\n");
        if let Some(about) = schema["description"].as_str() {
            let _ = write!(text, "\n{about}\n");
        }
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        match schema["properties"].as_object() {
            Some(fields) => {
                text += "\n| field | type | means |\n|---|---|---|\n";
                for (field, schema) in fields {
                    let missing = if required.contains(&field.as_str()) { "" } else { "?" };
                    let about = cell(schema["description"].as_str().unwrap_or_default());
                    let _ = writeln!(text, "| `{field}{missing}` | {} | {about} |", type_name(schema, openapi));
                }
            }
            None => {
                let _ = write!(text, "\n{}\n", type_name(schema, openapi));
            }
        }
    }
    text
}

/// What a body or an answer may be.
fn contents(content: &Map<String, Value>, openapi: &Value) -> String {
    let each = content.iter().map(|(media, one)| {
        let name = type_name(&one["schema"], openapi);
        if name.is_empty() { format!("`{media}`") } else { format!("`{media}`: {name}") }
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A schema in a few words; named ones are links.
fn type_name(schema: &Value, openapi: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        let is_described = openapi["components"]["schemas"].get(name).is_some();
        return if is_described { format!("[{name}](#{})", name.to_lowercase()) } else { name.to_owned() };
    }
    for group in ["oneOf", "anyOf", "allOf"] {
        if let Some(all) = schema[group].as_array() {
            let names: Vec<String> = all.iter().map(|one| type_name(one, openapi)).collect();
            return names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .map(|value| format!("`{}`", value.to_string().replace('"', "")))
            .collect::<Vec<_>>()
            .join(", ");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", type_name(&schema["items"], openapi)),
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => String::new(),
    }
}

/// What a reference stands for.
fn resolved<'a>(value: &'a Value, openapi: &'a Value) -> &'a Value {
    let path = value["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    path.and_then(|path| openapi.pointer(path)).unwrap_or(value)
}

/// Words in one cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations_parameters_and_types_are_listed() {
        let openapi = json!({
            "paths": {"/api/v1/runs/{id}": {"get": {
                "tags": ["runs"], "summary": "A run",
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}, "description": "Its id"}],
                "responses": {"200": {"description": "it", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/RunView"}}}}, "404": {}}
            }}},
            "components": {"schemas": {"RunView": {"required": ["id"], "properties": {
                "id": {"type": "string"}, "steps": {"type": "array", "items": {"type": "integer"}}}}}}
        });
        let page = page(&openapi);
        for line in [
            "## runs",
            "### `GET /api/v1/runs/{id}`",
            "| `id` | path | string | needed; Its id |",
            "**200** it; `application/json`: [RunView](#runview)",
            "Problems: 404.",
            "| `id` | string |  |",
            "| `steps?` | list of integer |  |",
        ] {
            assert!(page.lines().any(|one| one == line), "`{line}` is not in:\n{page}");
        }
    }
}
