//! Agents of other tools: their prompts stay, and the names of their tools become ours.

use std::fmt::Write as _;

use serde_json::json;
use updraft_engine::{Agent, Agents};

use super::ImportKind;
use super::collector::{ImportCollector, name_within};

/// What an agent has whose file names no tools: there that means all.
const ALL: &str = "files, apply_patch, sandbox, tools, browser, rag, memory, mcp";
/// Our names for other tools' tools.
const TOOLS: [(&str, &str); 20] = [
    ("Read", "read_file"),
    ("read_file", "read_file"),
    ("read_many_files", "read_file"),
    ("Grep", "search_files"),
    ("grep_search", "search_files"),
    ("search_file_content", "search_files"),
    ("Glob", "list_files"),
    ("glob", "list_files"),
    ("LS", "list_files"),
    ("list_directory", "list_files"),
    ("Write", "write_file"),
    ("write_file", "write_file"),
    ("Edit", "edit_file"),
    ("MultiEdit", "edit_file"),
    ("replace", "edit_file"),
    ("Bash", "run_command"),
    ("run_shell_command", "run_command"),
    ("WebFetch", "web_fetch"),
    ("WebSearch", "web_search"),
    ("google_web_search", "web_search"),
];

pub(super) fn collect(found: &mut ImportCollector, folder: &str) {
    let (root, kind) = (found.place.root.join(folder), ImportKind::Agent);
    let built_in = Agents::compiled_in().unwrap_or_default();
    for file in found.files(folder, &[".md"]) {
        let Some(text) = found.text(kind, &file) else { continue };
        let stem = name_within(&root, &file);
        match Agent::parse(&stem, &text, &file) {
            Err(error) => _ = found.leave_out(kind, &stem, &file, error.to_string()),
            Ok(agent) if built_in.get(&agent.name).is_some() => {
                let why = "there is a built-in agent of this name, which it would replace; rename it";
                found.leave_out(kind, &agent.name, &file, why);
            }
            Ok(agent) if !agent.narrowed.rules.deny.is_empty() => {
                let why = "it denies tools by names that are not ours; write `deny` yourself (docs/agents.md)";
                found.leave_out(kind, &agent.name, &file, why);
            }
            Ok(agent) => {
                let (written, remarks) = translated(&agent);
                let to = found.place.own.join("agents").join(format!("{}.md", agent.name));
                found.take_text(kind, &agent.name, &file, to, written).remarks = remarks;
            }
        }
    }
}

/// The agent's file with our names, and what is different.
fn translated(agent: &Agent) -> (String, Vec<String>) {
    let mut remarks = Vec::new();
    let (mut tools, mut unknown) = (Vec::new(), Vec::new());
    for theirs in &agent.tools {
        // `Bash(git log:*)` limits what it may run; our rules do that.
        let plain = theirs.split('(').next().unwrap_or_default();
        match TOOLS.iter().find(|(name, _)| *name == plain) {
            Some((_, ours)) if tools.contains(ours) => {}
            Some((_, ours)) => tools.push(*ours),
            None => unknown.push(format!("`{plain}`")),
        }
        if plain != theirs && plain == "Bash" {
            remarks.push(format!("`{theirs}` became `run_command` for all commands; your rules and questions apply"));
        }
    }
    let tools = if agent.tools.is_empty() { ALL.to_owned() } else { tools.join(", ") };
    // Text in quotes of JSON is text in quotes of YAML.
    let mut text = format!("---\nname: {}\npurpose: {}\ntools: [{tools}]\n", agent.name, json!(agent.purpose));
    if agent.read_only {
        text.push_str("permissions: read-only\n");
    }
    if let Some(turns) = agent.turns {
        let _ = writeln!(text, "turns: {turns}");
    }
    if !unknown.is_empty() {
        remarks.push(format!("it has no tools here in place of {}", unknown.join(", ")));
    }
    if let Some(model) = &agent.model {
        remarks.push(format!("its model `{model}` is not taken over; it uses that of the run"));
    }
    if !agent.ignored.is_empty() {
        remarks.push(format!("not used: {}", agent.ignored.join(", ")));
    }
    (text + "---\n" + agent.prompt.trim() + "\n", remarks)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_agent_keeps_its_prompt_and_gets_our_tools() {
        let theirs = "---\nname: checker\ndescription: Checks: every line\ntools: Read, Grep, Bash(git log:*), TodoWrite\nmodel: sonnet\ncolor: red\n---\n\nCheck it.\n";
        let agent = Agent::parse("checker", theirs, Path::new("checker.md")).unwrap();
        let (text, remarks) = translated(&agent);
        let wanted = "---\nname: checker\npurpose: \"Checks: every line\"\ntools: [read_file, search_files, run_command]\n---\nCheck it.\n";
        assert_eq!(text, wanted);
        assert_eq!(remarks.len(), 4, "{remarks:?}");
        let again = Agent::parse("checker", &text, Path::new("checker.md")).unwrap();
        assert_eq!(
            (again.purpose.as_str(), again.tools.len(), again.prompt.as_str()),
            ("Checks: every line", 3, "Check it.")
        );
    }
}
