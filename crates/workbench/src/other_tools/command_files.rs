//! Commands of other tools: Markdown with front matter, or TOML as Gemini CLI has it. They become commands of the console.

use serde_json::Value;

use super::ImportKind;
use super::collector::{ImportCollector, name_within};

/// A command as it is written.
#[derive(Debug, Default, PartialEq)]
struct CommandFile {
    description: String,
    /// Fields that mean nothing here.
    unused: Vec<String>,
    text: String,
}

pub(super) fn collect(found: &mut ImportCollector, folder: &str) {
    let (root, kind) = (found.place.root.join(folder), ImportKind::Command);
    for file in found.files(folder, &[".md", ".toml"]) {
        let Some(text) = found.text(kind, &file) else { continue };
        let name = name_within(&root, &file);
        let is_toml = file.extension().is_some_and(|end| end == "toml");
        let read = if is_toml { CommandFile::parse_toml(&text) } else { Ok(CommandFile::parse_markdown(&text)) };
        let command = match read {
            Ok(command) if command.text.is_empty() => Err("it is empty".to_owned()),
            read => read,
        };
        match command {
            Ok(command) => {
                let to = found.place.own.join("commands").join(format!("{name}.md"));
                let remarks = command.remarks();
                found.take_text(kind, &name, &file, to, command.written()).remarks = remarks;
            }
            Err(why) => _ = found.leave_out(kind, &name, &file, why),
        }
    }
}

impl CommandFile {
    fn parse_markdown(text: &str) -> Self {
        let front = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        let Some((front, body)) = front else {
            return Self { text: with_our_places(text.trim()), ..Self::default() };
        };
        let mut command = Self { text: with_our_places(body.trim()), ..Self::default() };
        for (key, value) in front.lines().filter_map(|line| line.split_once(':')) {
            match key {
                "description" => value.trim().trim_matches(['"', '\'']).clone_into(&mut command.description),
                "name" | "argument-hint" => {}
                key if key.starts_with([' ', '\t', '#', '-']) => {}
                key => command.unused.push(format!("`{key}`")),
            }
        }
        command
    }

    fn parse_toml(text: &str) -> Result<Self, String> {
        let read: Value = toml::from_str(text).map_err(|error| format!("it is not TOML: {}", error.message()))?;
        let field = |name: &str| read[name].as_str().unwrap_or_default().trim().to_owned();
        Ok(Self {
            description: field("description").replace('\n', " "),
            text: with_our_places(&field("prompt")),
            ..Self::default()
        })
    }

    /// What is different here.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.text.contains("!`") || self.text.contains("!{") {
            remarks.push(
                "it has commands run before it is sent; here agents read them and run them themselves".to_owned(),
            );
        }
        if !self.unused.is_empty() {
            remarks.push(format!("not used: {}", self.unused.join(", ")));
        }
        remarks
    }

    /// As we write it.
    fn written(self) -> String {
        let front = match self.description.as_str() {
            "" => String::new(),
            text => format!("---\ndescription: {text}\n---\n\n"),
        };
        format!("{front}{}\n", self.text)
    }
}

/// The text with our way to say where arguments go.
fn with_our_places(text: &str) -> String {
    let mut text = text.replace("{{args}}", "$ARGUMENTS");
    while let Some(at) = text.find("${input:") {
        let Some(length) = text[at..].find('}') else { break };
        text.replace_range(at..=at + length, "$ARGUMENTS");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_keeps_its_text_and_description_and_the_rest_is_said() {
        let theirs = "---\ndescription: \"Review a change\"\nargument-hint: [path]\nallowed-tools: Bash(git diff:*)\n---\n\nLook at !`git diff` and $1.\n";
        let command = CommandFile::parse_markdown(theirs);
        let remarks = command.remarks();
        assert_eq!(remarks.len(), 2, "{remarks:?}");
        assert!(remarks[1].ends_with("`allowed-tools`"));
        assert_eq!(command.written(), "---\ndescription: Review a change\n---\n\nLook at !`git diff` and $1.\n");
        let toml =
            CommandFile::parse_toml("description = \"Test\"\nprompt = \"\"\"\nTest {{args}} now.\n\"\"\"\n").unwrap();
        assert_eq!(toml.written(), "---\ndescription: Test\n---\n\nTest $ARGUMENTS now.\n");
        assert!(CommandFile::parse_toml("prompt = ").unwrap_err().starts_with("it is not TOML"));
        assert_eq!(with_our_places("Make ${input:name:a name} big"), "Make $ARGUMENTS big");
    }
}
