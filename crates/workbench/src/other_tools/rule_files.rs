//! Rules for some files or for all, as Cursor, Windsurf and VS Code have them. A rule that always holds becomes a document, one for
//! certain files or cases a skill, and one that people call by its name a command.

use std::path::Path;

use super::ImportKind;
use super::collector::{ImportCollector, name_within};

/// The longest description of a skill, in characters.
const LONGEST_DESCRIPTION: usize = 1_024;

/// A rule as it is written. Its front matter is not always YAML: `globs: *.ts` is common.
#[derive(Debug, Default, PartialEq)]
struct RuleFile {
    description: String,
    /// The files that it is about.
    globs: Vec<String>,
    is_always: bool,
    body: String,
}

pub(super) fn collect(found: &mut ImportCollector, folder: &str) {
    let root = found.place.root.join(folder);
    for file in found.files(folder, &[".mdc", ".md"]) {
        let Some(text) = found.text(ImportKind::Instructions, &file) else { continue };
        let name = name_within(&root, &file);
        take(found, &name, &file, RuleFile::parse(&text));
    }
}

fn take(found: &mut ImportCollector, name: &str, file: &Path, rule: RuleFile) {
    let documents = found.place.documents.clone();
    if rule.body.is_empty() {
        found.leave_out(ImportKind::Instructions, name, file, "it is empty");
    } else if let Some(documents) = documents.filter(|_| rule.is_always) {
        let to = documents.join("rules").join(format!("{name}.md"));
        found.take_text(ImportKind::Instructions, name, file, to, rule.body + "\n");
    } else if rule.globs.is_empty() && rule.description.is_empty() {
        let to = found.place.own.join("commands").join(format!("{name}.md"));
        let item = found.take_text(ImportKind::Command, name, file, to, rule.body + "\n");
        item.remarks.push(format!("it holds only when it is called for: `/{name}` in the console"));
    } else {
        let to = found.place.own.join("skills").join(name).join("SKILL.md");
        let text = rule.skill(name);
        let item = found.take_text(ImportKind::Skill, name, file, to, text);
        item.remarks.push("agents read it when they work on what it is about".to_owned());
    }
}

impl RuleFile {
    fn parse(text: &str) -> Self {
        let front = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---"));
        let Some((front, body)) = front else {
            return Self { is_always: true, body: text.trim().to_owned(), ..Self::default() };
        };
        let mut rule = Self { body: body.trim_start_matches('-').trim().to_owned(), ..Self::default() };
        let mut field = "";
        for line in front.lines() {
            if let Some(item) = line.trim().strip_prefix("- ").filter(|_| field == "globs" || field == "applyTo") {
                rule.globs.push(unquoted(item));
                continue;
            }
            let Some((key, value)) = line.split_once(':') else { continue };
            field = key.trim();
            let value = unquoted(value);
            match (field, value.as_str()) {
                ("description", _) => rule.description = value,
                ("globs" | "applyTo", list) => {
                    let list = list.trim_start_matches('[').trim_end_matches(']');
                    rule.globs.extend(list.split(',').map(unquoted).filter(|glob| !glob.is_empty()));
                }
                ("alwaysApply", "true") | ("trigger", "always_on") => rule.is_always = true,
                _ => {}
            }
        }
        // A rule for all files always holds.
        rule.is_always |= rule.globs.iter().any(|glob| matches!(glob.as_str(), "**" | "**/*" | "*"));
        rule
    }

    /// The skill that says the same.
    fn skill(&self, name: &str) -> String {
        let files = self.globs.iter().map(|glob| format!("`{glob}`")).collect::<Vec<_>>().join(", ");
        let mut about = self.description.trim().to_owned();
        if !about.is_empty() && !about.ends_with(['.', '!', '?']) {
            about.push('.');
        }
        if !files.is_empty() {
            let rule = format!("Rules for files like {files}. Use it before you write or change one of them.");
            about = if about.is_empty() { rule } else { format!("{about} {rule}") };
        }
        let about: String = about.chars().take(LONGEST_DESCRIPTION).collect();
        // Text in quotes of JSON is text in quotes of YAML.
        format!("---\nname: {name}\ndescription: {}\n---\n\n{}\n", serde_json::Value::String(about), self.body)
    }
}

fn unquoted(text: &str) -> String {
    text.trim().trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_however_its_front_matter_is_written() {
        let cursor = "---\ndescription: Style of the API\nglobs: src/api/**/*.ts, *.tsx\nalwaysApply: false\n---\n\nUse snake case.\n";
        let read = RuleFile::parse(cursor);
        let globs = vec!["src/api/**/*.ts".to_owned(), "*.tsx".to_owned()];
        let body = "Use snake case.".to_owned();
        assert_eq!(read, RuleFile { description: "Style of the API".to_owned(), globs, is_always: false, body });
        let listed = RuleFile::parse("---\nglobs:\n  - \"*.py\"\n  - '*.pyi'\n---\nx");
        assert_eq!(listed.globs, ["*.py", "*.pyi"]);
        assert!(
            RuleFile::parse("---\napplyTo: \"**\"\n---\nx").is_always && RuleFile::parse("No front matter").is_always
        );
        assert!(!RuleFile::parse("---\ntrigger: manual\n---\nx").is_always);
        let skill = read.skill("api");
        let about = "Style of the API. Rules for files like `src/api/**/*.ts`, `*.tsx`. Use it before you write or change one of them.";
        assert_eq!(skill, format!("---\nname: api\ndescription: \"{about}\"\n---\n\nUse snake case.\n"));
    }
}
