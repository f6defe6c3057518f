//! Reads an agent's file: what each field of its front matter means. Fields from other tools are accepted if they mean
//! the same.

use std::path::Path;

use serde_json::Value;
use updraft_run::{AgentRole, ApprovalMode, Rule, StepId, ThinkingEffort};
use updraft_tools::remote_agent_tool;

use super::Agent;
use crate::Error;
use crate::front_matter::{self, Field, Misread};
use crate::prompts::fill;

/// The accepted names of fields: in lower case, without `_` and `-`.
const FIELDS: [&str; 23] = [
    "name",
    "purpose",
    "description",
    "tools",
    "mcpservers",
    "model",
    "think",
    "thinking",
    "turns",
    "maxturns",
    "role",
    "reflect",
    "permissions",
    "mode",
    "ask",
    "deny",
    "disallowedtools",
    "schema",
    "keywords",
    "small",
    "a2a",
    "a2atoken",
    "a2aagent",
];
/// The prompt of an agent on another server, if its file has none.
const REMOTE: &str = include_str!("../../../../prompts/remote/agent.md");
/// Parts of names of fields that limit an agent. An unknown field with such a name is an error and is never silently
/// ignored.
const LIMITING: [&str; 6] = ["deny", "denied", "allow", "permission", "readonly", "tool"];

impl Agent {
    /// Reads an agent's file. Faults name the file, the line and what was expected.
    pub fn parse(stem: &str, text: &str, file: &Path) -> Result<Self, Error> {
        let fault = |Misread { line, what }: Misread| Error::AgentFile { file: file.to_owned(), line, what };
        let at_first = |what: String| fault(Misread { line: 1, what });
        let read = front_matter::read(text).map_err(fault)?;
        let mut agent = Agent { name: stem.to_owned(), file: Some(file.to_owned()), ..Agent::default() };
        let mut description = None;
        for field in &read.fields {
            let place = format!("{}:{}", file.display(), field.line);
            let set = match plain(&field.key).as_str() {
                "description" => line_of(field).map(|text| description = Some(text)),
                _ => agent.set(field, &place),
            };
            set.map_err(|what| fault(Misread { line: field.line, what }))?;
        }
        agent.prompt = read.body;
        if agent.purpose.is_empty() {
            agent.purpose = description.unwrap_or_default();
        }
        if agent.purpose.is_empty() {
            return Err(at_first(
                "`purpose` is missing: one sentence that tells the planner what the agent is for".into(),
            ));
        }
        agent.complete_remote().map_err(&at_first)?;
        if StepId::parse(&agent.name).is_err() {
            return Err(at_first(format!("`name` is `{}`; expected letters, digits, `_`, `-`, `.`", agent.name)));
        }
        Ok(agent)
    }

    /// Gives an agent on another server the tool that asks it, and a prompt.
    fn complete_remote(&mut self) -> Result<(), String> {
        let Some(remote) = &self.remote else { return Ok(()) };
        if !remote.url.starts_with("http://") && !remote.url.starts_with("https://") {
            return Err("`a2a` is the address of a server: it begins with `https://` or `http://`".into());
        }
        let tool = remote_agent_tool(&self.name);
        if self.prompt.trim().is_empty() {
            self.prompt = fill(REMOTE, &[("tool", &tool)]);
        }
        if !self.tools.contains(&tool) {
            self.tools.push(tool);
        }
        Ok(())
    }

    fn set(&mut self, field: &Field, place: &str) -> Result<(), String> {
        match plain(&field.key).as_str() {
            "name" => word(field)?.clone_into(&mut self.name),
            "purpose" => self.purpose = line_of(field)?,
            "tools" | "mcpservers" => self.tools.extend(words(field)?),
            "model" => {
                let model = word(field)?;
                self.model = (!matches!(model, "" | "inherit")).then(|| model.to_owned());
            }
            "think" | "thinking" => {
                let think = ThinkingEffort::parse(word(field)?);
                self.think = think.ok_or_else(|| not(field, "auto, off, low, medium, high or a number"))?;
            }
            "turns" | "maxturns" => match word(field)?.parse() {
                Ok(turns @ 1..=1000) => self.turns = Some(turns),
                _ => return Err(not(field, "a number from 1 to 1000")),
            },
            "role" => {
                let role = AgentRole::parse(word(field)?);
                let roles = || AgentRole::ALL.map(|role| format!("`{}`", role.word())).join(", ");
                self.role = Some(role.ok_or_else(|| not(field, &roles()))?);
            }
            "reflect" => match word(field)? {
                "rule" => self.reflect_by_model = false,
                "model" => self.reflect_by_model = true,
                _ => return Err(not(field, "`rule` or `model`")),
            },
            "permissions" => match word(field)? {
                "read-only" => self.read_only = true,
                "default" => self.read_only = false,
                _ => return Err(not(field, "`default` or `read-only`")),
            },
            "mode" => match word(field)? {
                "read-only" => self.read_only = true,
                "workspace" => self.narrowed.mode = Some(ApprovalMode::Ask),
                "full" => self.narrowed.mode = None,
                _ => return Err(not(field, "`read-only`, `workspace` or `full`")),
            },
            "ask" => self.narrowed.rules.ask.extend(rules(field, place)?),
            "deny" | "disallowedtools" => self.narrowed.rules.deny.extend(rules(field, place)?),
            "schema" => match schema(field) {
                schema @ Value::Object(_) => self.schema = Some(schema),
                _ => return Err("`schema` must be a JSON Schema object, as JSON or as YAML".into()),
            },
            "a2a" => word(field)?.clone_into(&mut self.remote.get_or_insert_default().url),
            "a2atoken" => self.remote.get_or_insert_default().token_env = Some(word(field)?.to_owned()),
            "a2aagent" => self.remote.get_or_insert_default().tenant = Some(word(field)?.to_owned()),
            "keywords" => self.keywords.extend(words(field)?),
            "small" => {
                let text = field.value.text().map(str::trim).filter(|text| !text.is_empty());
                self.small = Some(text.ok_or_else(|| not(field, "a short prompt, as text"))?.to_owned());
            }
            // From Claude Code; its other modes allow more than an agent may do here by itself.
            "permissionmode" => self.read_only |= word(field)? == "plan",
            other => match FIELDS.iter().find(|known| strsim::osa_distance(known, other) == 1) {
                Some(known) => return Err(format!("`{}` is not known here; write `{known}`", field.key)),
                None if LIMITING.iter().any(|part| other.contains(part)) => {
                    return Err(format!(
                        "`{}` is not known here; write `tools`, `deny`, `ask`, `mode` or `permissions: read-only`",
                        field.key
                    ));
                }
                None => self.ignored.push(field.key.clone()),
            },
        }
        Ok(())
    }
}

/// The name of a field without differences in spelling: `maxTurns`, `max_turns`, `max-turns`.
fn plain(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// The value of a field that must be one scalar.
fn word(field: &Field) -> Result<&str, String> {
    let text = field.value.text().map(str::trim);
    text.ok_or_else(|| format!("`{}` is a list or an object; expected one word", field.key))
}

/// The value of a field that must be prose, on one line.
fn line_of(field: &Field) -> Result<String, String> {
    Ok(word(field)?.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn words(field: &Field) -> Result<Vec<String>, String> {
    let words = field.value.words();
    words.ok_or_else(|| format!("`{}` is not a list of words; expected one such as `[files, ask_user]`", field.key))
}

/// A list of rules that narrow what the agent may do.
fn rules(field: &Field, place: &str) -> Result<Vec<Rule>, String> {
    words(field)?.iter().map(|rule| Rule::parse(rule, place)).collect()
}

/// The schema, written as YAML or as JSON in a text.
fn schema(field: &Field) -> Value {
    let text = field.value.text().and_then(|text| serde_json::from_str(text).ok());
    text.unwrap_or_else(|| field.value.json())
}

fn not(field: &Field, expected: &str) -> String {
    format!("`{}` is `{}`; expected {expected}", field.key, field.value.text().unwrap_or_default())
}
