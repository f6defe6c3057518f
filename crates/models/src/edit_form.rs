//! Which models were trained to change files by patches rather than by replacing text.

use crate::spec::ModelSpec;

/// The beginnings of the names of such models; with a `*` in front, a part of the name.
const TRAINED_WITH_PATCHES: [&str; 6] = ["gpt-4.1", "gpt-5", "gpt-6", "gpt-oss", "o4-mini", "*codex"];

/// Whether a model, by its text as runs record it, was trained to change files by patches. An unknown model was not.
pub fn uses_patches(spec: &str) -> bool {
    let first = spec.split('|').next().unwrap_or_default().trim();
    let name = ModelSpec::parse(first).map_or_else(|_| first.to_owned(), |spec| spec.name);
    let name = name.rsplit('/').next().unwrap_or_default().to_lowercase();
    TRAINED_WITH_PATCHES.iter().any(|known| match known.strip_prefix('*') {
        Some(part) => name.contains(part),
        None => name.starts_with(known),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_models_known_to_be_trained_with_patches_are_given_them() {
        let patches =
            ["openai/gpt-5.4-mini", "openai/gpt-4.1?think=off", "openrouter/openai/gpt-5-codex", "ollama/gpt-oss:20b"];
        let texts = [
            "anthropic/claude-sonnet-4-5",
            "openai-compatible/m",
            "openai/gpt-4o",
            "builtin",
            "x/my-gpt-5?a=b | openai/gpt-5",
        ];
        assert_eq!(patches.map(uses_patches), [true; 4]);
        assert_eq!(texts.map(uses_patches), [false; 5]);
    }
}
