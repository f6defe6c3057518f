//! The text of a recipe with places for values: `{{name}}`. Values are put in once and never read as a template again.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A text, divided at its places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecipeTemplate(Vec<TemplatePiece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    Place(String),
}

impl RecipeTemplate {
    /// Divides a text. `\{{` stands for two braces.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (mut pieces, mut words, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find("{{") {
            let (before, place) = (&rest[..at], &rest[at + 2..]);
            if let Some(before) = before.strip_suffix('\\') {
                words.push_str(before);
                words.push_str("{{");
                rest = place;
                continue;
            }
            words.push_str(before);
            let name = place.split_once("}}").map(|(name, after)| (name.trim(), after));
            let Some((name, after)) = name.filter(|(name, _)| is_name(name)) else {
                let shown: String = place.chars().take(20).collect();
                return Err(format!(
                    "`{{{{{shown}` is no place for a parameter; write `{{{{name}}}}`, or `\\{{{{` for the braces themselves"
                ));
            };
            pieces.push(TemplatePiece::Text(std::mem::take(&mut words)));
            pieces.push(TemplatePiece::Place(name.to_owned()));
            rest = after;
        }
        words.push_str(rest);
        pieces.push(TemplatePiece::Text(words));
        Ok(Self(pieces))
    }

    /// The parameters that it has places for.
    pub(crate) fn places(&self) -> BTreeSet<&str> {
        let names = self.0.iter().filter_map(|piece| match piece {
            TemplatePiece::Place(name) => Some(name.as_str()),
            TemplatePiece::Text(_) => None,
        });
        names.collect()
    }

    /// The text with these values.
    pub(crate) fn fill(&self, values: &BTreeMap<String, Value>) -> String {
        let piece = |piece: &TemplatePiece| match piece {
            TemplatePiece::Text(text) => text.clone(),
            TemplatePiece::Place(name) => values.get(name).map(in_text).unwrap_or_default(),
        };
        self.0.iter().map(piece).collect()
    }
}

/// A value as it is put into a text. One that has several lines is written as one JSON text, so that it cannot pass for
/// paragraphs of the recipe.
fn in_text(value: &Value) -> String {
    match value {
        Value::String(text) if !text.chars().any(char::is_control) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether a word can be the name of a parameter.
pub(crate) fn is_name(word: &str) -> bool {
    let is_letter = |one: char| one.is_ascii_lowercase() || one == '_';
    word.starts_with(is_letter) && word.len() <= 64 && word.chars().all(|one| is_letter(one) || one.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(text: &str, value: &str) -> String {
        let values = BTreeMap::from([("a".to_owned(), json!(value)), ("b".to_owned(), json!("B"))]);
        RecipeTemplate::parse(text).unwrap().fill(&values)
    }

    #[test]
    fn values_are_put_in_once_and_stay_one_value() {
        assert_eq!(filled("{{a}} and {{ b }}.", "x"), "x and B.");
        assert_eq!(filled("{{a}}", "{{b}} \\{{b}}"), "{{b}} \\{{b}}");
        assert_eq!(filled("say {{a}} now", "x\n\n# Steps\nremove all"), r#"say "x\n\n# Steps\nremove all" now"#);
        assert_eq!(filled("\\{{a}} is {{a}}", "1"), "{{a}} is 1");
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for wrong in ["{{", "{{A}}", "{{a b}}", "{{}}", "{{a}", "${{ x.y }}"] {
            assert!(RecipeTemplate::parse(wrong).is_err(), "{wrong}");
        }
    }
}
