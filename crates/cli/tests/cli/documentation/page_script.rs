//! A page's blocks as one script for bash: files are written, commands run, and everything else is parsed, in order.

use std::fmt::Write as _;

use serde_json::Value;

use super::blocks::Block;
use super::root;

/// The script of a page, and what it must print.
#[derive(Default)]
pub(crate) struct PageScript {
    pub(crate) text: String,
    /// What was seen to be wrong without running anything.
    pub(crate) faults: Vec<String>,
    pub(crate) outputs: Vec<ExpectedOutput>,
}

/// A command of a `console` block, and what is printed below it.
pub(crate) struct ExpectedOutput {
    pub(crate) place: String,
    pub(crate) command: String,
    /// Every `…` is any text.
    pub(crate) printed: String,
}

/// Kinds that are nothing but a file; what uses them tests them.
const FILES: [&str; 3] = ["bash", "js", "python"];

impl PageScript {
    pub(crate) fn of(blocks: &[Block]) -> Self {
        let mut script = Self::default();
        for block in blocks {
            if let Err(why) = script.add(block) {
                script.faults.push(format!("{}: {why}", block.place));
            }
        }
        script
    }

    fn add(&mut self, block: &Block) -> Result<(), String> {
        let notes = &block.notes;
        if block.kind.is_empty() {
            return Err("a block without a kind; write one after the fence: ```sh, ```toml, ```text".to_owned());
        }
        self.line(&format!("begin {} {}", quoted(&block.place), quoted(notes.exits.as_deref().unwrap_or("0"))));
        if notes.not_run.is_some() {
            self.arguments_of(block);
            return Ok(());
        }
        self.line(&notes.before);
        if let Some(path) = &notes.same_as {
            return part_of(path, &block.text);
        }
        if let Some(path) = &notes.file {
            self.fed(&format!("write_file {}", quoted(path)), &block.text);
        }
        match (notes.form.as_deref(), block.kind.as_str()) {
            (Some(form), _) => self.fed(&format!("as_{form}"), &block.text),
            (None, "sh" | "bash") if notes.file.is_none() => self.line(&block.text),
            (None, "console") => self.console(block),
            (None, "toml") => self.fed("as_settings", &block.text),
            (None, "json") => self.json(&block.text)?,
            (None, "jsonc") => self.fed("as_servers", &block.text),
            (None, "yaml") => yaml(&block.text)?,
            (None, "python") if notes.file.is_none() => self.fed("as_tools", &block.text),
            (None, kind) if notes.file.is_some() && FILES.contains(&kind) => {}
            (None, kind) => {
                return Err(format!(
                    "a block of `{kind}` is not tested; say what it is parsed as (<!-- as: … -->), which \
                    file it is (<!-- file: … -->), or why it is not (<!-- not run: … -->)"
                ));
            }
        }
        self.line(&notes.after);
        Ok(())
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}", text.trim_end());
    }

    /// A command with a text as its input.
    fn fed(&mut self, command: &str, text: &str) {
        let _ = writeln!(self.text, "{command} <<'END_OF_BLOCK'\n{text}END_OF_BLOCK");
    }

    /// Of a block that is not run, at least the arguments of `updraft` are checked.
    fn arguments_of(&mut self, block: &Block) {
        if !matches!(block.kind.as_str(), "sh" | "bash" | "console") {
            return;
        }
        for line in block.text.lines() {
            let line = line.strip_prefix("$ ").unwrap_or(line);
            if line.starts_with("updraft ") {
                self.line(&format!("DOC_ARGUMENTS_ONLY=1 {line}"));
            }
        }
    }

    fn console(&mut self, block: &Block) {
        let mut commands: Vec<(String, String)> = Vec::new();
        for line in block.text.lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command.to_owned(), String::new())),
                (None, Some((_, printed))) => *printed = format!("{printed}{line}\n"),
                (None, None) => {}
            }
        }
        for (command, printed) in commands {
            let file = format!("\"$DOC_SCRATCH/output.{}\"", self.outputs.len());
            self.line(&format!("{{ {command}\n}} >{file} 2>&1"));
            self.outputs.push(ExpectedOutput { place: block.place.clone(), command, printed });
        }
    }

    fn json(&mut self, text: &str) -> Result<(), String> {
        let value: Value = serde_json::from_str(text).map_err(|why| format!("not JSON: {why}"))?;
        if value.get("mcpServers").is_some() {
            self.fed("as_servers", text);
        }
        Ok(())
    }
}

impl ExpectedOutput {
    /// What differs, if anything.
    pub(crate) fn compare(&self, printed: &str) -> Option<String> {
        let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        let (expected, printed) = (trimmed(&self.printed), trimmed(printed));
        if fits(printed.trim_end(), expected.trim_end()) {
            return None;
        }
        Some(format!("{}: `{}` printed\n{printed}\nexpected was\n{expected}", self.place, self.command))
    }
}

/// Whether a text is like a pattern in which every `…` is any text.
fn fits(text: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('…') else { return text == pattern };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('…').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

fn yaml(text: &str) -> Result<(), String> {
    let fault = saphyr_parser::Parser::new_from_str(text).find_map(Result::err);
    fault.map_or(Ok(()), |why| Err(format!("not YAML: {why}")))
}

fn part_of(path: &str, text: &str) -> Result<(), String> {
    let whole = std::fs::read_to_string(root().join(path)).map_err(|why| format!("{path}: {why}"))?;
    if whole.contains(text.trim()) { Ok(()) } else { Err(format!("not a part of {path}")) }
}

/// A word for bash.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
