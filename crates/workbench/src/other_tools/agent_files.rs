//! Agents of other tools: their prompts stay, and the names of their tools become ours.

use std::fmt::Write as _;

use serde_json::json;
use updraft_engine::{Agent, Agents, read_yaml};

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
        if let Some(why) = foreign_limits(&text) {
            found.leave_out(kind, &stem, &file, why);
            continue;
        }
        match Agent::parse(&stem, &in_our_words(&text), &file) {
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

/// Why an agent is not taken over whose file says in another tool's terms what it may do.
fn foreign_limits(text: &str) -> Option<&'static str> {
    let (front, _) = text.strip_prefix("---\n")?.split_once("\n---")?;
    if front.lines().any(|line| line.trim_end() == "disable: true") {
        return Some("it is disabled");
    }
    let fields = read_yaml(front).ok()?;
    let is_foreign = fields["tools"].is_object() || !fields["permission"].is_null();
    is_foreign.then_some(
        "what it may do is written in opencode's terms; write `tools`, `deny` or `permissions` yourself (docs/agents.md)",
    )
}

/// The file with our words for what opencode and Cursor say otherwise. Each line stays where it is.
fn in_our_words(text: &str) -> String {
    let mut dashes = 0;
    let line = |line: &str| {
        dashes += usize::from(line.trim_end() == "---");
        let (key, value) = line.split_once(':').filter(|_| dashes == 1).unwrap_or_default();
        match (key, value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\''])) {
            // Whether people or other agents call it: here both may.
            ("mode", "subagent" | "primary" | "all") | ("readonly", "false") => "\n".to_owned(),
            ("readonly", "true") => "permissions: read-only\n".to_owned(),
            _ => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
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

    #[test]
    fn what_opencode_and_cursor_say_is_put_in_our_words_or_left_out() {
        let opencode = "---\ndescription: Reads the books\nmode: subagent # not for people\nmodel: anthropic/x\ntemperature: 0.1\n---\nmode: subagent\n";
        assert_eq!(foreign_limits(opencode), None);
        let agent = Agent::parse("reader", &in_our_words(opencode), Path::new("reader.md")).unwrap();
        assert_eq!((agent.read_only, agent.prompt.as_str()), (false, "mode: subagent"));
        let cursor = "---\ndescription: Reads the books\nreadonly: true\n---\nRead.\n";
        let agent = Agent::parse("reader", &in_our_words(cursor), Path::new("reader.md")).unwrap();
        assert!(agent.read_only && translated(&agent).0.contains("\npermissions: read-only\n"));
        for limit in ["tools:\n  write: false", "permission:\n  edit: deny", "permission: {bash: ask}"] {
            let text = format!("---\ndescription: Reads\n{limit}\n---\nRead.\n");
            assert!(foreign_limits(&text).is_some_and(|why| why.contains("opencode's terms")), "{limit}");
        }
        assert_eq!(foreign_limits("---\ndescription: Reads\ndisable: true\n---\nRead.\n"), Some("it is disabled"));
        assert_eq!(foreign_limits("---\ndescription: Reads\ntools: Read, Grep\n---\nRead.\n"), None);
    }
}
