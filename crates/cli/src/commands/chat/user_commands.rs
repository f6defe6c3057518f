//! Commands that users write themselves: `commands/NAME.md`, sent as a message when `/NAME` is typed.

use std::path::Path;

use crate::folders::AppFolders;
use crate::settings::TrustedWorkspaces;
use crate::untrusted;

/// Most commands that are read.
const MOST: usize = 200;

/// A command of the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserCommand {
    pub(super) name: String,
    pub(super) description: String,
    text: String,
}

impl UserCommand {
    /// All commands: the user's, and those of the workspace if it is trusted. The workspace's come first if names are the
    /// same.
    pub(super) fn all(folders: &AppFolders, workspace: &Path) -> Vec<Self> {
        let mut found = Vec::new();
        if TrustedWorkspaces::load(folders).trust_state(workspace).is_trusted() {
            found = in_folder(&workspace.join(".updraft").join("commands"));
        }
        for own in in_folder(&folders.config.join("commands")) {
            if found.iter().all(|known: &Self| known.name != own.name) {
                found.push(own);
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// A command in the text of its file: optional front matter with a description, then the message.
    fn parse(name: &str, text: &str) -> Self {
        let text = text.replace("\r\n", "\n");
        let front = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        let (front, body) = front.unwrap_or(("", &text));
        let described = front.lines().find_map(|line| line.strip_prefix("description:"));
        let first = body.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
        let description = described.map(|text| text.trim().trim_matches(['"', '\''])).or(first).unwrap_or_default();
        Self { name: name.to_owned(), description: description.to_owned(), text: body.trim().to_owned() }
    }

    /// The message: `$ARGUMENTS` stands for all that follows the name, `$1` to `$9` for single words. Without either, the
    /// rest is added at the end.
    pub(super) fn message(&self, rest: &str) -> String {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let numbered = (1..=9).filter(|n| self.text.contains(&format!("${n}")));
        let has_place = self.text.contains("$ARGUMENTS") || numbered.clone().next().is_some();
        let mut message = self.text.clone();
        for n in numbered {
            message = message.replace(&format!("${n}"), words.get(n - 1).copied().unwrap_or_default());
        }
        message = message.replace("$ARGUMENTS", rest);
        if has_place || rest.is_empty() { message } else { format!("{message}\n\n{rest}") }
    }
}

fn in_folder(folder: &Path) -> Vec<UserCommand> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST);
    let command = |entry: std::fs::DirEntry| {
        let file = entry.path();
        let name = file.file_stem()?.to_str()?.to_owned();
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'));
        let is_markdown = file.extension().is_some_and(|extension| extension == "md");
        (is_name && is_markdown)
            .then(|| untrusted::read_text(&file).ok())
            .flatten()
            .map(|text| UserCommand::parse(&name, &text))
    };
    entries.filter_map(command).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_message_with_places_for_arguments() {
        let review = UserCommand::parse("review", "---\ndescription: \"Review a file\"\n---\n\nReview $1 for $2.\n");
        assert_eq!(review.description, "Review a file");
        assert_eq!(review.message("src/main.rs leaks now"), "Review src/main.rs for leaks.");
        assert_eq!(UserCommand::parse("a", "Fix $ARGUMENTS!").message("it all"), "Fix it all!");
        let plain = UserCommand::parse("b", "# Tidy up\n\nSort the imports.");
        assert_eq!(
            (plain.description.as_str(), plain.message("in src")),
            ("Tidy up", "# Tidy up\n\nSort the imports.\n\nin src".to_owned())
        );
    }
}
