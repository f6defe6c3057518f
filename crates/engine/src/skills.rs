//! Skills: folders with a `SKILL.md` in the format of agentskills.io. Agents see name and description, and read the rest
//! when they use one.

use std::path::{Path, PathBuf};

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::context::{SkillEntry, beginning_of};
use crate::front_matter::{self, Node};

/// The names of the file, the usual one first.
const FILES: [&str; 2] = ["SKILL.md", "skill.md"];
/// How many bytes of the file are read.
const MOST: usize = 256 * 1024;
/// The longest values, in characters.
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1_024;
const LONGEST_COMPATIBILITY: usize = 500;

const FIELDS: [&str; 6] = ["name", "description", "license", "allowed-tools", "metadata", "compatibility"];

/// A folder that is or was meant to be a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSkill {
    /// The folder.
    pub folder: PathBuf,
    /// The skill, or what is wrong with it, one sentence each.
    pub skill: Result<SkillEntry, Vec<String>>,
    /// What is not as the format says, and does no harm here: fields of other programs.
    pub remarks: Vec<String>,
}

/// A skill as its file describes it.
struct SkillReading {
    entry: SkillEntry,
    faults: Vec<String>,
    remarks: Vec<String>,
}

/// The skills in these folders' sub-folders, in the order of the folders and then by name. Of two with the same name, the
/// first counts. Sub-folders without a `SKILL.md` are none.
pub fn find_skills(folders: &[PathBuf]) -> Vec<FoundSkill> {
    let mut found: Vec<FoundSkill> = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut inside: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| file_in(path).is_some()).collect();
        inside.sort();
        for folder in inside {
            let (skill, remarks) = match read_skill(&folder) {
                Ok(SkillReading { entry, faults, remarks }) if faults.is_empty() => (Ok(entry), remarks),
                Ok(SkillReading { faults, remarks, .. }) => (Err(faults), remarks),
                Err(fault) => (Err(vec![fault]), Vec::new()),
            };
            let name = skill.as_ref().map(|skill| skill.name.clone());
            let is_known =
                found.iter().any(|other| matches!((&other.skill, &name), (Ok(other), Ok(name)) if other.name == *name));
            if !is_known {
                found.push(FoundSkill { folder, skill, remarks });
            }
        }
    }
    found
}

/// Checks one skill as the reference validator does, and says everything that is wrong with it.
pub fn check_skill(folder: &Path) -> Result<SkillEntry, Vec<String>> {
    let SkillReading { entry, faults, mut remarks } = read_skill(folder).map_err(|fault| vec![fault])?;
    remarks.extend(faults);
    if remarks.is_empty() { Ok(entry) } else { Err(remarks) }
}

fn read_skill(folder: &Path) -> Result<SkillReading, String> {
    let file = file_in(folder).ok_or("there is no SKILL.md")?;
    let text = beginning_of(&file, MOST).ok_or("its SKILL.md cannot be read as text")?;
    let (front, _) = split(&text).ok_or("SKILL.md must begin with front matter between two `---`")?;
    let fields = front_matter::fields(front).map_err(|bad| format!("SKILL.md:{}: {}", bad.line, bad.what))?;
    if fields.is_empty() {
        return Err("the front matter is empty; expected `name` and `description`".to_owned());
    }
    let mut remarks: Vec<String> = unusual_values(front);
    let mut faults = Vec::new();
    let value = |key: &str| fields.iter().find(|field| field.key == key).map(|field| &field.value);
    for field in fields.iter().filter(|field| !FIELDS.contains(&field.key.as_str())) {
        remarks.push(format!("`{}` is not a field of a skill; expected {}", field.key, FIELDS.join(", ")));
    }
    let name = required("name", value("name"), &mut faults).trim().to_owned();
    let description = required("description", value("description"), &mut faults).to_owned();
    if !name.is_empty() {
        check_name(&name, folder, &mut faults);
    }
    limit("description", &description, LONGEST_DESCRIPTION, &mut faults);
    match value("compatibility") {
        None => {}
        Some(Node::Text { text, .. }) => limit("compatibility", text, LONGEST_COMPATIBILITY, &mut faults),
        Some(Node::List(_) | Node::Map(_)) => faults.push("`compatibility` is not a text".to_owned()),
    }
    let path = folder.display().to_string();
    let entry = SkillEntry { name: normalized(&name), description: description.trim().to_owned(), path };
    Ok(SkillReading { entry, faults, remarks })
}

/// The file of a skill's folder.
fn file_in(folder: &Path) -> Option<PathBuf> {
    FILES.iter().map(|name| folder.join(name)).find(|file| file.is_file())
}

/// The front matter and what follows it.
fn split(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix("---")?.split_once("---")
}

/// Values in forms that the reference reader refuses: lists and maps on one line, and types.
fn unusual_values(front: &str) -> Vec<String> {
    // Lines below `metadata` are fields too; below any other field they may be text.
    let mut in_metadata = false;
    let mut faults = Vec::new();
    for line in front.lines() {
        let is_inside = line.starts_with([' ', '\t']);
        let Some((key, value)) = line.split_once(':').filter(|_| !is_inside || in_metadata) else { continue };
        in_metadata = is_inside || key == "metadata";
        if value.trim_start().starts_with(['[', '{', '!']) {
            faults.push(format!("`{}` has a value in another form than plain text or indented lines", key.trim()));
        }
    }
    faults
}

fn required<'a>(key: &str, value: Option<&'a Node>, faults: &mut Vec<String>) -> &'a str {
    let text = match value {
        Some(Node::Text { text, .. }) => text.as_str(),
        Some(Node::List(_) | Node::Map(_)) | None => "",
    };
    if text.trim().is_empty() {
        let what = if value.is_some() { "is not a text" } else { "is missing" };
        faults.push(format!("`{key}` {what}"));
    }
    text
}

fn check_name(name: &str, folder: &Path, faults: &mut Vec<String>) {
    let name = normalized(name);
    limit("name", &name, LONGEST_NAME, faults);
    if name != name.to_lowercase() {
        faults.push(format!("the name `{name}` is not in lower case"));
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        faults.push(format!("the name `{name}` begins or ends with `-`, or has two in a row"));
    }
    if !name.chars().all(|c| c.is_alphanumeric() || c == '-') {
        faults.push(format!("the name `{name}` has other characters than letters, digits and `-`"));
    }
    let own = folder.file_name().map(|own| normalized(&own.to_string_lossy())).unwrap_or_default();
    if own != name {
        faults.push(format!("its folder is `{own}`; expected `{name}`, the name"));
    }
}

fn limit(key: &str, text: &str, most: usize, faults: &mut Vec<String>) {
    let count = text.chars().count();
    if count > most {
        faults.push(format!("`{key}` has {count} characters; expected at most {most}"));
    }
}

fn normalized(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfkc().normalize(text).into_owned()
}
