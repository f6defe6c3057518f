//! The lines of a run's two logs: what happened (`general.log`), and why (`reasoning.log`). Both are made from the
//! journal, so what is redacted there is redacted here.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use updraft_run::Timestamp;

use crate::time_format;

/// The form of the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// The two logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// Every step, call, warning and error.
    General,
    /// Plans, reasoning, answers, decisions and judgements, with their texts.
    Reasoning,
}

impl LogKind {
    /// The name of its file.
    pub fn file_name(self) -> &'static str {
        match self {
            LogKind::General => "general.log",
            LogKind::Reasoning => "reasoning.log",
        }
    }
}

/// How important a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogLevel {
    Info,
    Warning,
    Error,
}

impl LogLevel {
    fn word(self) -> &'static str {
        match self {
            LogLevel::Info => "info",
            LogLevel::Warning => "warn",
            LogLevel::Error => "error",
        }
    }
}

/// One line of a log, or several if it has a long text.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    /// The log it belongs to.
    pub kind: LogKind,
    at: Timestamp,
    level: LogLevel,
    what: &'static str,
    fields: Vec<(&'static str, Value)>,
    /// A text of several lines, without secrets that the journal would not hold either.
    text: String,
}

impl LogLine {
    pub(super) fn general(at: Timestamp, level: LogLevel, what: &'static str) -> Self {
        Self { kind: LogKind::General, at, level, what, fields: Vec::new(), text: String::new() }
    }

    pub(super) fn reasoning(at: Timestamp, what: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind: LogKind::Reasoning, at, level: LogLevel::Info, what, fields: Vec::new(), text }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// The line in a form, with its line break.
    pub fn written(&self, format: LogFormat) -> String {
        match format {
            LogFormat::Json => format!("{}\n", self.as_json()),
            LogFormat::Text => self.as_text(),
        }
    }

    /// The line as an object.
    pub fn as_json(&self) -> Value {
        let mut line = Map::new();
        line.insert("at".into(), time_format::iso_millis(self.at).into());
        line.insert("level".into(), self.level.word().into());
        line.insert("message".into(), self.what.into());
        line.extend(self.fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        if !self.text.is_empty() {
            line.insert("text".into(), self.text.clone().into());
        }
        json!(line)
    }

    fn as_text(&self) -> String {
        let mut line = format!("{} {:5} {}", time_format::iso_millis(self.at), self.level.word(), self.what);
        for (name, value) in &self.fields {
            let value = match value.as_str() {
                // Control characters would disturb whoever looks at the file in a terminal.
                Some(text) if text.chars().all(|c| !c.is_whitespace() && !c.is_control() && c != '"') => {
                    text.to_owned()
                }
                _ => value.to_string(),
            };
            let _ = write!(line, " {name}={value}");
        }
        line.push('\n');
        for text in self.text.lines() {
            let text: String = text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect();
            let _ = writeln!(line, "    {text}");
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_look_like_another_line_and_json_stays_one_line() {
        let text = "first\n2026-01-01T00:00:00Z error run failed\u{1b}[2J";
        let line = LogLine::reasoning(Timestamp(1_000), "says", text).with("agent", "a b");
        assert_eq!(
            line.written(LogFormat::Text),
            "1970-01-01T00:00:01.000Z info  says agent=\"a b\"\n    first\n    2026-01-01T00:00:00Z error run failed\u{fffd}[2J\n"
        );
        let json = line.written(LogFormat::Json);
        assert_eq!(json.lines().count(), 1);
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["text"], text);
    }
}
