//! `use_skill`: gives an agent the instructions of a skill.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, PreparedCall, ToolOutput, ToolSpec};
use updraft_workspace::Place;

use super::{failed, parse, reply, spec};
use crate::open_plain::open_unlinked;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

/// How many bytes of a file of a skill are given, and how many of its files are named.
const MOST: usize = 100_000;
const MOST_FILES: usize = 100;

/// The tool for these skills: the folder of each by its name.
pub(super) struct UseSkill {
    spec: ToolSpec,
    skills: BTreeMap<String, PathBuf>,
}

#[derive(Deserialize)]
struct Args {
    name: String,
    #[serde(default)]
    file: Option<String>,
}

impl UseSkill {
    pub(super) fn new(skills: BTreeMap<String, PathBuf>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 1, "description": "The skill's name." },
                "file": { "type": "string", "minLength": 1, "description": "Another file of the skill's folder, such as `references/forms.md`; default SKILL.md." }
            },
            "required": ["name"],
            "additionalProperties": false
        });
        let description =
            "Read the instructions of a skill, or another file of its folder. Follow them as you follow the goal.";
        Self { spec: spec("use_skill", description, parameters), skills }
    }

    fn read(&self, args: &Value) -> Result<ToolOutput, Failure> {
        let Args { name, file } = parse(args)?;
        let Some(folder) = self.skills.get(&name) else {
            let known: Vec<&str> = self.skills.keys().map(String::as_str).collect();
            return failed(format!("no skill named `{name}`; available: {}", updraft_run::close_to(&name, &known)));
        };
        let files = files_in(folder);
        let wanted = file.unwrap_or_else(|| "SKILL.md".to_owned());
        let Some(path) = files.iter().find(|path| path.eq_ignore_ascii_case(&wanted)) else {
            return failed(format!("the skill has no file `{wanted}`; it has {}", files.join(", ")));
        };
        let bytes = read_beginning(&folder.join(path));
        let bytes = bytes.map_err(|error| Failure::new(updraft_run::FailureKind::Tool, error.to_string()))?;
        let mut text = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]).into_owned();
        if bytes.len() > MOST {
            text.push_str("\n[cut here: the file is longer]");
        }
        if files.len() > 1 {
            let others: Vec<&str> = files.iter().filter(|other| *other != path).map(String::as_str).collect();
            let _ = write!(text, "\n\n[other files of the skill, in {}: {}]", folder.display(), others.join(", "));
        }
        Ok(ToolOutput { text: text + "\n", ..ToolOutput::default() })
    }
}

/// The first bytes of a file that is no link, one more than are given.
fn read_beginning(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = open_unlinked(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The files of a skill by their paths inside its folder, links left out.
fn files_in(folder: &Path) -> Vec<String> {
    let walk = ignore::WalkBuilder::new(folder).standard_filters(false).follow_links(false).max_depth(Some(5)).build();
    let files = walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let inside = files.filter_map(|entry| Some(entry.path().strip_prefix(folder).ok()?.display().to_string()));
    let mut files: Vec<String> = inside.take(MOST_FILES).collect();
    files.sort();
    files
}

impl Tool for UseSkill {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        let time = Duration::from_secs(10);
        ToolTraits { class: EffectClass::Pure, group: "tools", time, blocking: true, ..ToolTraits::default() }
    }

    fn prepare(&self, args: &Value, place: &Place) -> PreparedCall {
        // A skill of the workspace is a file of the workspace, with the rules and marks that files have.
        let folder = args["name"].as_str().and_then(|name| self.skills.get(name));
        let inside = folder.and_then(|folder| folder.strip_prefix(place.workspace.root()).ok());
        let reads = inside.map(|path| path.display().to_string()).into_iter().collect();
        PreparedCall { reads, ..PreparedCall::default() }
    }

    fn call<'a>(&'a self, args: Value, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { reply(self.read(&args)) })
    }
}
