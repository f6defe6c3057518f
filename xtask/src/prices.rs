//! `cargo xtask prices`: what the program needs of the table in the crate `genai-prices`, one file for each provider.
//!
//! Reading the whole table takes longer than a short run; reading one provider's part does not. A test of `models` holds the
//! files against the table.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::tree;

/// The providers whose prices are looked up.
const PROVIDERS: [&str; 11] = [
    "anthropic",
    "cerebras",
    "deepseek",
    "fireworks",
    "google",
    "groq",
    "mistral",
    "openai",
    "openrouter",
    "together",
    "x-ai",
];
/// What a price depends on. Everything else is prose.
const OF_PROVIDER: [&str; 6] =
    ["id", "name", "api_pattern", "model_match", "provider_match", "fallback_model_providers"];
const OF_MODEL: [&str; 4] = ["id", "match", "context_window", "prices"];

/// Writes the files anew and says which.
pub(crate) fn write(root: &Path) -> Result<Vec<PathBuf>, String> {
    let table = tree::read(&table(root)?)?;
    let table: Vec<Value> = serde_json::from_str(&table).map_err(|error| error.to_string())?;
    let named = |id: &str| {
        let found = table.iter().find(|provider| provider["id"] == id);
        found.map(shortened).ok_or_else(|| format!("the table has no provider `{id}`"))
    };
    let mut written = Vec::new();
    for id in PROVIDERS {
        let own = named(id)?;
        let others = own["fallback_model_providers"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let others = others.map(&named).collect::<Result<Vec<Value>, String>>()?;
        // Patterns with the digits of all scripts take longer to compile, and names of models have none of these.
        let lines: Vec<String> =
            [own].iter().chain(&others).map(|provider| provider.to_string().replace(r"\\d", "[0-9]")).collect();
        let path = root.join("crates/models/data/prices").join(format!("{id}.json"));
        std::fs::write(&path, format!("[{}]\n", lines.join(",\n")))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

fn shortened(provider: &Value) -> Value {
    let models = provider["models"].as_array().into_iter().flatten();
    let mut short = chosen(provider, &OF_PROVIDER);
    short.insert("models".to_owned(), models.map(|model| Value::Object(chosen(model, &OF_MODEL))).collect());
    Value::Object(short)
}

fn chosen(of: &Value, keys: &[&str]) -> Map<String, Value> {
    keys.iter().filter_map(|key| Some(((*key).to_owned(), of.get(key)?.clone()))).collect()
}

/// Where cargo keeps the table.
fn table(root: &Path) -> Result<PathBuf, String> {
    let metadata = tree::output(root, "cargo", &["metadata", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| package["name"] == "genai-prices").and_then(|package| {
        let manifest = package["manifest_path"].as_str()?;
        Some(Path::new(manifest).parent()?.join("data/prices.json"))
    });
    package.ok_or_else(|| "cargo metadata: no package `genai-prices`".to_owned())
}
