//! Searches the tools of servers and the drop-in tools by what their names and descriptions say.

use std::collections::BTreeSet;

use serde_json::json;
use updraft_run::{ToolOutput, ToolSpec};

use crate::registry::Registry;
use crate::truncate;

/// Most tools that one search gives.
const FOUND: usize = 10;
/// Most bytes of a description that are shown.
const DESCRIPTION: usize = 600;

/// The tools that fit most of the words, each with its schema. Only those of `allowed`, if that names any.
pub(super) fn search(registry: &Registry, allowed: &[ToolSpec], query: &str) -> ToolOutput {
    let allowed: BTreeSet<&str> = allowed.iter().map(|spec| spec.name.as_str()).collect();
    let may_call = |name: &str| allowed.is_empty() || allowed.contains(name);
    let words = words_of(query);
    let mut found = Vec::new();
    let mut count = 0;
    for tool in registry.iter().filter(|tool| tool.source().is_foreign() && may_call(&tool.spec().name)) {
        count += 1;
        let spec = tool.spec();
        let (in_name, in_text) = (words_of(&spec.name), words_of(&spec.description));
        let holds = |list: &[String], word: &str| list.iter().any(|one| one.starts_with(word) || word.starts_with(one));
        let score = |word: &String| 3 * usize::from(holds(&in_name, word)) + usize::from(holds(&in_text, word));
        let score: usize = words.iter().map(score).sum();
        if score > 0 {
            found.push((score, tool));
        }
    }
    found.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.spec().name.cmp(&b.spec().name)));
    found.truncate(FOUND);
    let origins: BTreeSet<String> = found.iter().filter_map(|(_, tool)| tool.words_from()).collect();
    let lines = found.iter().map(|(_, tool)| {
        let ToolSpec { name, description, parameters } = tool.spec();
        let description = truncate::line(description, DESCRIPTION);
        json!({ "tool_name": name, "description": description, "arguments": parameters }).to_string()
    });
    let mut text = lines.collect::<Vec<_>>().join("\n");
    if text.is_empty() {
        text = format!("none of {count} tools fits; try other words for what it should do");
    }
    ToolOutput { text, untrusted: !origins.is_empty(), origins: origins.into_iter().collect(), ..ToolOutput::default() }
}

fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.len() > 2);
    words.map(str::to_lowercase).collect()
}
