//! The user's git identity: the few settings of the user's own git configuration that commands get. None of them runs
//! or names a program.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::git_config::{self, GitConfigEntry};

/// One of the user's git settings, as read by [`read`](GitSetting::read).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitSetting {
    /// The condition under which it applies, in git's syntax: `gitdir:/home/me/work/`. It always applies if there is
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    condition: Option<String>,
    section: String,
    key: String,
    value: String,
}

/// The settings that are passed on: the user's name and address, the name of new branches, and the conversion of line
/// endings. All others may name a program, a file or a host.
const PASSED: [(&str, &str); 4] =
    [("user", "name"), ("user", "email"), ("init", "defaultbranch"), ("core", "autocrlf")];
/// Most files that are read, counting an included file each time. Git itself refuses files that include each other
/// endlessly.
const MOST_FILES: usize = 64;
/// Most bytes of a settings file.
const LONGEST: u64 = 1 << 20;

impl GitSetting {
    /// Reads the user's own files in the order in which git reads them, and the files that they include.
    pub fn read(files: &[PathBuf], home: &Path) -> Vec<GitSetting> {
        let (mut found, mut left) = (Vec::new(), MOST_FILES);
        for file in files {
            add(file, home, None, &mut left, &mut found);
        }
        found
    }

    fn passes(&self) -> bool {
        PASSED.contains(&(self.section.as_str(), self.key.as_str())) && !self.value.contains('\0')
    }
}

fn add(file: &Path, home: &Path, condition: Option<&str>, left: &mut usize, found: &mut Vec<GitSetting>) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    let settings = text(file).and_then(|text| git_config::settings(&text)).unwrap_or_default();
    for GitConfigEntry { section, part, key, value } in settings {
        match (section.as_str(), part, key.as_str()) {
            ("include", None, "path") => {
                let Some(path) = path(&value, file, home) else { continue };
                add(&path, home, condition, left, found);
            }
            // Only git can tell whether the condition holds, as it knows the repository. Nested conditions are rare,
            // and left out.
            ("includeif", Some(wanted), "path") if condition.is_none() => {
                let Some(path) = path(&value, file, home) else { continue };
                add(&path, home, Some(&written_out(&wanted, file, home)), left, found);
            }
            (_, None, _) => {
                let one = GitSetting { condition: condition.map(str::to_owned), section, key, value };
                found.extend(one.passes().then_some(one));
            }
            _ => {}
        }
    }
}

fn text(file: &Path) -> Option<String> {
    // Reading a pipe would wait for a writer.
    let is_file = std::fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() <= LONGEST);
    let mut text = String::new();
    std::fs::File::open(file).ok().filter(|_| is_file)?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The path of an included file. Home folders of other users and git's own folder are left out.
fn path(value: &str, file: &Path, home: &Path) -> Option<PathBuf> {
    match value.strip_prefix("~/") {
        Some(rest) => Some(home.join(rest)),
        None if value.is_empty() || value.starts_with(['~', '%']) => None,
        None => Some(file.parent()?.join(value)),
    }
}

/// A condition that means the same in another home folder.
fn written_out(condition: &str, file: &Path, home: &Path) -> String {
    let Some((kind, pattern)) = condition.split_once(':').filter(|(kind, _)| kind.starts_with("gitdir")) else {
        return condition.to_owned();
    };
    let folder = file.parent().unwrap_or(home);
    let whole = |base: &Path, rest: &str| format!("{kind}:{}/{rest}", base.display());
    match (pattern.strip_prefix("~/"), pattern.strip_prefix("./")) {
        (Some(rest), _) => whole(home, rest),
        (None, Some(rest)) => whole(folder, rest),
        (None, None) => condition.to_owned(),
    }
}

/// The files that give git these settings in a home folder, by name.
pub(crate) fn files(settings: &[GitSetting]) -> BTreeMap<String, String> {
    let (mut files, mut main) = (BTreeMap::new(), String::new());
    for (number, setting) in settings.iter().filter(|one| one.passes()).enumerate() {
        let line = format!("[{}]\n\t{} = {}\n", setting.section, setting.key, quoted(&setting.value));
        match &setting.condition {
            None => main.push_str(&line),
            // A section header cannot contain a line break.
            Some(condition) if condition.contains(['\n', '\0']) => {}
            Some(condition) => {
                let (name, condition) = (format!(".gitconfig-{number}"), condition.replace('\\', "\\\\"));
                let condition = condition.replace('"', "\\\"");
                main.extend(["[includeIf \"", &condition, "\"]\n\tpath = ", &name, "\n"]);
                files.insert(name, line);
            }
        }
    }
    if !main.is_empty() {
        files.insert(".gitconfig".to_owned(), main);
    }
    files
}

/// Quotes a value so that git reads it unchanged.
fn quoted(value: &str) -> String {
    let mut text = String::from('"');
    for letter in value.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            other => text.push(other),
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(home: &Path) -> BTreeMap<String, String> {
        files(&GitSetting::read(&[home.join(".config/git/config"), home.join(".gitconfig")], home))
    }

    #[test]
    fn name_and_address_pass_and_nothing_that_runs_or_leads_elsewhere() {
        let home = tempfile::tempdir().unwrap();
        let text = "[user]\n\tname = A \\\"B\\\" \\\\ # x\n\temail = a@example.com\n\tsigningkey = k\n[user \"other\"]\n\tname = no\n\
                    [alias]\n\tst = !evil\n[core]\n\tpager = evil\n\tautocrlf = input\n[credential]\n\thelper = !evil\n\
                    [url \"ext::evil\"]\n\tinsteadOf = https://\n[init]\n\tdefaultBranch = main\n\ttemplateDir = evil\n";
        std::fs::write(home.path().join(".gitconfig"), text).unwrap();
        let wanted = "[user]\n\tname = \"A \\\"B\\\" \\\\\"\n[user]\n\temail = \"a@example.com\"\n\
                      [core]\n\tautocrlf = \"input\"\n[init]\n\tdefaultbranch = \"main\"\n";
        assert_eq!(said(home.path()), BTreeMap::from([(".gitconfig".to_owned(), wanted.to_owned())]));
        assert_eq!(said(&home.path().join("nowhere")), BTreeMap::new());
    }

    #[test]
    fn what_is_written_says_what_was_read_whatever_the_letters() {
        for value in ["a\n[core]\n\tfsmonitor = evil", "\"; x # y", " both ends ", "back\\slash\\", "\u{8}\ttab", "ä\r"]
        {
            let one = GitSetting {
                condition: Some(format!("gitdir:/a\"] {value}").replace('\n', "")),
                section: "user".to_owned(),
                key: "name".to_owned(),
                value: value.to_owned(),
            };
            let plain = GitSetting { condition: None, ..one.clone() };
            let written = files(&[one.clone(), plain]);
            let all: Vec<GitConfigEntry> =
                written.values().flat_map(|text| git_config::settings(text).unwrap()).collect();
            let seen: Vec<_> = all.iter().map(|one| (one.section.as_str(), one.key.as_str())).collect();
            assert_eq!(seen, [("includeif", "path"), ("user", "name"), ("user", "name")], "{value:?}");
            assert_eq!((&all[0].part, &all[1].value, &all[2].value), (&one.condition, &one.value, &one.value));
        }
    }

    #[test]
    fn included_files_count_and_conditions_are_left_to_git() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).unwrap();
        write(
            ".gitconfig",
            "[include]\n\tpath = who\n[includeIf \"gitdir:~/work/\"]\n\tpath = ~/job\n[include]\n\tpath = .gitconfig\n",
        );
        write("who", "[user]\n\tname = me\n");
        write("job", "[user]\n\temail = me@work\n[core]\n\tfsmonitor = evil\n");
        let said = said(home.path());
        let main = &said[".gitconfig"];
        assert!(main.contains("name = \"me\"") && main.contains(&format!("gitdir:{}/work/", home.path().display())));
        let others: Vec<_> = said.iter().filter(|(name, _)| *name != ".gitconfig").map(|(_, text)| text).collect();
        assert!(
            !others.is_empty() && others.iter().all(|text| *text == "[user]\n\temail = \"me@work\"\n"),
            "{others:?}"
        );
    }
}
