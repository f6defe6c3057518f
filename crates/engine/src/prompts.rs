//! Prompt templates: built in, and overridden by files of the same name.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Error;

macro_rules! compiled_in {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../prompts/", $name, ".md")))),*]
    };
}

const COMPILED_IN: &[(&str, &str)] = compiled_in![
    "again",
    "all-tools-failed",
    "attached",
    "choose",
    "compact",
    "compact-again",
    "compacted",
    "context",
    "cut-off",
    "distill",
    "earlier",
    "false-citations",
    "feedback",
    "in-doubt",
    "instructions",
    "judge",
    "last-turn",
    "memory",
    "missing-output",
    "more-turns",
    "background-ended",
    "pivot",
    "plan",
    "plan-changed",
    "plan-faults",
    "plan-small",
    "plan-small-again",
    "plan-small-earlier",
    "plan-small-examples",
    "plan-small-faults",
    "planner-small",
    "proof",
    "query",
    "query-small",
    "repeated-call",
    "renewed",
    "replan",
    "review",
    "skills",
    "step",
    "told",
    "unfit",
];

/// Templates by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompts(BTreeMap<String, String>);

impl Prompts {
    /// The built-in templates.
    pub fn compiled_in() -> Self {
        Self(COMPILED_IN.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    /// Replaces templates by the `*.md` files of the same name in a folder. A missing folder changes nothing.
    pub fn override_from(&mut self, folder: &Path) -> Result<(), Error> {
        for (name, text) in crate::agents::markdown_in(folder)? {
            if let std::collections::btree_map::Entry::Occupied(mut e) = self.0.entry(name) {
                e.insert(text?);
            }
        }
        Ok(())
    }

    /// All templates by name.
    pub fn texts(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

/// A built-in template.
pub(crate) fn compiled_in(name: &str) -> Option<&'static str> {
    COMPILED_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The template without what has nothing to say: sections whose only words would be values that are empty, and lines that
/// are one empty value. Decided before anything is filled, so what a value holds is never taken for a heading.
pub(crate) fn without_empty(template: &str, values: &[(&str, &str)]) -> String {
    let is_empty = |line: &str| {
        let name = line.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        name.is_some_and(|name| values.iter().any(|(known, value)| *known == name && value.trim().is_empty()))
    };
    let mut kept: Vec<&str> = Vec::new();
    let lines: Vec<&str> = template.lines().collect();
    let mut rest = lines.as_slice();
    while let Some((first, behind)) = rest.split_first() {
        let length = behind.iter().position(|line| line.starts_with('#')).unwrap_or(behind.len());
        let (body, next) = behind.split_at(length);
        let says = |line: &str| !line.trim().is_empty() && !line.starts_with("```") && !is_empty(line);
        let is_section = first.starts_with('#') && body.iter().any(|line| is_empty(line));
        if !is_section || body.iter().any(|line| says(line)) {
            kept.push(first);
            kept.extend(body);
        }
        rest = next;
    }
    let mut text = String::with_capacity(template.len());
    let mut was_left_out = false;
    for line in kept {
        // With an empty value goes the empty line below it.
        if !(is_empty(line) || (was_left_out && line.is_empty())) {
            text.push_str(line);
            text.push('\n');
        }
        was_left_out = is_empty(line);
    }
    if !template.ends_with('\n') {
        text.pop();
    }
    text
}

/// Replaces each `{{name}}` by its value, in one pass: the values themselves are never expanded.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let room: usize = values.iter().map(|(_, value)| value.len()).sum();
    let mut filled = String::with_capacity(template.len() + room);
    let mut rest = template;
    while let Some(open) = rest.find("{{") {
        let (before, after) = rest.split_at(open);
        filled.push_str(before);
        let place = after.find("}}").map(|close| (&after[2..close], &after[close + 2..]));
        let known = place.and_then(|(name, tail)| {
            let value = values.iter().find(|(known, _)| *known == name)?.1;
            Some((value, tail))
        });
        if let Some((value, tail)) = known {
            filled.push_str(value);
            rest = tail;
        } else {
            filled.push_str("{{");
            rest = &after[2..];
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The placeholders of a template: `{{name}}`.
    fn places(template: &str) -> BTreeSet<&str> {
        template.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(name, _)| name).collect()
    }

    /// The templates that a source file uses, each with the placeholders it fills: `say("name", &[("place", …), …])`.
    fn filled_in(source: &str) -> Vec<(&str, BTreeSet<&str>)> {
        let calls = source.split("say(").skip(1).filter_map(|rest| {
            let (name, rest) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
            let values = rest.split_once("&[")?.1;
            let places = values.split("(\"").skip(1).filter_map(|part| part.split_once("\","));
            let places = places.map(|(place, _)| place).filter(|place| !place.contains('"'));
            let end = values.len() - values.trim_start_matches(|c: char| c != ']').len();
            let inside = places.take_while(|place| place.as_ptr() < values[end..].as_ptr());
            Some((name, inside.collect()))
        });
        calls.collect()
    }

    #[test]
    fn every_place_of_a_template_is_filled_and_every_value_has_a_place() {
        let sources = [
            include_str!("conversation.rs"),
            include_str!("context.rs"),
            include_str!("opening.rs"),
            include_str!("proof_prompt.rs"),
            include_str!("plan_prompt.rs"),
            include_str!("prompt_texts.rs"),
            include_str!("turn_messages.rs"),
        ];
        let filled: Vec<_> = sources.into_iter().flat_map(filled_in).collect();
        for (name, values) in &filled {
            let (_, template) = COMPILED_IN.iter().find(|(known, _)| known == name).unwrap();
            assert_eq!(places(template), *values, "prompts/{name}.md");
        }
        for (name, _) in COMPILED_IN {
            assert!(filled.iter().any(|(used, _)| used == name), "prompts/{name}.md is not used");
        }
    }

    #[test]
    fn headings_with_nothing_below_are_left_out_and_values_keep_theirs() {
        let template =
            "Do it.\n\n{{told}}\n\n# A\n\n{{a}}\n\n## B\n\n```json\n{{b}}\n```\n\n# C\n\nAs {{c}}\n\n# D\n{{d}}\n";
        let say = |a, b| {
            let values = [("told", ""), ("a", a), ("b", b), ("c", ""), ("d", "# E\n\n{{a}}")];
            fill(&without_empty(template, &values), &values)
        };
        assert_eq!(say("", " \n"), "Do it.\n\n# C\n\nAs \n\n# D\n# E\n\n{{a}}\n");
        assert_eq!(
            say("x", "{}"),
            "Do it.\n\n# A\n\nx\n\n## B\n\n```json\n{}\n```\n\n# C\n\nAs \n\n# D\n# E\n\n{{a}}\n"
        );
    }

    #[test]
    fn what_a_value_holds_is_not_filled_again() {
        let filled = fill("{{a}} and {{b}} and {{c}}", &[("a", "{{b}}"), ("b", "x")]);
        assert_eq!(filled, "{{b}} and x and {{c}}");
        assert_eq!(fill("open {{a", &[("a", "x")]), "open {{a");
    }
}
