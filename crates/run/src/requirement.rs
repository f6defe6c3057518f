//! What a run must have achieved when it ends: the requirements of a goal, and how each is checked.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::message::is_false;

/// One thing that must hold when the run ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// In the words of the user or the planner.
    pub text: String,
    /// How it is checked.
    #[serde(default, skip_serializing_if = "Check::is_free_text")]
    pub check: Check,
    /// The planner took it from the goal; the user did not give it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub derived: bool,
}

/// How a requirement is checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Check {
    /// A model names the evidence in the journal.
    #[default]
    FreeText,
    /// A command must succeed.
    Command {
        /// As a shell takes it.
        command: String,
    },
    /// A file must exist.
    File {
        /// Relative to the workspace.
        path: String,
        /// The file with the JSON Schema it must fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<String>,
    },
    /// The answer must fit a JSON Schema.
    Answer {
        /// The file with the schema.
        schema: String,
    },
    /// A shared variable must fit a JSON Schema.
    Variable {
        /// Its name.
        name: String,
        /// The file with the schema.
        schema: String,
    },
    /// Every citation in the answer must hold, and there must be one.
    Citations,
}

impl Check {
    fn is_free_text(&self) -> bool {
        *self == Check::FreeText
    }
}

/// Programs that a requirement without quotation marks may begin with: `cargo test passes`. Other words are free text,
/// because "everything passes" is not a command.
const PROGRAMS: [&str; 66] = [
    "ant",
    "bash",
    "bats",
    "bazel",
    "black",
    "bun",
    "bundle",
    "cargo",
    "cmake",
    "cmp",
    "composer",
    "ctest",
    "deno",
    "diff",
    "docker",
    "dotnet",
    "eslint",
    "flake8",
    "git",
    "go",
    "gradle",
    "grep",
    "hatch",
    "helm",
    "jest",
    "just",
    "ls",
    "make",
    "meson",
    "mix",
    "mocha",
    "mvn",
    "mypy",
    "ninja",
    "node",
    "nox",
    "npm",
    "npx",
    "phpunit",
    "pip",
    "pipenv",
    "pnpm",
    "poetry",
    "pre-commit",
    "prettier",
    "pyright",
    "pytest",
    "python",
    "python3",
    "rake",
    "rspec",
    "ruby",
    "ruff",
    "rustc",
    "sbt",
    "sh",
    "shellcheck",
    "swift",
    "terraform",
    "test",
    "tox",
    "tsc",
    "uv",
    "vitest",
    "yarn",
    "zig",
];

/// What may follow a command to say that it must succeed.
const SUCCEEDS: [&str; 9] = [
    " passes",
    " pass",
    " succeeds",
    " must pass",
    " must succeed",
    " exits with 0",
    " exits 0",
    " runs without errors",
    " is green",
];

impl Requirement {
    /// Reads a requirement as people write it. What is not recognised is free text.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        Self { text: text.to_owned(), check: check_in(text), derived: false }
    }

    /// The requirements that a plan names beside its steps.
    pub fn all_in(plan: &Value) -> Vec<Self> {
        let listed = plan.get("requirements").and_then(Value::as_array);
        listed.into_iter().flatten().filter_map(Self::from_plan).take(MOST).collect()
    }

    /// The form in which a plan names it.
    pub fn in_plan(&self) -> Value {
        match &self.check {
            Check::Command { command } => json!({ "text": self.text, "command": command }),
            Check::File { path, schema: None } => json!({ "text": self.text, "file": path }),
            Check::File { path, schema } => json!({ "text": self.text, "file": path, "schema": schema }),
            Check::FreeText | Check::Answer { .. } | Check::Variable { .. } | Check::Citations => json!(self.text),
        }
    }

    /// Reads one from a plan: a text, or an object with `text` and `command`, or `file` and perhaps `schema`.
    pub(crate) fn from_plan(value: &Value) -> Option<Self> {
        let part = |key: &str| value.get(key).and_then(Value::as_str).map(str::trim).filter(|part| !part.is_empty());
        let text = value.as_str().map(str::trim).or_else(|| part("text")).unwrap_or_default();
        let check = match (part("command"), part("file")) {
            (Some(command), _) => Check::Command { command: command.to_owned() },
            (None, Some(path)) => Check::File { path: path.to_owned(), schema: part("schema").map(str::to_owned) },
            (None, None) => check_in(text),
        };
        if text.len() > LONGEST || (text.is_empty() && check.is_free_text()) {
            return None;
        }
        let own = Self { text: text.to_owned(), check, derived: true };
        Some(if text.is_empty() { Self { text: own.how(), ..own } } else { own })
    }

    /// How it is checked, in words for a person.
    pub fn how(&self) -> String {
        match &self.check {
            Check::FreeText => "a model looks for the evidence in what was done".to_owned(),
            Check::Command { command } => format!("`{command}` must succeed"),
            Check::File { path, schema: None } => format!("the file `{path}` must exist"),
            Check::File { path, schema: Some(schema) } => format!("the file `{path}` must fit `{schema}`"),
            Check::Answer { schema } => format!("the answer must fit `{schema}`"),
            Check::Variable { name, schema } => format!("the variable `{name}` must fit `{schema}`"),
            Check::Citations => "every citation in the answer must hold".to_owned(),
        }
    }
}

/// How many requirements a plan may name: more are a list of wishes.
const MOST: usize = 20;
/// The longest requirement of a plan. A longer one is a mistake.
const LONGEST: usize = 2_000;

fn check_in(text: &str) -> Check {
    let text = text.trim().trim_end_matches('.');
    let lower = text.to_ascii_lowercase();
    if matches!(lower.as_str(), "citations hold" | "all citations hold" | "the citations hold" | "every citation holds")
    {
        return Check::Citations;
    }
    fitting(text, &lower).or_else(|| existing(text, &lower)).or_else(|| succeeding(text, &lower)).unwrap_or_default()
}

/// `report.json fits schema.json`, `answer fits schema.json`, `variable report fits schema.json`.
fn fitting(text: &str, lower: &str) -> Option<Check> {
    let (at, word) = [" fits ", " matches "].iter().find_map(|word| Some((lower.find(word)?, word)))?;
    let what = text[..at].trim();
    let rest = text[at + word.len()..].trim();
    let rest = rest.strip_prefix("the schema ").or_else(|| rest.strip_prefix("schema ")).unwrap_or(rest);
    let schema = path(rest)?;
    let bare = what.strip_prefix("the ").unwrap_or(what);
    if bare.eq_ignore_ascii_case("answer") {
        return Some(Check::Answer { schema });
    }
    if let Some(name) = bare.strip_prefix("variable ").map(unquoted).filter(|name| !name.contains(' ')) {
        return Some(Check::Variable { name: name.to_owned(), schema });
    }
    Some(Check::File { path: path(bare.strip_prefix("file ").unwrap_or(bare))?, schema: Some(schema) })
}

/// `file report.md exists`, `report.md exists`.
fn existing(text: &str, lower: &str) -> Option<Check> {
    let end = [" exists", " must exist"].iter().find_map(|end| lower.strip_suffix(end))?.len();
    let what = text[..end].trim();
    let what = what.strip_prefix("the ").unwrap_or(what);
    let (named, is_file) = what.strip_prefix("file ").map_or((what, false), |rest| (rest, true));
    let name = unquoted(named);
    let path = if is_file && !name.contains(' ') { name.to_owned() } else { path(named)? };
    Some(Check::File { path, schema: None })
}

/// `cargo test passes`, `` `make check` succeeds ``, `command: ./run.sh`.
fn succeeding(text: &str, lower: &str) -> Option<Check> {
    if let Some(command) = ["command: ", "$ "].iter().find_map(|start| text.strip_prefix(start)) {
        return Some(Check::Command { command: command.trim().to_owned() });
    }
    let named = SUCCEEDS.iter().find_map(|end| lower.strip_suffix(end)).map(|start| text[..start.len()].trim())?;
    let command = unquoted(named);
    let is_quoted = command.len() < named.len();
    let program = command.split_whitespace().next()?;
    let is_program = PROGRAMS.contains(&program) || program.contains('/');
    // `test` alone is a word; as a program it needs something to test.
    let is_command = is_quoted || (is_program && (program != "test" || command.starts_with("test -")));
    is_command.then(|| Check::Command { command: command.to_owned() })
}

/// A path: quoted, or one word with a dot or a slash in it.
fn path(text: &str) -> Option<String> {
    let text = text.trim();
    let name = unquoted(text);
    let is_path = name.len() < text.len() || (!name.contains(char::is_whitespace) && name.contains(['.', '/']));
    (is_path && !name.is_empty()).then(|| name.to_owned())
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inside = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark).filter(|inner| !inner.contains(mark));
    ['`', '"', '\''].into_iter().find_map(inside).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_understood_and_the_rest_is_free_text() {
        let how = |text: &str| Requirement::parse(text).how();
        assert_eq!(how("cargo test passes"), "`cargo test` must succeed");
        assert_eq!(how("`make -C sub check` succeeds."), "`make -C sub check` must succeed");
        assert_eq!(how("command: test -s out.txt && echo ok"), "`test -s out.txt && echo ok` must succeed");
        assert_eq!(how("./run.sh --fast exits with 0"), "`./run.sh --fast` must succeed");
        assert_eq!(how("file report.md exists"), "the file `report.md` must exist");
        assert_eq!(how("file Makefile exists"), "the file `Makefile` must exist");
        assert_eq!(how("docs/a.md must exist"), "the file `docs/a.md` must exist");
        assert_eq!(how("report.json fits schema.json"), "the file `report.json` must fit `schema.json`");
        assert_eq!(how("the answer fits schema s.json"), "the answer must fit `s.json`");
        assert_eq!(how("variable figures fits 'f s.json'"), "the variable `figures` must fit `f s.json`");
        assert_eq!(how("Citations hold."), "every citation in the answer must hold");
        for free in [
            "everything passes",
            "the whole suite passes",
            "test passes",
            "a good reason exists",
            "it fits well",
            "at most 200 words",
            "",
        ] {
            assert_eq!(Requirement::parse(free).check, Check::FreeText, "{free}");
        }
    }

    #[test]
    fn a_plan_may_name_them_as_texts_or_objects() {
        let read = |value: Value| Requirement::from_plan(&value).map(|own| (own.text.clone(), own.how(), own.derived));
        let command = serde_json::json!({ "text": "tests pass", "command": "npm test" });
        assert_eq!(read(command), Some(("tests pass".into(), "`npm test` must succeed".into(), true)));
        let file = serde_json::json!({ "file": "a.md" });
        assert_eq!(read(file).map(|(text, ..)| text).as_deref(), Some("the file `a.md` must exist"));
        assert_eq!(read(serde_json::json!("")), None);
        assert_eq!(read(serde_json::json!(7)), None);
    }
}
